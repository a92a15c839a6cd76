//! The nodes of a pool as one snapshot has them, and which of them a request goes to.
//!
//! Looks, and takes nothing: the slot is taken by [`pool`](crate::pool), which looks again when
//! somebody else was faster. How nodes are compared is [`balance`](crate::balance)'s.
//!
//! Invariants: a backup is chosen only when no other node may take the request; a node that may
//! take it is never missed.
//!
//! Source: GATEWAY §6; adr/0049.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_config::model::{Balance, Health as Rules, Node, Pool};

use crate::balance::ring::Ring;
use crate::balance::{Standing, Turns, by_load, by_turn};
use crate::node::{LiveNode, Total, WHOLE_WEIGHT};
use crate::tried::Hints;

/// The nodes of a pool, and the rules for them.
#[derive(Debug)]
pub(crate) struct Roster {
    /// In the order of the file.
    pub(crate) nodes: Vec<Arc<LiveNode>>,
    /// What probes and failures do to them.
    pub(crate) rules: Rules,
    /// Further tries, in per cent of the requests; `None`: not bounded.
    pub(crate) retry_budget: Option<u8>,
    /// How long a node takes to get its full share.
    pub(crate) slow_start: Duration,
    /// What all may have in flight together.
    pub(crate) total: Option<Arc<Total>>,
    balance: Balance,
    ring: Ring,
    /// Where the share of each node ends, by its whole weight; of backups there is none.
    shares: Vec<u64>,
}

/// Points of the ring, or draws, after which all nodes are looked at instead.
const NEAR: usize = 16;
/// Nodes of which the least busy will do where all of them are busy.
const MANY: usize = 64;

/// What one look at the nodes finds.
pub(crate) enum Survey<'a> {
    /// Every node in rotation has been tried by this request.
    AllTried,
    /// The node to pick, and what it was compared by.
    Free(&'a Arc<LiveNode>, Standing),
    /// A node that may take the request is in rotation, and every such node is full.
    Full,
    /// No node is in rotation.
    NobodyUp,
}

impl Default for Roster {
    /// Nobody.
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            rules: Rules::new(1, 1),
            retry_budget: None,
            slow_start: Duration::ZERO,
            total: None,
            balance: Balance::LeastInFlight,
            ring: Ring::default(),
            shares: Vec::new(),
        }
    }
}

impl Roster {
    /// These nodes, which are those of the pool, in its order.
    pub(crate) fn new(pool: &Pool, nodes: Vec<Arc<LiveNode>>, total: Option<Arc<Total>>) -> Self {
        let ring = match pool.balance {
            Balance::Hash(_) => Ring::new(pool.nodes.iter().map(|one| (&*one.name, one.weight))),
            Balance::LeastInFlight | Balance::Random | Balance::RoundRobin => Ring::default(),
        };
        let mut end = 0;
        let share = |one: &Node| {
            end += u64::from(!one.backup) * u64::from(one.weight) * WHOLE_WEIGHT;
            end
        };
        let shares = match pool.balance {
            Balance::Random => pool.nodes.iter().map(share).collect(),
            Balance::Hash(_) | Balance::LeastInFlight | Balance::RoundRobin => Vec::new(),
        };
        Self {
            nodes,
            rules: pool.health.clone(),
            retry_budget: pool.retry_budget,
            slow_start: pool.slow_start,
            total,
            balance: pool.balance.clone(),
            ring,
            shares,
        }
    }

