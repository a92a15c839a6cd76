//! A reload that takes its time, because a new node does not answer its first probe: what is served
//! goes on being served as before until the reload is done, and the end does not wait for it.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::gateway::{Door, Ended, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::ports::Reserved;
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// A gateway before one node, and a node that accepts and never answers.
struct House {
    door: Door,
    state: PathBuf,
    text: String,
    silent: TcpListener,
}

impl House {
    fn before(cluster: &Cluster) -> Self {
        let text = format!(
            "[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.shop]\nlistener = \"door\"\n\
             pool = \"shop\"\nendpoints = \"shop\"\n[pools.shop]\n\
             nodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"250ms\" }}\n",
            cluster["a"].addr()
        );
        let plan = Plan::configured(&format!("workers = 2\n{text}"));
        let state = plan.path("state");
        let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
        wait::until("it may be told things", wait::SOON, || {
            state.join("control.sock").exists()
        });
        House {
            door,
            state,
            text,
            silent: TcpListener::bind("127.0.0.1:0").unwrap(),
        }
    }

    fn writes(&self, workers: u16, more: &str) {
        let text = format!(
            "workers = {workers}\n{}[sites.late]\nlistener = \"door\"\nhosts = [\"late.test\"]\n\
             pool = \"late\"\n[pools.late]\nnodes = [\"{}\"]\n\
             probe = {{ timeout = \"3s\", every = \"3s\" }}\n{more}",
            self.text,
            self.silent.local_addr().unwrap()
        );
        fs::write(self.door.scratch().path().join("gateway.toml"), text).unwrap();
    }

    /// Begins a reload, and returns while it waits for the node that does not answer.
    fn begins(&self, workers: u16, more: &str) -> TcpStream {
        self.writes(workers, more);
        self.door.signal(Signal::SIGHUP);
        self.waits()
    }

    fn waits(&self) -> TcpStream {
        self.silent.accept().unwrap().0
    }

    fn tells(&self, words: &[&str]) -> Ended {
        let state = self.state.to_string_lossy();
        runs(&[words, &["--state-dir", &state]].concat())
    }

    fn verdicts(&self) -> usize {
        let said = |what| self.door.log().saying(what).len();
        said("reload: refused") + said("reload: applied")
    }

    fn addr(&self) -> SocketAddr {
        self.door.addr()
    }
}

fn get() -> Request {
    Request::get("/schema")
}

#[test]
fn nobody_waits_for_it_or_is_lost_while_workers_are_added() {
    adds_workers("", "reload: applied");
}

#[test]
fn nobody_waits_for_it_or_is_lost_while_workers_are_added_in_vain() {
    let nowhere = "[logs]\naccess = \"/proc/none.log\"\n";
    adds_workers(nowhere, "reload: refused");
}

fn adds_workers(more: &str, verdict: &str) {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);

    let _probe = house.begins(6, more);
    let begun = clock::now();
    let open = || Conversation::open(house.addr());
    let late: Vec<_> = (0..40).map(|_| open()).collect();
    for _ in 0..60 {
        open().asks(&get()).is(200);
    }

    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(house.verdicts(), 0, "the reload is still under way");
    let _ = house.door.log().waits_for(verdict, |_| true);
    for mut one in late {
        one.asks(&get()).is(200);
    }
    for _ in 0..40 {
        open().asks(&get()).is(200);
    }
}

#[test]
fn on_an_address_that_is_new_nobody_waits_for_what_may_be_refused_and_nobody_else_gets_it() {
    let (log, refused, applied) = (
        "[logs]\naccess = \"/proc/none.log\"\n",
        "reload: refused",
        "reload: applied",
    );
    for (more, verdict) in [(log, refused), ("", applied)] {
        let cluster = Cluster::of(&["a"]);
        let house = House::before(&cluster);
        let reserved = Reserved::take();
        let addr = reserved.addr();
        let side = format!(
            "[listeners.side]\nbind = \"{addr}\"\n[sites.side]\nlistener = \"side\"\n\
             pool = \"shop\"\n{more}"
        );

        let _probe = house.begins(2, &side);
        for _ in 0..20 {
            let why = TcpStream::connect(addr).map(|_| ()).unwrap_err().kind();
            assert_eq!(why, ErrorKind::ConnectionRefused);
        }
        assert!(TcpListener::bind(addr).is_err(), "it is as good as taken");
        assert_eq!(house.verdicts(), 0, "the reload is still under way");

        let _ = house.door.log().waits_for(verdict, |_| true);
        match verdict == applied {
            true => {
                Conversation::open(addr).asks(&get()).is(200);
            }
            false => assert!(TcpStream::connect(addr).is_err()),
        }
    }
}

#[test]
fn told_to_end_meanwhile_nobody_is_accepted_and_it_is_refused() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    cluster.always(&Way::Held);
    let mut client = house.door.connect();
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);
    house.writes(3, "");

    thread::scope(|scope| {
        let reload = scope.spawn(|| house.tells(&["reload"]));
        let _probe = house.waits();
        house.door.stops();

        wait::until("nobody accepts", Duration::from_secs(1), || {
            TcpStream::connect(house.addr()).is_err()
        });
        let said = reload.join().unwrap();
        assert_ne!(said.status.code(), Some(0), "{}", said.stdout);
        assert!(said.stderr.contains("about to end"), "{}", said.stderr);
    });

    assert_eq!(house.door.log().saying("reload: applied").len(), 0);
    assert!(TcpStream::connect(house.addr()).is_err());
    let kept = fs::read_dir(house.state.join("snapshots")).unwrap();
    assert_eq!(kept.count(), 1);
    cluster["a"].lets_go();
    client.hears().is(200);
    assert!(house.door.ends_within(wait::SOON).success());
}

#[test]
fn told_to_end_meanwhile_an_idle_process_does_not_wait_for_it() {
    let cluster = Cluster::of(&["a"]);
    let house = House::before(&cluster);
    house.writes(2, "");

    thread::scope(|scope| {
        let reload = scope.spawn(|| house.tells(&["reload"]));
        let _probe = house.waits();
        let begun = clock::now();
        house.door.stops();

        assert!(house.door.ends_within(wait::SOON).success());
        assert!(begun.elapsed() < Duration::from_secs(2));
        let said = reload.join().unwrap();
        assert_ne!(said.status.code(), Some(0), "{}", said.stdout);
        assert!(said.stderr.contains("about to end"), "{}", said.stderr);
    });
    let kept = fs::read_dir(house.state.join("snapshots")).unwrap();
    assert_eq!(kept.count(), 1);
}
