//! Follows a drain: no new work is taken, and what is in flight may end before a deadline.
//!
//! What stops taking work, and what is cut at the end, is the adapter's.
//!
//! Invariant: the way is Serving, Draining, Drained; never back.
//!
//! Source: the listeners section of the runtime contract.

use std::time::{Duration, Instant};

/// Where a drain stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drain {
    /// Work is taken.
    #[default]
    Serving,
    /// No new work; what is in flight may end.
    Draining {
        /// When it began.
        since: Instant,
        /// How long requests in flight may go on.
        length: Duration,
    },
    /// Nothing is in flight any more, or its time is over.
    Drained {
        /// Requests in flight at that moment: those are cut.
        cut: u32,
    },
}

impl Drain {
    /// Begins to drain. A drain that is under way keeps its deadline.
    #[must_use]
    pub fn begin(self, now: Instant, length: Duration) -> Self {
        match self {
            Self::Serving => Self::Draining { since: now, length },
            Self::Draining { .. } | Self::Drained { .. } => self,
        }
    }

    /// Where it stands with so many requests in flight.
    #[must_use]
    pub fn step(self, now: Instant, in_flight: u32) -> Self {
        match self {
            Self::Draining { .. } if in_flight == 0 || self.remaining(now).is_none() => {
                Self::Drained { cut: in_flight }
            }
            Self::Serving | Self::Draining { .. } | Self::Drained { .. } => self,
        }
    }

    /// What is left until the deadline; `None` when none is set or it has passed.
    #[must_use]
    pub fn remaining(self, now: Instant) -> Option<Duration> {
        match self {
            Self::Draining { since, length } => length
                .checked_sub(now.saturating_duration_since(since))
                .filter(|left| !left.is_zero()),
            Self::Serving | Self::Drained { .. } => None,
        }
    }

    /// Whether new work is taken.
    #[must_use]
    pub fn is_serving(self) -> bool {
        self == Self::Serving
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::start;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_drain_ends_with_the_last_request() {
        let start = start();
        let drain = Drain::default().step(start, 0);
        assert!(drain.is_serving());
        let drain = drain.begin(start, 30 * SECOND).step(start, 2);
        assert_eq!(drain.remaining(start + SECOND), Some(29 * SECOND));
        assert_eq!(drain.step(start + SECOND, 0), Drain::Drained { cut: 0 });
    }

    #[test]
    fn a_drain_ends_at_its_deadline_and_says_what_is_cut() {
        let start = start();
        let drain = Drain::Serving.begin(start, SECOND);
        assert_eq!(drain.step(start + SECOND, 3), Drain::Drained { cut: 3 });
    }

    #[test]
    fn beginning_again_moves_no_deadline_and_nothing_leads_back() {
        let start = start();
        let drain = Drain::Serving.begin(start, SECOND);
        assert_eq!(drain.begin(start + SECOND, 9 * SECOND), drain);
        let drained = drain.step(start, 0);
        assert_eq!(drained.begin(start, SECOND).step(start, 5), drained);
        assert!(!drained.is_serving());
    }
}
