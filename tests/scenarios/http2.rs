//! The same door over HTTP/2, which a listener offers when it is told to; the preset does not.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use gateway_tests::certs::{Authority, Trust};
use gateway_tests::frames::{END_HEADERS, END_STREAM, HEADERS, SETTINGS, fields, frame};
use gateway_tests::gateway::{Door, Plan, runs};
use gateway_tests::http2::{Http2, head};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;

fn door(cluster: &Cluster) -> (Door, Http2) {
    let (door, _, client) = door_with_trust(cluster);
    (door, client)
}

fn door_with_trust(cluster: &Cluster) -> (Door, Trust, Http2) {
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let door = Door::before(cluster)
        .file("--tls-cert", "door.pem", &identity.cert_pem)
        .file("--tls-key", "door.key", &identity.key_pem)
        .over_tls(&authority)
        .but_with(r#"alpn = ["http/1.1"]"#, r#"alpn = ["h2", "http/1.1"]"#)
        .opens();
    let client = Http2::open(door.addr(), &authority.trust(), "door.test");
    (door, authority.trust(), client)
}

#[test]
fn http2_is_agreed_on_and_the_node_is_asked_in_http_1_1() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);
    assert_eq!(client.protocol(), Some(&b"h2"[..]));

    let answer = client.asks("POST", "/sql", b"select");

    assert_eq!(
        (answer.status, answer.json()["echo"].as_str()),
        (200, Some("select"))
    );
    let seen = &cluster["a"].seen()[0];
    assert_eq!(seen.head.start, "POST /sql HTTP/1.1");
    assert_eq!(
        seen.head.first("host"),
        Some(cluster["a"].addr().to_string().as_str())
    );
    assert_eq!(seen.head.first("content-length"), Some("6"));
    assert_eq!(seen.head.first("x-forwarded-proto"), Some("https"));
}

fn clear_door(cluster: &Cluster) -> Door {
    let text = format!(
        "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\nh2c = true\nhead = {{ timeout = \"1s\" }}\n\
         [sites.shop]\nlistener = \"door\"\npool = \"shop\"\nendpoints = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n",
        cluster["a"].addr()
    );
    let plan = Plan::configured(&text);
    let state = plan.path("state").to_string_lossy().into_owned();
    let door = plan.flag("--state-dir", &state).opens();
    door.sees_in("a");
    door
}

#[test]
fn who_begins_with_http2_in_clear_text_is_served_in_it_where_that_is_allowed() {
    let cluster = Cluster::of(&["a"]);
    let door = clear_door(&cluster);
    let client = Http2::in_clear(door.addr()).unwrap();

    let answers = [b"one".as_slice(), b"two"].map(|body| client.asks("POST", "/sql", body));

    for (answer, said) in answers.iter().zip(["one", "two"]) {
        assert_eq!(answer.json()["echo"].as_str(), Some(said));
    }
    let seen = &cluster["a"].seen()[0];
    assert_eq!(seen.head.first("x-forwarded-proto"), Some("http"));
    for method in ["GET", "PUT", "PRI", "PRIVATE", "P"] {
        let _ = door.connect().asks(&Request::new(method, "/schema"));
        let seen = cluster["a"].seen();
        let last = seen.last().unwrap();
        assert_eq!(last.head.start, format!("{method} /schema HTTP/1.1"));
    }
    let state = door.scratch().path().join("state");
    let status = ["status", "--state-dir"].map(Path::new);
    let status = runs(&[&status[..], &[&state]].concat());
    assert!(status.stdout.contains("http/1 http/2"), "{status:?}");
}

#[test]
fn a_preface_that_comes_byte_by_byte_is_one_and_a_part_of_one_is_no_request() {
    let cluster = Cluster::of(&["a"]);
    let door = clear_door(&cluster);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut whole = TcpStream::connect(door.addr()).unwrap();
    whole.set_nodelay(true).unwrap();
    for byte in preface.iter().chain(&settings) {
        whole.write_all(&[*byte]).unwrap();
    }
    let mut frame = [0; 9];
    whole.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "settings come first: {frame:?}");

    // Nothing waits for the rest longer than for a head; what is another text is judged as a head.
    for (part, status) in [
        (&preface[..14], "408"),
        (b"PRI * HTTP/2.0\r\n\r\nSN", "400"),
    ] {
        let mut stream = TcpStream::connect(door.addr()).unwrap();
        stream.write_all(part).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
    }
}

