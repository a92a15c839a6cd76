//! Protocol switches: a route that allows them, and doors that do not.

use std::thread;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Greeting, Way};
use gateway_tests::wait;

const UPGRADES: usize = 2_000;
const CLIENTS: usize = 4;

fn upgrade() -> Request {
    Request::get("/live")
        .field("Connection", "Upgrade")
        .field("Upgrade", "echo")
}

fn edge(cluster: &Cluster) -> Door {
    let door = Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.live]\nlistener = \"edge\"\nendpoints = \"live\"\n\
         [sites.live.routes.all]\npath = \"/\"\nupgrade = true\npool = \"live\"\n\
         body = {{ stream = \"1 MiB\" }}\n\
         [pools.live]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
         [pools.live.probe]\nevery = \"60s\"\n",
        cluster["a"].addr()
    ));
    door.sees_in("a");
    door
}

#[test]
fn two_thousand_upgrades_answered_at_once_echo_two_thousand_frames() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(&cluster);
    // Its 101 lies there before the gateway has seen the end of the request's own empty body.
    cluster["a"].greets(Greeting::Switches);

    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let door = &door;
            scope.spawn(move || {
                for number in 0..UPGRADES / CLIENTS {
                    let frame = format!("frame {number:04} of client {client}");
                    let mut tunnel = door.connect();
                    tunnel.asks(&upgrade()).is(101);
                    tunnel.says(&frame);
                    assert_eq!(tunnel.hears_bytes(frame.len()), frame.as_bytes());
                }
            });
        }
    });

    assert_eq!(cluster.requests(), UPGRADES);
}

#[test]
fn a_frame_sent_with_the_request_is_echoed_after_the_switch() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::SwitchesAndEchoes);
    let door = edge(&cluster);
    let mut tunnel = door.connect();

    tunnel.says([upgrade().bytes().as_slice(), b"early"].concat());

    tunnel.hears().is(101);
    assert_eq!(tunnel.hears_bytes(5), b"early");
}

#[test]
fn a_tunnel_ends_with_its_node() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::SwitchesAndEchoes);
    let door = edge(&cluster);
    let mut tunnel = door.connect();
    tunnel.asks(&upgrade()).is(101);

    cluster["a"].dies();

    assert!(tunnel.is_closed_within(wait::SOON));
}

#[test]
fn what_a_node_says_after_its_client_has_ended_arrives() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::SwitchesAndWaits);
    let door = edge(&cluster);
    let mut tunnel = door.connect();
    tunnel.asks(&upgrade()).is(101);
    let said = vec![b'x'; 300_000];

    tunnel.says(&said).half_closes();

    assert!(tunnel.hears_bytes(said.len()) == said);
    assert!(tunnel.is_closed_within(wait::SOON));
    wait::until("the slot free", wait::SOON, || {
        cluster["a"].in_flight() == 0
    });
}

#[test]
fn what_a_client_says_after_its_node_has_ended_arrives() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::SwitchesAndEnds);
    let door = edge(&cluster);
    let mut tunnel = door.connect();
    tunnel.asks(&upgrade()).is(101);
    assert_eq!(tunnel.hears_bytes(3), b"bye");
    assert!(tunnel.is_closed_within(wait::SOON), "its side is ended");

    tunnel.says("still here").half_closes();

    wait::until("the rest", wait::SOON, || !cluster.fragments().is_empty());
    assert_eq!(cluster.fragments(), [b"still here"]);
}

