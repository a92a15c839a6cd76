//! Request bodies: read whole first, bounded, and never at a node's expense.

use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::{clock, wait};

const MIB: usize = 1024 * 1024;
const SOME_TIME: Duration = Duration::from_millis(300);

fn half_sent(door: &Door, body: &[u8]) -> Conversation {
    let request = Request::post("/sql", body);
    let bytes = request.bytes();
    let mut client = door.connect();
    client.sends_part(&request, &bytes[..bytes.len() - body.len() / 2]);
    client
}

#[test]
fn a_slow_client_never_holds_a_node() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).set("--in-flight", "1").opens();
    let mut slow = half_sent(&door, b"half of this body comes later on");
    door.settles();

    assert_eq!(door.node("a")["in_flight"], 0);
    door.post("/sql", "somebody else").is(200);
    slow.says("comes later on !");

    slow.hears().is(200);
    assert_eq!(cluster.requests(), 2);
}

#[test]
fn a_slow_head_is_408_by_one_deadline_however_the_bytes_come() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster)
        .set("--read-timeout", "500ms")
        .opens();
    let mut client = door.connect();
    let begun = clock::now();

    client.says_in_crumbs(
        "GET /schema HTTP/1.1\r\nHost: door.test\r\n",
        SOME_TIME / 10,
    );

    client.hears().fails_with(408, "request_timeout");
    assert!(client.is_closed_within(wait::SOON));
    assert!(begun.elapsed() >= Duration::from_millis(500));
    assert_eq!(cluster.requests(), 0);
}

#[test]
fn a_gap_in_a_body_is_408_and_a_steady_trickle_is_not() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).set("--read-timeout", "1s").opens();

    let mut silent = half_sent(&door, b"0123456789");
    let request = Request::post("/sql", "0123456789ab");
    let bytes = request.bytes();
    let (head, body) = bytes.split_at(bytes.len() - 12);
    let mut steady = door.connect();
    steady
        .sends_part(&request, head)
        .says_in_crumbs(body, Duration::from_millis(150));

    steady.hears().is(200);
    silent.hears().fails_with(408, "request_timeout");
    assert!(silent.is_closed_within(wait::SOON));
    assert_eq!(cluster.requests(), 1);
}

#[test]
fn a_connection_that_never_sends_a_byte_is_closed_silently() {
    let cluster = Cluster::of(&["a"]);
    let door = idle_after_300_ms(&cluster);
    let mut client = door.connect();

    assert!(client.is_closed_within(wait::SOON));
}

#[test]
fn an_idle_connection_is_closed_silently() {
    let cluster = Cluster::of(&["a"]);
    let door = idle_after_300_ms(&cluster);
    let mut client = door.connect();
    client.asks(&Request::get("/anything"));

    assert!(client.is_closed_within(wait::SOON));
}

fn idle_after_300_ms(cluster: &Cluster) -> Door {
    Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\nidle = \"300ms\"\n\
         [listeners.edge.head]\ntimeout = \"300ms\"\n\
         [sites.shop]\nlistener = \"edge\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [\"{}\"]\nprobe = {{ kind = \"ready\" }}\n",
        cluster["a"].addr()
    ))
}

#[test]
fn continue_is_said_once_route_and_length_are_accepted() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let request = Request::post("/sql", "worth waiting for").field("Expect", "100-continue");
    let mut client = door.connect();
    client.sends_part(&request, &request.head_bytes());

    let first = client.hears_bytes(b"HTTP/1.1 100 Continue\r\n\r\n".len());
    assert_eq!(first, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.says("worth waiting for");

    client.hears().is(200);
    assert_eq!(cluster["a"].seen()[0].head.first("expect"), None);
}