#[test]
fn what_is_bounded_over_tls_is_bounded_in_clear_text() {
    let cluster = Cluster::of(&["a"]);
    let door = clear_door(&cluster);
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut flood = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    flood.extend(settings);
    flood.extend(std::iter::repeat_n(ping, 200).flatten());
    let mut stream = TcpStream::connect(door.addr()).unwrap();
    stream.write_all(&flood).unwrap();

    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);

    // GOAWAY is the last: eight bytes, of which the last four are the code.
    let last = said.split_at(said.len().saturating_sub(17)).1;
    assert_eq!((last[3], last[16]), (7, 11), "{last:?}");
}

/// A connection that was asked something and rests.
fn rests(addr: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(addr).unwrap();
    let mut said = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    said.extend(frame(SETTINGS, 0, 0, &[]));
    // GET, http and `/`, by their places in the static table (RFC 7541 appendix A).
    let block = [&[0x82, 0x86, 0x84], &*fields(&[(":authority", "shop")])].concat();
    said.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));
    stream.write_all(&said).unwrap();
    let mut head = [0; 9];
    while head[3] != HEADERS {
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).unwrap();
    }
    stream
}

/// PERFORMANCE: what an idle connection costs.
#[test]
fn a_connection_that_rests_keeps_little() {
    let cluster = Cluster::of(&["a"]);
    let door = clear_door(&cluster);
    let held = || {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", door.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap();
        let kib = line.split_whitespace().nth(1).unwrap();
        kib.parse::<u32>().unwrap()
    };
    let opens = || -> Vec<_> { (0..300).map(|_| rests(door.addr())).collect() };
    let _first = opens();
    let before = held();
    let _second = opens();

    let each = (held() - before) / 300;

    assert!(each < 34, "{each} KiB");
}

#[test]
fn header_lists_hold_in_http2_too() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);
    let mut request = head("GET", "/schema");
    for (name, value) in [
        ("authorization", "Basic eDp5"),
        ("x-big-wire", "7"),
        ("cookie", "a=b"),
        ("x-forwarded-for", "1.2.3.4"),
    ] {
        request.headers_mut().append(name, value.parse().unwrap());
    }

    let answer = client.hears(client.sends(request, b"")).unwrap();

    answer.is(200);
    let seen = &cluster["a"].seen()[0];
    assert_eq!(seen.head.all("authorization"), ["Basic eDp5"]);
    assert_eq!(seen.head.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(
        (seen.head.first("x-big-wire"), seen.head.first("cookie")),
        (None, None)
    );
}

#[test]
fn what_is_no_route_is_none_in_http2_either() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);

    for path in ["/internal/query", "/nowhere", "/table/%2e%2e/records"] {
        client
            .asks("GET", path, b"")
            .fails_with(404, "no_such_route");
    }

    assert_eq!(
        client.asks("GET", "/health", b"").is(200).text(),
        "{\"status\":\"ok\"}"
    );
    assert_eq!(cluster.requests(), 0);
}

#[test]
fn streams_of_one_connection_do_not_wait_for_each_other() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);
    cluster.next([Way::Held]);
    let slow = client.sends(head("GET", "/schema"), b"");
    wait::until("the slow one held", wait::SOON, || {
        cluster["a"].in_flight() == 1
    });

    for _ in 0..10 {
        client.asks("GET", "/schema", b"").is(200);
    }

    cluster["a"].lets_go();
    client.hears(slow).unwrap().is(200);
}

#[test]
fn a_large_body_is_repeated_whole_on_another_node() {
    let cluster = Cluster::of(&["a", "b"]);
    let (_door, client) = door(&cluster);
    cluster.next([Way::ClosesWithoutAnswer]);
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| b'a' + (n % 26) as u8).collect();

    client.asks("POST", "/table/t/query", &body).is(200);

    assert_eq!(cluster.times_seen(std::str::from_utf8(&body).unwrap()), 2);
}

#[test]
fn a_body_over_the_limit_is_413_and_the_connection_goes_on() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);

    client
        .asks("POST", "/sql", &vec![b'x'; 8 * 1024 * 1024 + 1])
        .fails_with(413, "request_too_large");

    client.asks("GET", "/schema", b"").is(200);
    assert_eq!(cluster.requests(), 1);
}

#[test]
fn a_write_is_not_repeated_in_http2_either() {
    let cluster = Cluster::of(&["a", "b"]);
    let (_door, client) = door(&cluster);
    cluster.next([Way::Resets]);

    let answer = client.asks("POST", "/sql", b"once");

    answer.fails_with(502, "upstream_unreachable");
    assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
    assert_eq!(cluster.times_seen("once"), 1);
}

#[test]
fn a_stream_given_up_frees_its_slot() {
    let cluster = Cluster::of(&["a"]);
    let (door, client) = door(&cluster);
    cluster.next([Way::Held]);
    let given_up = client.sends(head("GET", "/schema"), b"");
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

    drop(given_up);

    wait::until("the slot free", wait::SOON, || {
        door.node("a")["in_flight"] == 0
    });
    client.asks("GET", "/schema", b"").is(200);
}

