//! Trying again, and above all not trying again.

use std::collections::BTreeSet;
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Greeting, Reply, Way};
use gateway_tests::wait;

fn quiet(cluster: &Cluster) -> Plan {
    Door::before(cluster)
        .set("--health-interval", "60s")
        .set("--health-fail", "255")
}

#[test]
fn a_write_is_never_seen_twice_when_the_node_dies_mid_request() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster.always(&Way::Held);
    let door = quiet(&cluster).opens();
    let mut client = door.connect();
    client.sends(&Request::post("/table/t/import", "precious"));
    wait::until("a node has it", wait::SOON, || {
        cluster.times_seen("precious") == 1
    });

    let node = cluster
        .nodes()
        .iter()
        .find(|node| node.in_flight() == 1)
        .unwrap();
    node.dies();

    let answer = client.hears();
    answer.fails_with(502, "upstream_unreachable");
    assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
    assert!(
        answer.sentence().contains(node.name()),
        "{}",
        answer.sentence()
    );
    assert_eq!(cluster.times_seen("precious"), 1);
}

#[test]
fn a_write_on_a_reused_connection_that_dies_is_never_seen_twice() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = quiet(&cluster).opens();
    for _ in 0..4 {
        door.get("/schema").is(200);
    }
    for number in 0..10 {
        let body = format!("write {number}");
        door.get("/schema").is(200);
        door.get("/schema").is(200);
        cluster.next([Way::ClosesWithoutAnswer]);

        let answer = door.post("/sql", &body);

        answer.fails_with(502, "upstream_unreachable");
        assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
        assert_eq!(cluster.times_seen(&body), 1);
    }
    let writes = cluster.nodes().iter().flat_map(|node| node.seen());
    assert!(
        writes
            .filter(|seen| seen.method == "POST")
            .all(|seen| seen.index > 1)
    );
}

#[test]
fn a_connection_the_node_has_closed_is_not_used_for_a_write() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].closes_idle_after(Duration::from_millis(150));
    let door = quiet(&cluster).opens();

    for number in 0..10 {
        door.post("/sql", &format!("write {number}")).is(200);
        wait::until("closed by the node", wait::SOON, || {
            cluster["a"].open_connections() == 0
        });
    }

    assert!(cluster["a"].seen().iter().all(|seen| seen.index == 1));
}

#[test]
fn no_more_tries_than_allowed_each_on_another_node() {
    let cluster = Cluster::of(&["a", "b", "c", "d", "e"]);
    cluster.always(&Way::ClosesWithoutAnswer);
    let door = quiet(&cluster).opens();

    door.get("/schema").fails_with(502, "upstream_unreachable");

    let asked: BTreeSet<&str> = cluster
        .nodes()
        .iter()
        .filter(|n| !n.seen().is_empty())
        .map(|n| n.name())
        .collect();
    assert_eq!((cluster.requests(), asked.len()), (3, 3));
    assert!((door.metrics().number("big_proxy_retries_total") - 2.0).abs() < 0.5);
}

#[test]
fn a_kept_connection_that_ends_is_a_try_as_any_other_at_a_front_door() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = quiet(&cluster).opens();
    for _ in 0..6 {
        door.get("/schema").is(200);
    }
    cluster.forgets();
    for node in cluster.nodes() {
        node.next([Way::ClosesWithoutAnswer]);
    }

    door.get("/schema").fails_with(502, "upstream_unreachable");

    let seen = cluster.nodes().iter().map(|node| node.seen());
    let indexes: Vec<Vec<usize>> = seen
        .map(|seen| seen.iter().map(|one| one.index).collect())
        .collect();
    assert_eq!(indexes, [[3], [3], [3]]);
}

#[test]
fn no_retries_means_one_try() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster.always(&Way::ClosesWithoutAnswer);
    let door = quiet(&cluster).set("--max-retries", "0").opens();

    door.get("/schema").is(502);

    assert_eq!(cluster.requests(), 1);
}

#[test]
fn with_every_node_refusing_the_request_was_never_sent() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = quiet(&cluster).opens();
    cluster["a"].dies();
    cluster["b"].dies();

    let answer = door.post("/sql", "x");

    answer.fails_with(502, "upstream_unreachable");
    assert_eq!(answer.field("x-gateway-outcome"), Some("not-sent"));
    assert!(
        answer.sentence().contains("never sent"),
        "{}",
        answer.sentence()
    );
    assert_eq!((cluster.requests(), cluster.fragments().len()), (0, 0));
}

#[test]
fn one_deadline_covers_every_try() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let slow_loss = Way::After(
        Duration::from_millis(700),
        Box::new(Way::ClosesWithoutAnswer),
    );
    cluster.always(&slow_loss);
    // Three losses take 2.1 s: a budget of 1.2 s for each try would let them all happen.
    let door = quiet(&cluster).set("--query-timeout", "1200ms").opens();

    let answer = door.get("/table/t/records");

    answer.fails_with(504, "upstream_timeout");
    assert!(answer.sentence().contains("still"), "{}", answer.sentence());
    assert_eq!(cluster.requests(), 2);
}

