//! What a connection may be used for that was made under the rules of one name, and what becomes of it
//! when the rules change.

use std::net::SocketAddr;
use std::time::Duration;

use gateway_tests::certs::Trust;
use gateway_tests::client::Conversation;
use gateway_tests::frames::Frames;
use gateway_tests::gateway::Door;
use gateway_tests::hello::Hello;
use gateway_tests::http2::Http2;
use gateway_tests::log::Entry;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

use crate::certificates::House;

fn connects(
    addr: SocketAddr,
    trust: &Trust,
    version: &'static SupportedProtocolVersion,
) -> Conversation {
    let hello = Hello::speaking("a.test", trust, &[version], |_| true);
    hello.shakes(addr).unwrap().converses()
}

/// Serves another text, and waits until that is so.
fn reloads(door: &Door, text: &str) {
    let before = door.log().saying("reload: applied").len();
    std::fs::write(door.scratch().path().join("gateway.toml"), text).unwrap();
    door.signal(Signal::SIGHUP);
    wait::until("the reload", wait::SOON, || {
        door.log().saying("reload: applied").len() > before
    });
}

#[test]
fn a_host_is_not_asked_for_over_a_connection_that_its_own_rules_would_not_have_let_come_to_be() {
    let (mut house, _) = House::new();
    let wide = house.authority.signs(&["a.test", "b.test", "c.test"]);
    house.profile("wide", &wide, "");
    house.profile("strict", &wide, "min = \"1.3\"");
    house.profile("plain", &wide, "alpn = [\"http/1.1\"]");
    house.site("a", &["a.test"], "wide");
    house.site("b", &["b.test"], "strict");
    house.site("c", &["c.test"], "plain");
    let door = house.opens();
    let trust = house.authority.trust();

    let mut old = connects(door.addr(), &trust, &TLS12);
    for (host, status) in [
        ("a.test", 200),
        ("b.test", 421),
        ("c.test", 200),
        ("A.TEST.", 200),
    ] {
        old.asks(&Request::get("/").to(host)).is(status);
    }
    let mut new = connects(door.addr(), &trust, &TLS13);
    new.asks(&Request::get("/").to("b.test")).is(200);
    let http2 = Http2::open(door.addr(), &trust, "a.test");
    for (host, status) in [("a.test", 200), ("b.test", 200), ("c.test", 421)] {
        let head = http::Request::get(format!("https://{host}/"))
            .body(())
            .unwrap();
        http2.hears(http2.sends(head, b"")).unwrap().is(status);
    }
}

/// Whether another site has rules of its own is all the same.
#[test]
fn a_name_that_no_handshake_could_be_done_for_is_misdirected_under_strict_sni() {
    for (strict, status) in [("strict_sni = true\n", 421), ("", 200)] {
        for has_other in [false, true] {
            let (mut house, _) = House::new();
            let own = "tls = \"own\"\n";
            house.text = house.text.replace(own, &format!("{own}{strict}"));
            let answers = "routes.all = { path = \"/\", answer = 200 }\n";
            house.text += &format!(
                "[sites.own]\nlistener = \"edge\"\nhosts = [\"own.test\"]\n{answers}\
                 [sites.rest]\nlistener = \"edge\"\ndefault = true\n{answers}"
            );
            if has_other {
                let other = house.authority.signs(&["a.test"]);
                house.profile("a", &other, "");
                house.site("a", &["a.test"], "a");
            }
            let door = house.opens();
            let mut client = house
                .hello("own.test")
                .shakes(door.addr())
                .unwrap()
                .converses();

            client.asks(&Request::get("/").to("own.test")).is(200);
            let of_nobody = client.asks(&Request::get("/").to("unknown.test"));
            assert_eq!(of_nobody.status, status, "{strict} {has_other}");
        }
    }
}

#[test]
fn a_resumed_connection_is_not_used_for_a_host_under_which_no_session_is_resumed() {
    let (mut house, _) = House::new();
    let wide = house.authority.signs(&["a.test", "b.test"]);
    house.profile("wide", &wide, "");
    house.profile("anew", &wide, "resumption = false");
    house.site("a", &["a.test"], "wide");
    house.site("b", &["b.test"], "anew");
    let door = house.opens();
    let hello = house.hello("a.test");

    for (is_resumed, status) in [(false, 200), (true, 421)] {
        let shaken = hello.shakes(door.addr()).unwrap();
        assert_eq!(shaken.is_resumed(), is_resumed);
        let mut client = shaken.converses();
        client.asks(&Request::get("/").to("a.test")).is(200);
        client.asks(&Request::get("/").to("b.test")).is(status);
    }
}

