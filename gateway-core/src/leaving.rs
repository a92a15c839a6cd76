//! Nodes that have left their pool and still have requests: nobody is sent there, and whoever looks
//! at what is in flight finds them until the last request is over.
//!
//! Invariant: the gate of a node that has left is shut for good.
//!
//! Source: adr/0050.

use std::sync::{Arc, Mutex, PoisonError};

use crate::health::Turn;
use crate::node::LiveNode;
use crate::readiness::Why;
use crate::rotation::{By, Rotation};

/// The nodes that have left a pool.
#[derive(Debug, Default)]
pub(crate) struct Leaving(Mutex<Vec<Arc<LiveNode>>>);

impl Leaving {
    /// Shuts the gates of nodes that have left the list, and tells which of them were in rotation, as
    /// `total_in` nodes were.
    pub(crate) fn take<'a>(
        &self,
        gone: impl Iterator<Item = &'a Arc<LiveNode>>,
        mut total_in: usize,
    ) -> Vec<Rotation> {
        let mut rotations = Vec::new();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for node in gone {
            let was_in = node.is_in_rotation();
            node.gate().shut_again();
            if was_in {
                total_in = total_in.saturating_sub(1);
                let turn = Turn::Out(Why::Removed);
                rotations.push(Rotation::of(node, turn, By::Reload, total_in));
            }
            all.push(Arc::clone(node));
        }
        all.retain(|node| node.in_flight() > 0);
        rotations
    }

    /// Those that still have requests, in the order in which they left.
    pub(crate) fn now(&self) -> Vec<Arc<LiveNode>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|node| node.in_flight() > 0);
        all.clone()
    }
}
