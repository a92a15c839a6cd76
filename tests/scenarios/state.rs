//! A state directory that takes nothing: requests do not notice, everybody who asks is told, and it is
//! over when the disk is well again.

use std::fs;
use std::path::{Path, PathBuf};

use gateway_tests::gateway::{Door, Ended, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::state_dir::Fault;
use gateway_tests::wait;
use serde_json::Value;

/// A gateway with a state directory that can fail.
struct House {
    door: Door,
    state: PathBuf,
    socket: PathBuf,
    text: String,
}

impl House {
    fn before(cluster: &Cluster) -> Self {
        Self::of(cluster, |plan| plan)
    }

    fn of(cluster: &Cluster, but: impl FnOnce(Plan) -> Plan) -> Self {
        let text = format!(
            "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
             pool = \"shop\"\n[pools.shop]\nprobe = {{ every = \"1s\" }}\n\
             nodes = [{{ name = \"a\", addr = \"{}\" }}]\n",
            cluster["a"].addr()
        );
        let plan = Plan::configured(&text);
        let state = plan.path("state");
        let socket = plan.path("control.sock");
        let door = but(told(plan, &state, &socket)).opens();
        wait::until("a node in rotation", wait::SOON, || {
            door.get("/schema").status == 200
        });
        wait::until("the first snapshot kept", wait::SOON, || {
            state.join("active").exists() && socket.exists()
        });
        House {
            door,
            state,
            socket,
            text,
        }
    }

    /// The same configuration, with another number of seconds somewhere, and more after it.
    fn writes(&self, seconds: u32, more: &str) {
        let text = format!("{}queue_wait = \"{seconds}s\"\n{more}", self.text);
        fs::write(self.door.scratch().path().join("gateway.toml"), text).unwrap();
    }

    fn tells(&self, words: &[&str]) -> Ended {
        let at = format!("unix:{}", self.socket.display());
        runs(&[words, &["--control", &at]].concat())
    }

    fn reloads(&self) {
        let said = self.tells(&["reload"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    }

    fn status(&self) -> Value {
        let said = self.tells(&["status", "--format", "json"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    fn degraded(&self) -> String {
        let status = self.status();
        let all = status["degraded"].as_array().cloned().unwrap_or_default();
        let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
        all.join("; ")
    }
}

/// With this state directory, and a socket that does not go with it.
fn told(plan: Plan, state: &Path, socket: &Path) -> Plan {
    let at = format!("unix:{}", socket.display());
    plan.flag("--state-dir", &state.to_string_lossy())
        .flag("--control", &at)
}

#[test]
fn what_cannot_be_kept_is_served_said_and_kept_when_the_disk_is_well_again() {
    for fault in [Fault::Active, Fault::Snapshots] {
        let cluster = Cluster::of(&["a"]);
        let house = House::before(&cluster);
        let mut client = house.door.connect();
        client.asks(&Request::get("/schema")).is(200);

        fault.begins(&house.state);
        house.writes(7, "");
        let said = house.tells(&["reload"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        assert!(said.stdout.contains("snapshot 2 applied"));
        let why = said.stderr;
        assert!(why.starts_with("gatewayd: DEGRADED: "), "{why}");
        assert!(why.contains("cannot be written"), "{why}");
        let again = house.tells(&["reload", "--format", "json"]).stdout;
        let again: Value = serde_json::from_str(&again).unwrap();
        assert_eq!(again["degraded"], house.status()["degraded"]);

        let status = house.status();
        assert_eq!(status["snapshot"]["number"], 2, "{status}");
        assert!(house.degraded().contains("cannot be written"), "{status}");
        let _ = house
            .door
            .log()
            .waits_for("the snapshot is not kept", |_| true);
        client.asks(&Request::get("/schema")).is(200);

        fault.ends(&house.state);
        let said = house.tells(&["reload"]);
        assert_eq!(said.stderr, "");

        assert_eq!(house.degraded(), "");
        assert_eq!(house.status()["snapshot"]["number"], 2);
        let kept = house.tells(&["snapshots"]).stdout;
        assert!(kept.contains("*  2"), "{kept}");
        client.asks(&Request::get("/schema")).is(200);
    }
}

#[test]
fn what_was_told_and_not_kept_is_done_said_and_kept_with_the_next_reload() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let runtime = house.state.join("runtime.json");
    fs::create_dir_all(runtime.join("in the way")).unwrap();

    assert_eq!(house.tells(&["workers", "2"]).status.code(), Some(0));
    assert!(house.degraded().contains("runtime.json"));
    assert_eq!(house.status()["workers"], 2);

    fs::remove_dir_all(&runtime).unwrap();
    house.reloads();
    assert_eq!(house.degraded(), "");
    assert!(
        fs::read_to_string(&runtime)
            .unwrap()
            .contains("\"workers\":2")
    );
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_file_costs_no_request() {
    let cluster = Cluster::of(&["a"]);
    let house = House::of(&cluster, |plan| plan.with_files_up_to(8));
    let many: String = (0..200)
        .map(|number| {
            format!(
                "[sites.s{number}]\nlistener = \"door\"\nhosts = [\"s{number}.test\"]\n\
                 pool = \"shop\"\n"
            )
        })
        .collect();

    house.writes(7, &many);
    house.reloads();
    assert!(house.degraded().contains("cannot be written"));
    house.door.get("/schema").is(200);

    house.writes(8, "");
    house.reloads();
    assert_eq!(house.degraded(), "");
    assert_eq!(house.status()["snapshot"]["number"], 3);
}

#[test]
fn the_interface_refuses_what_it_cannot_keep_and_takes_it_when_it_can() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    house.writes(7, "");
    house.reloads();
    house.door.stops();
    house.door.ends_within(wait::SOON);
    let plan = Plan::bare().instead(&["run", "--config", "api"]);
    let door = told(plan, &house.state, &house.socket).opens();
    let house = House { door, ..house };
    let before = house.status();

    Fault::Active.begins(&house.state);
    let said = house.tells(&["rollback", "1"]);
    assert_eq!(said.status.code(), Some(1), "{}", said.stdout);
    assert!(said.stderr.contains("could not be kept"), "{}", said.stderr);
    let after = house.status();
    for what in ["snapshot", "degraded", "generation"] {
        assert_eq!(before[what], after[what], "{what}");
    }
    let last = after["last_error"]["message"].as_str().unwrap();
    assert!(last.contains("could not be kept"), "{last}");
    wait::until("a node in rotation", wait::SOON, || {
        house.door.get("/schema").status == 200
    });

    Fault::Active.ends(&house.state);
    let said = house.tells(&["rollback", "1"]);
    assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
    house.door.get("/schema").is(200);
}

#[test]
fn snapshots_that_somebody_removed_are_said_to_be_gone_and_what_is_served_is_kept_again() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    fs::remove_dir_all(house.state.join("snapshots")).unwrap();

    for words in [&["snapshots"][..], &["rollback"], &["rollback", "1"]] {
        let said = house.tells(words);
        assert_eq!(said.status.code(), Some(1), "{}", said.stdout);
        let why = "the snapshots that are kept cannot be listed: ";
        assert!(said.stderr.contains(why), "{words:?}: {}", said.stderr);
        assert!(!said.stderr.contains("not served"), "{}", said.stderr);
    }
    house.reloads();
    assert_eq!(house.degraded(), "");
    let kept = house.tells(&["snapshots"]).stdout;
    assert!(kept.contains("*  1"), "{kept}");
    house.door.get("/schema").is(200);
}

#[test]
fn a_directory_that_has_gone_is_said_and_not_missed_and_nobody_elses_is_written_into() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    assert_eq!(house.degraded(), "", "it answers once all is kept");
    let away = house.state.with_file_name("away");
    let says = |what: &str| house.door.log().saying(what).len();

    fs::rename(&house.state, &away).unwrap();
    let gone = "the state directory is not where it was";
    let said = house.door.log().waits_for(gone, |_| true);
    assert!(said.text("why").contains("no longer the state directory"));
    assert!(house.degraded().contains("no longer the state directory"));
    // Of another process, for all we know.
    let shelf = house.state.join("snapshots");
    fs::create_dir_all(&shelf).unwrap();
    house.writes(7, "");
    house.reloads();
    assert_eq!(house.status()["snapshot"]["number"], 2);
    assert!(house.degraded().contains("no longer the state directory"));
    assert_eq!(fs::read_dir(&house.state).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 0);
    house.door.get("/schema").is(200);

    fs::remove_dir_all(&house.state).unwrap();
    fs::rename(&away, &house.state).unwrap();
    wait::until("it is there again", wait::SOON, || {
        says("the state directory is where it was") == 1
    });
    house.reloads();
    assert_eq!(house.degraded(), "");
    let kept = house.tells(&["snapshots"]).stdout;
    assert!(kept.contains("*  2"), "{kept}");
}
