//! The access log turns from one file to another while requests go on: no line is lost, none is
//! written twice.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

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
        let place = match to {
            "off" => to.to_owned(),
            file => format!("./{file}"),
        };
        let text = format!("{}[logs]\naccess = \"{place}\"\n", self.text);
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
fn a_pipe_that_nobody_reads_is_refused_and_one_that_is_read_is_written_to() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    mkfifo(&house.path("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();

    house.reloads("pipe", "reload: refused");

    let refused = house.door.log().saying("reload: refused");
    let why = refused[0].text("why");
    assert!(why.contains("pipe cannot be opened"), "{why}");
    house.reloads("two.log", "reload: applied");
    // For both ways, it does not wait for who writes.
    let pipe = File::options()
        .read(true)
        .write(true)
        .open(house.path("pipe"));
    house.reloads("pipe", "reload: applied");
    let id = house.asks();
    let mut line = String::new();
    BufReader::new(pipe.unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&id), "{line}");
}

#[test]
fn a_file_that_became_a_pipe_that_nobody_reads_is_not_opened_again() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let moved = house.path("moved.log");
    fs::rename(house.path("one.log"), &moved).unwrap();
    mkfifo(&house.path("one.log"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();

    house.door.signal(Signal::SIGUSR1);
    wait::until("the attempt", wait::SOON, || {
        let _ = house.asks();
        !house.door.log().saying("not reopened").is_empty()
    });

    let id = house.asks();
    wait::until("the line", wait::SOON, || {
        fs::read_to_string(&moved).unwrap().contains(&id)
    });
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
    wait::until("the file made anew without a line", wait::SOON, || {
        house.path("two.log").exists()
    });
    assert_eq!(open("two.log.1"), 0);
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

/// Case 41: what a client would write into a line to make it another's, or two.
const FORGED: [&[u8]; 7] = [
    b"x%0d%0ay",
    b"x\x1b[2Jy",
    "x\u{85}y".as_bytes(),
    b"x\" 200 \"y",
    b"x\\\"y\\",
    b"x\xff\xc3\x28y",
    &[b'a'; 60 * 1024],
];

/// Where it writes it.
const PLACES: [&str; 3] = [
    "GET /FORGED HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: FORGED\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: FORGED\r\nReferer: FORGED\r\n\r\n",
];

#[test]
fn a_client_cannot_forge_a_line() {
    let cluster = Cluster::of(&["a"]);
    for format in ["combined", "json"] {
        let house = House::before(&cluster);
        let text = format!(
            "{}[logs]\naccess = \"./forged.log\"\nformat = \"{format}\"\n",
            house.text
        );
        fs::write(house.path("gateway.toml"), text).unwrap();
        house.door.signal(Signal::SIGHUP);
        house.door.log().waits_for("reload: applied", |_| true);
        let mut asked = 0;
        for place in PLACES {
            for forged in FORGED {
                let mut parts = place.split("FORGED").map(str::as_bytes);
                let mut bytes = parts.next().unwrap().to_vec();
                for part in parts {
                    bytes.extend_from_slice(forged);
                    bytes.extend_from_slice(part);
                }
                let _ = house.door.connect().says(bytes).listens();
                asked += 1;
            }
        }
        let read = || fs::read(house.path("forged.log")).unwrap();
        let is_written = || read().iter().filter(|&&byte| byte == b'\n').count() >= asked;
        wait::until("a line for each", wait::SOON, is_written);

        let log = read();
        let lines: Vec<&[u8]> = log.trim_ascii_end().split(|&byte| byte == b'\n').collect();
        assert_eq!(lines.len(), asked, "{format}");
        for line in lines {
            let shown = String::from_utf8_lossy(line);
            assert!(
                line.iter().all(|byte| (b' '..=b'~').contains(byte)),
                "{shown}"
            );
            assert!(line.len() < 10 * 1024, "{} bytes", line.len());
            match format {
                "json" => assert!(
                    serde_json::from_slice::<serde_json::Value>(line).is_ok(),
                    "{shown}"
                ),
                _ => assert_eq!(shown.matches('"').count(), 6, "{shown}"),
            }
        }
    }
}

#[test]
fn the_combined_format_has_the_query_but_not_what_is_to_be_masked() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    let logs = "[logs]\naccess = \"./combined.log\"\nformat = \"combined\"\nredact = [\"token\"]\n";
    fs::write(house.path("gateway.toml"), format!("{}{logs}", house.text)).unwrap();
    house.door.signal(Signal::SIGHUP);
    house.door.log().waits_for("reload: applied", |_| true);
    let request = Request::get("/schema?a=1&token=s3cret&b=2")
        .field("Authorization", "Bearer s3cret")
        .field("Cookie", "token=s3cret")
        .field("User-Agent", "tester/1")
        .field("Referer", "https://shop.test/?token=s3cret");
    house.door.ask(&request).is(200);
    let read = || fs::read_to_string(house.path("combined.log")).unwrap();
    wait::until("the line", wait::SOON, || read().ends_with('\n'));
    let line = read();
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    assert!(
        line.contains("\"GET /schema?a=1&token=***&b=2 HTTP/1.1\" 200 "),
        "{line}"
    );
    assert!(
        line.ends_with(" \"https://shop.test/?token=***\" \"tester/1\"\n"),
        "{line}"
    );
    assert!(!line.contains("s3cret"), "{line}");
}

#[test]
fn the_level_of_the_log_follows_a_reload() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    cluster["a"].says_serving(false);
    let at = |level: &str, access: &str| {
        let text = format!(
            "{}[logs]\nlevel = \"{level}\"\naccess = \"./{access}\"\n",
            house.text
        );
        fs::write(house.path("gateway.toml"), text).unwrap();
        house.door.signal(Signal::SIGHUP);
    };
    let says = |what: &str| house.door.log().saying(what).len();
    let marks = |mark: usize| {
        fs::write(house.path("gateway.toml"), "nonsense").unwrap();
        house.door.signal(Signal::SIGHUP);
        wait::until("a refusal", wait::SOON, || says("reload: refused") == mark);
    };
    let is_probed = |times: usize| {
        let before = cluster["a"].probes().len();
        wait::until("the next probes", wait::EVENTUALLY, || {
            cluster["a"].probes().len() >= before + times
        });
    };
    at("debug", "one.log");
    let said = house.door.log().waits_for("probe failed", |_| true);
    assert_eq!(said.text("pool"), "shop");
    // From `error` on an applied reload is not said. What it opens says that it is under way, and a
    // refusal after it that it is done.
    at("error", "error.log");
    wait::until("the reload", wait::SOON, || {
        house.path("error.log").exists()
    });
    marks(1);
    is_probed(1);
    let before = says("probe failed");
    // The first two of these have ended, and what was said of them stands before the next mark.
    is_probed(3);
    marks(2);
    assert_eq!(says("probe failed"), before);
    let before = says("reload: applied");
    at("info", "error.log");
    wait::until("info again", wait::SOON, || {
        says("reload: applied") > before
    });
}
