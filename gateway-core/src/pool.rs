//! Picks the node that takes a request, and keeps the nodes of a pool across snapshots.
//!
//! Leaves to [`health`](crate::health) the verdict on a node, to [`queue`](crate::queue) who gets a
//! slot that comes free. Called on every try of every request; what changes the rotation is rare
//! and goes one at a time.
//!
//! Invariants: a node out of rotation is never picked; nobody overtakes a waiter who could use the
//! same slot; a node that stays in the list keeps everything known about it.
//! Locks are taken in the order changes, roster, health, queue, and no waker runs under one.
//!
//! Source: the selection section of the front door; adr/0004.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::Waker;
use std::time::Instant;

use gateway_config::model::{Health as Rules, Name, Pool};

use crate::health::{Health, Turn};
use crate::node::{LiveNode, NodeView, Slot};
use crate::queue::{Choice, Queue, QueueFull};
use crate::ranges::{Holder, Ranges};
use crate::readiness::{Observation, Why};
use crate::retry::Elsewhere;
use crate::rotation::{By, Moves, Rotation};
use crate::tried::{NodeId, Tried};
use crate::wait::Wait;

/// The live state of one pool, shared by every worker and every snapshot that names it.
#[derive(Debug)]
pub struct PoolState {
    name: Name,
    roster: RwLock<Roster>,
    queue: Arc<Queue<LiveNode>>,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Roster {
    nodes: Vec<Arc<LiveNode>>,
    rules: Rules,
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
    /// The pool at the start of the process: every node is out, and its first probe decides alone.
    #[must_use]
    pub fn new(pool: &Pool) -> Arc<Self> {
        let state = Self {
            name: Arc::clone(&pool.name),
            roster: RwLock::new(Roster {
                nodes: Vec::new(),
                rules: pool.health.clone(),
            }),
            queue: Arc::new(Queue::new(pool.queue)),
            changes: Mutex::new(Changes {
                next_id: 0,
                ranges: Ranges::of(&pool.nodes),
            }),
        };
        state.reconcile(&mut state.changes(), pool, &Health::at_start());
        Arc::new(state)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Takes a slot on the node with the fewest requests in flight; of several, on the one picked
    /// longest ago.
    ///
    /// Never waits. Reads the list of nodes under a lock that only [`apply`](Self::apply) takes for
    /// itself, for a moment; the queue's lock is taken only while somebody waits for a slot.
    #[must_use]
    pub fn pick(&self, tried: &Tried) -> Pick {
        let roster = self.roster();
        if self.queue.waiting() == 0 {
            return choose(&roster, tried).into();
        }
        let (choice, wakers) = self.queue.overtake(tried, |tried| choose(&roster, tried));
        drop(roster);
        wake(wakers);
        choice.into()
    }

    /// Joins the queue for a slot; the place in it counts from this call, not from the first poll.
    ///
    /// # Errors
    /// [`QueueFull`] when as many requests wait as the pool allows.
    pub fn wait(&self, tried: &Tried) -> Result<Wait, QueueFull> {
        let roster = self.roster();
        let (joined, wakers) = self.queue.join(tried, |tried| choose(&roster, tried));
        drop(roster);
        wake(wakers);
        Ok(Wait::new(Arc::clone(&self.queue), joined?))
    }

    /// Whether another try could find a node, without taking a slot.
    #[must_use]
    pub fn elsewhere(&self, tried: &Tried) -> Elsewhere {
        match survey(&self.roster(), tried) {
            Survey::Free { .. } => Elsewhere::Free,
            Survey::Full => Elsewhere::Full,
            Survey::AllTried | Survey::NobodyUp => Elsewhere::Nobody,
        }
    }

    /// Takes in what a probe of `node` found. A node that has left the pool is no longer judged.
    pub fn probed(&self, node: &LiveNode, seen: &Observation, now: Instant) -> Moves {
        self.judge(node, By::Probe, |health, rules, is_last| {
            health.probed(seen, rules, is_last, now)
        })
    }

    /// Takes in that a request to `node` found no connection, or lost it before an answer.
    pub fn exchange_failed(&self, node: &LiveNode, now: Instant) -> Moves {
        node.count_failure();
        self.judge(node, By::Traffic, |health, rules, is_last| {
            health.exchange_failed(rules, is_last, now)
        })
    }

    /// Takes in that a request to `node` was answered, with whatever status.
    ///
    /// One relaxed load unless requests to it have been failing.
    pub fn exchange_completed(&self, node: &LiveNode) {
        node.exchange_completed();
    }

    /// Takes a node out for as long as it is drained, or lets it back in; `None`: there is no such
    /// node.
    ///
    /// Its probes and its failures are judged meanwhile as ever; its requests in flight end.
    pub fn set_drained(&self, name: &str, drained: bool) -> Option<Moves> {
        let node = self.nodes().into_iter().find(|one| **one.name() == *name)?;
        let mut changes = self.changes();
        let roster = self.roster();
        let Some(turn) = node.set_drained(drained) else {
            return Some(Moves::default());
        };
        let ranges = changes.ranges.observe(|name| holder(&roster, name));
        let total_in = total_in(&roster.nodes);
        let wakers = self.queue.settle(|tried| choose(&roster, tried));
        drop(roster);
        drop(changes);
        wake(wakers);
        let rotations = vec![Rotation::of(&node, turn, By::Operator, total_in)];
        Some(Moves { rotations, ranges })
    }

    /// Takes over the nodes and rules of a new snapshot.
    ///
    /// A node with the same name and address keeps everything known about it. A new one is out
    /// until its first good probe. One that is gone is not picked again; its slots come back as
    /// their requests end.
    pub fn apply(&self, pool: &Pool) -> Moves {
        let mut changes = self.changes();
        changes.ranges.replace(&pool.nodes);
        let rotations = self.reconcile(&mut changes, pool, &Health::added());
        self.queue.set_limit(pool.queue);
        let roster = self.roster();
        let ranges = changes.ranges.observe(|name| holder(&roster, name));
        let wakers = self.queue.settle(|tried| choose(&roster, tried));
        drop(roster);
        drop(changes);
        wake(wakers);
        Moves { rotations, ranges }
    }

    /// Its nodes, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> Vec<Arc<LiveNode>> {
        self.roster().nodes.clone()
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
        verdict: impl FnOnce(&mut Health, &Rules, bool) -> Option<Turn>,
    ) -> Moves {
        let mut changes = self.changes();
        let roster = self.roster();
        if !roster.nodes.iter().any(|known| known.id() == node.id()) {
            return Moves::default();
        }
        let others = total_in(&roster.nodes).saturating_sub(usize::from(node.is_in_rotation()));
        let was_probed = node.health().is_probed();
        let turn = node.judge(|health| verdict(health, &roster.rules, others == 0));
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
        let rotations = vec![Rotation::of(node, turn, by, total_in(&roster.nodes))];
        let wakers = self.queue.settle(|tried| choose(&roster, tried));
        drop(roster);
        drop(changes);
        wake(wakers);
        Moves { rotations, ranges }
    }

    fn reconcile(&self, changes: &mut Changes, pool: &Pool, fresh: &Health) -> Vec<Rotation> {
        let old = self.nodes();
        let mut nodes = Vec::with_capacity(pool.nodes.len());
        for wanted in &pool.nodes {
            let kept = old
                .iter()
                .find(|node| *node.name() == wanted.name && *node.addr() == wanted.addr);
            let node = kept.cloned().unwrap_or_else(|| {
                let id = NodeId(changes.next_id);
                changes.next_id += 1;
                Arc::new(LiveNode::new(
                    id,
                    wanted,
                    pool.in_flight,
                    fresh.clone(),
                    Arc::clone(&self.queue),
                ))
            });
            node.gate().set_ceiling(pool.in_flight);
            nodes.push(node);
        }
        let gone = old
            .iter()
            .filter(|node| !nodes.iter().any(|kept| kept.id() == node.id()));
        let rotations = remove(gone, total_in(&old));
        let mut roster = self.roster.write().unwrap_or_else(PoisonError::into_inner);
        *roster = Roster {
            nodes,
            rules: pool.health.clone(),
        };
        rotations
    }

    fn roster(&self) -> RwLockReadGuard<'_, Roster> {
        self.roster.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shuts the gates of nodes that have left the list, and tells which of them were in rotation.
fn remove<'a>(gone: impl Iterator<Item = &'a Arc<LiveNode>>, mut total_in: usize) -> Vec<Rotation> {
    let mut rotations = Vec::new();
    for node in gone.filter(|node| node.is_in_rotation()) {
        node.gate().shut_again();
        total_in = total_in.saturating_sub(1);
        rotations.push(Rotation::of(
            node,
            Turn::Out(Why::Removed),
            By::Reload,
            total_in,
        ));
    }
    rotations
}

fn choose(roster: &Roster, tried: &Tried) -> Choice<LiveNode> {
    loop {
        match survey(roster, tried) {
            Survey::AllTried => return Choice::AllTried,
            Survey::Full => return Choice::Full,
            Survey::NobodyUp => return Choice::NobodyUp,
            Survey::Free { node, turn } => {
                // Another picker may have come first; it then has the slot, and the nodes are
                // looked at again.
                if node.gate().take() {
                    node.set_last_turn(turn);
                    return Choice::Taken(Arc::clone(node));
                }
            }
        }
    }
}

/// What one look at the nodes finds.
enum Survey<'a> {
    AllTried,
    /// The node to pick, and the number of this turn: above that of every node looked at. Two
    /// pickers at once may count the same turn, which costs a tie its order and nothing else.
    Free {
        node: &'a Arc<LiveNode>,
        turn: u64,
    },
    Full,
    NobodyUp,
}