#[test]
fn a_node_changes_only_to_what_it_was_asked_for() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(&cluster);
    let plain = || Request::get("/live");
    let asks = |protocols: &str| {
        let asked = plain().field("Connection", "Upgrade");
        asked.field("Upgrade", protocols)
    };
    let changes = [
        // What is asked, what the node changes to, and whether it may.
        (plain(), "Upgrade: echo", false),
        (plain(), "", false),
        (asks("echo"), "", false),
        (asks("echo"), "Upgrade:", false),
        (asks("echo"), "Upgrade: websocket", false),
        (asks("echo"), "Upgrade: echo, websocket", false),
        (asks("echo"), "Upgrade: echo\r\nUpgrade: websocket", false),
        (asks("echo/2"), "Upgrade: echo/1", false),
        (asks("echo/2"), "Upgrade: echo", false),
        (asks("h2c, echo"), "Upgrade: h2c", false),
        (asks("echo"), "Upgrade: Echo", true),
        (asks("echo/2"), "Upgrade: echo/2", true),
        (asks("echo"), "Upgrade: echo/2", true),
        (asks("foo, echo"), "Upgrade: echo", true),
        (asks("foo, echo"), "Upgrade: foo\r\nUpgrade: echo", true),
    ];
    for (request, field, may) in changes {
        let said =
            format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{field}\r\n\r\n");
        let said = said.replace("\r\n\r\n\r\n", "\r\n\r\n") + "frame";
        cluster["a"].next([Way::Raw(said.into_bytes())]);
        let what = format!("{} {field}", String::from_utf8_lossy(&request.bytes()));
        let mut client = door.connect();
        let answer = client.asks(&request);
        if may {
            assert_eq!(answer.status, 101, "{what}");
            assert_eq!(client.hears_bytes(5), b"frame", "{what}");
            continue;
        }
        assert_eq!(answer.status, 502, "{what}: {}", answer.text());
        assert!(!answer.text().contains("frame"), "{what}");
        assert!(client.is_closed_within(wait::SOON), "{what}");
        cluster.forgets();
        door.get("/schema").is(200);
        let next = cluster["a"].seen();
        assert_eq!(next[0].index, 1, "{what}: on a connection of its own");
    }
}

#[test]
fn a_front_door_carries_no_upgrade() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    door.ask(
        &Request::get("/schema")
            .field("Connection", "Upgrade")
            .field("Upgrade", "echo"),
    )
    .is(200);

    let seen = cluster["a"].seen();
    assert_eq!(
        (
            seen[0].head.first("upgrade"),
            seen[0].head.first("connection")
        ),
        (None, None)
    );
}

#[test]
fn a_tunnel_that_nobody_says_anything_in_ends_when_the_listener_says() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::SwitchesAndEchoes);
    let door = Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\ntunnel_idle = \"300ms\"\n\
         [sites.live]\nlistener = \"edge\"\n\
         [sites.live.routes.all]\npath = \"/\"\nupgrade = true\npool = \"live\"\n\
         [pools.live]\nnodes = [\"{}\"]\n",
        cluster["a"].addr()
    ));
    let mut tunnel = door.connect();
    tunnel.asks(&upgrade()).is(101);
    tunnel.says("something");
    assert_eq!(tunnel.hears_bytes(9), b"something");
    assert!(tunnel.is_closed_within(wait::SOON));
}

/// Case 47.
#[test]
fn a_tunnel_is_opened_with_another_node_where_the_first_one_takes_no_connection() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster.always(&Way::SwitchesAndEchoes);
    let nodes = cluster.nodes().iter();
    let nodes: Vec<String> = nodes.map(|node| format!("\"{}\"", node.addr())).collect();
    let door = Door::configured(&format!(
        "[listeners.edge]\nbind = \"127.0.0.1:0\"\n[sites.live]\nlistener = \"edge\"\n\
         [sites.live.routes.all]\npath = \"/\"\nupgrade = true\npool = \"live\"\n\
         [pools.live]\nnodes = [{}]\nejection = {{ count_traffic = false }}\n",
        nodes.join(", ")
    ));
    cluster["a"].refuses();
    for _ in 0..4 {
        let mut tunnel = door.connect();
        tunnel.asks(&upgrade()).is(101);
        tunnel.says("through");
        assert_eq!(tunnel.hears_bytes(7), b"through");
    }
    assert_eq!(cluster["b"].seen().len(), 4);
}
