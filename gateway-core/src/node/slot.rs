//! A place among the requests in flight on one node, and in a pool that is bounded as a whole.
//!
//! Taken by [`pool`](crate::pool) for a node it has chosen; who waits gets what is given back through
//! [`queue`](crate::queue).
//!
//! Invariant: a [`Slot`] gives its place back when it is dropped, once, at its node and in its pool.
//!
//! Source: adr/0004, adr/0048, adr/0049.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

use super::LiveNode;
use crate::in_flight::{self, Gate, Taken};
use crate::queue::OfNode;
use crate::tried::NodeId;

/// What all nodes of a pool may have in flight together.
#[derive(Debug)]
pub(crate) struct Total {
    /// Always open.
    pub(crate) gate: Gate,
    /// Looks at everybody who waits for a slot of the pool.
    pub(crate) pool: Weak<dyn Settle>,
}

/// Looks again at everybody who waits.
pub(crate) trait Settle: std::fmt::Debug + Send + Sync {
    /// Gives slots to those who wait and may have them now.
    fn settle(&self);
}

/// A place among the requests in flight on one node, and in a bounded pool; given back by dropping it.
#[derive(Debug)]
pub struct Slot {
    node: Arc<LiveNode>,
    total: Option<Arc<Total>>,
    /// Its number when it was given to try a node that is out; else 0.
    trial: u64,
}

impl Slot {
    /// Takes a slot, if the node and its pool have one.
    pub(crate) fn take(node: &Arc<LiveNode>, total: Option<&Arc<Total>>) -> Option<Self> {
        let how = in_flight::take(&node.gate, total.map(|total| &total.gate))?;
        let number = node.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let trial = match how {
            Taken::Only => number,
            Taken::Usual => 0,
        };
        if trial > 0 {
            node.trial.store(trial, Ordering::SeqCst);
        }
        Some(Self {
            node: Arc::clone(node),
            total: total.cloned(),
            trial,
        })
    }

    /// The node this slot belongs to.
    #[must_use]
    pub fn node(&self) -> &Arc<LiveNode> {
        &self.node
    }

    /// Whether it was given to try a node that is out, and has told nothing about it so far.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.trial > 0 && self.node.trial.load(Ordering::SeqCst) == self.trial
    }
}

impl OfNode for Slot {
    fn node_id(&self) -> NodeId {
        self.node.id
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let node = &self.node;
        in_flight::give_back(&node.gate, self.total.as_ref().map(|total| &total.gate));
        if self.trial > 0 {
            node.trial_ended(self.trial);
        }
        if node.queue.waiting() == 0 {
            return;
        }
        // Of the pool as it is now, which may be bounded otherwise than when this slot was taken.
        let total = node
            .total
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match total {
            // Whose turn is next in a pool that was full as a whole may be another node's.
            Some(total) => {
                if let Some(pool) = total.pool.upgrade() {
                    pool.settle();
                }
            }
            None => {
                let waker = node.queue.pass(node.id, || Self::take(node, None));
                waker.into_iter().for_each(std::task::Waker::wake);
            }
        }
    }
}
