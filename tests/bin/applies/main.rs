//! Measures what an apply costs: how long one of 1,000 sites and 10,000 routes takes, what running
//! requests notice of it, and what is left in memory after 2,000 small ones.
//!
//! `cargo build --release -p gatewayd -p gateway-tests --bins && target/release/applies`
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failed stage is a failed measurement"
)]

use std::fmt::Write;
use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// Sites of the large configuration, and routes of each.
const LARGE: (u32, u32) = (1_000, 10);
/// Applies of it.
const LARGE_APPLIES: u32 = 20;
/// Applies of a small one: those before the first look, and those after it.
const SMALL_APPLIES: (u32, u32) = (200, 2_000);
/// Clients, and the pause of each between its requests.
const CLIENTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
/// How long one part of the measurement with clients lasts.
const PART: Duration = Duration::from_secs(10);
/// How long one apply may take.
const APPLY: Duration = Duration::from_secs(60);

/// The gateway that is measured.
struct Measured {
    door: Door,
    node: String,
    applied: usize,
}

fn main() {
    let cluster = Cluster::of(&["a"]);
    small(&cluster);
    large(&cluster);
}

fn small(cluster: &Cluster) {
    let mut gateway = Measured::before(cluster, (3, 3));
    for turn in 0..SMALL_APPLIES.0 {
        let _ = gateway.applies((3, 3), turn);
    }
    let before = gateway.resident();
    for turn in 0..SMALL_APPLIES.1 {
        let _ = gateway.applies((3, 3), turn);
    }
    println!(
        "memory: {before} KiB after {} applies, {} KiB after {} more",
        SMALL_APPLIES.0,
        gateway.resident(),
        SMALL_APPLIES.1
    );
}

fn large(cluster: &Cluster) {
    let mut gateway = Measured::before(cluster, LARGE);
    let quiet = latencies(&mut gateway, |_| {
        wait::maybe(PART, || None::<()>);
    });
    let mut said = Vec::new();
    let under_applies = latencies(&mut gateway, |gateway| {
        for turn in 1..=LARGE_APPLIES {
            let next = clock::now() + PART / LARGE_APPLIES;
            said.push(gateway.applies(LARGE, turn));
            wait::maybe(next.saturating_duration_since(clock::now()), || None::<()>);
        }
    });
    for line in said {
        println!("apply: {line}");
    }
    println!("quiet:   {}", percentiles(quiet));
    println!("applies: {}", percentiles(under_applies));
}

impl Measured {
    fn before(cluster: &Cluster, size: (u32, u32)) -> Self {
        let node = cluster.nodes().first().expect("a node").addr().to_string();
        let plan = Plan::configured(&text(&node, size, 0));
        let state = plan.path("state");
        let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
        wait::until("a node in rotation", wait::EVENTUALLY, || {
            door.get("/schema").status == 200
        });
        Measured {
            door,
            node,
            applied: 0,
        }
    }

    /// Applies a configuration of this size, unlike the one before, and gives what it took.
    fn applies(&mut self, size: (u32, u32), turn: u32) -> String {
        let path = self.door.scratch().path().join("gateway.toml");
        fs::write(path, text(&self.node, size, turn + 1)).expect("our own file");
        self.door.signal(Signal::SIGHUP);
        self.applied += 1;
        let said = wait::value("the reload", APPLY, || {
            let said = self.door.log().saying("reload: applied");
            (said.len() == self.applied).then(|| said.last().map(|one| one.text("took")))
        });
        said.unwrap_or_default()
    }

    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.door.pid()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        kib.unwrap_or_default()
    }
}

/// How long requests took while something was done.
fn latencies(gateway: &mut Measured, act: impl FnOnce(&mut Measured)) -> Vec<Duration> {
    let addr = gateway.door.addr();
    let (curtain, all) = (Curtain::default(), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        let play = curtain.rises();
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = gateway_tests::client::Conversation::open(addr);
                let mut took = Vec::new();
                while !curtain.is_down() {
                    let begun: Instant = clock::now();
                    client.asks(&Request::get("/schema")).is(200);
                    took.push(begun.elapsed());
                    thread::sleep(PAUSE);
                }
                all.lock().expect("nobody panicked").extend(took);
            });
        }
        act(gateway);
        drop(play);
    });
    all.into_inner().expect("nobody panicked")
}

fn percentiles(mut all: Vec<Duration>) -> String {
    all.sort_unstable();
    let at = |share: usize| {
        let one = all.get(all.len() * share / 1000).or(all.last());
        one.map_or(0.0, |one| one.as_secs_f64() * 1000.0)
    };
    let (p50, p99, p999) = (at(500), at(990), at(999));
    let count = all.len();
    format!("{count} requests, p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms")
}

/// A configuration with so many sites beside the one for every host, and so many routes in each.
fn text(node: &str, (sites, routes): (u32, u32), turn: u32) -> String {
    let wait = 1 + turn % 50;
    let mut text = format!(
        "workers = 1\n[logs]\naccess = \"off\"\n[listeners.door]\nbind = \"127.0.0.1:0\"\n\
         [sites.all]\nlistener = \"door\"\npool = \"shop\"\n[pools.shop]\n\
         queue_wait = \"{wait}s\"\nprobe = {{ every = \"1s\" }}\n\
         nodes = [{{ name = \"a\", addr = \"{node}\" }}]\n"
    );
    for site in 0..sites {
        let _ = write!(
            text,
            "[sites.s{site}]\nlistener = \"door\"\nhosts = [\"s{site}.test\"]\npool = \"shop\"\n"
        );
        for route in 0..routes {
            let _ = write!(
                text,
                "[sites.s{site}.routes.r{route}]\npath = \"/part{route}/of/{site}\"\npool = \"shop\"\n"
            );
        }
    }
    text
}
