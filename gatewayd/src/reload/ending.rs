//! The end of the process, as it meets a change: one comes first, whole.
//!
//! A change that is being prepared when the end begins is refused; one that is being kept is served
//! first, so that what is kept and what was served are the same.
//!
//! Source: adr/0034.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use super::{Ending, Event, Refused, Reload};

impl Reload {
    /// Changes nothing any more: the process is about to end.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// Takes no connection any more and waits until everything has ended, after
    /// [`drain`](Self::drain). A change that is just becoming active comes before it.
    pub(crate) fn join(&self) {
        let turning = self.turning();
        self.engine.drain();
        drop(turning);
        if let Some(ending) = self.ending() {
            let _ = self.events.send(Event::Ending(ending));
        }
        self.engine.join();
    }

    /// How far the end has come, once it has begun.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let plane = self.engine.data_plane();
        let pools = self.engine.pools().into_iter();
        let nodes = pools.flat_map(|pool| pool.nodes.into_iter().chain(pool.leaving));
        Some(Ending {
            deadline: plane.ends?,
            connections: plane.draining.iter().map(|one| one.connections).sum(),
            in_flight: nodes.map(|node| node.in_flight).sum(),
        })
    }

    /// Whether a change is under way.
    pub(crate) fn is_changing(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Returns when no change is under way, and none waits.
    pub(crate) async fn settles(&self) {
        drop(self.turn.lock().await);
    }

    /// Whether the process is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    fn turning(&self) -> MutexGuard<'_, ()> {
        self.turning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this is held the end does not begin.
    pub(super) fn before_the_end(&self) -> Result<MutexGuard<'_, ()>, Refused> {
        let turning = self.turning();
        match self.is_draining() {
            true => Err(Refused::Draining),
            false => Ok(turning),
        }
    }
}
