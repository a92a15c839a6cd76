//! A stand-in node: a real server on loopback that serves the cluster's public routes, remembers
//! what it was asked, and fails in whatever way it is told to.
//!
//! [`Way`] lists the ways to treat a request, [`Ready`] the shapes of the readiness document; both
//! may be changed at any moment. Nodes of one [`Cluster`] share their [`Store`].

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;

use crate::certs::Identity;
use crate::ports::{self, Reserved};

mod cluster;
mod ready;
mod record;
mod serve;
mod store;
mod switches;
mod way;

pub use cluster::Cluster;
pub use ready::Ready;
pub use record::Seen;
use record::{Record, lock};
pub use store::Store;
pub use switches::Greeting;
use switches::Switches;
pub use way::{Framing, Reply, Way};

/// A running stand-in node.
#[derive(Debug)]
pub struct Node {
    inner: Arc<Inner>,
    port: Reserved,
    /// What listens, and who accepts there.
    door: Mutex<Option<(Arc<TcpListener>, JoinHandle<()>)>>,
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

impl Node {
    /// Starts a node over `store`; with an identity it speaks TLS.
    #[must_use]
    pub fn start(name: &str, store: Arc<Store>, tls: Option<&Identity>) -> Self {
        Self::start_at(Reserved::take(), name, store, tls)
    }

    fn start_at(port: Reserved, name: &str, store: Arc<Store>, tls: Option<&Identity>) -> Self {
        let inner = Arc::new(Inner {
            name: name.to_owned(),
            tls: tls.map(Identity::config),
            store,
            record: Record::default(),
            switches: Mutex::new(Switches::normal(name)),
            gate: (Mutex::new(0), Condvar::new()),
            is_open: AtomicBool::new(false),
            accepted: AtomicU64::new(0),
            connections: Mutex::new(HashMap::new()),
        });
        let node = Self {
            inner,
            port,
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
        let Some((socket, thread)) = lock(&self.door).take() else {
            return;
        };
        self.inner.is_open.store(false, Ordering::SeqCst);
        ports::listens_no_more(&socket);
        let _ = thread.join();
    }

    /// Listens again at the same address.
    pub fn comes_back(&self) {
        let mut door = lock(&self.door);
        if door.is_none() {
            let listener = self.port.listen().expect("our own port");
            self.inner.is_open.store(true, Ordering::SeqCst);
            let (inner, socket) = (Arc::clone(&self.inner), Arc::new(listener));
            let accepts_on = Arc::clone(&socket);
            let thread = thread::spawn(move || accept(&inner, &accepts_on));
            *door = Some((socket, thread));
        }
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

    /// The same, and the fragments, since it was last asked so: it forgets them with this.
    #[must_use]
    pub fn tells(&self) -> (Vec<Seen>, Vec<Vec<u8>>) {
        self.inner.record.tell()
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

    /// Connections open at this moment, those of probes included.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        lock(&self.inner.connections).len()
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
        Some(self.next_way())
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
