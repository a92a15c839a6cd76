//! Connections to nodes: kept, counted, and left before the node leaves.

use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

fn quiet(cluster: &Cluster) -> Plan {
    Door::before(cluster).set("--health-interval", "60s")
}

#[test]
fn a_connection_to_a_node_is_used_again() {
    let cluster = Cluster::of(&["a"]);
    let door = quiet(&cluster).opens();

    for _ in 0..20 {
        door.post("/sql", "x").is(200);
    }

    let places: Vec<usize> = cluster["a"].seen().iter().map(|seen| seen.index).collect();
    assert_eq!(places, (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_connection_carries_900_requests_and_the_last_one_says_so() {
    let cluster = Cluster::of(&["a"]);
    let door = quiet(&cluster).opens();
    let mut client = door.connect();

    for _ in 0..905 {
        client.asks(&Request::post("/sql", "x")).is(200);
    }

    let seen = cluster["a"].seen();
    let closing: Vec<usize> = seen
        .iter()
        .filter(|seen| seen.head.lists("connection", "close"))
        .map(|seen| seen.index)
        .collect();
    assert_eq!(closing, [900]);
    assert_eq!(seen.iter().map(|seen| seen.index).max(), Some(900));
    assert_ne!(seen[899].connection, seen[900].connection);
}

#[test]
fn an_idle_connection_to_a_node_is_left_after_three_seconds() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].closes_idle_after(Duration::from_secs(60));
    let door = quiet(&cluster).opens();
    door.get("/schema").is(200);
    let idle_since = clock::now();

    wait::until("left by the door", wait::EVENTUALLY, || {
        cluster["a"].open_connections() == 0
    });

    let kept = idle_since.elapsed();
    assert!(kept >= Duration::from_millis(2900), "left after {kept:?}");
    assert!(kept < Duration::from_millis(4900), "left after {kept:?}");
}

#[test]
fn a_pause_as_long_as_the_nodes_patience_costs_no_request() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["a"].closes_idle_after(Duration::from_millis(100));
    cluster["b"].closes_idle_after(Duration::from_millis(100));
    let door = quiet(&cluster).opens();

    for round in 0..40_u64 {
        let pause = Duration::from_millis(90 + round % 20);
        let begun = clock::now();
        wait::until("the pause over", wait::SOON, || begun.elapsed() >= pause);
        door.get("/schema").is(200);
    }

    assert_eq!(door.node("a")["state"], "in");
}

#[test]
fn a_node_that_says_close_is_taken_at_its_word() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].closes_after_requests(1);
    let door = quiet(&cluster).opens();

    for _ in 0..10 {
        door.get("/schema").is(200);
    }

    assert!(cluster["a"].seen().iter().all(|seen| seen.index == 1));
}
