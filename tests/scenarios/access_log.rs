//! The access log turns from one file to another while requests go on: no line is lost, none is
//! written twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// Clients that ask all the time.
const CLIENTS: usize = 4;
/// Changes of the file.
const TURNS: usize = 40;

/// A gateway whose access log is a file.
struct House {
    door: Door,
    text: String,
}

impl House {
    fn before(cluster: &Cluster) -> Self {
        let text = format!(
            "workers = 2\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
             pool = \"shop\"\n[pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"1s\" }}\n",
            cluster["a"].addr()
        );
        let plan = Plan::configured(&format!("{text}[logs]\naccess = \"./one.log\"\n"));
        let door = plan.opens();
        wait::until("a node in rotation", wait::SOON, || {
            door.get("/schema").status == 200
        });
        House { door, text }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.door.scratch().path().join(name)
    }

    /// Reloads with this access log, and gives the words that are new in the log.
    fn reloads(&self, to: &str, said: &str) {
        let before = self.door.log().saying(said).len();
        let text = format!("{}[logs]\naccess = \"{to}\"\n", self.text);
        fs::write(self.path("gateway.toml"), text).unwrap();
        self.door.signal(Signal::SIGHUP);
        wait::until(said, wait::SOON, || {
            self.door.log().saying(said).len() > before
        });
    }

    /// How often the id of a request stands in each of these files.
    fn counts(&self, names: &[&str]) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for name in names {
            for line in fs::read_to_string(self.path(name)).unwrap().lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                *counts
                    .entry(line["id"].as_str().unwrap().to_owned())
                    .or_default() += 1;
            }
        }
        counts
    }

    fn asks(&self) -> String {
        let answer = self.door.get("/schema");
        answer.is(200);
        answer.field("x-request-id").unwrap().to_owned()
    }
}

#[test]
fn every_request_is_in_exactly_one_of_the_files_a_reload_turns_between() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let ids = Mutex::new(Vec::new());
    let curtain = Curtain::default();
    thread::scope(|scope| {
        let play = curtain.rises();
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = house.door.connect();
                while !curtain.is_down() {
                    let answer = client.asks(&Request::get("/schema"));
                    answer.is(200);
                    let id = answer.field("x-request-id").unwrap().to_owned();
                    ids.lock().unwrap().push(id);
                }
            });
        }
        for turn in 0..TURNS {
            let to = ["./two.log", "./one.log"][turn % 2];
            house.reloads(to, "reload: applied");
        }
        drop(play);
    });
    house.door.stops();
    house.door.ends_within(wait::EVENTUALLY);

    let counts = house.counts(&["one.log", "two.log"]);
    let ids = ids.into_inner().unwrap();
    assert!(ids.len() > TURNS, "{} requests", ids.len());
    for id in &ids {
        assert_eq!(counts.get(id), Some(&1), "{id} of {}", ids.len());
    }
    assert!(counts.values().all(|&times| times == 1));
    for name in ["one.log", "two.log"] {
        assert!(!house.counts(&[name]).is_empty(), "{name} was never used");
    }
}

#[test]
fn the_file_of_before_is_closed_and_the_one_of_now_is_opened_anew_when_asked() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    house.reloads("./two.log", "reload: applied");
    let open = |name: &str| {
        let fds = fs::read_dir(format!("/proc/{}/fd", house.door.pid())).unwrap();
        let links = fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        links.filter(|link| *link == house.path(name)).count()
    };
    assert_eq!((open("one.log"), open("two.log")), (0, 1));

    fs::rename(house.path("two.log"), house.path("two.log.1")).unwrap();
    house.door.signal(Signal::SIGUSR1);
    wait::until("the file made anew", wait::SOON, || {
        house.asks();
        house.path("two.log").exists()
    });
    let id = house.asks();
    wait::until("the line in it", wait::SOON, || {
        house.counts(&["two.log"]).contains_key(&id)
    });
}

#[test]
fn a_file_that_cannot_be_opened_is_a_finding_on_its_line_and_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);

    house.reloads("nowhere/at/all.log", "reload: refused");

    let said = house.door.log().saying("reload: refused");
    let why = said[0].text("why");
    for words in ["G0602", "gateway.toml:11:10", "nowhere/at/all.log"] {
        assert!(why.contains(words), "no `{words}` in {why}");
    }
    let id = house.asks();
    wait::until("its line where lines were before", wait::SOON, || {
        house.counts(&["one.log"]).contains_key(&id)
    });
    assert!(!house.path("nowhere").exists());
}

#[test]
fn lines_can_be_turned_off_and_on_again() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    house.reloads("off", "reload: applied");
    let mut client = house.door.connect();
    let unseen = client.asks(&Request::get("/schema"));
    // The line of a request stands before the next one on its connection is answered.
    client.asks(&Request::get("/schema")).is(200);
    house.reloads("./one.log", "reload: applied");
    let seen = house.asks();
    wait::until("the second line", wait::SOON, || {
        house.counts(&["one.log"]).contains_key(&seen)
    });
    assert!(
        !house
            .counts(&["one.log"])
            .contains_key(unseen.field("x-request-id").unwrap())
    );
}
