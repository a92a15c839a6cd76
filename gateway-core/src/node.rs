//! One node of a pool as it lives: its slots, its health, where it is reached.
//!
//! Outlives snapshots. Changed only by [`pool`](crate::pool), which keeps the gate of a node and
//! the verdict about it in step; read by everybody.
//!
//! Invariant: a [`Slot`] gives its place back when it is dropped, once.
//!
//! Source: adr/0004.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway_config::model::{Name, Node};

use crate::health::{Health, Turn};
use crate::in_flight::Gate;
use crate::queue::{Lane, Queue};
use crate::readiness::{Document, Why};
use crate::tally::Tally;
use crate::tried::NodeId;

/// One node of a pool.
///
/// Laid out in this order: what every pick and release touches comes first, next to the count of
/// its `Arc`, so that workers pass one cache line between them and not three.
#[derive(Debug)]
#[repr(C)]
pub struct LiveNode {
    gate: Gate,
    last_turn: AtomicU64,
    requests: AtomicU64,
    traffic_failures: AtomicU32,
    failures: AtomicU64,
    /// Changed only under the lock of the verdict.
    drained: AtomicBool,
    id: NodeId,
    name: Name,
    addr: Arc<str>,
    addresses: Mutex<Arc<[SocketAddr]>>,
    health: Mutex<Health>,
    last_probe: Mutex<Option<LastProbe>>,
    queue: Arc<Queue<LiveNode>>,
    tally: Tally,
}

/// When a probe of a node ended, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastProbe {
    /// When it ended.
    pub at: Instant,
    /// From its start to its end.
    pub took: Duration,
}

impl LiveNode {
    pub(crate) fn new(
        id: NodeId,
        node: &Node,
        ceiling: u32,
        health: Health,
        queue: Arc<Queue<Self>>,
    ) -> Self {
        Self {
            id,
            name: Arc::clone(&node.name),
            addr: Arc::clone(&node.addr),
            gate: Gate::shut(ceiling),
            last_turn: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            traffic_failures: AtomicU32::new(0),
            failures: AtomicU64::new(0),
            drained: AtomicBool::new(false),
            last_probe: Mutex::new(None),
            addresses: Mutex::new(Arc::from([])),
            health: Mutex::new(health),
            queue,
            tally: Tally::default(),
        }
    }

    /// Its identity, for [`Tried`](crate::tried::Tried).
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its name, as the operator wrote it.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its address, as the operator wrote it: `HOST:PORT`.
    #[must_use]
    pub fn addr(&self) -> &Arc<str> {
        &self.addr
    }

