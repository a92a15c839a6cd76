//! Clients, nodes and signals that mean no good, or come at the wrong moment.

use std::fs;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Greeting, Way};
use gateway_tests::wait;
use nix::sys::signal::{Signal, kill};

#[test]
fn clients_that_take_every_descriptor_take_no_node_out_of_rotation() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .set("--health-fail", "1")
        .with_descriptors(64)
        .opens();
    let mut served = door.connect();
    served.asks(&Request::get("/schema")).is(200);

    let idle: Vec<Conversation> = (0..100).map(|_| door.connect()).collect();
    let begun = clock::now();
    while begun.elapsed() < Duration::from_secs(8) {
        served.asks(&Request::get("/schema")).is(200);
    }

    let ready = served.asks(&Request::get("/ready")).json();
    assert_eq!(ready["in_rotation"], 2);
    let said = door.log().saying("cannot accept").len();
    assert!((1..=10).contains(&said), "said {said} times");
    drop(idle);
    door.get("/schema").is(200);
}

#[test]
fn a_client_that_leaves_gives_its_slot_back_however_much_it_sent_ahead() {
    for ahead in [1, 100_000] {
        let cluster = Cluster::of(&["a"]);
        cluster.always(&Way::Held);
        let door = Door::before(&cluster).set("--in-flight", "1").opens();
        let mut client = door.connect();
        client.says("GET /schema HTTP/1.1\r\nHost: d\r\n\r\n");
        client.says("x".repeat(ahead));
        wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

        drop(client);

        wait::until("the slot back", wait::SOON, || {
            door.node("a")["in_flight"] == 0
        });
        cluster["a"].lets_go();
    }
}

#[test]
fn bytes_a_node_sends_unasked_answer_nobody() {
    let stray = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright\
                 HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong";
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Raw(stray.into()));
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();

    for _ in 0..50 {
        let answer = client.asks(&Request::get("/schema"));
        assert_eq!((answer.status, answer.text().as_str()), (200, "right"));
    }
}

#[test]
fn connections_still_in_the_queue_are_answered_before_the_end() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    door.signal(Signal::SIGSTOP);
    let mut waiting: Vec<Conversation> = (0..20).map(|_| door.connect()).collect();
    for client in &mut waiting {
        client.sends(&Request::get("/schema"));
    }

    door.stops();
    door.signal(Signal::SIGCONT);

    for client in &mut waiting {
        client.hears().is(200);
    }
    assert!(door.ends_within(wait::SOON).success());
}

#[test]
fn a_hangup_during_the_first_round_of_probes_is_not_the_end() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].greets(Greeting::Silent);
    let door = Door::before(&cluster)
        .set("--health-timeout", "2s")
        .without_waiting()
        .opens_while(|pid| {
            wait::until("the first probe", wait::SOON, || {
                cluster["a"].accepted() > 0
            });
            kill(pid, Signal::SIGHUP).unwrap();
        });

    door.get("/health").is(200);
}

#[test]
fn an_access_log_that_was_moved_away_is_opened_again_on_usr1() {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster);
    let log = plan.path("access.log");
    let moved = plan.path("access.log.1");
    let door = plan.set("--access-log", &log.to_string_lossy()).opens();
    door.get("/schema").is(200);
    let lines =
        |path: &std::path::Path| fs::read_to_string(path).unwrap_or_default().lines().count();
    wait::until("a line", wait::SOON, || lines(&log) > 0);

    fs::rename(&log, &moved).unwrap();
    door.signal(Signal::SIGUSR1);

    wait::until("a line in a file opened again", wait::SOON, || {
        door.get("/schema").is(200);
        lines(&log) > 0
    });
    assert!(door.is_running());
}

#[test]
fn connections_that_linger_count_as_open() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).with_descriptors(64).opens();
    let mut served = door.connect();
    served.asks(&Request::get("/schema")).is(200);

    let mut refused = Vec::new();
    for _ in 0..100 {
        // Refused with bytes unread: each of these lingers for as long as its client stays.
        let mut client = Conversation::open(door.addr());
        client.says("BAD\r\n\r\nand more");
        refused.push(client);
        served.asks(&Request::get("/schema")).is(200);
    }
}
