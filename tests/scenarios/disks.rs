//! A state directory on a disk that is full, or read-only, for real: requests do not notice, whoever asks is
//! told, and it is over when the disk is well again.
//!
//! `cargo xtask test` finds out whether a disk can be mounted, and says so where it cannot.

use std::fs;
use std::path::PathBuf;

use gateway_tests::disk::Disk;
use gateway_tests::gateway::{Door, Ended, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::unistd::Pid;
use serde_json::Value;

/// A gateway whose state directory is a disk of its own.
struct House {
    door: Door,
    socket: PathBuf,
    text: String,
}

impl House {
    fn on(disk: &Disk, plan: Plan, text: &str) -> Self {
        let socket = plan.path("control.sock");
        let at = format!("unix:{}", socket.display());
        let door = plan.flag("--control", &at).with_disk(disk).opens();
        wait::until("it may be told things", wait::SOON, || socket.exists());
        House {
            door,
            socket,
            text: text.to_owned(),
        }
    }

    fn tells(&self, words: &[&str]) -> Ended {
        let at = format!("unix:{}", self.socket.display());
        runs(&[words, &["--control", &at]].concat())
    }

    fn reloads_with(&self, seconds: u32) {
        let text = format!("{}queue_wait = \"{seconds}s\"\n", self.text);
        fs::write(self.door.scratch().path().join("gateway.toml"), text).unwrap();
        let said = self.tells(&["reload"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    }

    fn status(&self) -> Value {
        let said = self.tells(&["status", "--format", "json"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    fn degraded(&self) -> String {
        self.status()["degraded"].to_string()
    }
}

fn text(cluster: &Cluster) -> String {
    format!(
        "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
         pool = \"shop\"\n[pools.shop]\nprobe = {{ every = \"1s\" }}\n\
         nodes = [{{ name = \"a\", addr = \"{}\" }}]\n",
        cluster["a"].addr()
    )
}

#[test]
#[ignore = "wants a disk to be mounted: run by `cargo xtask test`"]
fn one_that_takes_nothing_costs_no_request_and_is_said_until_it_is_well_again() {
    let full = (
        Disk::is_filled as fn(&Disk, Pid),
        Disk::is_emptied as fn(&Disk, Pid),
    );
    let sealed = (
        Disk::is_sealed as fn(&Disk, Pid),
        Disk::is_unsealed as fn(&Disk, Pid),
    );
    for ((begins, ends), why) in [
        (full, "No space left on device"),
        (sealed, "Read-only file system"),
    ] {
        let cluster = Cluster::of(&["a"]);
        let plan = Plan::configured(&text(&cluster));
        let state = plan.path("state");
        let disk = Disk::at(&state, 64);
        let plan = plan.flag("--state-dir", &state.to_string_lossy());
        let house = House::on(&disk, plan, &text(&cluster));
        assert_eq!(house.degraded(), "[]");
        let mut client = house.door.connect();

        begins(&disk, house.door.pid());
        house.reloads_with(7);

        assert!(house.degraded().contains(why), "{}", house.degraded());
        assert_eq!(house.status()["snapshot"]["number"], 2);
        let _ = house
            .door
            .log()
            .waits_for("the snapshot is not kept", |_| true);
        let drained = house.tells(&["drain", "shop/a"]);
        assert_eq!(drained.status.code(), Some(0), "{}", drained.stderr);
        assert!(
            house.degraded().contains("runtime.json"),
            "{}",
            house.degraded()
        );
        assert_eq!(house.tells(&["undrain", "shop/a"]).status.code(), Some(0));
        client.asks(&Request::get("/schema")).is(200);

        ends(&disk, house.door.pid());
        house.reloads_with(8);

        assert_eq!(house.degraded(), "[]");
        let kept = house.tells(&["snapshots"]).stdout;
        assert!(kept.contains("*  3"), "{kept}");
        client.asks(&Request::get("/schema")).is(200);
        house.door.stops();
        assert!(house.door.ends_within(wait::SOON).success());
    }
}

/// What a gateway that has ended kept of a configuration.
fn kept(cluster: &Cluster) -> (Door, PathBuf) {
    let plan = Plan::configured(&text(cluster));
    let before = plan.path("before");
    let door = plan.flag("--state-dir", &before.to_string_lossy()).opens();
    wait::until("the first snapshot kept", wait::SOON, || {
        before.join("active").exists()
    });
    door.stops();
    assert!(door.ends_within(wait::SOON).success());
    (door, before)
}

#[test]
#[ignore = "wants a disk to be mounted: run by `cargo xtask test`"]
fn one_that_takes_no_socket_is_no_reason_not_to_serve() {
    let cluster = Cluster::of(&["a"]);
    let (_door, before) = kept(&cluster);
    let plan = Plan::configured(&text(&cluster));
    let state = plan.path("state");
    let disk = Disk::at(&state, 256).read_only_with(&before);

    let plan = plan.flag("--state-dir", &state.to_string_lossy());
    let door = plan.with_disk(&disk).opens();

    wait::until("a node in rotation", wait::SOON, || {
        door.get("/schema").status == 200
    });
    let said = door
        .log()
        .waits_for("nobody can tell the process anything", |_| true);
    assert!(said.text("why").contains("Read-only file system"));
}

#[test]
#[ignore = "wants a disk to be mounted: run by `cargo xtask test`"]
fn what_was_served_last_is_served_again_from_one_that_is_read_only() {
    let cluster = Cluster::of(&["a"]);
    let (_door, before) = kept(&cluster);
    let plan = Plan::bare().instead(&["run", "--config", "api"]);
    let state = plan.path("state");
    let disk = Disk::at(&state, 256).read_only_with(&before);
    let plan = plan.flag("--state-dir", &state.to_string_lossy());
    let house = House::on(&disk, plan, "");

    assert_eq!(house.status()["snapshot"]["number"], 1);
    wait::until("a node in rotation", wait::SOON, || {
        house.door.get("/schema").status == 200
    });
    let said = house.tells(&["workers", "2"]);
    assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    assert!(house.degraded().contains("Read-only file system"));
}

/// Case 41: a line that finds no room leaves nothing of itself.
#[test]
#[ignore = "wants a disk to be mounted: run by `cargo xtask test`"]
fn one_that_is_full_loses_whole_lines_of_the_access_log() {
    let cluster = Cluster::of(&["a"]);
    let text = text(&cluster);
    let plan = Plan::configured(&format!("{text}[logs]\naccess = \"./logs/one.log\"\n"));
    let disk = Disk::at(&plan.path("logs"), 8_192);
    let door = plan.with_disk(&disk).opens();
    wait::until("a node in rotation", wait::SOON, || {
        door.get("/schema").status == 200
    });
    let log = door.scratch().path().join("logs/one.log");
    let log = format!("/proc/{}/root{}", door.pid(), log.display());
    let asks_until = |said: &str| {
        wait::until(said, wait::SOON, || {
            door.get("/schema").is(200);
            !door.log().saying(said).is_empty()
        });
    };

    disk.is_filled(door.pid());
    asks_until("access lines are lost");
    let whole = fs::read_to_string(&log).unwrap();
    assert!(whole.ends_with("}\n"), "{whole}");
    disk.is_emptied(door.pid());
    asks_until("access lines are written again");

    let all = fs::read_to_string(&log).unwrap();
    assert!(all.len() > whole.len());
    for line in all.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["id"].is_string(), "{line}");
    }
}
