//! Picks the node that takes a request, and keeps the nodes of a pool across snapshots.
//!
//! Leaves to [`health`](crate::health) the verdict on a node, to [`queue`](crate::queue) who gets a
//! slot that comes free. Called on every try of every request; what changes the rotation is rare
//! and goes one at a time.
//!
//! Invariants: a node out of rotation is never picked, but for one trial at a time of a node that
//! nobody probes; nobody overtakes a waiter who could use the same slot; a node that stays in the
//! list keeps everything known about it.
//! Locks are taken in the order changes, roster, health, queue, and no waker runs under one.
//!
//! Source: the selection section of the front door; GATEWAY §6; adr/0004, adr/0048, adr/0049.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::task::Waker;
use std::time::Instant;

use gateway_config::model::{Name, Pool, ProbeKind};

use crate::balance::Turns;
use crate::health::{Health, Turn};
use crate::in_flight::Gate;
use crate::leaving::Leaving;
use crate::node::{LiveNode, NodeView, Settle, Slot, Total};
use crate::queue::{Choice, Queue, QueueFull};
use crate::ranges::{Holder, Ranges};
use crate::readiness::Observation;
use crate::retry::{Budget, Elsewhere};
use crate::roster::{Roster, Survey};
use crate::rotation::{By, Moves, Rotation};
use crate::tried::{Hints, NodeId};
use crate::wait::Wait;

mod asked;

pub use asked::Asked;

/// The live state of one pool, shared by every worker and every snapshot that names it.
#[derive(Debug)]
pub struct PoolState {
    name: Name,
    roster: RwLock<Roster>,
    queue: Arc<Queue<Slot>>,
    changes: Mutex<Changes>,
    leaving: Leaving,
    turns: Turns,
    budget: Budget,
    this: Weak<Self>,
}

#[derive(Debug)]
struct Changes {
    next_id: u64,
    ranges: Ranges,
}

/// What picking a node came to.
#[derive(Debug)]
pub enum Pick {
    /// Every node in rotation has been tried by this request.
    AllTried,
    /// A node that may take the request is in rotation, but every such node is full: wait.
    Full,
    /// No node is in rotation.
    NobodyUp,
    /// A slot on the node that is to take the request.
    Slot(Slot),
}

