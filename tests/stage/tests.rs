//! The stage's own floor, tried without a gateway: client against stand-in node.

use std::time::Duration;

use crate::certs::Authority;
use crate::client::{Conversation, ask};
use crate::message::Request;
use crate::node::{Cluster, Framing, Greeting, Ready, Reply, Way};
use crate::{ports, wait};

#[test]
fn a_write_through_one_node_is_read_through_another() {
    let cluster = Cluster::of(&["a", "b"]);

    let written = ask(
        cluster["a"].addr(),
        &Request::post("/table/t/import", "41\n42\n"),
    );
    let read = ask(
        cluster["b"].addr(),
        &Request::get("/table/t/records?after=41&limit=5"),
    );

    assert_eq!(written.is(200).json()["imported"], 2);
    assert_eq!(read.is(200).json()["records"], serde_json::json!(["42"]));
    assert_eq!(cluster.times_seen("41\n42\n"), 1);
}

#[test]
fn a_connection_is_kept_and_each_request_has_its_place_on_it() {
    let cluster = Cluster::of(&["a"]);
    let mut client = Conversation::open(cluster["a"].addr());

    client.asks(&Request::get("/schema")).is(200);
    client
        .asks(&Request::post("/sql", "x".repeat(70_000)).in_chunks_of(1000))
        .is(200);

    let places: Vec<_> = cluster["a"]
        .seen()
        .iter()
        .map(|s| (s.connection, s.index))
        .collect();
    assert_eq!(places, [(1, 1), (1, 2)]);
    assert_eq!(cluster["a"].seen()[1].body.len(), 70_000);
}

#[test]
fn a_port_is_left_also_while_somebody_else_still_has_its_socket() {
    let reserved = ports::Reserved::take();
    let socket = reserved.listen().unwrap();
    let of_a_child = socket.try_clone().unwrap();
    ports::listens_no_more(&socket);
    drop(socket);
    assert!(std::net::TcpStream::connect(reserved.addr()).is_err());
    drop(of_a_child);
}

#[test]
fn a_node_that_died_refuses_until_it_comes_back() {
    let cluster = Cluster::of(&["a"]);
    let mut kept = Conversation::open(cluster["a"].addr());
    kept.asks(&Request::get("/schema")).is(200);

    cluster["a"].dies();
    assert!(kept.is_closed_within(wait::SOON));
    assert!(std::net::TcpStream::connect(cluster["a"].addr()).is_err());

    cluster["a"].comes_back();
    ask(cluster["a"].addr(), &Request::get("/schema")).is(200);
}

#[test]
fn a_reserved_port_refuses_until_it_is_listened_on() {
    let port = ports::Reserved::take();
    assert!(std::net::TcpStream::connect(port.addr()).is_err());

    let listener = port.listen().unwrap();
    assert!(std::net::TcpStream::connect(port.addr()).is_ok());

    drop(listener);
    assert!(std::net::TcpStream::connect(port.addr()).is_err());
}

#[test]
fn a_node_with_tls_shows_its_own_name() {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&["a"], &authority);

    let mut client = Conversation::open_tls(cluster["a"].addr(), &authority.trust(), "a");
    client.asks(&Request::get("/schema")).is(200);

    let mut mistaken = Conversation::open_tls(cluster["a"].addr(), &authority.trust(), "b");
    mistaken.sends(&Request::get("/schema"));
    assert!(!mistaken.listens().is_ok_and(|answer| answer.is_some()));
    assert_eq!(cluster["a"].seen().len(), 1);
}

#[test]
fn every_switch_does_what_it_says() {
    let cluster = Cluster::of(&["a"]);
    let node = &cluster["a"];
    let ask = |way| {
        node.next([way]);
        let mut client = Conversation::open(node.addr());
        client.sends(&Request::get("/schema"));
        client
    };

    assert!(ask(Way::Resets).is_closed_within(wait::SOON));
    assert!(ask(Way::ClosesWithoutAnswer).is_closed_within(wait::SOON));
    assert!(ask(Way::HangsBeforeHead).is_silent_for(Duration::from_millis(50)));
    assert!(!ask(Way::BreaksOffInBody).hears().is_whole);
    ask(Way::Crumbs(Duration::ZERO)).hears().is(200);
    assert!(
        ask(Way::Raw(b"rubbish\r\n\r\n".to_vec()))
            .listens()
            .is_err()
    );
    let reply = Reply::new(418)
        .after(&[103, 100])
        .framed(Framing::Chunks(3))
        .body("teapot");
    let answer = ask(Way::Says(reply)).hears();
    assert_eq!(
        (answer.status, answer.interim.as_slice()),
        (418, [103, 100].as_slice())
    );
    assert_eq!(answer.text(), "teapot");
}

#[test]
fn a_held_request_waits_for_the_gate_and_is_counted() {
    let cluster = Cluster::of(&["a"]);
    let node = &cluster["a"];
    node.always(Way::Held);
    let mut client = Conversation::open(node.addr());
    client.sends(&Request::get("/schema"));

    wait::until("the request in flight", wait::SOON, || {
        node.in_flight() == 1
    });
    assert!(client.is_silent_for(Duration::from_millis(50)));
    node.lets_go();

    client.hears().is(200);
    assert_eq!(node.most_in_flight(), 1);
}

#[test]
fn readiness_has_every_shape_and_is_no_traffic() {
    let cluster = Cluster::of(&["a"]);
    let node = &cluster["a"];
    let probe = || ask(node.addr(), &Request::get("/ready"));

    assert_eq!(probe().is(200).json()["serving"], true);
    node.says_serving(false);
    assert_eq!(probe().is(200).json()["serving"], false);
    node.is_ready(Ready::without_serving("a"));
    assert!(probe().json().get("serving").is_none());
    node.is_ready(Ready::text("{}").with_status(500));
    probe().is(500);
    node.is_ready(Ready::serving("a", true).broken_off());
    assert!(!probe().is_whole);

    assert_eq!((node.probes().len(), node.seen().len()), (5, 0));
}

#[test]
fn what_is_ambiguous_never_becomes_a_request() {
    let cluster = Cluster::of(&["a"]);
    let node = &cluster["a"];
    let mut client = Conversation::open(node.addr());

    client.says(
        "POST /sql HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    );

    client.hears().is(400);
    assert_eq!((node.seen().len(), node.fragments().len()), (0, 1));
}

#[test]
fn an_idle_connection_is_closed_and_so_is_a_worn_one() {
    let cluster = Cluster::of(&["a"]);
    let node = &cluster["a"];
    node.closes_idle_after(Duration::from_millis(50));
    let mut idle = Conversation::open(node.addr());
    idle.asks(&Request::get("/schema")).is(200);
    assert!(idle.is_closed_within(wait::SOON));

    node.closes_after_requests(1);
    let mut worn = Conversation::open(node.addr());
    worn.asks(&Request::get("/schema")).is(200);
    assert!(worn.is_closed_within(wait::SOON));
}

#[test]
fn a_silent_node_takes_the_connection_and_says_nothing() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].greets(Greeting::Silent);
    let mut client = Conversation::open(cluster["a"].addr());

    client.sends(&Request::get("/schema"));

    assert!(client.is_silent_for(Duration::from_millis(50)));
}

#[test]
fn an_upgrade_is_answered_at_once_and_echoed() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].always(Way::SwitchesAndEchoes);
    let mut client = Conversation::open(cluster["a"].addr());

    let request = Request::get("/watch")
        .field("Connection", "Upgrade")
        .field("Upgrade", "echo");
    client.asks(&request).is(101);
    client.says("frame");

    assert_eq!(client.hears_bytes(5), b"frame");
}
