//! A stand-in node: a real server on loopback that serves the cluster's public routes, remembers
//! what it was asked, and fails in whatever way it is told to.
//!
//! [`way`] lists the ways to treat a request, [`ready`] the shapes of the readiness document; both
//! may be changed at any moment. Nodes of one [`Cluster`] share their [`store`].

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;

use crate::certs::Identity;
use crate::ports::Reserved;

mod cluster;
mod ready;
mod record;
mod serve;
mod store;
mod way;

pub use cluster::Cluster;
pub use ready::Ready;
pub use record::Seen;
use record::{Record, lock};
pub use store::Store;
pub use way::{Framing, Reply, Way};

/// What a node does with a fresh connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Serves it.
    Normal,
    /// Ends it with a TCP reset.
    Resets,
    /// Takes it and never says a word, not even a handshake.
    Silent,
}

/// A running stand-in node.
#[derive(Debug)]
pub struct Node {
    inner: Arc<Inner>,
    port: Reserved,
    door: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    tls: Option<Arc<ServerConfig>>,
    store: Arc<Store>,
    record: Record,
    switches: Mutex<Switches>,
    gate: (Mutex<u64>, Condvar),
    is_open: AtomicBool,
    accepted: AtomicU64,
    connections: Mutex<HashMap<u64, TcpStream>>,
}

#[derive(Debug)]
struct Switches {
    greeting: Greeting,
    ready: Ready,
    next: VecDeque<Way>,
    always: Way,
    idle: Duration,
    most_requests: usize,
}

impl Node {
    /// Starts a node over `store`; with an identity it speaks TLS.
    #[must_use]
    pub fn start(name: &str, store: Arc<Store>, tls: Option<&Identity>) -> Self {
        let switches = Switches {
            greeting: Greeting::Normal,
            ready: Ready::serving(name, true),
            next: VecDeque::new(),
            always: Way::Plainly,
            idle: Duration::from_secs(5),
            most_requests: 1000,
        };
        let inner = Arc::new(Inner {
            name: name.to_owned(),
            tls: tls.map(Identity::config),
            store,
            record: Record::default(),
            switches: Mutex::new(switches),
            gate: (Mutex::new(0), Condvar::new()),
            is_open: AtomicBool::new(false),
            accepted: AtomicU64::new(0),
            connections: Mutex::new(HashMap::new()),
        });
        let node = Self {
            inner,
            port: Reserved::take(),
            door: Mutex::new(None),
        };
        node.comes_back();
        node
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its address, kept for as long as it exists.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// Dies as a killed process does: connections end, new ones are refused.
    pub fn dies(&self) {
        self.refuses();
        for socket in lock(&self.inner.connections).values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Refuses new connections; those that exist are served.
    pub fn refuses(&self) {
        let Some(thread) = lock(&self.door).take() else {
            return;
        };
        self.inner.is_open.store(false, Ordering::SeqCst);
        drop(TcpStream::connect(self.addr()));
        let _ = thread.join();
    }

    /// Listens again at the same address.
    pub fn comes_back(&self) {
        let mut door = lock(&self.door);
        if door.is_none() {
            let listener = self.port.listen().expect("our own port");
            self.inner.is_open.store(true, Ordering::SeqCst);
            let inner = Arc::clone(&self.inner);
            *door = Some(thread::spawn(move || accept(&inner, &listener)));
        }
    }

    /// Treats every request so from now on, probes excepted.
    pub fn always(&self, way: Way) {
        lock(&self.inner.switches).always = way;
    }

    /// Treats the next requests so, one each, then as [`Node::always`] says.
    pub fn next(&self, ways: impl IntoIterator<Item = Way>) {
        lock(&self.inner.switches).next.extend(ways);
    }

    /// Answers probes so from now on.
    pub fn is_ready(&self, ready: Ready) {
        lock(&self.inner.switches).ready = ready;
    }

    /// Says `"serving": …` from now on.
    pub fn says_serving(&self, serving: bool) {
        self.is_ready(Ready::serving(self.name(), serving));
    }

    /// Treats fresh connections so from now on.
    pub fn greets(&self, greeting: Greeting) {
        lock(&self.inner.switches).greeting = greeting;
    }

    /// Ends connections idle for so long; 5 s unless changed.
    pub fn closes_idle_after(&self, idle: Duration) {
        lock(&self.inner.switches).idle = idle;
    }

    /// Ends a connection after so many requests; 1000 unless changed.
    pub fn closes_after_requests(&self, most: usize) {
        lock(&self.inner.switches).most_requests = most;
    }

    /// Lets every request that is [`Way::Held`] so far be answered.
    pub fn lets_go(&self) {
        *lock(&self.inner.gate.0) += 1;
        self.inner.gate.1.notify_all();
    }

    /// The requests it saw, whole, in order, without probes.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.inner.record.requests()
    }

    /// The probes it saw.
    #[must_use]
    pub fn probes(&self) -> Vec<Seen> {
        self.inner.record.probes()
    }

    /// Bytes it received that never became a whole request.
    #[must_use]
    pub fn fragments(&self) -> Vec<Vec<u8>> {
        self.inner.record.fragments()
    }

    /// Forgets what it saw; the highest count in flight starts again from the present one.
    pub fn forgets(&self) {
        self.inner.record.forget();
    }

    /// Requests read and not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.inner.record.in_flight()
    }

    /// The most there ever were at once.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.inner.record.most_in_flight()
    }

    /// Connections it accepted, those of probes included.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.inner.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.dies();
        self.lets_go();
    }
}

impl Inner {
    fn greeting(&self) -> Greeting {
        lock(&self.switches).greeting
    }

    fn ready_shape(&self) -> Ready {
        lock(&self.switches).ready.clone()
    }

    fn idle_limit(&self) -> Duration {
        lock(&self.switches).idle
    }

    fn most_requests(&self) -> usize {
        lock(&self.switches).most_requests
    }

    fn is_closing(&self) -> bool {
        !self.is_open.load(Ordering::SeqCst)
    }

    /// Records a request; nothing to return for a probe, else the way to treat it.
    fn receives(&self, seen: &Seen) -> Option<Way> {
        if seen.method == "GET" && seen.target == "/ready" {
            self.record.probe(seen.clone());
            return None;
        }
        self.record.request(seen.clone());
        let mut switches = lock(&self.switches);
        let next = switches.next.pop_front().or_else(|| self.store.next_way());
        Some(next.unwrap_or_else(|| switches.always.clone()))
    }

    /// Waits for the next opening of the gate; false when `is_over` says so first.
    fn waits_at_gate(&self, is_over: impl Fn() -> bool) -> bool {
        let mut openings = lock(&self.gate.0);
        let at_start = *openings;
        while *openings == at_start {
            let waited = self
                .gate
                .1
                .wait_timeout(openings, Duration::from_millis(20));
            openings = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            if *openings == at_start && is_over() {
                return false;
            }
        }
        true
    }
}

fn accept(inner: &Arc<Inner>, listener: &TcpListener) {
    for socket in listener.incoming() {
        if inner.is_closing() {
            return;
        }
        let Ok(socket) = socket else { continue };
        let number = inner.accepted.fetch_add(1, Ordering::SeqCst) + 1;
        if let Ok(handle) = socket.try_clone() {
            lock(&inner.connections).insert(number, handle);
        }
        let inner = Arc::clone(inner);
        thread::spawn(move || {
            serve::connection(&inner, socket, number);
            lock(&inner.connections).remove(&number);
        });
    }
}