#[test]
fn connections_end_that_do_not_keep_to_stricter_rules_and_no_others() {
    let cluster = Cluster::of(&["n"]);
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test"]);
    let text = format!(
        "[sites.a]\nlistener = \"edge\"\nhosts = [\"a.test\"]\ntls = \"a\"\npool = \"p\"\n\
         [pools.p]\nnodes = [\"{}\"]\nprobe = {{ every = \"250ms\" }}\n",
        cluster["n"].addr()
    );
    house.text += &text;
    house.profile("a", &signed, "min = \"1.2\"");
    let door = house.opens();
    let trust = house.authority.trust();
    let asked = Request::get("/schema").to("a.test");
    wait::until("a node", wait::SOON, || {
        connects(door.addr(), &trust, &TLS13).asks(&asked).status == 200
    });
    let mut idle = connects(door.addr(), &trust, &TLS12);
    idle.asks(&asked).is(200);
    let mut new = connects(door.addr(), &trust, &TLS13);
    new.asks(&asked).is(200);
    let mut busy = connects(door.addr(), &trust, &TLS12);
    cluster.next([Way::Held]);
    busy.sends(&asked);
    wait::until("the request held", wait::SOON, || {
        cluster["n"].in_flight() == 1
    });

    let strict = house.text.replace("min = \"1.2\"", "min = \"1.3\"");
    reloads(&door, &strict);
    cluster["n"].lets_go();

    for old in [&mut busy.hears(), &mut idle.asks(&asked)] {
        assert_eq!(old.is(200).field("connection"), Some("close"));
    }
    assert!(busy.is_closed_within(wait::SOON) && idle.is_closed_within(wait::SOON));
    let answer = new.asks(&asked);
    assert_ne!(answer.is(200).field("connection"), Some("close"));
    let hello = Hello::speaking("a.test", &trust, &[&TLS12], |_| true);
    assert!(hello.fails(door.addr()).contains("ProtocolVersion"));
}

/// An answer that has begun, and does not go on.
fn begun() -> Way {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    let raw = format!("{head}Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    Way::Raw(raw.into_bytes())
}

#[test]
fn an_answer_without_an_end_is_cut_when_the_time_to_drain_is_over_and_a_tunnel_is_not() {
    let cluster = Cluster::of(&["n"]);
    // Not the node ends it.
    cluster["n"].closes_idle_after(wait::EVENTUALLY);
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test", "door.test"]);
    let text = format!(
        "[drain]\ndeadline = \"300ms\"\n\
         [sites.a]\nlistener = \"edge\"\nhosts = [\"a.test\", \"door.test\"]\ntls = \"a\"\n\
         routes.all = {{ path = \"/\", pool = \"p\", upgrade = true }}\n\
         [pools.p]\nnodes = [\"{}\"]\nprobe = {{ every = \"250ms\" }}\n",
        cluster["n"].addr()
    );
    house.text += &text;
    house.profile("a", &signed, "alpn = [\"h2\", \"http/1.1\"]");
    let door = house.opens();
    let trust = house.authority.trust();
    let asked = Request::get("/schema").to("a.test");
    wait::until("a node", wait::SOON, || {
        connects(door.addr(), &trust, &TLS12).asks(&asked).status == 200
    });
    cluster.next([Way::SwitchesAndEchoes, begun(), begun()]);
    let mut tunnel = connects(door.addr(), &trust, &TLS12);
    let switches = Request::get("/live").to("a.test");
    let switches = switches.field("Connection", "Upgrade");
    tunnel.asks(&switches.field("Upgrade", "echo")).is(101);
    let mut old = connects(door.addr(), &trust, &TLS12);
    old.sends(&asked).hears_first_chunk();
    assert_eq!(old.hears_bytes(2), b"\r\n");
    let mut http2 = Frames::open(door.addr(), &trust, "door.test");
    http2.begins_with(&[]).asks(1, "GET", "/schema", true);
    assert_eq!(http2.status(1), Some(200));

    let strict = "min = \"1.3\"\nalpn = [\"http/1.1\"]";
    reloads(
        &door,
        &house.text.replace("alpn = [\"h2\", \"http/1.1\"]", strict),
    );

    assert!(old.is_closed_within(wait::SOON), "HTTP/1.1");
    assert!(http2.ends_within(wait::SOON), "HTTP/2");
    for protocol in ["HTTP/1.1", "HTTP/2"] {
        // Not the client went away.
        let cut =
            |line: &Entry| line.text("protocol") == protocol && line.text("reason") == "draining";
        assert_eq!(*door.access_line(cut).field("status"), 200);
    }
    assert!(tunnel.is_silent_for(Duration::from_millis(300)), "cut");
    tunnel.says("still here");
    assert_eq!(tunnel.hears_bytes(10), b"still here");
}

#[test]
fn a_connection_of_who_offered_nothing_ends_when_its_name_offers_http2_alone() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test"]);
    house.profile("a", &signed, "alpn = [\"h2\", \"http/1.1\"]");
    house.site("a", &["a.test"], "a");
    let door = house.opens();
    let mut client = connects(door.addr(), &house.authority.trust(), &TLS13);
    let asked = Request::get("/").to("a.test");
    client.asks(&asked).is(200);

    reloads(&door, &house.text.replace(", \"http/1.1\"", ""));

    let last = client.asks(&asked);
    assert_eq!(last.is(200).field("connection"), Some("close"));
    assert!(client.is_closed_within(wait::SOON));
}

