//! Starting, reloading and stopping.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Way};
use gateway_tests::ports::Reserved;
use gateway_tests::wait;
use nix::sys::signal::{Signal, kill};

#[test]
fn asked_to_stop_it_finishes_what_is_in_flight_and_exits_0() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Held);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

    door.stops();
    refuses_connections(&door);
    assert!(door.is_running());
    cluster["a"].lets_go();

    let answer = client.hears();
    answer.is(200);
    assert_eq!(answer.field("connection"), Some("close"));
    assert!(door.ends_within(wait::SOON).success());
    assert_eq!(cluster.times_seen("in flight"), 1);
}

#[test]
fn while_it_drains_ready_says_unavailable() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Held);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);
    let mut observer = door.connect();
    observer.says("GET /ready HTTP/1.1\r\nHost: d\r\n");
    door.settles();

    door.stops();
    refuses_connections(&door);
    observer.says("\r\n");

    let ready = observer.hears();
    ready.is(503);
    assert_eq!(ready.json()["status"], "unavailable");
    assert_eq!(ready.field("retry-after"), Some("1"));
    cluster["a"].lets_go();
    client.hears().is(200);
    assert!(door.ends_within(wait::SOON).success());
}

#[test]
fn an_idle_process_stops_in_well_under_two_seconds() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let mut idle = door.connect();
    idle.asks(&Request::get("/schema")).is(200);
    let begun = clock::now();

    door.stops();

    assert!(door.ends_within(wait::SOON).success());
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "took {:?}",
        begun.elapsed()
    );
    assert!(idle.is_closed_within(wait::SOON));
}

#[test]
fn with_nothing_in_flight_it_ends_in_under_200_ms() {
    let cluster = Cluster::of(&["a"]);
    let took = (0..5).map(|_| {
        let door = Door::before(&cluster).opens();
        let begun = clock::now();
        door.stops();
        assert!(door.ends_within(wait::SOON).success());
        begun.elapsed()
    });
    // Of several, because others may have the machine meanwhile.
    let took = took.min().unwrap();
    assert!(took < Duration::from_millis(200), "{took:?}");
}

#[test]
fn a_request_that_is_on_its_way_when_it_is_told_to_stop_is_answered() {
    let cluster = Cluster::of(&["a"]);
    let answered = (0..5).any(|_| {
        let door = Door::before(&cluster).opens();
        let mut idle = door.connect();
        idle.asks(&Request::get("/schema")).is(200);
        // Longer idle than it is still listened to.
        wait::until("a later second", wait::SOON, {
            let begun = clock::now();
            move || begun.elapsed() > Duration::from_millis(150)
        });

        door.stops();
        let _ = door.log().waits_for("draining", |_| true);
        // Long enough for it to have been told to go, where that is at once.
        let _ = wait::maybe(Duration::from_millis(30), || None::<()>);

        idle.sends(&Request::get("/schema"));
        let answer = idle.listens().ok().flatten();
        answer.is_some_and(|answer| answer.status == 200)
    });
    // One of several, because others may have the machine for longer than it listens.
    assert!(answered);
}

#[test]
fn usr2_means_nothing_yet_and_is_not_the_end() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    door.signal(Signal::SIGUSR2);
    door.signal(Signal::SIGHUP);

    let said = "reload: unchanged but for the files it names";
    let _ = door.log().waits_for(said, |_| true);
    door.get("/schema").is(200);
}

#[test]
fn an_interrupt_stops_as_gracefully_as_a_term() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    door.signal(Signal::SIGINT);

    assert!(door.ends_within(wait::SOON).success());
}

#[test]
fn a_second_request_to_stop_ends_at_once() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let cluster = Cluster::of(&["a"]);
        cluster.always(&Way::Held);
        let door = Door::before(&cluster).opens();
        let mut client = door.connect();
        client.sends(&Request::post("/sql", "in flight"));
        wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

        door.signal(signal);
        refuses_connections(&door);
        door.signal(signal);

        let status = door.ends_within(wait::SOON);
        assert_eq!(status.code(), Some(code), "signal {:?}", status.signal());
    }
}

#[test]
fn asked_to_stop_while_it_starts_it_waits_for_no_node_and_resets_nobody() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let reserved = Reserved::take();
        let text = format!(
            "[listeners.door]\nbind = \"{}\"\n[sites.all]\nlistener = \"door\"\n\
             pool = \"late\"\n[pools.late]\nnodes = [\"{}\"]\n\
             probe = {{ timeout = \"5s\", every = \"5s\" }}\n",
            reserved.addr(),
            silent.local_addr().unwrap()
        );
        let (mut told, mut probe) = (None, None);
        let ended = Plan::configured(&text).ends_while(|pid| {
            probe = silent.accept().ok();
            // Nobody can connect who would be reset by the end of it.
            let early = TcpStream::connect(reserved.addr()).map(|_| ());
            assert_eq!(early.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            kill(pid, signal).unwrap();
            told = Some(clock::now());
        });
        drop(probe);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert!(told.unwrap().elapsed() < Duration::from_secs(3));
    }
}

