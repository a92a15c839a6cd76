//! One node of a pool as it lives: its slots, its health, where it is reached.
//!
//! Outlives snapshots. Changed only by [`pool`](crate::pool), which keeps the gate of a node and
//! the verdict about it in step; read by everybody.
//!
//! Invariant: a [`Slot`] gives its place back when it is dropped, once.
//!
//! Source: adr/0004.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gateway_config::model::{Name, Node};

use crate::health::{Health, Turn};
use crate::in_flight::Gate;
use crate::queue::{Lane, Queue};
use crate::readiness::{Document, Why};
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
    traffic_failures: AtomicU32,
    id: NodeId,
    name: Name,
    addr: Arc<str>,
    addresses: Mutex<Arc<[SocketAddr]>>,
    health: Mutex<Health>,
    queue: Arc<Queue<LiveNode>>,
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
            traffic_failures: AtomicU32::new(0),
            addresses: Mutex::new(Arc::from([])),
            health: Mutex::new(health),
            queue,
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

    /// Everything known about it.
    #[must_use]
    pub fn view(&self) -> NodeView {
        let health = self.health();
        NodeView {
            name: Arc::clone(&self.name),
            addr: Arc::clone(&self.addr),
            is_in: self.is_in_rotation(),
            in_flight: self.in_flight(),
            consecutive_failures: health.consecutive_failures(),
            document: health.document().clone(),
            why: health.why(),
            last_ok: health.last_ok(),
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
        let turn = verdict(&mut health);
        self.traffic_failures
            .store(health.traffic_failures(), Ordering::Relaxed);
        match turn {
            Some(Turn::In) => self.gate.open(),
            Some(Turn::Out(_)) => self.gate.shut_again(),
            None => {}
        }
        turn
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
    /// The longer of its two streaks of failures.
    pub consecutive_failures: u32,
    /// What it says about itself: `serving`, `node`, `shards`, `wire`, `version`.
    pub document: Document,
    /// Why it is out; `None` while it is in, or before its first probe.
    pub why: Option<Why>,
    /// When a probe of it was last good.
    pub last_ok: Option<Instant>,
}

/// A place among the requests in flight on one node, given back by dropping it.
#[derive(Debug)]
pub struct Slot {
    node: Arc<LiveNode>,
}

impl Slot {
    /// Wraps a slot that has been taken from the gate of `node`.
    pub(crate) fn taken(node: Arc<LiveNode>) -> Self {
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
