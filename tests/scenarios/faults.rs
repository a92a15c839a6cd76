//! Faults under load: what they may cost is nothing, or an honest answer.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// Readers and writers that go on until told to stop; what they were answered is kept.
#[derive(Default)]
struct Load {
    curtain: Curtain,
    reads: AtomicUsize,
    writes: AtomicUsize,
}

impl Load {
    /// Reads; every single one must be answered 200, whole.
    fn reads(&self, door: &Door) {
        let mut client = door.connect();
        while !self.curtain.is_down() {
            let answer = client.asks(&Request::get("/schema"));
            assert!(answer.is(200).is_whole);
            self.reads.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Writes, each with a body of its own; returns each body with the status it got.
    fn writes(&self, door: &Door, writer: usize) -> Vec<(String, u16)> {
        let mut client = door.connect();
        let mut answers = Vec::new();
        while !self.curtain.is_down() {
            let body = format!("writer {writer} write {}", answers.len());
            let answer = client.asks(&Request::post("/sql", &body));
            if answer.status == 502 {
                let outcome = answer.field("x-gateway-outcome");
                assert_eq!(outcome, Some("unknown"), "{}", answer.text());
                client = door.connect();
            }
            answers.push((body, answer.status));
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        answers
    }

    /// Waits until so many more of both have been answered.
    fn goes_on(&self, more: usize) {
        let goal = |counter: &AtomicUsize| counter.load(Ordering::SeqCst) + more;
        let (reads, writes) = (goal(&self.reads), goal(&self.writes));
        wait::until("the load to go on", wait::EVENTUALLY, || {
            let done = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
            done(&self.reads) >= reads && done(&self.writes) >= writes
        });
    }
}

/// Plays `trouble` while two read and two write; returns what the writers were told.
fn under_load(door: &Door, trouble: impl FnOnce(&Load)) -> Vec<(String, u16)> {
    let load = Load::default();
    thread::scope(|scope| {
        let play = load.curtain.rises();
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| load.reads(door))).collect();
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let load = &load;
                scope.spawn(move || load.writes(door, writer))
            })
            .collect();
        load.goes_on(20);
        trouble(&load);
        load.goes_on(20);
        drop(play);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    })
}

fn none_was_seen_twice(cluster: &Cluster, answers: &[(String, u16)]) {
    let times = cluster.times_each_was_seen();
    for (body, status) in answers {
        let seen = times.get(body.as_bytes()).copied().unwrap_or(0);
        match status {
            200 => assert_eq!(seen, 1, "{body}"),
            502 => assert!(seen <= 1, "{body} was seen {seen} times"),
            other => panic!("{body} was answered {other}"),
        }
    }
}

#[test]
fn a_node_that_dies_and_returns_costs_no_read_and_repeats_no_write() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = Door::before(&cluster).opens();

    let answers = under_load(&door, |load| {
        for name in ["a", "b", "c", "a"] {
            cluster[name].dies();
            load.goes_on(30);
            cluster[name].comes_back();
            load.goes_on(10);
        }
    });

    none_was_seen_twice(&cluster, &answers);
}

#[test]
fn a_node_that_resets_now_and_then_costs_no_read_and_repeats_no_write() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = Door::before(&cluster).opens();

    let answers = under_load(&door, |load| {
        for way in [Way::Resets, Way::ClosesWithoutAnswer, Way::Resets] {
            cluster["b"].next([way]);
            load.goes_on(20);
        }
    });

    none_was_seen_twice(&cluster, &answers);
}

#[test]
fn serving_that_flaps_costs_nothing_at_all() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "50")
        .opens();

    let answers = under_load(&door, |load| {
        for _ in 0..3 {
            cluster["a"].says_serving(false);
            door.sees_out("a");
            load.goes_on(10);
            cluster["a"].says_serving(true);
            door.sees_in("a");
            load.goes_on(10);
        }
    });

    assert!(answers.iter().all(|(_, status)| *status == 200));
    none_was_seen_twice(&cluster, &answers);
}

#[test]
fn reloads_cost_nothing_at_all() {
    let cluster = Cluster::of(&["a", "b"]);
    let list = |names: &[&str]| {
        let node = |name: &&str| {
            format!(
                "[[node]]\nname = \"{name}\"\naddr = \"{}\"\n",
                cluster[name].addr()
            )
        };
        format!(
            "schema_leader = \"a\"\n{}",
            names.iter().map(node).collect::<String>()
        )
    };
    let door = Plan::alone()
        .file("--cluster", "cluster.toml", &list(&["a", "b"]))
        .opens();
    door.sees_in("a");
    door.sees_in("b");

    let answers = under_load(&door, |load| {
        for names in [&["a"][..], &["a", "b"]].repeat(10) {
            fs::write(door.scratch().path().join("cluster.toml"), list(names)).unwrap();
            door.signal(Signal::SIGHUP);
            wait::until("the reload", wait::SOON, || {
                door.get("/ready").json()["total"] == names.len()
            });
            load.goes_on(3);
        }
    });

    assert!(answers.iter().all(|(_, status)| *status == 200));
    none_was_seen_twice(&cluster, &answers);
}

#[test]
fn load_does_not_starve_the_probes() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "100")
        .set("--health-timeout", "500ms")
        .opens();
    let (curtain, addr) = (Curtain::default(), door.addr());

    thread::scope(|scope| {
        let play = curtain.rises();
        for _ in 0..4 {
            scope.spawn(|| {
                let burst = Request::get("/schema").bytes().repeat(50);
                while !curtain.is_down() {
                    let mut client = Conversation::open(addr);
                    client.says(&burst);
                    for _ in 0..50 {
                        client.hears();
                    }
                }
            });
        }
        let (begun, before) = (clock::now(), cluster["a"].probes().len());
        wait::until("two seconds of load", wait::SOON, || {
            begun.elapsed() >= Duration::from_secs(2)
        });
        let probes = cluster["a"].probes().len() - before;
        let node = door.node("a");
        drop(play);
        assert!(probes >= 8, "{probes} probes in two seconds");
        assert_eq!(node["consecutive_failures"], 0);
    });
}

#[test]
fn a_node_given_by_name_is_found_at_whichever_address_answers() {
    let cluster = Cluster::of(&["a"]);
    let upstream = format!("a=localhost:{}", cluster["a"].addr().port());
    let door = Plan::alone().flag("--upstream", &upstream).opens();
    door.sees_in("a");

    door.get("/schema").is(200);
}

#[test]
fn a_node_whose_name_nobody_knows_is_down_and_the_other_one_serves() {
    let cluster = Cluster::of(&["a"]);
    // RFC 6761 §6.4: there is no such name.
    let door = Door::before(&cluster)
        .flag("--upstream", "gone=node.invalid:1")
        .switch("--insecure-no-tls")
        .without_waiting()
        .opens();
    door.sees_in("a");

    door.get("/schema").is(200);
    let gone = door.node("gone");
    assert_eq!(gone["state"], "out", "{gone}");
    let why = gone["why"].as_str().unwrap();
    assert!(["unreachable", "timeout"].contains(&why), "{gone}");
}

#[test]
fn an_idle_door_before_three_nodes_is_small() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let door = Door::before(&cluster).opens();
    door.get("/schema").is(200);

    let status = fs::read_to_string(format!("/proc/{}/status", door.pid())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();

    assert!(kib < 25 * 1024, "{kib} KiB");
}
