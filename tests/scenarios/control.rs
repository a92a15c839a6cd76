//! What a running process is told on the command line, and what it says to that.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, Ended, Followed, Plan, follows, runs};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::scratch::set_mode;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;

/// A gateway that keeps its state, and the commands to it.
struct Told {
    door: Door,
    state: PathBuf,
}

impl Told {
    fn before(cluster: &Cluster) -> Self {
        Self::of(Plan::configured(&text(cluster, "5s")), &[])
    }

    fn of(plan: Plan, switches: &[&str]) -> Self {
        let state = plan.path("state");
        let plan = plan.flag("--state-dir", &state.to_string_lossy());
        let plan = switches.iter().fold(plan, |plan, one| plan.switch(one));
        let told = Told {
            door: plan.opens(),
            state,
        };
        wait::until("the socket", wait::SOON, || {
            told.state.join("control.sock").exists()
        });
        told
    }

    fn tells(&self, words: &[&str]) -> Ended {
        let state = self.state.to_string_lossy().into_owned();
        let mut words: Vec<&str> = words.to_vec();
        words.extend(["--state-dir", &state]);
        runs(&words)
    }

    fn status(&self) -> Value {
        let said = self.tells(&["status", "--format", "json"]);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// Somebody who watches, and has seen how everything is.
    fn watched(&self) -> Followed {
        let state = self.state.to_string_lossy().into_owned();
        let words = [
            "status",
            "--watch",
            "--format",
            "json",
            "--state-dir",
            &state,
        ];
        let watching = follows(&words);
        // A look at the nodes comes before their change.
        wait::until("the end of the first look", wait::SOON, || {
            watching.all().last().is_some_and(|line| line == "}")
        });
        watching
    }

    /// Whole or not at all: another reload may be reading it.
    fn writes(&self, text: &str) {
        let scratch = self.door.scratch();
        let new = scratch.file("gateway.toml.new", text);
        fs::rename(new, scratch.path().join("gateway.toml")).unwrap();
    }
}

fn text(cluster: &Cluster, wait: &str) -> String {
    let nodes: Vec<String> = cluster
        .nodes()
        .iter()
        .map(|node| {
            format!(
                "{{ name = \"{}\", addr = \"{}\" }}",
                node.name(),
                node.addr()
            )
        })
        .collect();
    format!(
        "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
         pool = \"shop\"\nendpoints = \"shop\"\n[pools.shop]\nqueue_wait = \"{wait}\"\n\
         nodes = [{}]\nprobe = {{ every = \"1s\" }}\n",
        nodes.join(", ")
    )
}

fn says(ended: &Ended, code: i32, words: &str) {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "no `{words}` in {said}");
}

#[test]
fn a_reload_says_what_it_came_to() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    says(&told.tells(&["reload"]), 0, "snapshot 1 unchanged");
    told.writes(&text(&cluster, "6s"));
    says(
        &told.tells(&["reload"]),
        0,
        "snapshot 2 applied, 1 pool changed",
    );
    says(
        &told.tells(&["reload", "--new-generation"]),
        0,
        "generation 2",
    );
}

#[test]
fn a_refused_reload_tells_everybody_why_and_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    let before = told.status();
    told.writes(&format!("[drian]\nx = 1\n{}", text(&cluster, "6")));

    let said = told.tells(&["reload"]);
    says(&said, 1, "--> ");
    for words in [
        "error[G0002]",
        "error[G0203]",
        "gateway.toml:1:2",
        "snapshot 1 stays",
    ] {
        says(&said, 1, words);
    }
    let line = told.door.log().waits_for("reload: refused", |_| true);
    assert!(
        line.text("why").contains("error[G0203]"),
        "{}",
        line.text("why")
    );

    let after = told.status();
    for what in [
        "generation",
        "snapshot",
        "listeners",
        "overrides",
        "degraded",
    ] {
        assert_eq!(before[what], after[what], "{what}");
    }
    let last = after["last_error"]["message"].as_str().unwrap();
    assert!(last.contains("gateway.toml:1:2: error[G0002]: "), "{last}");
    assert_eq!(told.door.get("/health").status, 200);
}