#[test]
fn a_connection_of_http2_is_told_to_go_away_when_its_name_does_not_offer_it_any_more() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test", "door.test"]);
    house.profile("a", &signed, "alpn = [\"h2\", \"http/1.1\"]");
    house.site("a", &["a.test", "door.test"], "a");
    let other = house.authority.signs(&["b.test"]);
    house.profile("b", &other, "");
    house.site("b", &["b.test"], "b");
    let door = house.opens();
    let trust = house.authority.trust();
    let client = |name: &str| Http2::open(door.addr(), &trust, name);
    let (one, another) = (client("door.test"), client("b.test"));
    one.asks("GET", "/", b"").is(200);

    reloads(&door, &house.text.replace("\"h2\", ", ""));

    assert!(one.is_closed_within(wait::SOON));
    assert!(!another.is_closed_within(Duration::from_millis(300)));
}

#[test]
fn a_hello_is_answered_with_what_is_shown_once_it_is_read() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test"]);
    house.profile("a", &signed, "");
    house.site("a", &["a.test"], "a");
    let door = house.opens();
    let hello = Hello::speaking("a.test", &house.authority.trust(), &[&TLS12], |_| true);
    hello.shakes(door.addr()).unwrap().ends();

    let stricter = house
        .text
        .replace("key = \"a.key\"\n", "key = \"a.key\"\nmin = \"1.3\"\n");
    let socket = std::net::TcpStream::connect(door.addr()).unwrap();
    let shaken = hello.shakes_over(socket, || reloads(&door, &stricter));

    assert!(shaken.is_err(), "the rules were others before it was read");
}

/// Who names no host asks for the default site, whose rules hold.
#[test]
fn a_request_without_a_host_is_held_to_the_rules_of_the_site_that_answers_it() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test", "b.test"]);
    house.profile("a", &signed, "");
    house.profile("b", &signed, "min = \"1.3\"");
    house.site("a", &["a.test"], "a");
    house.site("b", &["b.test"], "b");
    house.text = house
        .text
        .replace("[sites.b]\n", "[sites.b]\ndefault = true\n");
    let door = house.opens();
    let trust = house.authority.trust();
    for (version, status) in [(&TLS12, 421), (&TLS13, 200)] {
        for nameless in [
            "GET / HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: :443\r\n\r\n",
        ] {
            let mut client = connects(door.addr(), &trust, version);
            client.says(nameless).expects_answer_to("GET");
            client.hears().is(status);
        }
    }
}

#[test]
fn no_session_goes_on_under_other_rules_and_each_does_over_a_reload_that_changes_none() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test"]);
    house.profile("a", &signed, "suites = [\"TLS_AES_256_GCM_SHA384\"]");
    house.site("a", &["a.test"], "a");
    let door = house.opens();
    let hello = house.hello("a.test");
    let is_resumed = || {
        let shaken = hello.shakes(door.addr()).unwrap();
        let is_resumed = shaken.is_resumed();
        shaken.ends();
        is_resumed
    };
    assert!(!is_resumed());

    reloads(
        &door,
        &format!(
            "{}routes.b = {{ path = \"/b\", answer = 204 }}\n",
            house.text
        ),
    );
    assert!(is_resumed());

    // The suite is still the one that is agreed on, so nothing else keeps a session from going on.
    let more = "suites = [\"TLS_AES_256_GCM_SHA384\", \"TLS_AES_128_GCM_SHA256\"]";
    reloads(
        &door,
        &house
            .text
            .replace("suites = [\"TLS_AES_256_GCM_SHA384\"]", more),
    );
    assert!(!is_resumed());
    assert!(is_resumed());
}
