//! The door's rules as ordinary settings of ordinary sites, and two doors in one process.

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Reply, Way};
use gateway_tests::wait;

/// A site whose listener and pool have these further settings.
fn edge(node: &Node, listener: &str, pool: &str) -> Door {
    let door = Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n{listener}\n\
         [sites.shop]\nlistener = \"edge\"\npool = \"shop\"\nendpoints = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n{pool}\n\
         [pools.shop.probe]\nevery = \"250ms\"\n",
        node.addr()
    ));
    door.sees_in("a");
    door
}

#[test]
fn a_node_that_falls_silent_in_its_answer_is_waited_for_as_long_as_the_gap() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(&cluster["a"], "", "timeouts = { idle = \"300ms\" }");
    cluster.next([Way::HangsInBody]);

    let answer = door.post("/sql", "a body to be echoed in halves");

    assert_eq!((answer.status, answer.is_whole), (200, false));
    wait::until("the slot free", wait::SOON, || {
        door.node("a")["in_flight"] == 0
    });
}

#[test]
fn a_client_that_takes_no_byte_is_waited_for_as_long_as_the_gap() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(&cluster["a"], "write_gap = \"300ms\"", "");
    cluster.next([Way::Says(Reply::new(200).body(vec![b'x'; 60_000_000]))]);
    let mut client = door.connect();
    client.sends(&Request::get("/anything"));
    wait::until("in flight", wait::SOON, || door.node("a")["in_flight"] == 1);

    wait::until("given up", wait::SOON, || door.node("a")["in_flight"] == 0);

    assert!(!client.hears().is_whole);
}

#[test]
fn two_doors_in_one_process_share_nothing() {
    let (one, two) = (Cluster::of(&["a"]), Cluster::of(&["b"]));
    let door = |name: &str, node: &Node| {
        format!(
            "[front_door.{name}]\nlisten = \"127.0.0.1:0\"\nhealth_interval = \"250ms\"\n\
             [front_door.{name}.upstreams]\n{} = \"{}\"\n",
            node.name(),
            node.addr()
        )
    };
    let text = format!(
        "workers = 1\n{}{}",
        door("one", &one["a"]),
        door("two", &two["b"])
    );
    let gateway = Door::configured(&text);
    let [first, second] = ["one", "two"].map(|name| gateway.seen_as(name));
    wait::until("both ready", wait::SOON, || {
        first.get("/ready").status == 200 && second.get("/ready").status == 200
    });

    first.get("/schema").is(200);
    first.get("/nowhere").is(404);
    second.post("/sql", "x").is(200);

    assert_eq!((one.requests(), two.requests()), (1, 1));
    let denied = "big_proxy_route_denied_total";
    assert_eq!(first.metrics().number(denied) as i64, 1);
    assert_eq!(second.metrics().number(denied) as i64, 0);
    assert_eq!(first.get("/ready").json()["upstreams"][0]["name"], "a");
    assert_eq!(second.get("/ready").json()["upstreams"][0]["name"], "b");
}