#[test]
fn a_port_that_is_taken_is_a_finding_on_its_line() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    told.writes(&text(&cluster, "5s").replace("127.0.0.1:0", &addr.to_string()));
    let said = told.tells(&["reload"]);
    says(&said, 1, "error[G0701]");
    says(&said, 1, "gateway.toml:3:8");
    assert_eq!(told.door.get("/health").status, 200);
}

#[test]
fn what_was_told_goes_before_the_configuration_until_it_is_reset() {
    let cluster = Cluster::of(&["a", "b"]);
    let told = Told::before(&cluster);
    says(&told.tells(&["drain", "shop/a"]), 0, "is drained");
    says(&told.tells(&["workers", "2"]), 0, "2 workers");
    says(&told.tells(&["reload"]), 0, "unchanged");

    let status = told.status();
    assert_eq!(status["workers"], 2);
    assert_eq!(status["overrides"]["workers"], 2);
    assert_eq!(status["overrides"]["drained"][0]["node"], "a");
    assert_eq!(status["pools"][0]["nodes"][0]["drained"], true);
    says(&told.tells(&["status"]), 0, "told: shop/a drained");

    says(&told.tells(&["undrain", "shop/a"]), 0, "no longer");
    says(&told.tells(&["workers", "reset"]), 0, "1 workers");
    assert_eq!(
        told.status()["overrides"]["drained"],
        Value::Array(Vec::new())
    );
}

#[test]
fn what_does_not_exist_or_makes_no_sense_is_refused() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    says(
        &told.tells(&["drain", "shop/z"]),
        2,
        "there is no node `z` in pool `shop`",
    );
    says(&told.tells(&["drain", "z/a"]), 2, "there is no pool `z`");
    says(&told.tells(&["drain", "a"]), 2, "POOL/NODE");
    // What is served is as it was said: no change was refused.
    let said = told.door.log().saying("overrides: refused");
    assert!(said.iter().any(|one| one.text("why").contains("`z`")));
    assert_eq!(told.door.log().saying("reload: refused").len(), 0);
    assert_eq!(told.status()["last_error"], Value::Null);
    for count in ["0", "257", "x"] {
        says(&told.tells(&["workers", count]), 2, "1 to 256");
    }
    says(&told.tells(&["rollback", "9"]), 2, "there is no snapshot 9");
    says(&told.tells(&["rollback"]), 1, "no snapshot before");
    says(
        &runs(&["status", "--state-dir", "nowhere"]),
        2,
        "no answer on",
    );
    says(&runs(&["status"]), 2, "--control");
}

#[test]
fn a_rollback_differs_from_the_files_until_the_next_reload() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    let first = told.status()["snapshot"]["hash"].clone();
    told.writes(&text(&cluster, "6s"));
    says(&told.tells(&["reload"]), 0, "snapshot 2 applied");

    says(&told.tells(&["rollback"]), 0, "snapshot 3 applied");
    let status = told.status();
    assert_eq!(status["snapshot"]["hash"], first);
    assert_eq!(status["snapshot"]["differs_from_files"], true);
    says(&told.tells(&["status"]), 0, "differs from");

    says(&told.tells(&["reload"]), 0, "snapshot 4 applied");
    assert_eq!(told.status()["snapshot"]["differs_from_files"], false);
    says(&told.tells(&["snapshots"]), 0, "*  4");
}

#[test]
fn two_reloads_at_once_go_one_after_the_other() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    thread::scope(|all| {
        let ends: Vec<_> = (0..6)
            .map(|turn| {
                if turn % 2 == 0 {
                    told.writes(&text(&cluster, &format!("{}s", 10 + turn)));
                }
                all.spawn(|| told.tells(&["reload"]))
            })
            .collect();
        for end in ends {
            says(&end.join().unwrap(), 0, "snapshot ");
        }
    });
    assert_eq!(told.status()["last_error"], Value::Null);
    assert_eq!(told.door.get("/health").status, 200);
}