#[test]
fn host_and_sentence_name_the_node_that_was_asked() {
    let cluster = Cluster::of(&["ada", "bob"]);
    let door = quiet(&cluster).opens();
    cluster["ada"].refuses();

    for _ in 0..4 {
        door.get("/schema").is(200);
        cluster.next([Way::Resets]);
        let answer = door.post("/sql", "x");
        let sentence = answer.sentence();
        assert!(
            sentence.contains("bob") && !sentence.contains("ada"),
            "{sentence}"
        );
    }

    let bob = cluster["bob"].addr().to_string();
    for seen in cluster["bob"].seen() {
        assert_eq!(seen.head.first("host"), Some(bob.as_str()));
    }
}

#[test]
fn a_busy_answer_is_returned_when_no_other_node_could_take_it() {
    let cluster = Cluster::of(&["a"]);
    let busy = Reply::new(503)
        .field("Retry-After", "7")
        .body("busy, says the node");
    cluster.always(&Way::Says(busy));
    let door = quiet(&cluster).opens();

    let answer = door.get("/schema");

    answer.is(503);
    assert_eq!(
        (answer.field("retry-after"), answer.text().as_str()),
        (Some("7"), "busy, says the node")
    );
    assert_eq!(cluster.requests(), 1);
}

#[test]
fn a_busy_answer_is_returned_when_the_other_node_has_no_slot() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = quiet(&cluster).set("--in-flight", "1").opens();
    cluster.always(&Way::Held);
    let mut first = door.connect();
    first.sends(&Request::get("/schema"));
    wait::until("one node full", wait::SOON, || cluster.requests() == 1);
    let busy = Reply::new(503).field("Retry-After", "7");
    cluster.next([Way::Says(busy)]);
    let free = if cluster["a"].in_flight() == 1 {
        "b"
    } else {
        "a"
    };
    cluster[free].next([Way::Says(Reply::new(503).field("Retry-After", "7"))]);

    door.get("/schema").is(503);

    assert_eq!(cluster.requests(), 2);
}

#[test]
fn a_body_is_replayed_on_another_node() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    cluster.next([Way::ClosesWithoutAnswer, Way::Resets]);
    let door = quiet(&cluster).opens();
    let body: String = (0..1_000_000_u32)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();

    door.post("/table/t/query?limit=3", &body).is(200);

    assert_eq!(cluster.times_seen(&body), 3);
    let targets = cluster.nodes().iter().flat_map(|node| node.seen());
    assert!(
        targets
            .map(|seen| seen.target)
            .all(|target| target == "/table/t/query?limit=3")
    );
}

#[test]
fn an_answer_that_is_not_asked_for_elsewhere_is_the_clients_as_it_is() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::configured(&format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n[sites.shop]\nlistener = \"edge\"\n\
         pool = \"shop\"\n[pools.shop]\nnodes = [\"{}\", \"{}\"]\n\
         retry = {{ on = [\"unsent\", \"repeatable\", \"busy\"] }}\n",
        cluster["a"].addr(),
        cluster["b"].addr()
    ));
    for (method, status) in [
        ("POST", 500),
        ("POST", 502),
        ("POST", 503),
        ("POST", 504),
        ("GET", 500),
    ] {
        cluster.forgets();
        let body = format!("{{\"{method}\":\"of the node, {status}\"}}");
        let own = Reply::new(status).field("Retry-After", "7").body(&body);
        cluster.next([Way::Says(own)]);
        let answer = door.ask(&Request::new(method, "/x").body("order"));
        assert_eq!(answer.is(status).text(), body);
        assert_eq!(answer.field("retry-after"), Some("7"));
        assert_eq!(answer.field("x-gateway-outcome"), None);
        assert_eq!(cluster.requests(), 1, "{method} {status}");
    }
}

/// A door over TLS before two nodes of which one will not shake hands any more.
fn without_handshake(greeting: Greeting) -> (Cluster, Door) {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&["a", "b"], &authority);
    let door = quiet(&cluster)
        .file("--upstream-ca", "ca.pem", authority.pem())
        .set("--connect-timeout", "300ms")
        .opens();
    cluster["a"].greets(greeting);
    (cluster, door)
}

#[test]
fn a_handshake_that_fails_has_sent_nothing() {
    let (cluster, door) = without_handshake(Greeting::Resets);
    for number in 0..4 {
        let body = format!("write {number}");
        door.post("/sql", &body).is(200);
        assert_eq!(cluster.times_seen(&body), 1);
    }
    assert!(door.metrics().number("big_proxy_retries_total") >= 1.0);
}

#[test]
fn a_handshake_that_hangs_is_given_up_after_the_connect_timeout() {
    let (cluster, door) = without_handshake(Greeting::Silent);
    for number in 0..4 {
        let body = format!("write {number}");
        door.post("/sql", &body).is(200);
        assert_eq!(cluster.times_seen(&body), 1);
    }
    assert!(door.metrics().number("big_proxy_retries_total") >= 1.0);
}

#[test]
fn a_node_that_is_not_reached_in_time_was_never_sent_the_request_and_is_unreachable() {
    let (cluster, door) = without_handshake(Greeting::Silent);
    cluster["b"].greets(Greeting::Silent);

    let answer = door.post("/sql", "x");

    answer.fails_with(502, "upstream_unreachable");
    assert_eq!(answer.field("x-gateway-outcome"), Some("not-sent"));
}
