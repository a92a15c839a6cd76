//! Which node takes a request, and what happens when none may.

use std::thread;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;

/// One slot, one node that holds on to it, and the request that has it.
fn one_slot_taken(cluster: &Cluster, plan: Plan) -> (Door, Conversation) {
    cluster.always(&Way::Held);
    let door = plan.set("--in-flight", "1").opens();
    let mut first = door.connect();
    first.sends(&Request::post("/sql", "first"));
    wait::until("the slot taken", wait::SOON, || {
        cluster["a"].in_flight() == 1
    });
    (door, first)
}

fn waiting(door: &Door, body: &str) -> Conversation {
    let mut client = door.connect();
    client.sends(&Request::post("/sql", body));
    door.settles();
    client
}

#[test]
fn idle_nodes_take_requests_in_turn() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = Door::before(&cluster).opens();

    for _ in 0..30 {
        door.get("/schema").is(200);
    }

    let counts: Vec<usize> = cluster
        .nodes()
        .iter()
        .map(|node| node.seen().len())
        .collect();
    assert_eq!(counts, [10, 10, 10]);
}

#[test]
fn one_clients_connection_is_not_bound_to_one_node() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();

    for _ in 0..10 {
        client.asks(&Request::get("/schema")).is(200);
    }

    assert_eq!(
        (cluster["a"].seen().len(), cluster["b"].seen().len()),
        (5, 5)
    );
}

#[test]
fn the_node_with_the_least_in_flight_is_asked() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).opens();
    cluster["a"].always(Way::Held);
    let mut clients = Vec::new();
    wait::until("a busy", wait::SOON, || {
        let mut client = door.connect();
        client.sends(&Request::get("/schema"));
        door.settles();
        clients.push(client);
        cluster["a"].in_flight() == 1
    });
    let before = cluster["a"].seen().len();

    for _ in 0..10 {
        door.get("/schema").is(200);
    }

    assert_eq!(cluster["a"].seen().len(), before);
    assert_eq!(door.node("a")["in_flight"], 1);
    cluster["a"].lets_go();
}

#[test]
fn no_node_ever_exceeds_its_ceiling() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster.always(&Way::After(
        Duration::from_millis(5),
        Box::new(Way::Plainly),
    ));
    let door = Door::before(&cluster)
        .set("--in-flight", "2")
        .set("--workers", "2")
        .set("--queue-wait", "20s")
        .opens();

    // Sixteen may wait and four be in flight: eighteen at once never overflow the queue.
    thread::scope(|scope| {
        for _ in 0..18 {
            scope.spawn(|| {
                let mut client = door.connect();
                for _ in 0..10 {
                    client.asks(&Request::get("/schema")).is(200);
                }
            });
        }
    });

    let most: Vec<usize> = cluster
        .nodes()
        .iter()
        .map(|node| node.most_in_flight())
        .collect();
    assert_eq!(most, [2, 2]);
    assert_eq!(cluster.requests(), 180);
}

#[test]
fn who_waits_is_served_first_come_first_served() {
    let cluster = Cluster::of(&["a"]);
    let (door, mut first) = one_slot_taken(&cluster, Door::before(&cluster));
    let mut queue: Vec<_> = ["2", "3", "4", "5"].map(|body| waiting(&door, body)).into();

    let curtain = Curtain::default();
    thread::scope(|scope| {
        let play = curtain.rises();
        scope.spawn(|| {
            wait::until("the end", wait::EVENTUALLY, || {
                cluster["a"].lets_go();
                curtain.is_down()
            });
        });
        first.hears().is(200);
        for client in &mut queue {
            client.hears().is(200);
        }
        drop(play);
    });

    let bodies: Vec<Vec<u8>> = cluster["a"]
        .seen()
        .into_iter()
        .map(|seen| seen.body)
        .collect();
    assert_eq!(bodies, [&b"first"[..], b"2", b"3", b"4", b"5"]);
}

