//! Nodes given by name: what the name means is asked again and again, and all of it is used.

use std::fs;
use std::thread;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::dns::NameServer;
use gateway_tests::gateway::{Door, Metrics, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;

const FIRST: [u8; 4] = [127, 0, 0, 1];
const SECOND: [u8; 4] = [127, 0, 0, 2];

/// An edge with these nodes in its one pool, that asks `server` for their names.
fn text(server: &NameServer, nodes: &[String], pool: &str) -> String {
    let nodes: Vec<String> = nodes.iter().map(|node| format!("{{ {node} }}")).collect();
    format!(
        "workers = 1\n\
         [resolver]\nservers = [\"{}\"]\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [admin]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [{}]\n{pool}",
        server.addr(),
        nodes.join(", ")
    )
}

/// One node of that name, on the port of these.
fn named(cluster: &Cluster) -> Vec<String> {
    let port = cluster.nodes()[0].addr().port();
    vec![format!("name = \"api\", addr = \"api.test:{port}\"")]
}

fn edge(server: &NameServer, cluster: &Cluster, pool: &str) -> Door {
    Plan::configured(&text(server, &named(cluster), pool)).opens()
}

fn metrics(door: &Door) -> Metrics {
    let admin = door.log().saying("admin").pop().unwrap().text("addr");
    let answer = Conversation::open(admin.parse().unwrap()).asks(&Request::get("/metrics"));
    Metrics::parse(&answer.is(200).text())
}

fn failed_lookups(door: &Door) -> f64 {
    metrics(door).number("gateway_lookups_total{pool=\"shop\",node=\"api\",result=\"failed\"}")
}

fn addresses(door: &Door) -> f64 {
    metrics(door).number("gateway_node_addresses{pool=\"shop\",node=\"api\"}")
}

fn asked(node: &Node) -> usize {
    let seen = node.seen();
    seen.iter().filter(|one| one.target == "/schema").count()
}

fn asks(door: &Door, times: usize) {
    (0..times).for_each(|_| {
        door.get("/schema").is(200);
    });
}

/// Case 66. A TTL of one second.
#[test]
fn a_name_that_moves_is_followed_within_its_time_and_no_request_is_lost() {
    let (server, cluster) = (NameServer::start(), Cluster::on_one_port(&["a", "b"]));
    let [a, b] = cluster.nodes() else { panic!() };
    server.says("api.test", &[FIRST], 1);
    let door = edge(&server, &cluster, "");
    asks(&door, 1);
    assert_eq!((asked(a), asked(b)), (1, 0));

    let curtain = Curtain::default();
    thread::scope(|scope| {
        let play = curtain.rises();
        let load = scope.spawn(|| {
            let mut client = door.connect();
            while !curtain.is_down() {
                assert!(client.asks(&Request::get("/schema")).is(200).is_whole);
            }
        });
        server.says("api.test", &[SECOND], 1);
        let moved = clock::now();
        wait::until("the other address", wait::SOON, || asked(b) > 0);
        assert!(moved.elapsed() < Duration::from_secs(2), "{moved:?}");
        let before = asked(b);
        wait::until("more of it", wait::SOON, || asked(b) > before + 100);
        drop(play);
        load.join().unwrap();
    });
    let of_first = asked(a);
    asks(&door, 10);
    assert_eq!(asked(a), of_first);
    assert_eq!(addresses(&door), 1.0);
}

#[test]
fn the_last_answer_stays_while_the_name_server_is_dead_and_a_new_one_is_taken_when_it_is_back() {
    let (server, cluster) = (NameServer::start(), Cluster::on_one_port(&["a", "b"]));
    let [a, b] = cluster.nodes() else { panic!() };
    server.says("api.test", &[FIRST], 1);
    let door = edge(&server, &cluster, "");
    asks(&door, 1);

    for breaks in [
        NameServer::fails,
        NameServer::falls_silent,
        NameServer::forgets,
    ] {
        let before = failed_lookups(&door);
        breaks(&server);
        wait::until("a look-up that failed", wait::EVENTUALLY, || {
            failed_lookups(&door) > before
        });
        asks(&door, 5);
        assert_eq!((asked(b), addresses(&door)), (0, 1.0));
        let said = door.log().waits_for("name not resolved", |_| true);
        assert_eq!(
            (said.text("name"), said.field("kept")),
            ("api.test".to_owned(), &1.into())
        );
    }

    server.says("api.test", &[SECOND], 1);
    server.comes_back();
    let before = asked(a);
    wait::until("the other address", wait::EVENTUALLY, || {
        asks(&door, 1);
        asked(b) > 0
    });
    let of_first = asked(a);
    asks(&door, 5);
    assert!(of_first >= before && asked(a) == of_first);
}

#[test]
fn all_addresses_of_a_name_are_used_and_a_dead_one_costs_no_request_and_no_try() {
    let (server, cluster) = (NameServer::start(), Cluster::on_one_port(&["a", "b"]));
    let [a, b] = cluster.nodes() else { panic!() };
    server.says("api.test", &[FIRST, SECOND], 60);
    let door = edge(&server, &cluster, "retry = { attempts = 0 }\n");
    asks(&door, 10);
    assert_eq!((asked(a), asked(b), addresses(&door)), (5, 5, 2.0));

    b.dies();
    asks(&door, 20);
    assert_eq!((asked(a), asked(b)), (25, 5));
    let (of_pool, of_node) = ("{pool=\"shop\"}", "{pool=\"shop\",node=\"api\"}");
    let all = metrics(&door);
    assert_eq!(all.number(&format!("gateway_retries_total{of_pool}")), 0.0);
    assert_eq!(
        all.number(&format!("gateway_node_in_rotation{of_node}")),
        1.0
    );
    // A request is over a moment after its client has the answer.
    wait::until("nothing in flight", wait::SOON, || {
        metrics(&door).number(&format!("gateway_node_in_flight{of_node}")) == 0.0
    });
    // Nothing was sent where nobody answered.
    assert!(cluster.fragments().is_empty());

    a.dies();
    door.get("/schema").is(502);
}

#[test]
fn each_address_of_a_name_is_probed_and_the_node_is_as_well_as_the_best_of_them() {
    let (server, cluster) = (NameServer::start(), Cluster::on_one_port(&["a", "b"]));
    let [a, b] = cluster.nodes() else { panic!() };
    server.says("api.test", &[FIRST, SECOND], 60);
    let probe = "[pools.shop.probe]\nkind = \"http\"\npath = \"/up\"\nexpect = [200, 404]\nevery = \"100ms\"\n\
                 timeout = \"90ms\"\nrise = 1\nfall = 1\n\
                 [pools.shop.ejection]\nkeep_last = false\n";
    let door = edge(&server, &cluster, probe);
    door.sees_in("api");
    asks(&door, 4);
    assert_eq!((asked(a), asked(b)), (2, 2));

    // It still takes connections, so that only its probe tells.
    b.always(Way::Says(gateway_tests::node::Reply::new(503)));
    let probes = |node: &Node| node.seen().iter().filter(|one| one.target == "/up").count();
    let before = probes(b);
    wait::until("two more probes", wait::SOON, || probes(b) > before + 1);
    let of_b = asked(b);
    asks(&door, 10);
    assert!(door.is_in("api"));
    assert_eq!(asked(b), of_b);

    a.dies();
    door.sees_out("api");
    b.always(Way::Plainly);
    door.sees_in("api");
    asks(&door, 2);
    assert_eq!(asked(b), of_b + 2);
}

#[test]
fn a_name_that_nobody_knows_is_a_node_that_is_down_and_comes_in_once_it_is_known() {
    let (server, cluster) = (NameServer::start(), Cluster::of(&["a"]));
    let door = edge(&server, &cluster, "");
    assert_eq!(door.get("/schema").status, 503);
    let node = door.node("api");
    assert_eq!(
        (&node["state"], &node["why"]),
        (&"out".into(), &"unresolved".into())
    );
    wait::until("a second question", wait::SOON, || {
        failed_lookups(&door) > 1.0
    });
    assert_eq!(door.log().saying("name not resolved").len(), 1);
    assert_eq!(addresses(&door), 0.0);

    server.says("api.test", &[FIRST], 60);
    door.sees_in("api");
    asks(&door, 2);
    let said = door
        .log()
        .waits_for("rotation", |said| said.field("in").as_bool() == Some(true));
    assert_eq!(said.text("by"), "name");
}

/// Case 66: the questions.
#[test]
fn two_hundred_names_are_asked_few_at_a_time_and_a_reload_asks_only_what_is_new() {
    let (server, cluster) = (NameServer::start(), Cluster::of(&["a"]));
    let port = cluster["a"].addr().port();
    let node = |number: usize| {
        server.says(&format!("n{number}.test"), &[FIRST], 300);
        format!("name = \"n{number}\", addr = \"n{number}.test:{port}\"")
    };
    let mut nodes: Vec<String> = (0..200).map(node).collect();
    server.slows_down(Duration::from_millis(20));
    let door = Plan::configured(&text(&server, &nodes, "")).opens();
    wait::until("all nodes", wait::EVENTUALLY, || {
        let all = metrics(&door);
        let is_in = |number: usize| {
            let labels = format!("{{pool=\"shop\",node=\"n{number}\"}}");
            all.number(&format!("gateway_node_in_rotation{labels}")) == 1.0
        };
        (0..200).all(is_in)
    });
    assert_eq!(server.names_asked(), 200);
    let most = server.most_at_once();
    assert!((2..=16).contains(&most), "{most} names at once");

    let times = || {
        (0..200)
            .map(|number| server.asked(&format!("n{number}.test")))
            .sum::<usize>()
    };
    let before = times();
    nodes.push(node(200));
    fs::write(
        door.scratch().path().join("gateway.toml"),
        text(&server, &nodes, ""),
    )
    .unwrap();
    door.signal(Signal::SIGHUP);
    door.log().waits_for("reload: applied", |_| true);
    wait::until("the new name", wait::SOON, || {
        server.asked("n200.test") == 1
    });
    door.sees_in("n200");
    assert_eq!((times(), server.asked("n200.test")), (before, 1));
}
