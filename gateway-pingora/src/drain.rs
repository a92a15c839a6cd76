//! What the connections of one listener on one worker are told when they are to end: no new request
//! after the next answer, how long an idle one is still listened to, and when all is over.
//!
//! Source: RUNTIME §1; adr/0035.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// How long an idle connection is listened to at least, for bytes that are on their way.
pub(crate) const LAST_LISTEN: Duration = Duration::from_millis(100);

/// How much longer than an idle connection one has that is in the midst of its beginning.
const LAST_BEGINNING: Duration = Duration::from_secs(2);

/// When connections that are to end have to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    /// Until when an idle connection is listened to, for a request that is on its way.
    pub(crate) idle_until: Instant,
    /// When what is still going on is cut.
    pub(crate) ends: Instant,
}

impl Leave {
    /// Both of two: the earlier times.
    pub(crate) fn sooner(self, other: Leave) -> Leave {
        Leave {
            idle_until: self.idle_until.min(other.idle_until),
            ends: self.ends.min(other.ends),
        }
    }
}

/// Whether connections are to end. Begins once; a second time can only make it sooner.
#[derive(Debug)]
pub(crate) struct Drain {
    told: watch::Sender<bool>,
    leave: Mutex<Option<Leave>>,
}

impl Drain {
    /// Connections may stay.
    pub(crate) fn new() -> Self {
        Drain {
            told: watch::Sender::new(false),
            leave: Mutex::new(None),
        }
    }

    /// Connections are to end.
    pub(crate) fn begin(&self, leave: Leave) {
        let mut known = self.leave.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(known.map_or(leave, |known| known.sooner(leave)));
        drop(known);
        self.told.send_replace(true);
    }

    /// Turns true when connections are to end, and says so again when it is to be sooner.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        let mut told = self.told.subscribe();
        // Whoever comes late is told as well.
        if *told.borrow() {
            told.mark_changed();
        }
        told
    }

    /// Whether connections are to end.
    pub(crate) fn is_on(&self) -> bool {
        *self.told.borrow()
    }

    /// Whether what is still going on is cut.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.leave().is_some_and(|leave| leave.ends <= now)
    }

    /// By when, if they are to end.
    pub(crate) fn leave(&self) -> Option<Leave> {
        *self.leave.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when who has been idle since `begun`, and may be until `until`, is listened to.
    pub(crate) fn listens_until(&self, begun: Instant, until: Instant) -> Instant {
        self.leave().map_or(until, |leave| {
            leave.idle_until.max(begun + LAST_LISTEN).min(until)
        })
    }

    /// Until when a handshake, or what comes before it, goes on that has been under way since `begun`, and may be until `until`.
    pub(crate) fn begins_until(&self, begun: Instant, until: Instant) -> Instant {
        self.leave().map_or(until, |leave| {
            let listens = leave.idle_until.max(begun + LAST_LISTEN);
            (listens + LAST_BEGINNING).min(leave.ends).min(until)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock;

    #[test]
    fn a_second_order_to_leave_only_makes_it_sooner() {
        let now = clock::now();
        let leave = |idle, ends| Leave {
            idle_until: now + Duration::from_secs(idle),
            ends: now + Duration::from_secs(ends),
        };
        let drain = Drain::new();
        assert_eq!((drain.is_on(), drain.leave()), (false, None));
        drain.begin(leave(5, 30));
        drain.begin(leave(1, 60));
        assert_eq!((drain.is_on(), drain.leave()), (true, Some(leave(1, 30))));
    }

    #[test]
    fn what_has_begun_has_a_little_longer_than_who_is_idle_and_never_longer_than_it_may() {
        let now = clock::now();
        let at = |millis| now + Duration::from_millis(millis);
        let until = |begun, until, leave: Option<(u64, u64)>| {
            let drain = Drain::new();
            if let Some((idle, ends)) = leave {
                let (idle_until, ends) = (at(idle), at(ends));
                drain.begin(Leave { idle_until, ends });
            }
            let ends = drain.begins_until(at(begun), at(until));
            ends.saturating_duration_since(now).as_millis()
        };
        assert_eq!(until(0, 10_000, None), 10_000);
        assert_eq!(until(0, 10_000, Some((100, 30_000))), 2_100);
        assert_eq!(until(900, 10_000, Some((100, 30_000))), 3_000);
        assert_eq!(until(0, 10_000, Some((100, 1_000))), 1_000);
        assert_eq!(until(0, 1_500, Some((100, 30_000))), 1_500);
        assert_eq!(until(0, 10_000, Some((30_000, 30_000))), 10_000);
    }
}
