//! Who is connected: clients behind a proxy that says whose connection it passes on, and how many
//! connections one of them may have.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::client::{Answer, Conversation, connect_from};
use gateway_tests::frames::Frames;
use gateway_tests::gateway::{Door, Metrics, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

const HEADER: &str = "PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n";

/// A site on a listener with these further settings, and with what else the text says.
fn text(cluster: &Cluster, listener: &str, more: &str) -> String {
    format!(
        "workers = 2\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n{listener}\n\
         [listeners.side]\nbind = \"127.0.0.1:0\"\n\
         [sites.all]\nlistener = [\"edge\", \"side\"]\npool = \"p\"\nendpoints = \"p\"\n\
         [pools.p]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"250ms\" }}\n\
         [admin]\nbind = \"127.0.0.1:0\"\n{more}\n",
        cluster["a"].addr()
    )
}

fn ready(door: Door) -> (Door, SocketAddr) {
    door.seen_as("side").sees_in("a");
    let edge = door.seen_as("edge").addr();
    (door, edge)
}

fn admin(door: &Door, path: &str) -> Answer {
    let said = door.log().waits_for("admin", |_| true);
    let addr = said.text("addr").parse().unwrap();
    Conversation::open(addr).asks(&Request::get(path))
}

fn refused(door: &Door, reason: &str) -> u64 {
    let answer = admin(door, "/metrics");
    let sample =
        format!("gateway_connections_refused_total{{listener=\"edge\",reason=\"{reason}\"}}");
    Metrics::parse(&answer.text()).number(&sample) as u64
}

#[test]
fn one_client_has_as_many_connections_as_may_be_and_not_one_more() {
    let cluster = Cluster::of(&["a"]);
    let text = text(&cluster, "", "[limits]\nconnections_per_client = 3");
    let (door, edge) = ready(Plan::configured(&text).opens());
    let mut held: Vec<Conversation> = (0..3).map(|_| Conversation::open(edge)).collect();
    for client in &mut held {
        client.asks(&Request::get("/schema")).is(200);
    }

    assert!(Conversation::open(edge).is_closed_within(wait::SOON));

    assert_eq!(refused(&door, "client"), 1);
    // Bounded by listener: another one is not touched.
    door.seen_as("side").get("/schema").is(200);
    held.pop();
    wait::until("its place free", wait::SOON, || {
        let mut client = Conversation::open(edge);
        client.sends(&Request::get("/schema"));
        client.listens().is_ok_and(|answer| answer.is_some())
    });
}

#[test]
fn a_listener_has_as_many_connections_and_handshakes_as_may_be() {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let more = "[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
                [limits]\nconnections = 3\nhandshakes = 1";
    // One worker takes them in the order in which they come.
    let text = text(&cluster, "tls = \"t\"", more).replace("workers = 2", "workers = 1");
    let plan = Plan::configured(&text);
    for (name, text) in [("t.pem", &identity.cert_pem), ("t.key", &identity.key_pem)] {
        std::fs::write(plan.path(name), text).unwrap();
    }
    gateway_tests::scratch::set_mode(&plan.path("t.key"), 0o600);
    let (door, edge) = ready(plan.opens());
    let trust = authority.trust();
    let served = |many: usize| -> Vec<Conversation> {
        let one = |_| {
            let mut client = Conversation::open_tls(edge, &trust, "door.test");
            client.asks(&Request::get("/schema")).is(200);
            client
        };
        (0..many).map(one).collect()
    };
    let held = served(1);

    // Says one byte: its handshake is under way.
    let mut begun = Conversation::open(edge);
    begun.says([22]);
    wait::until("a handshake refused", wait::SOON, || {
        let mut next = Conversation::open(edge);
        next.says([22]).is_closed_within(Duration::from_secs(1))
    });
    assert!(refused(&door, "client") >= 1);
    let mut other = Conversation::on(connect_from("127.0.0.9", edge));
    assert!(other.says([22]).is_closed_within(wait::SOON));
    assert_eq!(refused(&door, "handshakes"), 1);
    drop(begun);
    let more = wait::value("its place free", wait::SOON, || {
        let mut client = Conversation::tries_tls(edge, &trust, "door.test").ok()?;
        client.sends(&Request::get("/schema"));
        client.listens().ok()??;
        Some(client)
    });
    let last = served(1);

    assert!(Conversation::open(edge).is_closed_within(wait::SOON));
    assert!(refused(&door, "full") >= 1);
    drop((held, more, last));
    wait::until("room again", wait::SOON, || {
        let mut client = Conversation::open_tls(edge, &trust, "door.test");
        client.sends(&Request::get("/schema"));
        client.listens().is_ok_and(|answer| answer.is_some())
    });
}

#[test]
fn a_trusted_proxy_has_as_many_connections_as_it_wants() {
    let cluster = Cluster::of(&["a"]);
    let trusts = "trusted_proxies = [\"127.0.0.1\"]";
    let text = text(&cluster, trusts, "[limits]\nconnections_per_client = 1");
    let (_door, edge) = ready(Plan::configured(&text).opens());

    let held: Vec<Conversation> = (0..5)
        .map(|_| {
            let mut client = Conversation::open(edge);
            client.asks(&Request::get("/schema")).is(200);
            client
        })
        .collect();

    assert_eq!(held.len(), 5);
}

#[test]
fn connections_are_counted_for_the_client_that_a_proxy_names() {
    let cluster = Cluster::of(&["a"]);
    let proxied = "proxy_protocol_from = [\"127.0.0.1\"]";
    let text = text(&cluster, proxied, "[limits]\nconnections_per_client = 1");
    let (door, edge) = ready(Plan::configured(&text).opens());
    let begins = |header: &str| {
        let mut client = Conversation::open(edge);
        client.says(header).sends(&Request::get("/schema"));
        client
    };
    let mut first = begins(HEADER);
    first.hears().is(200);

    assert!(begins(HEADER).is_closed_within(wait::SOON));
    begins(&HEADER.replace("113.7", "113.8")).hears().is(200);

    assert_eq!(refused(&door, "client"), 1);
    assert_eq!(refused(&door, "proxy_header"), 0);
    let line = door.access_line(|line| line.text("client") == "203.0.113.7");
    assert_eq!(line.text("listener"), "edge");
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for_and_is_counted() {
    let cluster = Cluster::of(&["a"]);
    let proxied = "proxy_protocol_from = [\"127.0.0.1\"]\nhead = { timeout = \"300ms\" }";
    let (door, edge) = ready(Plan::configured(&text(&cluster, proxied, "")).opens());
    let mut silent = Conversation::open(edge);
    let mut halfway = Conversation::open(edge);
    halfway.says("PROXY TCP4 203.0");
    let mut without = Conversation::open(edge);
    without.sends(&Request::get("/schema"));
    drop(Conversation::open(edge));

    for client in [&mut silent, &mut halfway, &mut without] {
        assert!(client.is_closed_within(wait::SOON));
    }

    assert_eq!(cluster.requests(), 0);
    // Who connected and left at once was asking whether somebody listens.
    wait::until("counted", wait::SOON, || {
        refused(&door, "proxy_header") == 3
    });
}

#[test]
fn a_header_of_whoever_need_not_send_one_is_refused_and_others_are_served() {
    let cluster = Cluster::of(&["a"]);
    let proxied = "proxy_protocol_from = [\"192.0.2.0/24\"]";
    let (door, edge) = ready(Plan::configured(&text(&cluster, proxied, "")).opens());
    let v2 = "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for header in [HEADER, v2] {
        let mut client = Conversation::open(edge);

        client.says(header).sends(&Request::get("/schema"));

        client.hears().is(400);
        assert!(client.is_closed_within(wait::SOON));
    }
    assert_eq!(cluster.requests(), 0);
    door.seen_as("edge").get("/schema").is(200);
    let seen = cluster["a"].seen();
    assert_eq!(seen[0].head.all("x-forwarded-for"), ["127.0.0.1"]);
}

#[test]
fn the_client_that_is_named_is_the_one_who_is_let_in_counted_and_believed() {
    let cluster = Cluster::of(&["a"]);
    let proxied = "proxy_protocol_from = [\"127.0.0.1\"]\ntrusted_proxies = [\"203.0.113.8\"]";
    let text = text(&cluster, proxied, "").replace(
        "endpoints = \"p\"\n",
        "endpoints = \"p\"\nallow_from = [\"203.0.113.0/24\", \"127.0.0.1\"]\n\
         rate = { requests = 1, per = \"1h\", burst = 1 }\n",
    );
    let door = Plan::configured(&text).opens();
    let edge = door.seen_as("edge").addr();
    let asks = |address: &str, field: &str| {
        let header = HEADER.replace("203.0.113.7", address);
        let mut client = Conversation::open(edge);
        client.says(header);
        client
            .asks(&Request::get("/schema").field("X-Forwarded-For", field))
            .status
    };
    wait::until("the node in rotation", wait::SOON, || {
        admin(&door, "/readyz").status == 200
    });

    assert_eq!(asks("198.51.100.1", "203.0.113.7"), 403);
    assert_eq!(asks("203.0.113.7", "198.51.100.1"), 200);
    assert_eq!(asks("203.0.113.7", ""), 429);
    // Whom the header names is a proxy that is believed.
    assert_eq!(asks("203.0.113.8", "198.51.100.1"), 403);
    assert_eq!(asks("203.0.113.8", "203.0.113.9"), 200);
    let seen = cluster["a"].seen();
    let told: Vec<&str> = seen
        .iter()
        .flat_map(|one| one.head.all("x-forwarded-for"))
        .collect();
    assert_eq!(told, ["203.0.113.7", "203.0.113.9, 203.0.113.8"]);
}

#[test]
fn a_header_stands_before_the_handshake_and_before_http2() {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let tls = "tls = \"t\"\nalpn = [\"h2\", \"http/1.1\"]\nproxy_protocol_from = [\"127.0.0.1\"]";
    let more = "[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"";
    let plan = Plan::configured(&text(&cluster, tls, more));
    for (name, text) in [("t.pem", &identity.cert_pem), ("t.key", &identity.key_pem)] {
        std::fs::write(plan.path(name), text).unwrap();
    }
    gateway_tests::scratch::set_mode(&plan.path("t.key"), 0o600);
    let (_door, edge) = ready(plan.opens());

    for begin in [HEADER, &HEADER[..20]] {
        let mut socket = TcpStream::connect(edge).unwrap();
        socket.write_all(begin.as_bytes()).unwrap();
        if begin.len() < HEADER.len() {
            wait::maybe(Duration::from_millis(50), || None::<()>);
            socket.write_all(&HEADER.as_bytes()[20..]).unwrap();
        }
        let mut client = Frames::over(socket, &authority.trust(), "door.test");
        client.begins_with(&[]).asks(1, "GET", "/schema", true);
        assert_eq!(client.status(1), Some(200));
    }

    for seen in cluster["a"].seen() {
        assert_eq!(seen.head.all("x-forwarded-for"), ["203.0.113.7"]);
    }
}
