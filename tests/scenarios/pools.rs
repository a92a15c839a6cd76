//! Pools of an edge: how their nodes are asked, chosen, bounded, and left alone.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Reply, Way};
use gateway_tests::{scratch, wait};

/// An edge that sends everything to a pool of these nodes, each with settings of its own.
fn edge(cluster: &Cluster, node: impl Fn(&Node) -> &'static str, pool: &str) -> Door {
    routed(cluster, node, "", pool)
}

/// The same, with more settings of its one route.
fn routed(
    cluster: &Cluster,
    node: impl Fn(&Node) -> &'static str,
    route: &str,
    pool: &str,
) -> Door {
    let nodes: Vec<String> = cluster
        .nodes()
        .iter()
        .map(|one| {
            let (name, addr, more) = (one.name(), one.addr(), node(one));
            format!("{{ name = \"{name}\", addr = \"{addr}\"{more} }}")
        })
        .collect();
    Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n{route}\
         [pools.shop]\nnodes = [{}]\n{pool}",
        nodes.join(", ")
    ))
}

fn plain(_: &Node) -> &'static str {
    ""
}

fn seen(cluster: &Cluster) -> Vec<usize> {
    let requests = |node: &Node| {
        let seen = node.seen();
        seen.iter().filter(|one| one.target == "/schema").count()
    };
    cluster.nodes().iter().map(requests).collect()
}

fn asks(door: &Door, times: usize) {
    (0..times).for_each(|_| {
        door.get("/schema").is(200);
    });
}

#[test]
fn a_node_that_answers_a_probe_with_another_status_is_out_until_it_answers_as_expected() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].always(Way::Says(Reply::new(500)));
    let probe = "[pools.shop.probe]\nmethod = \"HEAD\"\npath = \"/health/deep?x\"\n\
                 host = \"probe.test\"\nexpect = [200, 404]\nevery = \"100ms\"\n\
                 timeout = \"90ms\"\nrise = 1\nfall = 1\n";
    let door = edge(&cluster, plain, probe);
    door.sees_in("a");
    assert!(!door.is_in("b"), "{}", door.node("b"));
    asks(&door, 4);
    assert_eq!(seen(&cluster), [4, 0]);
    let asked = cluster["a"].seen();
    let probe = asked.iter().find(|one| one.method == "HEAD").unwrap();
    assert_eq!(
        (&*probe.target, probe.head.first("host")),
        ("/health/deep?x", Some("probe.test"))
    );

    cluster["b"].always(Way::Plainly);
    door.sees_in("b");
    asks(&door, 4);
    assert_eq!(seen(&cluster), [6, 2]);
}

/// A node at an address of IPv6, which sends the heads that it has read.
fn at_ipv6() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let (tells, told) = channel();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let head = BufReader::new(&socket).lines().map_while(Result::ok);
            let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let _ = tells.send(head.join("\n"));
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    (addr, told)
}

