//! What the door says about itself.

use std::collections::BTreeSet;
use std::time::Duration;

use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Ready, Way};
use gateway_tests::wait;

/// The keys of the outermost object and of each node, in the order of the text.
fn keys_in_order(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let (mut outer, mut nodes) = (Vec::new(), Vec::new());
    let (mut depth, mut word, mut is_inside) = (0_u32, String::new(), false);
    let mut last = String::new();
    for character in text.chars() {
        match (character, is_inside) {
            ('"', false) => (is_inside, word) = (true, String::new()),
            ('"', true) => (is_inside, last) = (false, word.clone()),
            (character, true) => word.push(character),
            ('{', _) => {
                depth += 1;
                if depth == 2 {
                    nodes.push(Vec::new());
                }
            }
            ('}', _) => depth -= 1,
            (':', _) if depth == 1 => outer.push(last.clone()),
            (':', _) => nodes.last_mut().unwrap().push(last.clone()),
            _ => {}
        }
    }
    (outer, nodes)
}

#[test]
fn ready_has_these_keys_in_this_order_and_no_white_space() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].is_ready(Ready::text("{}").with_status(500));
    let door = Door::before(&cluster).without_waiting().opens();
    door.sees_in("a");
    wait::until("b known", wait::SOON, || {
        door.node("b")["why"] == "status_500"
    });

    let text = door.get("/ready").text();

    let (outer, nodes) = keys_in_order(&text);
    assert_eq!(
        outer,
        ["status", "version", "in_rotation", "total", "upstreams"]
    );
    let [a, b] = nodes.as_slice() else {
        panic!("{text}")
    };
    let always = [
        "name",
        "addr",
        "state",
        "in_flight",
        "consecutive_failures",
        "serving",
    ];
    let reported = ["node", "shards", "wire", "last_ok_ms"];
    assert_eq!(*a, [&always[..], &reported].concat());
    assert_eq!(*b, [&always[..], &["why", "last_ok_ms"]].concat());
    assert!(!text.contains([' ', '\n', '\t']), "{text}");
}

#[test]
fn ready_shows_what_the_nodes_report() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    let ready = door.get("/ready").json();

    let node = &ready["upstreams"][0];
    assert_eq!(
        (ready["status"].as_str(), ready["in_rotation"].as_u64()),
        (Some("ready"), Some(1))
    );
    assert!(ready["version"].is_string());
    assert_eq!(node["addr"], cluster["a"].addr().to_string());
    assert_eq!(
        (node["node"].as_str(), node["shards"].as_str()),
        (Some("a"), Some("0..64"))
    );
    assert_eq!(
        (node["wire"].as_u64(), node["serving"].as_bool()),
        (Some(7), Some(true))
    );
    assert!(node["last_ok_ms"].is_u64());
}

#[test]
fn ready_is_503_with_nobody_in_rotation() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].says_serving(false);
    let door = Door::before(&cluster).without_waiting().opens();
    wait::until("a verdict", wait::SOON, || {
        door.node("a")["why"] == "not_serving"
    });

    let ready = door.get("/ready");

    ready.is(503);
    assert_eq!(ready.field("retry-after"), Some("1"));
    let document = ready.json();
    assert_eq!(document["status"], "unavailable");
    assert_eq!(
        (document["in_rotation"].as_u64(), document["total"].as_u64()),
        (Some(0), Some(1))
    );
    assert_eq!(document["upstreams"][0]["serving"], false);
}

#[test]
fn ready_neither_probes_nor_waits() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "60s")
        .opens();
    cluster.always(&Way::HangsBeforeHead);
    let probes = cluster["a"].probes().len();
    let mut client = door.connect();

    for _ in 0..200 {
        client.asks(&Request::get("/ready")).is(200);
    }

    assert_eq!(cluster["a"].probes().len(), probes);
}

#[test]
fn health_answers_whatever_the_nodes_do() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].refuses();
    let door = Door::before(&cluster).without_waiting().opens();

    assert_eq!(door.get("/health").is(200).text(), "{\"status\":\"ok\"}");
}

