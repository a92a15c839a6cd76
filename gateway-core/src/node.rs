//! One node of a pool as it lives: its slots, its health, where it is reached.
//!
//! Outlives snapshots. Changed only by [`pool`](crate::pool), which keeps the gate of a node and
//! the verdict about it in step; read by everybody.
//!
//! Invariant: a node that is out and that nobody probes is given to one request at a time, and to the
//! next one only after a wait or when that one ended without a word about the node.
//!
//! Source: adr/0004, adr/0048.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway_config::model::{Name, Node};

use crate::addresses::Addresses;
use crate::health::{Health, Turn};
use crate::in_flight::Gate;
use crate::queue::Queue;
use crate::readiness::{Document, Why};
use crate::tally::Tally;
use crate::tried::NodeId;

mod slot;

pub use slot::Slot;
pub(crate) use slot::{Settle, Total};

/// One node of a pool.
///
/// Laid out in this order: what every pick and release touches comes first, next to the count of
/// its `Arc`, so that workers pass one cache line between them and not three.
#[derive(Debug)]
#[repr(C)]
pub struct LiveNode {
    gate: Gate,
    /// When its turn is due in the time of its pool; see [`balance`](crate::balance).
    due: AtomicU64,
    requests: AtomicU64,
    traffic_failures: AtomicU32,
    weight: AtomicU32,
    is_backup: AtomicBool,
    /// From when on it may be tried, in nanoseconds since it was born; [`NEVER`] while it need not
    /// be, or one request has been let in for that.
    trial_at: AtomicU64,
    /// The number of the request that is trying it; 0: nobody is.
    trial: AtomicU64,
    /// When it came in, in nanoseconds since it was born.
    entered: AtomicU64,
    born: Instant,
    failures: AtomicU64,
    /// Changed only under the lock of the verdict.
    drained: AtomicBool,
    id: NodeId,
    name: Name,
    addr: Arc<str>,
    addresses: Addresses,
    health: Mutex<Health>,
    last_probe: Mutex<Option<LastProbe>>,
    queue: Arc<Queue<Slot>>,
    total: Mutex<Option<Arc<Total>>>,
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
        health: Health,
        queue: Arc<Queue<Slot>>,
        now: Instant,
    ) -> Self {
        let gate = Gate::shut(0);
        let addresses = Addresses::of(&node.addr, now);
        let health = match addresses.all().is_empty() {
            true => health.somewhere(),
            false => health,
        };
        if health.is_in() {
            gate.open();
        }
        Self {
            gate,
            id,
            name: Arc::clone(&node.name),
            addr: Arc::clone(&node.addr),
            due: AtomicU64::new(0),
            weight: AtomicU32::new(1),
            is_backup: AtomicBool::new(false),
            trial_at: AtomicU64::new(NEVER),
            trial: AtomicU64::new(0),
            entered: AtomicU64::new(0),
            born: now,
            requests: AtomicU64::new(0),
            traffic_failures: AtomicU32::new(0),
            failures: AtomicU64::new(0),
            drained: AtomicBool::new(false),
            last_probe: Mutex::new(None),
            addresses,
            health: Mutex::new(health),
            queue,
            total: Mutex::new(None),
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

    /// Its addresses: its own, or what its name last resolved to; empty before that.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.addresses.all()
    }

    /// The address to dial, of those that this try has not dialled yet: by its turn, or the same one
    /// for the same key, and one that does not work only when no other is left. `None`: none is left.
    #[must_use]
    pub fn dial(
        &self,
        dialled: &[SocketAddr],
        key: Option<u32>,
        now: Instant,
    ) -> Option<SocketAddr> {
        self.addresses.next(dialled, key, now)
    }

    /// Whether it has an address that this try has not dialled.
    #[must_use]
    pub fn has_another(&self, dialled: &[SocketAddr]) -> bool {
        self.addresses.has_more(dialled)
    }

    /// Takes in that a probe found one of its addresses good.
    pub fn address_is_good(&self, address: SocketAddr) {
        self.addresses.good(address);
    }

    /// Takes in that a request was answered at one of its addresses.
    pub fn address_answered(&self, address: SocketAddr) {
        self.addresses.answered(address);
    }

    /// Takes in that one of its addresses was not reached, or must not be used: the others are dialled
    /// until a probe finds it good, or for a while where nobody probes it.
    pub fn address_failed(&self, address: SocketAddr, now: Instant) {
        let is_probed = self.health().is_watched();
        self.addresses.failed(address, is_probed, now);
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
            ejected_until: health.ejected_until(),
            requests: self.requests.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            last_probe: *last_probe.unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(crate) fn known_addresses(&self) -> &Addresses {
        &self.addresses
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what the file says of it.
    pub(crate) fn set(&self, node: &Node, ceiling: u32, total: Option<&Arc<Total>>) {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = total.cloned();
        self.gate.set_ceiling(node.in_flight.unwrap_or(ceiling));
        self.weight.store(u32::from(node.weight), Ordering::Relaxed);
        self.is_backup.store(node.backup, Ordering::Relaxed);
    }

    /// When its turn is due, in its own time.
    pub(crate) fn due(&self) -> u64 {
        self.due.load(Ordering::Relaxed)
    }

    pub(crate) fn set_due(&self, due: u64) {
        self.due.store(due, Ordering::Relaxed);
    }

    pub(crate) fn is_backup(&self) -> bool {
        self.is_backup.load(Ordering::Relaxed)
    }

    /// Its weight in thousandths, once it has its full share.
    pub(crate) fn whole_weight(&self) -> u64 {
        u64::from(self.weight.load(Ordering::Relaxed)) * WHOLE_WEIGHT
    }

    /// Its weight in thousandths, at least 1: for so long after it came in, a part of it that grows.
    pub(crate) fn weight(&self, slow_start: Duration, now: Option<Instant>) -> u64 {
        let whole = self.whole_weight();
        let Some(now) = now.filter(|_| !slow_start.is_zero()) else {
            return whole;
        };
        let slow = as_number(slow_start);
        let since = self
            .age(now)
            .saturating_sub(self.entered.load(Ordering::Relaxed));
        let part = u128::from(whole) * u128::from(since.min(slow)) / u128::from(slow);
        u64::try_from(part).unwrap_or(whole).max(whole / 100).max(1)
    }

    /// Keeps from when on it is to be given its full share, step by step.
    pub(crate) fn enters(&self, now: Instant) {
        self.entered.store(self.age(now), Ordering::Relaxed);
    }

    /// Lets one request in if it is out, nobody probes it, and it has been out for long enough.
    pub(crate) fn offer_trial(&self, now: Instant) {
        let at = self.trial_at.load(Ordering::Relaxed);
        let is_due = at != NEVER && self.age(now) >= at && !self.is_drained();
        if is_due
            && self
                .trial_at
                .compare_exchange(at, NEVER, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        {
            self.gate.open_for_one();
        }
    }

    /// Lets its verdict take something in, and carries out at the gate what comes of it.
    pub(crate) fn judge(&self, verdict: impl FnOnce(&mut Health) -> Option<Turn>) -> Option<Turn> {
        let mut health = self.health();
        let until = health.ejected_until();
        let turn = verdict(&mut health).filter(|_| !self.is_drained());
        self.traffic_failures
            .store(health.traffic_failures(), Ordering::Relaxed);
        match turn {
            Some(Turn::In) => self.gate.open(),
            Some(Turn::Out(_)) => self.gate.shut_again(),
            None => {}
        }
        if health.ejected_until() != until {
            self.trial.store(0, Ordering::SeqCst);
            if !health.is_in() {
                // It may be open for a trial that is not wanted any more.
                self.gate.shut_again();
            }
            self.plan_trial(&health);
        }
        turn
    }

    /// Keeps it out whatever is found about it, or lets it back in if all that was found meanwhile
    /// is for it.
    pub(crate) fn set_drained(&self, drained: bool) -> Option<Turn> {
        let health = self.health();
        let was_drained = self.drained.swap(drained, Ordering::Relaxed);
        if was_drained == drained {
            return None;
        }
        if !health.is_in() {
            // It may be open for one that has not come yet.
            self.gate.shut_again();
            if self.trial.load(Ordering::SeqCst) == 0 {
                self.plan_trial(&health);
            }
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

    fn plan_trial(&self, health: &Health) {
        let at = health.ejected_until().map_or(NEVER, |at| self.age(at));
        self.trial_at.store(at, Ordering::SeqCst);
    }

    /// A request has ended that was let in to try it. If it still is the one, it told nothing about
    /// the node, and the next one is let in.
    fn trial_ended(&self, number: u64) {
        let health = self.health();
        let is_it = self
            .trial
            .compare_exchange(number, 0, Ordering::SeqCst, Ordering::SeqCst);
        if is_it.is_ok() {
            self.plan_trial(&health);
        }
    }

    fn age(&self, now: Instant) -> u64 {
        as_number(now.saturating_duration_since(self.born))
    }

    /// Counts a request that found no connection, or lost it before an answer.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether requests to it have been failing.
    pub(crate) fn is_failing(&self) -> bool {
        self.traffic_failures.load(Ordering::Relaxed) > 0
    }
}

/// A weight of one.
pub(crate) const WHOLE_WEIGHT: u64 = 1_000;

/// No moment at all, where moments are numbers.
const NEVER: u64 = u64::MAX;

fn as_number(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER - 1)
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
    /// From when on one request may try it; only of a node that is out and that nobody probes.
    pub ejected_until: Option<Instant>,
    /// Slots ever taken on it.
    pub requests: u64,
    /// Requests that found no connection to it, or lost it before an answer.
    pub failures: u64,
    /// Its last probe.
    pub last_probe: Option<LastProbe>,
}
