//! What a door believes of its nodes at the start, and what it learns from traffic.

use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Greeting, Ready, Reply, Way};
use gateway_tests::wait;

/// A door that probes once and then leaves the word to traffic.
fn left_to_traffic(cluster: &Cluster) -> Plan {
    Door::before(cluster).set("--health-interval", "60s")
}

#[test]
fn the_first_verdict_decides_alone() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    cluster["b"].refuses();
    cluster["c"].says_serving(false);

    let door = Door::before(&cluster).without_waiting().opens();
    wait::until("the first round", wait::SOON, || {
        door.get("/ready").status == 200
    });

    assert!(door.is_in("a"));
    assert_eq!(door.node("b")["why"], "unreachable");
    assert_eq!(door.node("c")["why"], "not_serving");
    for _ in 0..12 {
        door.get("/schema").is(200);
    }
    assert_eq!(cluster["a"].seen().len(), 12);
}

#[test]
fn the_first_round_is_awaited_before_ready_says_ready() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].is_ready(Ready::serving("a", true).after(Duration::from_millis(600)));
    let door = left_to_traffic(&cluster).without_waiting().opens();

    let mut answers = Vec::new();
    wait::until("ready", wait::SOON, || {
        answers.push(door.get("/ready"));
        answers.last().is_some_and(|answer| answer.status == 200)
    });

    let first_ready = answers.pop().unwrap().json();
    assert_eq!(first_ready["in_rotation"], 1);
    assert!(first_ready["upstreams"][0]["last_ok_ms"].is_u64());
    assert!(
        answers
            .iter()
            .all(|answer| answer.json()["status"] == "unavailable")
    );
}

#[test]
fn a_first_round_without_an_answer_is_awaited_no_longer_than_its_time_limit() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].greets(Greeting::Silent);
    let door = Door::before(&cluster)
        .set("--health-interval", "300")
        .without_waiting()
        .opens();

    wait::until("ready", wait::SOON, || door.get("/ready").status == 200);

    assert_eq!(door.node("b")["why"], "timeout");
}

#[test]
fn a_probe_has_a_connection_of_its_own_and_carries_no_credential() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    for _ in 0..5 {
        client
            .asks(&Request::get("/schema").field("Authorization", "Basic eDp5"))
            .is(200);
    }
    wait::until("more probes", wait::SOON, || {
        cluster["a"].probes().len() > 3
    });

    let used: Vec<u64> = cluster["a"]
        .seen()
        .iter()
        .map(|seen| seen.connection)
        .collect();
    for probe in cluster["a"].probes() {
        assert!(!used.contains(&probe.connection));
        assert_eq!(
            (probe.method.as_str(), probe.target.as_str()),
            ("GET", "/ready")
        );
        assert_eq!(probe.head.first("authorization"), None);
        assert_eq!(
            probe.head.first("host"),
            Some(cluster["a"].addr().to_string().as_str())
        );
    }
}

#[test]
fn at_most_one_probe_per_node_is_under_way() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].greets(Greeting::Silent);
    // The first probe of `b` runs out of time, the second takes as long as sixty intervals.
    let door = Door::before(&cluster)
        .set("--health-interval", "50")
        .set("--health-timeout", "3s")
        .without_waiting()
        .opens();
    cluster["a"].forgets();

    wait::until("probes of the other node", wait::SOON, || {
        cluster["a"].probes().len() >= 10
    });

    assert!(
        cluster["b"].accepted() <= 2,
        "{} probes",
        cluster["b"].accepted()
    );
    drop(door);
}

#[test]
fn nobody_in_rotation_means_no_byte_to_any_node() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["a"].says_serving(false);
    cluster["b"].is_ready(Ready::text("{}"));
    let door = Door::before(&cluster).without_waiting().opens();

    for number in 0..20 {
        let answer = match number % 2 {
            0 => door.get("/schema"),
            _ => door.post("/sql", "x"),
        };
        answer.fails_with(503, "no_healthy_upstream");
        assert_eq!(answer.field("retry-after"), Some("1"));
    }

    assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));
    assert!((door.metrics().number("big_proxy_no_upstream_total") - 20.0).abs() < 0.5);
}

