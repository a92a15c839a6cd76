//! What is said of a process that ends, to who asks and to who watches.

use std::path::PathBuf;
use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::gateway::{Door, Ended, Followed, Plan, follows, runs};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;
use serde_json::Value;

/// A gateway before one node, and the commands to it.
struct House {
    door: Door,
    state: PathBuf,
}

impl House {
    fn before(cluster: &Cluster) -> Self {
        let text = format!(
            "workers = 2\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
             pool = \"shop\"\nendpoints = \"shop\"\n[pools.shop]\nprobe = {{ every = \"1s\" }}\n\
             nodes = [{{ name = \"a\", addr = \"{}\" }}]\n",
            cluster["a"].addr()
        );
        let plan = Plan::configured(&text);
        let state = plan.path("state");
        let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
        wait::until("it may be told things", wait::SOON, || {
            state.join("control.sock").exists()
        });
        House { door, state }
    }

    fn tells(&self, words: &[&str]) -> Ended {
        let state = self.state.to_string_lossy();
        runs(&[words, &["--state-dir", &state]].concat())
    }

    fn watched(&self, format: &str) -> Followed {
        let state = self.state.to_string_lossy();
        let words = [
            "status",
            "--watch",
            "--format",
            format,
            "--state-dir",
            &state,
        ];
        let watching = follows(&words);
        wait::until("the first look", wait::SOON, || !watching.all().is_empty());
        watching
    }
}

#[test]
fn who_asks_while_it_drains_is_told_by_when_and_what_is_left() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    std::fs::write(
        house.door.scratch().path().join("gateway.toml"),
        "[drian]\n",
    )
    .unwrap();
    assert_eq!(house.tells(&["reload"]).status.code(), Some(1));
    let said = house.tells(&["status"]).stdout;
    assert!(said.contains("refused at "), "{said}");
    cluster.always(&Way::Held);
    let mut client = house.door.connect();
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

    house.door.stops();
    wait::until("it drains", wait::SOON, || {
        house
            .tells(&["status"])
            .stdout
            .contains("draining, ends by ")
    });

    let said = house.tells(&["status"]).stdout;
    assert!(
        said.contains(": 1 connections, 1 requests in flight"),
        "{said}"
    );
    for past in ["0 workers", "refused at "] {
        assert!(!said.contains(past), "{said}");
    }
    let json = house.tells(&["status", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["ending"]["connections"], 1, "{json}");
    assert_eq!(json["ending"]["in_flight"], 1);
    assert!(json["ending"]["deadline"].is_string());
    cluster["a"].lets_go();
    client.hears().is(200);
    assert!(house.door.ends_within(wait::SOON).success());
}

#[test]
fn a_refusal_is_no_longer_shown_once_a_change_has_come_after_it() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let file = house.door.scratch().path().join("gateway.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "[drian]\n").unwrap();
    assert_eq!(house.tells(&["reload"]).status.code(), Some(1));
    assert!(house.tells(&["status"]).stdout.contains("refused at "));

    std::fs::write(&file, good).unwrap();
    assert_eq!(house.tells(&["reload"]).status.code(), Some(0));

    assert!(!house.tells(&["status"]).stdout.contains("refused at "));
    let json = house.tells(&["status", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["last_error"]["is_past"], true, "{json}");
}

#[test]
fn who_watches_hears_of_the_end_and_ends_well() {
    for format in ["text", "json"] {
        for is_busy in [false, true] {
            let cluster = Cluster::of(&["a"]);
            let house = House::before(&cluster);
            let watching = house.watched(format);
            let mut client = house.door.connect();
            if is_busy {
                cluster.always(&Way::Held);
                client.sends(&Request::post("/sql", "in flight"));
                wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);
            }

            house.door.stops();
            cluster["a"].lets_go();

            assert_eq!(watching.ends().code(), Some(0), "{format} {is_busy}");
            let said = watching.all().join("\n");
            let word = if format == "text" {
                "draining, ends by "
            } else {
                "\"ending\":{"
            };
            assert!(said.contains(word), "{said}");
            let heard = || watching.complains() == ["gatewayd: the process has ended"];
            wait::until("a plain sentence", wait::SOON, heard);
        }
    }
}

#[test]
fn who_watches_a_process_that_is_killed_is_told_so() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let watching = house.watched("text");

    house.door.signal(Signal::SIGKILL);

    assert_eq!(watching.ends().code(), Some(2));
    wait::until("a plain sentence", wait::SOON, || {
        let said = watching.complains();
        said.len() == 1 && said[0].starts_with("gatewayd: no answer any more: ")
    });
}

#[test]
fn with_nothing_in_flight_the_end_is_soon_also_while_somebody_watches() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let watching = house.watched("text");
    let begun = clock::now();

    house.door.stops();

    assert!(house.door.ends_within(wait::SOON).success());
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(watching.ends().code(), Some(0));
}