#[test]
fn asked_to_stop_as_soon_as_it_listens_it_answers_whoever_has_connected() {
    let cluster = Cluster::of(&["a"]);
    for _ in 0..20 {
        let reserved = Reserved::take();
        let text = format!(
            "workers = 1\n[listeners.door]\nbind = \"{}\"\n[sites.all]\nlistener = \"door\"\n\
             pool = \"shop\"\n[pools.shop]\nnodes = [\"{}\"]\nprobe = {{ every = \"1s\" }}\n",
            reserved.addr(),
            cluster["a"].addr()
        );
        let plan = Plan::configured(&text);
        let state = plan.path("state").to_string_lossy().into_owned();
        let mut answer = String::new();
        let ended = plan.flag("--state-dir", &state).ends_while(|pid| {
            let mut client = wait::value("a connection", wait::SOON, || {
                TcpStream::connect(reserved.addr()).ok()
            });
            kill(pid, Signal::SIGTERM).unwrap();
            let request = b"GET /schema HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n";
            client.write_all(request).unwrap();
            let _ = client.read_to_string(&mut answer);
        });
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    }
}

/// Waits until the door accepts nothing more: the sign that it has begun to stop.
fn refuses_connections(door: &Door) {
    wait::until("no more connections", wait::SOON, || {
        TcpStream::connect(door.addr()).is_err()
    });
}

#[test]
fn hangup_reads_the_cluster_file_again() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = with_file(&list(&[&cluster["a"]]));
    door.sees_in("a");
    assert_eq!(door.get("/ready").json()["total"], 1);

    fs::write(
        door.scratch().path().join("cluster.toml"),
        list(&[&cluster["a"], &cluster["b"]]),
    )
    .unwrap();
    door.signal(Signal::SIGHUP);

    wait::until("the new node", wait::SOON, || {
        door.get("/ready").json()["total"] == 2
    });
    door.sees_in("b");
    for _ in 0..4 {
        door.get("/schema").is(200);
    }
    assert!(!cluster["b"].seen().is_empty());
}

#[test]
fn a_node_that_stays_over_a_reload_keeps_what_is_known_of_it() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    cluster["b"].says_serving(false);
    let door = with_file(&list(&[&cluster["a"], &cluster["b"]]));
    door.sees_in("a");
    wait::until("b known", wait::SOON, || {
        door.node("b")["why"] == "not_serving"
    });

    fs::write(
        door.scratch().path().join("cluster.toml"),
        list(&[&cluster["a"], &cluster["b"], &cluster["c"]]),
    )
    .unwrap();
    door.signal(Signal::SIGHUP);
    wait::until("the new node", wait::SOON, || {
        let ready = door.get("/ready").json();
        assert_eq!(ready["upstreams"][0]["state"], "in");
        assert_eq!(ready["upstreams"][1]["state"], "out");
        ready["total"] == 3
    });

    door.sees_in("c");
    assert_eq!(cluster["b"].seen().len(), 0);
}

#[test]
fn a_cluster_file_that_is_refused_on_hangup_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let door = with_file(&list(&[&cluster["a"]]));
    door.sees_in("a");
    let lines = door.log().all().len();

    fs::write(
        door.scratch().path().join("cluster.toml"),
        "[[node]]\nname = \"x\"\n",
    )
    .unwrap();
    door.signal(Signal::SIGHUP);
    wait::until("a complaint", wait::SOON, || {
        door.log().all()[lines..]
            .iter()
            .any(|line| line.contains("cluster.toml"))
    });

    assert_eq!(door.get("/ready").json()["total"], 1);
    door.get("/schema").is(200);
}

#[test]
fn a_reload_costs_no_request() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = with_file(&list(&[&cluster["a"], &cluster["b"]]));
    door.sees_in("a");
    door.sees_in("b");
    let mut client = door.connect();

    for round in 0..20 {
        let nodes: &[&Node] = match round % 2 {
            0 => &[&cluster["a"]],
            _ => &[&cluster["a"], &cluster["b"]],
        };
        fs::write(door.scratch().path().join("cluster.toml"), list(nodes)).unwrap();
        door.signal(Signal::SIGHUP);
        wait::until("the reload", wait::SOON, || {
            client.asks(&Request::get("/schema")).is(200);
            door.get("/ready").json()["total"] == nodes.len()
        });
    }
}

fn list(nodes: &[&Node]) -> String {
    let node = |node: &&Node| {
        format!(
            "[[node]]\nname = \"{}\"\naddr = \"{}\"\n",
            node.name(),
            node.addr()
        )
    };
    let nodes: Vec<String> = nodes.iter().map(node).collect();
    format!("schema_leader = \"a\"\n{}", nodes.concat())
}

fn with_file(text: &str) -> Door {
    Plan::alone()
        .file("--cluster", "cluster.toml", text)
        .opens()
}

#[test]
fn called_bigproxy_it_is_a_front_door() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).called("bigproxy").opens();

    door.get("/schema").is(200);
}

#[test]
fn the_printed_configuration_serves_as_the_flags_do() {
    let cluster = Cluster::of(&["a"]);
    let printed = Door::before(&cluster).switch("--allow-ops").prints_config();
    let door = Door::configured(&printed);
    door.sees_in("a");

    door.get("/verify").is(200);
    door.get("/internal/query").fails_with(404, "no_such_route");
}