#[test]
fn who_has_been_told_to_continue_is_not_announced_to_the_node_as_waiting() {
    let cluster = Cluster::of(&["a"]);
    for body in ["stream", "buffer"] {
        let door = Door::configured(&format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n\
             [sites.shop]\nlistener = \"edge\"\n\
             [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
             body = {{ {body} = \"1 MiB\" }}\n\
             [pools.shop]\nnodes = [\"{}\"]\n",
            cluster["a"].addr()
        ));
        for (said, is_told, is_sent) in [
            ("100-continue", true, false),
            ("100-Continue", true, false),
            ("x", false, true),
        ] {
            cluster.forgets();
            let request = Request::post("/sql", "worth waiting for").field("Expect", said);
            let mut client = door.connect();
            client.sends_part(&request, &request.head_bytes());
            if is_told {
                let word = b"HTTP/1.1 100 Continue\r\n\r\n";
                assert_eq!(client.hears_bytes(word.len()), word, "{said}");
            }
            let answer = client.says("worth waiting for").hears();
            assert!(answer.is(200).interim.is_empty(), "{said}");
            let seen = cluster["a"].seen();
            assert_eq!(seen[0].head.first("expect").is_some(), is_sent, "{said}");
            assert_eq!(seen[0].body, b"worth waiting for");
        }
        // RFC 9110 §10.1.1: of HTTP/1.0 it is ignored.
        let old = Request::post("/sql", "x").field("Expect", "100-continue");
        let old = String::from_utf8(old.bytes()).unwrap();
        let mut client = door.connect();
        let answer = client.says(old.replace("HTTP/1.1", "HTTP/1.0")).hears();
        assert!(answer.is(200).interim.is_empty());
        let seen = cluster["a"].seen();
        assert_eq!(seen[1].head.first("expect"), None);
    }
}

#[test]
fn continue_is_not_said_for_a_route_that_is_none() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let request = Request::post("/internal/query", "x").field("Expect", "100-continue");
    let mut client = door.connect();

    let answer = client.sends_part(&request, &request.head_bytes()).hears();

    answer.fails_with(404, "no_such_route");
    assert!(answer.interim.is_empty());
}

#[test]
fn continue_is_not_said_for_a_body_that_is_too_large() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    client.says(
        "POST /sql HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n",
    );

    let answer = client.hears();

    answer.fails_with(413, "request_too_large");
    assert!(answer.interim.is_empty());
}

#[test]
fn eight_mebibytes_pass_counted_or_chunked_and_leave_counted() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let body = "x".repeat(8 * MIB);

    door.post("/table/t/delete", &body).is(200);
    door.ask(&Request::post("/table/t/delete", &body).in_chunks_of(60_000))
        .is(200);

    assert_eq!(cluster.times_seen(&body), 2);
    for seen in cluster["a"].seen() {
        assert_eq!(seen.head.first("content-length"), Some("8388608"));
        assert_eq!(seen.head.first("transfer-encoding"), None);
    }
}

#[test]
fn a_chunked_body_is_counted_as_it_comes() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let body = "x".repeat(8 * MIB + 1);
    let mut client = door.connect();

    let answer = client.asks(&Request::post("/sql", &body).in_chunks_of(MIB));

    answer.fails_with(413, "request_too_large");
    assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));
}

#[test]
fn memory_for_bodies_is_bounded_overall() {
    let cluster = Cluster::of(&["a"]);
    let door = with_body_memory(&cluster, "1 MiB");
    let large = vec![b'x'; MIB - 100_000];
    let mut first = half_sent(&door, &large);
    door.settles();

    let refused = door.post("/sql", &"y".repeat(MIB - 100_000));

    refused.fails_with(503, "overloaded");
    assert_eq!(refused.field("retry-after"), Some("1"));
    first.says(&large[large.len() - large.len() / 2..]);
    first.hears().is(200);
    wait::until("the memory back", wait::SOON, || {
        door.post("/sql", &"y".repeat(MIB - 100_000)).status == 200
    });
}

#[test]
fn a_client_that_goes_away_gives_its_memory_back() {
    let cluster = Cluster::of(&["a"]);
    let door = with_body_memory(&cluster, "1 MiB");
    let large = vec![b'x'; MIB - 100_000];

    for _ in 0..5 {
        drop(half_sent(&door, &large));
    }

    wait::until("the memory back", wait::SOON, || {
        door.post("/sql", &"y".repeat(MIB - 100_000)).status == 200
    });
}

fn with_body_memory(cluster: &Cluster, memory: &str) -> Door {
    let door = Plan::configured(&format!(
        "workers = 1\n[limits]\nbody_memory = \"{memory}\"\n\
         [front_door.door]\nlisten = \"127.0.0.1:0\"\n\
         [front_door.door.upstreams]\na = \"{}\"\n",
        cluster["a"].addr()
    ))
    .opens();
    door.sees_in("a");
    door
}

#[test]
fn an_answer_is_streamed_and_not_collected_first() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    cluster.next([Way::HangsInBody]);
    let mut client = door.connect();
    client.sends(&Request::post("/sql", "a body to be echoed in halves"));

    let head = client.hears_bytes(12);

    assert_eq!(head, b"HTTP/1.1 200");
    drop(client);
    wait::until("the slot free", wait::SOON, || {
        door.node("a")["in_flight"] == 0
    });
}