#[test]
fn a_full_queue_is_overloaded_at_once() {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster).set("--queue-wait", "30s");
    let (door, mut first) = one_slot_taken(&cluster, plan);
    let queue = ["2", "3", "4", "5"].map(|body| waiting(&door, body));

    let refused = door.post("/sql", "one too many");

    refused.fails_with(503, "overloaded");
    assert_eq!(refused.field("retry-after"), Some("1"));
    assert_eq!(cluster.times_seen("one too many"), 0);
    assert_eq!(door.node("a")["consecutive_failures"], 0);
    drop(queue);
    cluster["a"].lets_go();
    first.hears().is(200);
}

#[test]
fn a_spent_wait_is_overloaded_and_held_against_nobody() {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster)
        .set("--queue-wait", "200ms")
        .set("--health-fail", "1");
    let (door, mut first) = one_slot_taken(&cluster, plan);

    for _ in 0..4 {
        let refused = door.post("/sql", "waited in vain");
        refused.fails_with(503, "overloaded");
        assert_eq!(refused.field("retry-after"), Some("1"));
    }

    assert_eq!(cluster.times_seen("waited in vain"), 0);
    assert_eq!(door.node("a")["consecutive_failures"], 0);
    assert!(door.is_in("a"));
    cluster["a"].lets_go();
    first.hears().is(200);
}

#[test]
fn the_wait_is_never_longer_than_the_budget() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Held);
    let door = Door::before(&cluster)
        .set("--in-flight", "1")
        .set("--queue-wait", "60s")
        .set("--query-timeout", "300ms")
        .opens();
    // An import has 120 s: it holds the slot for longer than the other may wait.
    let mut first = door.connect();
    first.sends(&Request::post("/table/t/import", "1"));
    wait::until("the slot taken", wait::SOON, || {
        cluster["a"].in_flight() == 1
    });

    let answer = door.post("/sql", "short of time");

    assert!([503, 504].contains(&answer.status), "{}", answer.text());
    assert_eq!(cluster.times_seen("short of time"), 0);
    cluster["a"].lets_go();
    first.hears().is(200);
}

#[test]
fn a_client_that_goes_away_leaves_the_queue() {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster).set("--queue-wait", "30s");
    let (door, mut first) = one_slot_taken(&cluster, plan);
    let mut queue: Vec<_> = ["2", "3", "4", "5"].map(|body| waiting(&door, body)).into();
    door.post("/sql", "full").fails_with(503, "overloaded");

    drop(queue.remove(0));

    wait::until("a free place", wait::SOON, || {
        let mut late = door.connect();
        late.sends(&Request::post("/sql", "late"));
        late.is_silent_for(Duration::from_millis(300))
    });
    cluster.always(&Way::Plainly);
    cluster["a"].lets_go();
    first.hears().is(200);
    for client in &mut queue {
        client.hears().is(200);
    }
    assert_eq!(cluster.times_seen("2"), 0);
}

#[test]
fn a_client_that_goes_away_frees_its_slot_at_once() {
    let cluster = Cluster::of(&["a"]);
    let (door, first) = one_slot_taken(&cluster, Door::before(&cluster));
    assert_eq!(door.node("a")["in_flight"], 1);

    drop(first);

    wait::until("the slot free", wait::SOON, || {
        door.node("a")["in_flight"] == 0
    });
    cluster.always(&Way::Plainly);
    door.post("/sql", "next").is(200);
}

#[test]
fn a_full_node_does_not_stop_a_free_one() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].always(Way::Held);
    cluster["a"].always(Way::Held);
    let door = Door::before(&cluster).set("--in-flight", "1").opens();
    let mut first = door.connect();
    first.sends(&Request::get("/schema"));
    wait::until("one node full", wait::SOON, || {
        cluster["a"].in_flight() + cluster["b"].in_flight() == 1
    });
    let free = if cluster["a"].in_flight() == 1 {
        "b"
    } else {
        "a"
    };
    cluster[free].always(Way::Plainly);

    for _ in 0..5 {
        door.get("/schema").is(200);
    }

    assert_eq!(cluster[free].seen().len(), 5);
}