#[test]
fn serving_is_told_in_three_values() {
    let cluster = Cluster::of(&["yes", "no", "mute"]);
    cluster["no"].says_serving(false);
    cluster["mute"].is_ready(Ready::without_serving("mute"));
    let door = Door::before(&cluster).without_waiting().opens();
    door.sees_in("yes");
    door.sees_in("mute");
    wait::until("no known", wait::SOON, || {
        door.node("no")["why"] == "not_serving"
    });

    let metrics = door.metrics();

    let of = |family: &str, node: &str| metrics.number(&format!("{family}{{node=\"{node}\"}}"));
    let serving = ["yes", "no", "mute"].map(|node| of("big_proxy_upstream_serving", node) as i64);
    let up = ["yes", "no", "mute"].map(|node| of("big_proxy_upstream_up", node) as i64);
    assert_eq!((serving, up), ([1, 0, -1], [1, 0, 1]));
    assert_eq!(metrics.number("big_proxy_upstreams_in_rotation") as i64, 2);
}

#[test]
fn metrics_count_what_happened() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let before = door.metrics();

    door.post("/sql", "0123456789").is(200);
    door.get("/nowhere").is(404);
    door.get("/internal/query").is(404);

    let after = door.metrics();
    let rise = |name: &str| (after.number(name) - before.of(name).unwrap_or(0.0)) as i64;
    assert_eq!(rise("big_proxy_route_denied_total"), 2);
    assert_eq!(rise("big_proxy_responses_total{class=\"4xx\"}"), 2);
    assert!(rise("big_proxy_requests_total") >= 3);
    assert!(rise("big_proxy_request_bytes_total") >= 10);
    assert!(rise("big_proxy_response_bytes_total") > 0);
    assert!(rise("big_proxy_request_duration_seconds_count") >= 1);
}

#[test]
fn requests_in_flight_are_shown_while_they_are() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Held);
    let door = Door::before(&cluster).opens();
    let mut clients: Vec<_> = (0..3).map(|_| door.connect()).collect();
    for client in &mut clients {
        client.sends(&Request::get("/schema"));
    }
    wait::until("three in flight", wait::SOON, || {
        cluster["a"].in_flight() == 3
    });

    let gauge = "big_proxy_upstream_in_flight{node=\"a\"}";
    assert_eq!(door.metrics().number(gauge) as i64, 3);
    assert_eq!(door.node("a")["in_flight"], 3);
    cluster["a"].lets_go();
    for client in &mut clients {
        client.hears().is(200);
    }
    wait::until("none in flight", wait::SOON, || {
        door.metrics().number(gauge) as i64 == 0
    });
}

#[test]
fn a_range_that_nobody_serves_is_counted_and_said() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let text = format!(
        "schema_leader = \"a\"\n\
         [[node]]\nname = \"a\"\naddr = \"{}\"\nshards = \"0..64\"\n\
         [[node]]\nname = \"b\"\naddr = \"{}\"\nshards = \"64..\"\n\
         [[node]]\nname = \"c\"\naddr = \"{}\"\nreplica = \"a\"\n",
        cluster["a"].addr(),
        cluster["b"].addr(),
        cluster["c"].addr()
    );
    let door = Plan::alone()
        .file("--cluster", "cluster.toml", &text)
        .opens();
    for node in ["a", "b", "c"] {
        door.sees_in(node);
    }
    let lost = || door.metrics().number("big_proxy_shards_without_node") as i64;
    assert_eq!(lost(), 0);

    cluster["a"].says_serving(false);
    door.sees_out("a");
    assert_eq!(lost(), 0, "its copy serves the range");
    let lines = door.log().all().len();
    cluster["b"].says_serving(false);
    door.sees_out("b");

    wait::until("the range counted", wait::SOON, || lost() == 1);
    wait::until("a line about it", wait::SOON, || {
        door.log().all()[lines..]
            .iter()
            .any(|line| line.contains("64.."))
    });
}

#[test]
fn a_door_with_nothing_to_do_answers_while_nodes_hang() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::HangsBeforeHead);
    let door = Door::before(&cluster).opens();
    let mut stuck: Vec<_> = (0..40).map(|_| door.connect()).collect();
    for client in &mut stuck {
        client.sends(&Request::get("/schema"));
    }
    wait::until("all slots taken", wait::SOON, || {
        cluster["a"].in_flight() == 32
    });

    let names: BTreeSet<u16> = (0..50).map(|_| door.get("/health").status).collect();

    assert_eq!(names, BTreeSet::from([200]));
    assert!(
        stuck
            .pop()
            .unwrap()
            .is_silent_for(Duration::from_millis(20))
    );
}

#[test]
fn scrapes_at_the_same_time_are_each_complete() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = Door::before(&cluster).set("--workers", "4").opens();

    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = door.connect();
                for _ in 0..250 {
                    let text = client.asks(&Request::get("/metrics")).text();
                    assert_eq!(text.matches("big_proxy_upstream_up{").count(), 3);
                }
            });
        }
    });
}