#[test]
fn what_was_served_and_told_outlives_the_process() {
    let cluster = Cluster::of(&["a", "b"]);
    let told = Told::before(&cluster);
    says(&told.tells(&["drain", "shop/b"]), 0, "drained");
    told.writes(&text(&cluster, "7s"));
    says(&told.tells(&["reload"]), 0, "snapshot 2");
    says(&told.tells(&["stop"]), 0, "ends");
    assert_eq!(told.door.ends_within(wait::SOON).code(), Some(0));

    let file = told.door.scratch().path().join("gateway.toml");
    fs::write(&file, "[drian]\n").unwrap();
    let words = ["run", "--config", &file.to_string_lossy()].map(str::to_owned);
    says(&runs(&words), 1, "G0002");

    let again = Plan::configured("[drian]\n").flag("--state-dir", &told.state.to_string_lossy());
    let door = again.switch("--last-good").opens();
    let told = Told {
        door,
        state: told.state,
    };
    let status = told.status();
    assert_eq!(status["snapshot"]["number"], 2);
    assert!(
        status["degraded"][0].as_str().unwrap().contains("G0002"),
        "{status}"
    );
    assert_eq!(status["overrides"]["drained"][0]["node"], "b");
}

#[test]
fn the_interface_as_owner_begins_with_what_was_applied_last() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    let hash = told.status()["snapshot"]["hash"].clone();
    told.door.stops();
    told.door.ends_within(wait::SOON);

    let plan = Plan::bare().instead(&["run", "--config", "api"]);
    let door = plan
        .flag("--state-dir", &told.state.to_string_lossy())
        .opens();
    let told = Told {
        door,
        state: told.state,
    };
    let status = told.status();
    assert_eq!(status["owner"]["kind"], "KIND_API");
    assert_eq!(status["snapshot"]["hash"], hash);
    told.door.signal(Signal::SIGHUP);
    let _ = told
        .door
        .log()
        .waits_for("reload: unchanged but for the files it names", |_| true);
}

#[test]
fn the_socket_is_its_owners_alone_and_two_processes_do_not_share_it() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    let socket = told.state.join("control.sock");
    let mode = fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    let at = format!("unix:{}", socket.display());
    let second = Plan::configured(&text(&cluster, "5s")).flag("--control", &at);
    let second = second.is_refused();
    says(&second, 1, "another process answers on it");
    says(&told.tells(&["status"]), 0, "snapshot 1");
}

#[test]
fn tcp_without_certificates_is_no_way_in() {
    let cluster = Cluster::of(&["a"]);
    let plan = Plan::configured(&text(&cluster, "5s"));
    says(
        &plan.flag("--control", "tcp:127.0.0.1:0").is_refused(),
        2,
        "--control-cert",
    );
    let plan = Plan::bare().instead(&["run", "--config", "api"]);
    says(&plan.is_refused(), 2, "--state-dir");
}

#[test]
fn a_file_of_the_way_in_over_tcp_is_regular_and_its_key_nobody_elses() {
    let authority = Authority::new();
    let server = authority.signs(&["door.test"]);
    let refused = |spoil: fn(&Path), name: &str, words: &str| {
        let plan = Plan::configured(&text(&Cluster::of(&["a"]), "5s"))
            .flag("--control", "tcp:127.0.0.1:0")
            .file("--control-cert", "control.pem", &server.cert_pem)
            .file("--control-key", "control.key", &server.key_pem)
            .file("--control-ca", "control-ca.pem", authority.pem());
        let path = plan.path(name);
        spoil(&path);
        let ended = plan.is_refused();
        says(&ended, 1, &path.display().to_string());
        says(&ended, 1, words);
    };
    let opens = |path: &Path| set_mode(path, 0o644);
    let pipes = |path: &Path| {
        fs::remove_file(path).unwrap();
        mkfifo(path, Mode::S_IRWXU).unwrap();
    };

    refused(opens, "control.key", "its mode is 644: chmod 600 /");
    refused(pipes, "control.key", "--control-key ");
    refused(pipes, "control.pem", "--control-cert ");
    refused(pipes, "control-ca.pem", "--control-ca ");
}

