//! A reload that takes its time, because a new node does not answer its first probe: what is served
//! goes on being served as before until the reload is done, and the end does not wait for it.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use nix::sys::signal::Signal;

/// A gateway before one node, and a node that accepts and never answers.
struct House {
    door: Door,
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
        House {
            door: Plan::configured(&format!("workers = 2\n{text}")).opens(),
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
    for (more, verdict) in [
        ("", "reload: applied"),
        ("[logs]\naccess = \"/proc/none.log\"\n", "reload: refused"),
    ] {
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
}
