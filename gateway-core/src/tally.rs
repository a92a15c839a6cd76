//! Counts what came of a node's tries and probes, from the moment it is known.
//!
//! Only counts: what follows from them is decided by [`health`](crate::health) and
//! [`retry`](crate::retry).

use std::sync::atomic::{AtomicU64, Ordering};

/// What came of one try at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request ended before anything was known about the node.
    Abandoned,
    /// It answered, to the end.
    Answered,
    /// It was busy, and another was asked instead.
    Busy,
    /// Its answer broke off.
    Lost,
    /// It took the request and gave no answer.
    Unanswered,
    /// Its answer could not be read.
    Unreadable,
    /// The request did not reach it.
    Unsent,
}

impl Outcome {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Abandoned,
        Self::Answered,
        Self::Busy,
        Self::Lost,
        Self::Unanswered,
        Self::Unreadable,
        Self::Unsent,
    ];

    /// A stable label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abandoned => "abandoned",
            Self::Answered => "answered",
            Self::Busy => "busy",
            Self::Lost => "lost",
            Self::Unanswered => "unanswered",
            Self::Unreadable => "unreadable",
            Self::Unsent => "unsent",
        }
    }
}

/// What is counted of one node.
#[derive(Debug, Default)]
pub struct Tally {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    passed: AtomicU64,
    failed: AtomicU64,
    ejections: AtomicU64,
    resolved: AtomicU64,
    unresolved: AtomicU64,
}

impl Tally {
    /// Counts a try.
    pub fn count(&self, outcome: Outcome) {
        if let Some(counter) = self.outcomes.get(outcome as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tries that came to this.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        let counter = self.outcomes.get(outcome as usize);
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Counts a probe.
    pub fn count_probe(&self, passed: bool) {
        let counter = if passed { &self.passed } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Probes that passed, and those that did not.
    #[must_use]
    pub fn probes(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.passed), read(&self.failed))
    }

    /// Counts a look-up of its name.
    pub fn count_lookup(&self, resolved: bool) {
        let counter = if resolved {
            &self.resolved
        } else {
            &self.unresolved
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Look-ups of its name that found an address, and those that did not.
    #[must_use]
    pub fn lookups(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.resolved), read(&self.unresolved))
    }

    /// Counts that failures of real requests took the node out of rotation.
    pub fn count_ejection(&self) {
        self.ejections.fetch_add(1, Ordering::Relaxed);
    }

    /// How often they did.
    #[must_use]
    pub fn ejections(&self) -> u64 {
        self.ejections.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_counted_for_itself() {
        let tally = Tally::default();
        for (times, outcome) in Outcome::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| tally.count(outcome));
        }
        for (times, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(tally.of(outcome), times as u64, "{}", outcome.as_str());
        }
    }
}