#[test]
fn a_node_at_an_address_of_ipv6_is_asked_for_it_with_brackets_and_port_by_probes_too() {
    for (host, requests, probes) in [
        ("", "Host: door.test", None),
        ("host = \"node\"\n", "", None),
        ("", "Host: door.test", Some("own.test:81")),
    ] {
        let (addr, told) = at_ipv6();
        assert!(addr.is_ipv6());
        let own = probes.map(|host| format!(", host = \"{host}\""));
        let door = Door::configured(&format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n\
             [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
             [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
             [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{addr}\" }}]\n{host}\
             probe = {{ kind = \"http\", path = \"/up\", every = \"60s\"{} }}\n",
            own.unwrap_or_default()
        ));
        door.sees_in("a");
        door.get("/x").is(200);
        let heads: Vec<String> = told.try_iter().collect();
        let of = |target: &str| {
            let start = format!("GET {target} ");
            let head = heads.iter().find(|head| head.starts_with(&start)).unwrap();
            let host = head
                .lines()
                .find(|line| line.to_lowercase().starts_with("host:"));
            host.unwrap().replace("host:", "Host:")
        };
        let node = format!("Host: {addr}");
        let probes = probes.map(|host| format!("Host: {host}"));
        assert_eq!(of("/up"), probes.unwrap_or_else(|| node.clone()));
        assert_eq!(of("/x"), if requests.is_empty() { &node } else { requests });
    }
}

#[test]
fn a_connection_is_enough_for_a_probe_of_that_kind() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster["b"].refuses();
    let probe = "[pools.shop.probe]\nkind = \"tcp\"\nevery = \"100ms\"\ntimeout = \"90ms\"\n\
                 rise = 1\nfall = 1\n";
    let door = edge(&cluster, plain, probe);
    door.sees_in("a");
    assert!(!door.is_in("b"));
    cluster["b"].comes_back();
    door.sees_in("b");
    cluster["b"].dies();
    door.sees_out("b");
    asks(&door, 3);
    assert_eq!(seen(&cluster), [3, 0]);
}

#[test]
fn a_node_nobody_probes_serves_at_once_leaves_by_failures_and_comes_back_by_a_trial() {
    let cluster = Cluster::of(&["a", "b"]);
    let ejection =
        "[pools.shop.ejection]\nfailures = 2\nbackoff = { min = \"100ms\", max = \"200ms\" }\n";
    let door = edge(
        &cluster,
        plain,
        &format!("balance = \"round-robin\"\n{ejection}"),
    );
    asks(&door, 10);
    assert_eq!(seen(&cluster), [5, 5]);

    cluster["b"].dies();
    wait::until("b out", wait::SOON, || {
        // Whoever comes to it finds no connection, and is served by the other one.
        door.get("/schema").is(200);
        !door.is_in("b")
    });
    asks(&door, 10);

    cluster["b"].comes_back();
    wait::until("b back", wait::SOON, || {
        door.get("/schema").is(200);
        door.is_in("b")
    });
    let before = seen(&cluster)[1];
    asks(&door, 10);
    assert_eq!(seen(&cluster)[1], before + 5);
    let turns = door.log().saying("rotation");
    assert!(
        turns.iter().any(|turn| turn.text("by") == "traffic"),
        "{turns:?}"
    );
}

#[test]
fn the_last_node_that_nobody_probes_is_kept() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(&cluster, plain, "");
    asks(&door, 1);
    cluster["a"].dies();
    for _ in 0..9 {
        door.get("/schema").is(502);
    }
    assert!(door.is_in("a"));
    cluster["a"].comes_back();
    asks(&door, 1);
}

#[test]
fn weights_are_shares_and_backups_wait_until_nobody_else_is_there() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let told = |node: &Node| match node.name() {
        "a" => ", weight = 3",
        "c" => ", backup = true",
        _ => "",
    };
    let door = edge(&cluster, told, "[pools.shop.ejection]\nfailures = 1\n");
    asks(&door, 40);
    assert_eq!(seen(&cluster), [30, 10, 0]);
    cluster["a"].dies();
    cluster["b"].dies();
    asks(&door, 5);
    assert_eq!(seen(&cluster), [30, 10, 5]);
}

#[test]
fn requests_with_the_same_field_go_to_the_same_node_and_those_without_it_in_turn() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = edge(
        &cluster,
        plain,
        "balance = { by = \"header\", name = \"X-User\" }\n",
    );
    let mut used = [false; 3];
    for user in 0..12 {
        cluster.forgets();
        for _ in 0..4 {
            let request = Request::get("/schema").field("x-user", &format!("user {user}"));
            door.ask(&request).is(200);
        }
        let seen = seen(&cluster);
        let home = seen.iter().position(|times| *times == 4);
        used[home.unwrap_or_else(|| panic!("not together: {seen:?}"))] = true;
    }
    assert!(used.iter().filter(|used| **used).count() > 1, "{used:?}");
    cluster.forgets();
    asks(&door, 9);
    let seen = seen(&cluster);
    assert!(seen.iter().all(|times| (2..=4).contains(times)), "{seen:?}");
}

