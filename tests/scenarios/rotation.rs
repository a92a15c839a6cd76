//! Leaving and returning: streaks, the floor, and what goes round it.

use std::thread;
use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Ready};
use gateway_tests::wait;

/// The floor of the contract, and a little.
const FLOOR: Duration = Duration::from_secs(6);

fn failure() -> Ready {
    Ready::text("{}").with_status(500)
}

fn good() -> Ready {
    Ready::serving("a", true)
}

/// Waits until every node has been in rotation for longer than the floor.
fn outlives_the_floor(door: &Door) {
    let begun = clock::now();
    wait::until("the floor behind us", wait::EVENTUALLY, || {
        begun.elapsed() > FLOOR + Duration::from_millis(200)
    });
    assert!(door.is_in("a"));
}

#[test]
fn not_serving_leaves_at_once_whatever_the_floor() {
    let cluster = Cluster::of(&["a", "b"]);
    let begun = clock::now();
    let door = Door::before(&cluster).opens();

    cluster["a"].says_serving(false);
    door.sees_out("a");

    assert!(
        begun.elapsed() < FLOOR,
        "left only after {:?}",
        begun.elapsed()
    );
    assert_eq!(door.node("a")["why"], "not_serving");
    cluster.forgets();
    for _ in 0..6 {
        door.get("/schema").is(200);
    }
    assert_eq!(cluster["a"].seen().len(), 0);
}

#[test]
fn a_node_in_for_less_than_the_floor_is_not_ejected_by_count() {
    let cluster = Cluster::of(&["a", "b"]);
    let begun = clock::now();
    let door = Door::before(&cluster).opens();

    cluster["a"].dies();
    wait::until("a streak longer than three", wait::SOON, || {
        door.node("a")["consecutive_failures"].as_u64() > Some(5)
    });
    assert!(
        door.is_in("a"),
        "the streak counts on and ejects nobody yet"
    );
    door.sees_out("a");

    assert!(begun.elapsed() >= FLOOR, "left after {:?}", begun.elapsed());
    assert_eq!(door.node("a")["why"], "unreachable");
}

#[test]
fn two_failures_do_not_eject_however_often_they_come() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    outlives_the_floor(&door);

    cluster["a"].forgets();
    let round = || [failure(), failure(), good()];
    cluster["a"].next_probes([round(), round(), round(), round(), round()].concat());
    wait::until("all of them", wait::SOON, || {
        cluster["a"].probes().len() > 16
    });

    assert!(door.is_in("a"));
    assert!(
        door.log()
            .saying("rotation")
            .iter()
            .all(|line| line.text("in") != "false")
    );
}

#[test]
fn three_failures_in_a_row_leave_and_two_good_probes_in_a_row_return() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    outlives_the_floor(&door);
    wait::until("the line of its start", wait::SOON, || {
        !door.log().saying("rotation").is_empty()
    });
    let before = door.log().saying("rotation").len();

    cluster["a"].forgets();
    cluster["a"].next_probes([
        failure(),
        failure(),
        failure(),
        good(),
        failure(),
        failure(),
    ]);
    door.sees_out("a");
    door.sees_in("a");

    // Three to leave, a single good one that does not return, two bad ones, two to return.
    assert!(cluster["a"].probes().len() >= 8);
    let states = || -> Vec<String> {
        let lines = door.log().saying("rotation");
        lines[before..].iter().map(|line| line.text("in")).collect()
    };
    wait::until("the line of its return", wait::SOON, || states().len() >= 2);
    assert_eq!(states(), ["false", "true"]);
}

#[test]
fn traffic_that_goes_well_does_not_save_a_node_whose_probes_fail() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    cluster["a"].is_ready(failure());

    wait::until("a out", wait::EVENTUALLY, || {
        let _ = door.get("/schema");
        !door.is_in("a")
    });

    assert_eq!(door.node("a")["why"], "status_500");
    assert!(cluster["a"].seen().len() > 3);
}

#[test]
fn with_everybody_out_many_requests_reach_nobody_and_say_nothing_more_than_the_changes() {
    const CLIENTS: usize = 8;
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "50ms")
        .set("--health-timeout", "50ms")
        .opens();
    for round in 1..=2 {
        cluster
            .nodes()
            .iter()
            .for_each(|node| node.says_serving(false));
        cluster
            .nodes()
            .iter()
            .for_each(|node| door.sees_out(node.name()));
        cluster.forgets();
        thread::scope(|all| {
            for _ in 0..CLIENTS {
                all.spawn(|| {
                    let mut kept = door.connect();
                    for _ in 0..250 {
                        let answer = kept.asks(&Request::get("/schema"));
                        assert_eq!(answer.is(503).field("retry-after"), Some("1"));
                    }
                });
            }
        });
        let all = door.metrics();
        assert_eq!(all.of("big_proxy_upstreams_in_rotation"), Some(0.0));
        assert_eq!(all.of("big_proxy_upstream_up{node=\"a\"}"), Some(0.0));
        assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));

        cluster
            .nodes()
            .iter()
            .for_each(|node| node.says_serving(true));
        cluster
            .nodes()
            .iter()
            .for_each(|node| door.sees_in(node.name()));
        // In at the start; out and in again in each round.
        assert_eq!(door.log().saying("rotation").len(), 2 + 4 * round);
    }
}

#[test]
fn a_node_that_comes_back_takes_requests_again() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["a"].refuses();
    let door = Door::before(&cluster).without_waiting().opens();
    door.sees_in("b");
    assert!(!door.is_in("a"));

    cluster["a"].comes_back();
    door.sees_in("a");

    for _ in 0..4 {
        door.get("/schema").is(200);
    }
    assert_eq!(
        (cluster["a"].seen().len(), cluster["b"].seen().len()),
        (2, 2)
    );
}

#[test]
fn every_node_down_is_said_and_every_node_back_is_served() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).opens();
    cluster["a"].dies();
    cluster["b"].dies();
    door.sees_out("a");
    door.sees_out("b");

    door.get("/schema").fails_with(503, "no_healthy_upstream");
    door.get("/ready").is(503);
    cluster["a"].comes_back();
    cluster["b"].comes_back();
    door.sees_in("a");
    door.sees_in("b");

    door.get("/schema").is(200);
    door.get("/ready").is(200);
}