    /// The addresses its name last resolved to; empty before that.
    #[must_use]
    pub fn addresses(&self) -> Arc<[SocketAddr]> {
        Arc::clone(
            &self
                .addresses
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Keeps what its name resolved to. An empty answer is not kept: the last good one stays.
    pub fn set_addresses(&self, addresses: &[SocketAddr]) {
        if !addresses.is_empty() {
            *self
                .addresses
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Arc::from(addresses);
        }
    }

    /// What is counted of it.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether it is in rotation.
    #[must_use]
    pub fn is_in_rotation(&self) -> bool {
        self.gate.is_open()
    }

    /// Its requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.gate.count()
    }

    /// Whether an operator has taken it out.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    /// Keeps when its last probe ended.
    pub fn set_last_probe(&self, probe: LastProbe) {
        *self
            .last_probe
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(probe);
    }

    /// Everything known about it.
    #[must_use]
    pub fn view(&self) -> NodeView {
        let health = self.health();
        let is_drained = self.is_drained();
        let last_probe = self.last_probe.lock();
        NodeView {
            name: Arc::clone(&self.name),
            addr: Arc::clone(&self.addr),
            is_in: self.is_in_rotation(),
            in_flight: self.in_flight(),
            ceiling: self.gate.ceiling(),
            may_take: self
                .gate
                .open_count()
                .is_some_and(|count| self.gate.has_room(count)),
            consecutive_failures: health.consecutive_failures(),
            document: health.document().clone(),
            why: if is_drained {
                Some(Why::Drained)
            } else {
                health.why()
            },
            last_ok: health.last_ok(),
            is_healthy: health.is_in(),
            is_drained,
            requests: self.requests.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            last_probe: *last_probe.unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it was last picked, as a number that only rises within a pool.
    pub(crate) fn last_turn(&self) -> u64 {
        self.last_turn.load(Ordering::Relaxed)
    }

    pub(crate) fn set_last_turn(&self, turn: u64) {
        self.last_turn.store(turn, Ordering::Relaxed);
    }

    /// Lets its verdict take something in, and carries out at the gate what comes of it.
    pub(crate) fn judge(&self, verdict: impl FnOnce(&mut Health) -> Option<Turn>) -> Option<Turn> {
        let mut health = self.health();
        let turn = verdict(&mut health).filter(|_| !self.is_drained());
        self.traffic_failures
            .store(health.traffic_failures(), Ordering::Relaxed);
        match turn {
            Some(Turn::In) => self.gate.open(),
            Some(Turn::Out(_)) => self.gate.shut_again(),
            None => {}
        }
        turn
    }

    /// Keeps it out whatever is found about it, or lets it back in if all that was found meanwhile
    /// is for it.
    pub(crate) fn set_drained(&self, drained: bool) -> Option<Turn> {
        let health = self.health();
        let was_drained = self.drained.swap(drained, Ordering::Relaxed);
        if was_drained == drained || !health.is_in() {
            return None;
        }
        if drained {
            self.gate.shut_again();
            Some(Turn::Out(Why::Drained))
        } else {
            self.gate.open();
            Some(Turn::In)
        }
    }

    /// Counts a request that found no connection, or lost it before an answer.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes in that a request to it was answered. One relaxed load unless requests were failing.
    pub(crate) fn exchange_completed(&self) {
        if self.traffic_failures.load(Ordering::Relaxed) > 0 {
            self.judge(|health| {
                health.exchange_completed();
                None
            });
        }
    }
}

impl Lane for LiveNode {
    fn id(&self) -> NodeId {
        self.id
    }
}

/// Everything known about a node, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    /// Its name.
    pub name: Name,
    /// Its address as configured.
    pub addr: Arc<str>,
    /// Whether it is in rotation.
    pub is_in: bool,
    /// Its requests in flight.
    pub in_flight: u32,
    /// Requests that may be in flight on it at once.
    pub ceiling: u32,
    /// Whether a request that has not tried it would be given a slot.
    pub may_take: bool,
    /// The longer of its two streaks of failures.
    pub consecutive_failures: u32,
    /// What it says about itself: `serving`, `node`, `shards`, `wire`, `version`.
    pub document: Document,
    /// Why it is out; `None` while it is in, or before its first probe.
    pub why: Option<Why>,
    /// When a probe of it was last good.
    pub last_ok: Option<Instant>,
    /// Whether its verdict is for it, whether or not it is drained.
    pub is_healthy: bool,
    /// Whether an operator has taken it out.
    pub is_drained: bool,
    /// Slots ever taken on it.
    pub requests: u64,
    /// Requests that found no connection to it, or lost it before an answer.
    pub failures: u64,
    /// Its last probe.
    pub last_probe: Option<LastProbe>,
}

/// A place among the requests in flight on one node, given back by dropping it.
#[derive(Debug)]
pub struct Slot {
    node: Arc<LiveNode>,
}

impl Slot {
    /// Wraps a slot that has been taken from the gate of `node`.
    pub(crate) fn taken(node: Arc<LiveNode>) -> Self {
        node.requests.fetch_add(1, Ordering::Relaxed);
        Self { node }
    }

    /// The node this slot belongs to.
    #[must_use]
    pub fn node(&self) -> &Arc<LiveNode> {
        &self.node
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let node = &self.node;
        node.gate.release();
        if node.queue.waiting() > 0
            && let Some(waker) = node.queue.pass(node, || node.gate.take())
        {
            waker.wake();
        }
    }
}