fn held(door: &Door, target: &str) -> Conversation {
    let mut client = door.connect();
    client.sends(&Request::get(target));
    client
}

#[test]
fn a_pool_is_bounded_as_a_whole_and_a_node_by_its_own_number() {
    let cluster = Cluster::of(&["a", "b"]);
    let told = |node: &Node| match node.name() {
        "a" => ", in_flight = 1",
        _ => "",
    };
    let door = edge(&cluster, told, "in_flight_total = 3\nqueue = 1\n");
    cluster.always(&Way::Held);
    let mut clients: Vec<_> = (0..3).map(|_| held(&door, "/schema")).collect();
    wait::until("three in flight", wait::SOON, || {
        (cluster["a"].in_flight(), cluster["b"].in_flight()) == (1, 2)
    });
    clients.push(held(&door, "/schema"));
    door.settles();
    door.get("/schema").is(503);

    cluster["b"].lets_go();
    wait::until("the next one", wait::SOON, || {
        cluster["b"].seen().len() == 3 && cluster["b"].in_flight() == 1
    });
    cluster["a"].lets_go();
    cluster["b"].lets_go();
    clients.iter_mut().for_each(|client| {
        client.hears().is(200);
    });
}

#[test]
fn the_name_in_a_nodes_certificate_is_the_one_the_pool_or_the_node_says() {
    let authority = Authority::new();
    let identity = authority.signs(&["inside.test"]);
    let cluster = Cluster::showing(&[("a", &identity), ("b", &identity)]);
    let ca = scratch::Scratch::new();
    std::fs::write(ca.path().join("ca.pem"), authority.pem()).unwrap();
    let told = |node: &Node| match node.name() {
        "b" => ", tls_name = \"other.test\"",
        _ => "",
    };
    let tls = format!(
        "tls = {{ ca = \"{}\", name = \"inside.test\" }}\n\
         [pools.shop.probe]\nevery = \"100ms\"\ntimeout = \"90ms\"\n",
        ca.path().join("ca.pem").display()
    );
    let door = edge(&cluster, told, &tls);
    door.sees_in("a");
    assert_eq!(door.node("b")["state"], "out");
    asks(&door, 2);
    assert_eq!(seen(&cluster), [2, 0]);
}

#[test]
fn a_safe_request_that_was_not_answered_is_sent_again_where_the_pool_says_so_and_a_write_is_not() {
    let cluster = Cluster::of(&["a", "b"]);
    let pool = "balance = \"round-robin\"\nretry = { on = [\"unsent\", \"repeatable\"] }\n\
                [pools.shop.ejection]\ncount_traffic = false\n";
    let door = edge(&cluster, plain, pool);
    cluster["a"].always(Way::ClosesWithoutAnswer);

    for _ in 0..4 {
        door.get("/schema").is(200);
    }
    let with_body = Request::new("GET", "/schema").body("a body that is passed on");
    for _ in 0..2 {
        door.ask(&with_body).is(200);
    }
    for turn in 0..4 {
        let body = format!("write {turn}");
        let _ = door.post("/schema", &body);
        assert_eq!(cluster.times_seen(&body), 1, "{body}");
    }
}

#[test]
fn what_is_repeatable_outlives_kept_connections_that_had_been_about_to_end_at_every_node() {
    for (at_a, times) in [(1, 2), (2, 4)] {
        let cluster = Cluster::of(&["a", "b"]);
        let door = routed(&cluster, plain, "repeatable = true\n", "");
        asks(&door, 4);
        cluster["a"].next(vec![Way::ClosesWithoutAnswer; at_a]);
        cluster["b"].next([Way::ClosesWithoutAnswer]);
        door.post("/sql", "again").is(200);
        // On the kept connection of each, and on a new one.
        assert_eq!(cluster.times_seen("again"), times);
    }
}

