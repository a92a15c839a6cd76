//! The end of the process, as it meets a change: one comes first, whole.
//!
//! A change that is being prepared when the end begins is refused; one that is being kept is served
//! first, so that what is kept and what was served are the same.
//!
//! Source: adr/0034.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use super::{Refused, Reload};

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
        self.engine.join();
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