#[test]
fn whoever_fills_tcp_locks_nobody_out_of_the_socket() {
    let (cluster, authority) = (Cluster::of(&["a"]), Authority::new());
    let server = authority.signs(&["door.test"]);
    let plan = Plan::configured(&text(&cluster, "5s"));
    let socket = plan.path("own.sock").to_string_lossy().into_owned();
    let own = format!("unix:{socket}");
    let door = plan
        .flag("--control", "tcp:127.0.0.1:0")
        .flag("--control", &own)
        .file("--control-cert", "control.pem", &server.cert_pem)
        .file("--control-key", "control.key", &server.key_pem)
        .file("--control-ca", "control-ca.pem", authority.pem())
        .opens();
    let said = door.log().waits_for("control", |_| true);
    let addr: SocketAddr = said.text("addr").parse().unwrap();

    // Nothing is said on any of them.
    let silent = (0..65).map(|_| TcpStream::connect(addr).unwrap());
    let _silent: Vec<_> = silent.collect();
    let _ = door
        .log()
        .waits_for("control: refused", |one| one.text("why").contains("many"));

    says(&runs(&["status", "--control", &own]), 0, "snapshot 1");
}

#[test]
fn who_watches_is_told_what_changes() {
    let cluster = Cluster::of(&["a", "b"]);
    let told = Told::before(&cluster);
    let watching = told.watched();
    says(&told.tells(&["drain", "shop/a"]), 0, "drained");
    told.writes("[drian]\n");
    says(&told.tells(&["reload"]), 1, "G0002");
    cluster["b"].says_serving(false);
    for what in ["\"overrides\":{", "\"refused\":{", "\"rotation\":{"] {
        wait::until(what, wait::SOON, || {
            watching.all().iter().any(|line| line.contains(what))
        });
    }
}

#[test]
fn who_watches_is_told_once_of_every_generation_that_has_ended() {
    let cluster = Cluster::of(&["a"]);
    let door = text(&cluster, "5s");
    let side = "[listeners.side]\nbind = \"127.0.0.1:0\"\n[sites.side]\nlistener = \"side\"\n\
                pool = \"shop\"\n";
    let told = Told::of(Plan::configured(&format!("{door}{side}")), &[]);
    let watching = told.watched();
    let ended = || -> Vec<u64> {
        let lines = watching.all();
        let events = lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok());
        let ended = events.map(|event: Value| event["generation_ended"]["generation"].clone());
        ended.filter_map(|number| number.as_u64()).collect()
    };
    // One that drains for longer than a look takes.
    cluster["a"].next([Way::Held]);
    let mut client = told.door.seen_as("side").connect();
    client.sends(&Request::get("/schema"));
    wait::until("held", wait::SOON, || cluster["a"].in_flight() == 1);
    told.writes(&door);
    says(
        &told.tells(&["reload"]),
        0,
        "listeners removed: side, generation 2",
    );
    // Some that are over before anybody looks.
    for number in 3..7 {
        let said = told.tells(&["reload", "--new-generation"]);
        says(&said, 0, &format!("generation {number}"));
    }

    wait::until("all but the first", wait::SOON, || ended().len() == 4);
    assert_eq!(ended(), [2, 3, 4, 5]);
    cluster["a"].lets_go();
    client.hears().is(200);
    wait::until("the first", wait::SOON, || ended().len() == 5);
    assert_eq!(ended(), [2, 3, 4, 5, 1]);
}

