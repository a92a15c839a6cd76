//! Keeps the one deadline of a request.
//!
//! It covers the wait for a slot, connecting, the handshake, writing and every further try, up to
//! the head of the answer. Nothing begins it anew.
//!
//! Source: the retry section of the front door.

use std::time::{Duration, Instant};

/// The time a request may take until the head of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    begun: Instant,
    length: Duration,
}

impl Budget {
    /// A budget that begins at `now`.
    #[must_use]
    pub fn new(now: Instant, length: Duration) -> Self {
        Self { begun: now, length }
    }

    /// What is left of it; `None` when it is spent. Never zero.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        let spent = now.saturating_duration_since(self.begun);
        self.length
            .checked_sub(spent)
            .filter(|left| !left.is_zero())
    }

    /// The shorter of `limit` and what is left: how long one connect, handshake or wait for a
    /// slot may take. `None` when the budget is spent.
    #[must_use]
    pub fn at_most(&self, limit: Duration, now: Instant) -> Option<Duration> {
        self.remaining(now).map(|left| left.min(limit))
    }

    /// Its whole length.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::start;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_deadline_bounds_every_part_of_a_request() {
        let start = start();
        let budget = Budget::new(start, 3 * SECOND);
        assert_eq!(budget.remaining(start), Some(3 * SECOND));
        assert_eq!(budget.at_most(2 * SECOND, start), Some(2 * SECOND));
        assert_eq!(budget.at_most(2 * SECOND, start + 2 * SECOND), Some(SECOND));
        assert_eq!(budget.remaining(start + 3 * SECOND), None);
        assert_eq!(budget.at_most(SECOND, start + 4 * SECOND), None);
    }

    #[test]
    fn the_longest_budget_and_a_clock_that_stands_still_do_no_harm() {
        let start = start();
        let budget = Budget::new(start + SECOND, Duration::MAX);
        assert_eq!(budget.remaining(start), Some(Duration::MAX));
        assert_eq!(Budget::new(start, Duration::ZERO).remaining(start), None);
    }
}