fn survey<'a>(roster: &'a Roster, tried: &Tried) -> Survey<'a> {
    let mut best: Option<(u32, u64, &Arc<LiveNode>)> = None;
    let mut latest = 0;
    let mut found = Survey::NobodyUp;
    for node in &roster.nodes {
        let turn = node.last_turn();
        latest = latest.max(turn);
        let Some(in_flight) = node.gate().open_count() else {
            continue;
        };
        if tried.contains(node.id()) {
            if matches!(found, Survey::NobodyUp) {
                found = Survey::AllTried;
            }
            continue;
        }
        found = Survey::Full;
        let is_better = best.is_none_or(|(least, oldest, _)| (in_flight, turn) < (least, oldest));
        if node.gate().has_room(in_flight) && is_better {
            best = Some((in_flight, turn, node));
        }
    }
    best.map_or(found, |(_, _, node)| Survey::Free {
        node,
        turn: latest + 1,
    })
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

impl From<Choice<LiveNode>> for Pick {
    fn from(choice: Choice<LiveNode>) -> Self {
        match choice {
            Choice::AllTried => Self::AllTried,
            Choice::Full => Self::Full,
            Choice::NobodyUp => Self::NobodyUp,
            Choice::Taken(node) => Self::Slot(Slot::taken(node)),
        }
    }
}

#[cfg(test)]
mod tests;