#[test]
fn what_was_told_of_a_node_that_has_left_can_be_taken_back() {
    let cluster = Cluster::of(&["a", "b"]);
    let told = Told::before(&cluster);
    says(&told.tells(&["drain", "shop/b"]), 0, "is drained");
    told.writes(&text(&Cluster::of(&["a"]), "5s"));
    says(&told.tells(&["reload"]), 0, "applied");

    says(&told.tells(&["undrain", "shop/b"]), 0, "no longer");

    let none = Value::Array(Vec::new());
    assert_eq!(told.status()["overrides"]["drained"], none);
    says(
        &told.tells(&["undrain", "shop/b"]),
        2,
        "there is no node `b`",
    );
}

#[test]
fn a_node_that_moves_while_it_is_drained_gets_nobody_who_waits() {
    let cluster = Cluster::of(&["a", "b"]);
    let elsewhere = Cluster::of(&["a"]);
    let unprobed = |of: &Cluster| {
        let probed = text(of, "5s");
        let whole = probed.replace("probe = { every = \"1s\" }", "in_flight = 1\nqueue = 4");
        assert_ne!(whole, probed);
        whole
    };
    let told = Told::of(Plan::configured(&unprobed(&cluster)), &[]);
    says(&told.tells(&["drain", "shop/a"]), 0, "is drained");
    cluster["b"].next([Way::Held]);
    let mut first = told.door.connect();
    first.sends(&Request::get("/schema"));
    wait::until("b is full", wait::SOON, || cluster["b"].in_flight() == 1);
    let mut second = told.door.connect();
    second.sends(&Request::get("/schema"));
    told.door.settles();

    let moved = unprobed(&cluster).replace(
        &cluster["a"].addr().to_string(),
        &elsewhere["a"].addr().to_string(),
    );
    told.writes(&moved);
    says(&told.tells(&["reload"]), 0, "snapshot 2 applied");
    told.door.settles();
    cluster["b"].lets_go();

    first.hears().is(200);
    second.hears().is(200);
    assert_eq!(cluster["b"].seen().len(), 2);
    assert_eq!(elsewhere.requests() + cluster["a"].seen().len(), 0);
    let status = told.status();
    assert_eq!(status["pools"][0]["nodes"][0]["drained"], true, "{status}");
}

#[test]
fn a_request_on_a_node_that_has_left_is_seen_until_it_is_over() {
    let (cluster, elsewhere) = (Cluster::of(&["a", "b"]), Cluster::of(&["b"]));
    let told = Told::before(&cluster);
    let in_flight = |what: &str| -> Vec<Value> {
        let pools = told.status()["pools"].as_array().cloned().unwrap();
        let all = pools.iter().flat_map(|pool| pool[what].as_array().unwrap());
        all.map(|node| node["in_flight"].clone()).collect()
    };
    cluster["b"].next([Way::Held]);
    let mut clients = [told.door.connect(), told.door.connect()];
    for client in &mut clients {
        client.sends(&Request::get("/schema"));
    }
    wait::until("one held", wait::SOON, || cluster["b"].in_flight() == 1);

    let moved = text(&cluster, "5s").replace(
        &cluster["b"].addr().to_string(),
        &elsewhere["b"].addr().to_string(),
    );
    let other = text(&Cluster::of(&["a"]), "5s").replace("shop", "other");
    for (next, nodes) in [(moved, 2), (other, 1)] {
        told.writes(&next);
        says(&told.tells(&["reload"]), 0, "applied");
        assert_eq!(in_flight("leaving"), [1]);
        assert_eq!(in_flight("nodes"), vec![Value::from(0); nodes]);
        says(&told.tells(&["status"]), 0, " leaving ");
    }
    cluster["b"].lets_go();
    for client in &mut clients {
        client.hears().is(200);
    }
    wait::until("nobody leaves", wait::SOON, || {
        in_flight("leaving").is_empty()
    });
}

#[test]
fn a_process_that_stands_still_is_no_answer() {
    let cluster = Cluster::of(&["a"]);
    let told = Told::before(&cluster);
    told.door.signal(Signal::SIGSTOP);

    let said = told.tells(&["status"]);

    told.door.signal(Signal::SIGCONT);
    says(&said, 2, "nothing came within");
}