#[test]
fn a_length_that_lies_reaches_no_node() {
    for (length, body) in [("10", &b"abc"[..]), ("3", b"hello"), ("10", b"")] {
        let cluster = Cluster::of(&["a"]);
        let (_door, client) = door(&cluster);
        let mut request = head("POST", "/sql");
        request
            .headers_mut()
            .append("content-length", length.parse().unwrap());

        let answer = client.hears(client.sends(request, body));

        assert!(
            !answer.is_ok_and(|answer| answer.status == 200),
            "{length} for {body:?}"
        );
        assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));
    }
}

/// RFC 9110 §8.6 leaves it open for two that are the same; in HTTP/1 they are refused as well.
#[test]
fn a_length_that_is_told_twice_is_refused_and_reaches_no_node() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);
    for lengths in [["3", "3"], ["3", "5"], ["3", "0"]] {
        let mut request = head("POST", "/sql");
        for length in lengths {
            let length = length.parse().unwrap();
            request.headers_mut().append("content-length", length);
        }

        let answer = client.hears(client.sends(request, b"abc"));

        // Of two that differ one is not that of the body, which may be seen before the head is judged.
        let is_refused = answer.map_or(lengths != ["3", "3"], |answer| answer.status == 400);
        assert!(is_refused, "{lengths:?}");
    }
    assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));
    client.asks("POST", "/sql", b"abc").is(200);
}

#[test]
fn a_host_that_is_not_the_authority_is_refused_and_the_same_is_not() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = door(&cluster);
    for (host, status) in [("other.test", 400), ("door.test", 200)] {
        let mut request = head("GET", "/schema");
        request.headers_mut().append("host", host.parse().unwrap());

        let answer = client.hears(client.sends(request, b"")).unwrap();

        assert_eq!(answer.status, status, "{host}");
    }
}

#[test]
fn a_reload_gives_new_connections_another_idle_time_and_leaves_the_others_theirs() {
    let cluster = Cluster::of(&["a"]);
    let (door, trust, early) = door_with_trust(&cluster);
    early.asks("GET", "/schema", b"").is(200);
    let path = door.scratch().path().join("expanded.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (before, listener) = text.split_once("[listeners.").unwrap();
    let listener = listener.replacen("idle = \"75s\"", "idle = \"1s\"", 1);
    fs::write(&path, format!("{before}[listeners.{listener}")).unwrap();

    door.signal(Signal::SIGHUP);
    let _ = door.log().waits_for("reload: applied", |_| true);

    let late = Http2::open(door.addr(), &trust, "door.test");
    late.asks("GET", "/schema", b"").is(200);
    assert!(late.is_closed_within(wait::SOON));
    early.asks("GET", "/schema", b"").is(200);
}

#[test]
fn a_front_door_offers_http_1_1_alone() {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let door = Door::before(&cluster)
        .file("--tls-cert", "door.pem", &identity.cert_pem)
        .file("--tls-key", "door.key", &identity.key_pem)
        .over_tls(&authority)
        .opens();

    door.get("/schema").is(200);

    assert!(!Http2::is_offered(
        door.addr(),
        &authority.trust(),
        "door.test"
    ));
}

/// A node takes what stands behind a message for the next one, whoever's connection it was.
#[test]
fn a_body_that_ends_in_an_empty_frame_is_ended_once_at_the_node() {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let door = Door::configured_over_tls(
        &format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
             alpn = [\"h2\", \"http/1.1\"]\n[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
             [sites.shop]\nlistener = \"edge\"\npool = \"shop\"\nendpoints = \"shop\"\n\
             [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
             probe = {{ every = \"250ms\" }}\n",
            cluster["a"].addr()
        ),
        &authority,
        &identity,
    );
    door.sees_in("a");
    let client = Http2::open(door.addr(), &authority.trust(), "door.test");

    for body in [&b"abc"[..], b"", b"defg"] {
        let answer = client.asks_with_an_empty_end(head("POST", "/sql"), body);
        assert_eq!(answer.unwrap().status, 200);
    }
    let last = client.asks("GET", "/schema", b"");

    assert_eq!(last.status, 200);
    let (seen, fragments) = cluster["a"].tells();
    let bodies: Vec<&[u8]> = seen.iter().map(|one| &one.body[..]).collect();
    assert_eq!(bodies, [&b"abc"[..], b"", b"defg", b""]);
    assert!(fragments.is_empty(), "{fragments:?}");
    assert!(seen.iter().all(|one| one.connection == seen[0].connection));
}