#[test]
fn further_tries_end_when_they_have_used_up_their_share() {
    let cluster = Cluster::of(&["a", "b"]);
    let pool = "balance = \"round-robin\"\nretry = { budget = \"0%\" }\n\
                [pools.shop.ejection]\ncount_traffic = false\n";
    let door = edge(&cluster, plain, pool);
    cluster["a"].dies();
    let statuses: Vec<u16> = (0..40).map(|_| door.get("/schema").status).collect();
    // Each of these meets the dead node first; ten further tries had been saved.
    let (saved, later) = statuses.split_at(10);
    assert!(saved.iter().all(|status| *status == 200), "{statuses:?}");
    let failed = later.iter().filter(|status| **status == 502).count();
    assert_eq!(failed, later.len() / 2, "{statuses:?}");
}

#[test]
fn a_route_bounds_the_whole_exchange() {
    let cluster = Cluster::of(&["a"]);
    let door = routed(&cluster, plain, "timeouts = { total = \"300ms\" }\n", "");
    asks(&door, 1);
    cluster.always(&Way::HangsBeforeHead);
    door.get("/schema").is(504);
    cluster.always(&Way::HangsInBody);
    is_cut(&door);
}

fn is_cut(door: &Door) {
    let mut client = door.connect();
    client.sends(&Request::get("/schema"));
    let answer = client.listens().unwrap().expect("a head");
    assert!(answer.status == 200 && !answer.is_whole, "it came whole");
}

#[test]
fn a_route_bounds_the_silence_inside_an_answer() {
    let cluster = Cluster::of(&["a"]);
    let door = routed(&cluster, plain, "timeouts = { idle = \"200ms\" }\n", "");
    cluster.always(&Way::HangsInBody);
    is_cut(&door);
}

#[test]
fn the_host_a_node_sees_is_the_clients_its_own_or_the_one_the_pool_says() {
    let cluster = Cluster::of(&["a"]);
    let own = cluster["a"].addr().to_string();
    for (told, host) in [
        ("", "shop.test"),
        ("host = \"client\"\n", "shop.test"),
        ("host = \"node\"\n", &*own),
        ("host = \"inside.test\"\n", "inside.test"),
    ] {
        let door = edge(&cluster, plain, told);
        cluster.forgets();
        door.ask(&Request::get("/schema").to("shop.test")).is(200);
        let seen = cluster["a"].seen();
        assert_eq!(seen[0].head.all("host"), [host], "{told}");
    }
}

#[test]
fn a_listener_bounds_what_is_in_flight_on_it() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         in_flight = {{ max = 2, when_full = 429 }}\n\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
         [sites.shop.routes.own]\nexact = \"/own\"\nanswer = {{ status = 204 }}\n\
         [pools.shop]\nnodes = [\"{}\"]\n",
        cluster["a"].addr()
    ));
    cluster.always(&Way::Held);
    let mut first = held(&door, "/schema");
    let second = held(&door, "/schema");
    wait::until("two in flight", wait::SOON, || {
        cluster["a"].in_flight() == 2
    });
    let refused = door.get("/own");
    refused.is(429);
    assert_eq!(refused.field("retry-after"), Some("1"));
    drop(second);
    wait::until("one left", wait::SOON, || door.get("/own").status == 204);
    cluster["a"].lets_go();
    first.hears().is(200);
}

#[test]
fn a_pool_that_is_probed_otherwise_after_a_reload_is_so_at_once() {
    let cluster = Cluster::of(&["a", "b"]);
    let probe = |every: &str| {
        format!("[pools.shop.probe]\nkind = \"tcp\"\nevery = \"{every}\"\nfall = 1\n")
    };
    let door = edge(&cluster, plain, &probe("1h"));
    door.sees_in("a");
    door.sees_in("b");
    cluster["b"].refuses();
    let file = door.scratch().path().join("gateway.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let faster = text.replace("every = \"1h\"", "every = \"1100ms\"");
    std::fs::write(&file, faster).unwrap();
    door.signal(nix::sys::signal::Signal::SIGHUP);
    door.sees_out("b");
    asks(&door, 2);
}