    /// Whether as much is in flight in the pool as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.total
            .as_ref()
            .is_some_and(|total| !total.gate.has_room(total.gate.count()))
    }

    /// Which node a request goes to. Without a time, a node that is out is not tried.
    pub(crate) fn survey(&self, turns: &Turns, hints: &Hints, now: Option<Instant>) -> Survey<'_> {
        match &self.balance {
            Balance::LeastInFlight => return self.best(turns, hints, now, By::Load),
            Balance::RoundRobin => {}
            Balance::Random => return self.better_of_two(turns, hints, now),
            Balance::Hash(_) => {
                if let Some(key) = hints.key {
                    return self.next_on_ring(turns, hints, key, now);
                }
            }
        }
        self.best(turns, hints, now, By::Turn)
    }

    /// The first of those that come first. In a large pool the look begins after the node found last, and
    /// ends at one that nobody can come before; by load also where so many have been found that are all
    /// busy.
    fn best(&self, turns: &Turns, hints: &Hints, now: Option<Instant>, by: By) -> Survey<'_> {
        let (mut primary, mut backup) = (None::<(_, Standing)>, None);
        let mut found = Survey::NobodyUp;
        let is_large = self.nodes.len() > NEAR;
        let first = if is_large { turns.place() } else { 0 };
        let (before, after) = self
            .nodes
            .split_at_checked(first)
            .unwrap_or((&[], &self.nodes));
        for (looked, node) in after.iter().chain(before).enumerate() {
            if let Some((node, standing)) = primary
                && looked >= MANY
                && by == By::Load
                && standing.in_flight > 0
            {
                turns.set_place((first + looked) % self.nodes.len());
                return Survey::Free(node, standing);
            }
            match self.look(turns, hints, node, now) {
                Look::Free(standing)
                    if is_large && !node.is_backup() && by.is_first(&standing, turns) =>
                {
                    turns.set_place((first + looked + 1) % self.nodes.len());
                    return Survey::Free(node, standing);
                }
                Look::Out => {}
                Look::Tried if matches!(found, Survey::NobodyUp) => found = Survey::AllTried,
                Look::Tried => {}
                Look::Full => found = Survey::Full,
                Look::Free(standing) => {
                    let best = if node.is_backup() {
                        &mut backup
                    } else {
                        &mut primary
                    };
                    let is_better = best
                        .is_none_or(|(_, other)| by.compare(&standing, &other) == Ordering::Less);
                    if is_better {
                        *best = Some((node, standing));
                    }
                }
            }
        }
        match primary.or(backup) {
            Some((node, standing)) => Survey::Free(node, standing),
            None => found,
        }
    }

    /// Draws two by weight and takes the one with less in flight for its weight.
    fn better_of_two(&self, turns: &Turns, hints: &Hints, now: Option<Instant>) -> Survey<'_> {
        let drawn = || self.drawn(turns, hints, now);
        if let (Some(one), Some(other)) = (drawn(), drawn()) {
            let (node, standing) = match by_load(&other.1, &one.1) {
                Ordering::Less => other,
                Ordering::Equal | Ordering::Greater => one,
            };
            return Survey::Free(node, standing);
        }
        let (any, standing) = match self.best(turns, hints, now, By::Turn) {
            Survey::Free(any, standing) => (any, standing),
            none @ (Survey::AllTried | Survey::Full | Survey::NobodyUp) => return none,
        };
        let is_backup = any.is_backup();
        let free = || {
            self.nodes
                .iter()
                .filter_map(move |node| match self.look(turns, hints, node, now) {
                    Look::Free(standing) if node.is_backup() == is_backup => Some((node, standing)),
                    Look::Free(_) | Look::Full | Look::Out | Look::Tried => None,
                })
        };
        let all: u64 = free().map(|(_, standing)| standing.weight).sum();
        let drawn = || {
            let mut at = turns.draw(all);
            free().find(|(_, standing)| {
                let is_here = at < standing.weight;
                at = at.saturating_sub(standing.weight);
                is_here
            })
        };
        let better = match (drawn(), drawn()) {
            (Some(one), Some(other)) if by_load(&other.1, &one.1) == Ordering::Less => Some(other),
            (one, other) => one.or(other),
        };
        let (node, standing) = better.unwrap_or((any, standing));
        Survey::Free(node, standing)
    }

    /// Draws by the whole weights until one may take the request and keeps its share by what its weight
    /// is for now, as if only those had been there; `None` when that takes too long.
    fn drawn(
        &self,
        turns: &Turns,
        hints: &Hints,
        now: Option<Instant>,
    ) -> Option<(&Arc<LiveNode>, Standing)> {
        let all = *self.shares.last()?;
        (0..NEAR).find_map(|_| {
            let at = turns.draw(all);
            let place = self.shares.partition_point(|end| *end <= at);
            let node = self.nodes.get(place)?;
            let Look::Free(standing) = self.look(turns, hints, node, now) else {
                return None;
            };
            let whole = node.whole_weight();
            let is_kept = standing.weight >= whole || turns.draw(whole) < standing.weight;
            is_kept.then_some((node, standing))
        })
    }

    /// The first node after the key that may take the request; backups only when no other may.
    fn next_on_ring(
        &self,
        turns: &Turns,
        hints: &Hints,
        key: u32,
        now: Option<Instant>,
    ) -> Survey<'_> {
        let free = |place: usize, is_backup: bool| {
            let node = self.nodes.get(place)?;
            if node.is_backup() != is_backup {
                return None;
            }
            match self.look(turns, hints, node, now) {
                Look::Free(standing) => Some((node, standing)),
                Look::Full | Look::Out | Look::Tried => None,
            }
        };
        let mut near = self.ring.after(key).take(NEAR);
        if let Some((node, standing)) = near.find_map(|place| free(place, false)) {
            return Survey::Free(node, standing);
        }
        // With nobody to find, the search would go round the whole circle for each request.
        let (any, standing) = match self.best(turns, hints, now, By::Turn) {
            Survey::Free(any, standing) => (any, standing),
            none @ (Survey::AllTried | Survey::Full | Survey::NobodyUp) => return none,
        };
        let mut all = self.ring.after(key);
        let next = all.find_map(|place| free(place, any.is_backup()));
        let (node, standing) = next.unwrap_or((any, standing));
        Survey::Free(node, standing)
    }

    fn look(&self, turns: &Turns, hints: &Hints, node: &LiveNode, now: Option<Instant>) -> Look {
        let in_flight = match (node.gate().open_count(), now) {
            (None, Some(now)) => {
                node.offer_trial(now);
                node.gate().open_count()
            }
            (count, _) => count,
        };
        let Some(in_flight) = in_flight else {
            return Look::Out;
        };
        let has_room = node.gate().has_room(in_flight);
        if !has_room && !node.gate().is_open() {
            // It may be tried, and nobody waits for that.
            return Look::Out;
        }
        if hints.tried.contains(node.id()) {
            return Look::Tried;
        }
        if !has_room {
            return Look::Full;
        }
        Look::Free(Standing {
            in_flight,
            due: turns.due(node.due()),
            weight: node.weight(self.slow_start, now),
        })
    }
}

/// By what nodes are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Load,
    Turn,
}

impl By {
    fn compare(self, one: &Standing, other: &Standing) -> Ordering {
        match self {
            Self::Load => by_load(one, other),
            Self::Turn => by_turn(one, other),
        }
    }

    /// Whether nobody can come before it: its turn is due now, and by load it is idle.
    fn is_first(self, one: &Standing, turns: &Turns) -> bool {
        (self == Self::Turn || one.in_flight == 0) && turns.is_now(one)
    }
}

/// What one node is to a request.
enum Look {
    Free(Standing),
    Full,
    Out,
    Tried,
}

#[cfg(test)]
mod tests;