impl PoolState {
    /// The pool at the start of the process: every node that is probed is out, and its first probe
    /// decides alone; a node that nobody probes is in. What is drawn by lot follows from `seed`.
    #[must_use]
    pub fn new(pool: &Pool, seed: u64, now: Instant) -> Arc<Self> {
        let fresh = match is_probed(pool) {
            true => Health::at_start(),
            false => Health::unprobed(),
        };
        let state = Arc::new_cyclic(|this| Self {
            name: Arc::clone(&pool.name),
            roster: RwLock::default(),
            queue: Arc::new(Queue::new(pool.queue)),
            changes: Mutex::new(Changes {
                next_id: 0,
                ranges: Ranges::of(&pool.nodes),
            }),
            leaving: Leaving::default(),
            turns: Turns::new(seed),
            budget: Budget::full(),
            this: Weak::clone(this),
        });
        let _ = state.reconcile(&mut state.changes(), pool, (&fresh, &[], &[]), now);
        state
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Takes a slot on the node that is to have the request, as the pool is balanced; on a backup
    /// only when no other node may take it.
    ///
    /// Never waits. Reads the list of nodes under a lock that only [`apply`](Self::apply) takes for
    /// itself, for a moment; the queue's lock is taken only while somebody waits for a slot.
    #[must_use]
    pub fn pick(&self, hints: &Hints, now: Instant) -> Pick {
        let roster = self.roster();
        match roster.retry_budget {
            Some(percent) if hints.tried.is_empty() => self.budget.pay(percent),
            Some(_) => self.budget.spend(),
            None => {}
        }
        if self.queue.waiting() == 0 {
            return self.choose(&roster, hints, Some(now)).into();
        }
        let choose = |hints: &Hints| self.choose(&roster, hints, Some(now));
        let (choice, wakers) = self.queue.overtake(hints, choose);
        drop(roster);
        wake(wakers);
        choice.into()
    }

    /// Joins the queue for a slot; the place in it counts from this call, not from the first poll.
    ///
    /// # Errors
    /// [`QueueFull`] when as many requests wait as the pool allows.
    pub fn wait(&self, hints: &Hints, now: Instant) -> Result<Wait, QueueFull> {
        let roster = self.roster();
        let choose = |hints: &Hints| self.choose(&roster, hints, Some(now));
        let (joined, wakers) = self.queue.join(hints, choose);
        drop(roster);
        wake(wakers);
        Ok(Wait::new(Arc::clone(&self.queue), joined?))
    }

    /// Whether another try could find a node, without taking a slot. Nobody can be found when the
    /// pool's further tries have used up their share of the requests.
    #[must_use]
    pub fn elsewhere(&self, hints: &Hints, now: Instant) -> Elsewhere {
        let roster = self.roster();
        if roster.retry_budget.is_some() && !self.budget.has_one() {
            return Elsewhere::Nobody;
        }
        match roster.survey(&self.turns, hints, Some(now)) {
            Survey::Free(..) => Elsewhere::Free,
            Survey::Full => Elsewhere::Full,
            Survey::AllTried | Survey::NobodyUp => Elsewhere::Nobody,
        }
    }

    /// Takes in what a probe of `node` found. A node that has left the pool is no longer judged.
    pub fn probed(&self, node: &LiveNode, seen: &Observation, now: Instant) -> Moves {
        self.judge(node, By::Probe, now, |health, roster, is_last| {
            health.probed(seen, &roster.rules, is_last, now)
        })
    }

    /// Takes in what the name of `node` means now. No address at all is no answer: the last one is kept.
    /// Says whether it is another answer than before.
    pub fn resolved(&self, node: &LiveNode, found: &[SocketAddr], now: Instant) -> (bool, Moves) {
        let is_probed = node.health().is_watched();
        let is_other = node.known_addresses().replace(found, is_probed);
        if found.is_empty() || node.health().is_resolved() {
            return (is_other, Moves::default());
        }
        let moves = self.judge(node, By::Name, now, |health, _, _| health.resolved(now));
        (is_other, moves)
    }

    /// Takes in that the request that has this slot found no connection, or lost it before an
    /// answer.
    pub fn exchange_failed(&self, slot: &Slot, now: Instant) -> Moves {
        let (node, is_trial) = (slot.node(), slot.is_trial());
        node.count_failure();
        self.judge(node, By::Traffic, now, |health, roster, is_last| {
            health.exchange_failed(&roster.rules, is_last, is_trial, now)
        })
    }

    /// Takes in that the request that has this slot was answered, with whatever status.
    ///
    /// One relaxed load unless requests to the node have been failing, or this one was its trial.
    pub fn exchange_completed(&self, slot: &Slot, now: Instant) -> Moves {
        let (node, is_trial) = (slot.node(), slot.is_trial());
        if !is_trial && !node.is_failing() {
            return Moves::default();
        }
        self.judge(node, By::Traffic, now, |health, _, _| {
            health.exchange_completed(is_trial, now)
        })
    }

    /// Takes a node out for as long as it is drained, or lets it back in; `None`: there is no such
    /// node.
    ///
    /// Its probes and its failures are judged meanwhile as ever; its requests in flight end.
    pub fn set_drained(&self, name: &str, drained: bool, now: Instant) -> Option<Moves> {
        let node = self.nodes().into_iter().find(|one| **one.name() == *name)?;
        let mut changes = self.changes();
        let roster = self.roster();
        let Some(turn) = node.set_drained(drained) else {
            return Some(Moves::default());
        };
        let ranges = changes.ranges.observe(|name| holder(&roster, name));
        self.turned(&roster, &node, turn, now);
        let rotation = Rotation::of(&node, turn, By::Operator, total_in(&roster.nodes));
        self.settled(roster, changes, now);
        let rotations = vec![rotation];
        Some(Moves { rotations, ranges })
    }

    /// Takes over the nodes and rules of a new snapshot.
    ///
    /// A node with the same name and address keeps everything known about it. A new one is out
    /// until its first good probe, which may have been made before; or in if nobody probes it; or
    /// drained from its first moment, if it has one of the names that are. One that is gone is not picked again;
    /// its slots come back as their requests end.
    ///
    /// At no moment is nobody there: the old nodes go when the new ones are in.
    pub fn apply(&self, pool: &Pool, asked: &[Asked<'_>], drained: &[&str], now: Instant) -> Moves {
        let fresh = match is_probed(pool) {
            true => Health::added(),
            false => Health::unprobed(),
        };
        let mut changes = self.changes();
        changes.ranges.replace(&pool.nodes);
        let rotations = self.reconcile(&mut changes, pool, (&fresh, asked, drained), now);
        self.queue.set_limit(pool.queue);
        let roster = self.roster();
        let ranges = changes.ranges.observe(|name| holder(&roster, name));
        self.settled(roster, changes, now);
        Moves { rotations, ranges }
    }

    /// Its nodes, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> Vec<Arc<LiveNode>> {
        self.roster().nodes.clone()
    }

    /// Nodes that have left it and still have requests, in the order in which they left.
    #[must_use]
    pub fn leaving(&self) -> Vec<Arc<LiveNode>> {
        self.leaving.now()
    }

    /// Everything known about its nodes, in the order of the file.
    #[must_use]
    pub fn view(&self) -> Vec<NodeView> {
        self.nodes().iter().map(|node| node.view()).collect()
    }

    /// Nodes in rotation.
    #[must_use]
    pub fn in_rotation(&self) -> usize {
        total_in(&self.roster().nodes)
    }

    /// Whether a probe of every node has ended.
    #[must_use]
    pub fn is_probed(&self) -> bool {
        self.nodes().iter().all(|node| node.health().is_probed())
    }

    /// Requests waiting for a slot.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// The ranges of shards none of whose holders is in rotation.
    #[must_use]
    pub fn ranges_without_node(&self) -> Vec<Arc<str>> {
        let changes = self.changes();
        let roster = self.roster();
        changes.ranges.without_node(|name| holder(&roster, name))
    }

    fn judge(
        &self,
        node: &LiveNode,
        by: By,
        now: Instant,
        verdict: impl FnOnce(&mut Health, &Roster, bool) -> Option<Turn>,
    ) -> Moves {
        let mut changes = self.changes();
        let roster = self.roster();
        if !roster.nodes.iter().any(|known| known.id() == node.id()) {
            return Moves::default();
        }
        let others = total_in(&roster.nodes).saturating_sub(usize::from(node.is_in_rotation()));
        let was_probed = node.health().is_probed();
        let turn = node.judge(|health| verdict(health, &roster, others == 0));
        if turn.is_none() && was_probed {
            return Moves::default();
        }
        let ranges = changes.ranges.observe(|name| holder(&roster, name));
        let Some(turn) = turn else {
            return Moves {
                rotations: Vec::new(),
                ranges,
            };
        };
        self.turned(&roster, node, turn, now);
        let rotations = vec![Rotation::of(node, turn, by, total_in(&roster.nodes))];
        self.settled(roster, changes, now);
        Moves { rotations, ranges }
    }

    /// A node that comes in is not owed the turns it has missed.
    fn turned(&self, roster: &Roster, node: &LiveNode, turn: Turn, now: Instant) {
        if turn == Turn::In {
            node.enters(now);
            let weight = node.weight(roster.slow_start, Some(now));
            node.set_due(self.turns.at_entry(weight));
        }
    }

    /// Ends a change: everybody who waits is looked at again, and woken when no lock is held.
    fn settled(
        &self,
        roster: RwLockReadGuard<'_, Roster>,
        changes: MutexGuard<'_, Changes>,
        now: Instant,
    ) {
        let choose = |hints: &Hints| self.choose(&roster, hints, Some(now));
        let wakers = self.queue.settle(choose);
        drop(roster);
        drop(changes);
        wake(wakers);
    }

    fn choose(&self, roster: &Roster, hints: &Hints, now: Option<Instant>) -> Choice<Slot> {
        loop {
            match roster.survey(&self.turns, hints, now) {
                Survey::AllTried => return Choice::AllTried,
                Survey::Full => return Choice::Full,
                Survey::NobodyUp => return Choice::NobodyUp,
                Survey::Free(node, standing) => {
                    if roster.is_full() {
                        return Choice::Full;
                    }
                    // Another picker may have come first; it then has the slot, and the nodes are
                    // looked at again.
                    if let Some(slot) = Slot::take(node, roster.total.as_ref()) {
                        node.set_due(self.turns.chosen(standing));
                        return Choice::Taken(slot);
                    }
                }
            }
        }
    }

    fn reconcile(
        &self,
        changes: &mut Changes,
        pool: &Pool,
        (fresh, asked, drained): (&Health, &[Asked<'_>], &[&str]),
        now: Instant,
    ) -> Vec<Rotation> {
        let (old, total) = {
            let roster = self.roster();
            (roster.nodes.clone(), self.total(&roster, pool))
        };
        let mut nodes = Vec::with_capacity(pool.nodes.len());
        for wanted in &pool.nodes {
            let kept = old
                .iter()
                .find(|node| *node.name() == wanted.name && *node.addr() == wanted.addr);
            let node = kept.cloned().unwrap_or_else(|| {
                let id = NodeId(changes.next_id);
                changes.next_id += 1;
                let queue = Arc::clone(&self.queue);
                let node = LiveNode::new(id, wanted, fresh.clone(), queue, now);
                if drained.contains(&&*wanted.name) {
                    let _ = node.set_drained(true);
                }
                Arc::new(node)
            });
            node.set(wanted, pool.in_flight, total.as_ref());
            nodes.push(node);
        }
        let were_in = total_in(&old);
        let mut entered = Vec::new();
        let roster = Roster::new(pool, nodes, total);
        for node in &roster.nodes {
            let is_new = !old.iter().any(|before| before.id() == node.id());
            let turn = node.judge(|health| health.set_watched(is_probed(pool), now));
            if !is_probed(pool) {
                node.known_addresses().are_left(now);
            }
            if is_new && node.is_in_rotation() {
                self.turned(&roster, node, Turn::In, now);
            }
            entered.extend(turn.map(|turn| (Arc::clone(node), turn, By::Reload)));
            if let Some(told) = asked.iter().find(|told| is_new && told.is_of(node)) {
                let turn = told.judges(node, &roster.rules, now);
                entered.extend(turn.map(|(turn, by)| (Arc::clone(node), turn, by)));
            }
        }
        for (node, turn, _) in &entered {
            self.turned(&roster, node, *turn, now);
        }
        let (kept, now_in) = (roster.nodes.clone(), total_in(&roster.nodes));
        *self.roster.write().unwrap_or_else(PoisonError::into_inner) = roster;
        let is_gone = |node: &&Arc<LiveNode>| !kept.iter().any(|kept| kept.id() == node.id());
        let mut rotations = self.leaving.take(old.iter().filter(is_gone), were_in);
        let moved = entered.iter();
        rotations.extend(moved.map(|(node, turn, by)| Rotation::of(node, *turn, *by, now_in)));
        rotations
    }

    /// What bounds the pool as a whole: the same count as before as long as there is a bound.
    fn total(&self, before: &Roster, pool: &Pool) -> Option<Arc<Total>> {
        let ceiling = pool.in_flight_total?;
        let total = before.total.clone().unwrap_or_else(|| {
            let gate = Gate::shut(ceiling);
            gate.open();
            let pool: Weak<Self> = Weak::clone(&self.this);
            Arc::new(Total { gate, pool })
        });
        total.gate.set_ceiling(ceiling);
        Some(total)
    }

    fn roster(&self) -> RwLockReadGuard<'_, Roster> {
        self.roster.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Settle for PoolState {
    fn settle(&self) {
        let roster = self.roster();
        // No time is at hand, and none is needed: who is out stays out.
        let wakers = self.queue.settle(|hints| self.choose(&roster, hints, None));
        drop(roster);
        wake(wakers);
    }
}

/// Whether anybody asks the nodes how they are.
fn is_probed(pool: &Pool) -> bool {
    match pool.probe.kind {
        ProbeKind::None => false,
        ProbeKind::Http(_) | ProbeKind::Ready | ProbeKind::Tcp => true,
    }
}

fn total_in(nodes: &[Arc<LiveNode>]) -> usize {
    nodes.iter().filter(|node| node.is_in_rotation()).count()
}

fn holder(roster: &Roster, name: &str) -> Holder {
    match roster.nodes.iter().find(|node| **node.name() == *name) {
        Some(node) if node.is_in_rotation() => Holder::In,
        Some(node) if !node.health().is_probed() => Holder::Unprobed,
        Some(_) | None => Holder::Out,
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

impl From<Choice<Slot>> for Pick {
    fn from(choice: Choice<Slot>) -> Self {
        match choice {
            Choice::AllTried => Self::AllTried,
            Choice::Full => Self::Full,
            Choice::NobodyUp => Self::NobodyUp,
            Choice::Taken(slot) => Self::Slot(slot),
        }
    }
}

#[cfg(test)]
mod tests;