#[test]
fn a_transport_failure_of_traffic_counts_as_one_failure_at_once() {
    let cluster = Cluster::of(&["a"]);
    let door = left_to_traffic(&cluster).opens();
    cluster["a"].refuses();

    for failures in 1..=4 {
        door.get("/schema").fails_with(502, "upstream_unreachable");
        assert_eq!(door.node("a")["consecutive_failures"], failures);
    }
}

#[test]
fn traffic_alone_ejects_a_node_once_the_floor_is_behind_it() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = left_to_traffic(&cluster).opens();
    cluster["a"].dies();

    wait::until("a out by traffic", wait::EVENTUALLY, || {
        door.get("/schema").is(200);
        !door.is_in("a")
    });

    assert_eq!(cluster["a"].probes().len(), 1);
    assert!(door.is_in("b"));
}

#[test]
fn an_answer_of_any_status_counts_against_nobody() {
    let cluster = Cluster::of(&["a"]);
    let door = left_to_traffic(&cluster).opens();
    for status in [400, 404, 500, 502, 503, 504, 500, 599] {
        cluster.next([Way::Says(Reply::new(status))]);
        door.post("/sql", "x").is(status);
    }

    assert_eq!(door.node("a")["consecutive_failures"], 0);
}

#[test]
fn a_spent_budget_counts_against_nobody() {
    let cluster = Cluster::of(&["a"]);
    let door = left_to_traffic(&cluster)
        .set("--query-timeout", "200ms")
        .opens();
    cluster.always(&Way::HangsBeforeHead);

    for _ in 0..4 {
        door.post("/sql", "x").fails_with(504, "upstream_timeout");
    }

    assert_eq!(door.node("a")["consecutive_failures"], 0);
    assert!(door.is_in("a"));
}

#[test]
fn a_completed_exchange_ends_the_streak_of_traffic() {
    let cluster = Cluster::of(&["a"]);
    let door = left_to_traffic(&cluster).opens();
    cluster.next([Way::Resets, Way::Resets, Way::Says(Reply::new(500))]);

    door.post("/sql", "1").is(502);
    door.post("/sql", "2").is(502);
    assert_eq!(door.node("a")["consecutive_failures"], 2);
    door.post("/sql", "3").is(500);

    assert_eq!(door.node("a")["consecutive_failures"], 0);
}

#[test]
fn a_cluster_with_tls_is_probed_over_tls() {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&["a", "b"], &authority);

    let door = Door::before(&cluster)
        .file("--upstream-ca", "ca.pem", authority.pem())
        .opens();

    door.post("/table/t/import", "1").is(200);
    door.get("/table/t/records").is(200);
    assert!(cluster["a"].probes().len() + cluster["b"].probes().len() >= 2);
}

#[test]
fn a_certificate_for_another_name_is_unreachable() {
    let authority = Authority::new();
    let wrong = authority.signs(&["somebody-else", "127.0.0.1"]);
    let right = authority.signs(&["b"]);
    let cluster = Cluster::showing(&[("a", &wrong), ("b", &right)]);

    let door = Door::before(&cluster)
        .file("--upstream-ca", "ca.pem", authority.pem())
        .without_waiting()
        .opens();
    wait::until("the first round", wait::SOON, || {
        door.get("/ready").status == 200
    });

    assert_eq!(door.node("a")["why"], "unreachable");
    assert!(door.is_in("b"));
    assert!(cluster["a"].probes().is_empty());
}

#[test]
fn a_certificate_of_a_stranger_is_unreachable() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let cluster = Cluster::with_tls(&["a"], &theirs);

    let door = Door::before(&cluster)
        .file("--upstream-ca", "ca.pem", ours.pem())
        .without_waiting()
        .opens();
    wait::until("a verdict", wait::SOON, || {
        door.node("a")["why"] == "unreachable"
    });

    door.get("/schema").fails_with(503, "no_healthy_upstream");
}

#[test]
fn without_verification_any_certificate_will_do() {
    let stranger = Authority::new();
    let wrong = stranger.signs(&["somebody-else"]);
    let cluster = Cluster::showing(&[("a", &wrong)]);

    let door = Door::before(&cluster)
        .switch("--insecure-skip-verify")
        .opens();

    door.get("/schema").is(200);
}
