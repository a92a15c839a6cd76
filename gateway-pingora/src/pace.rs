//! How slowly a body may be sent or taken: the longest silence, and the least average rate.
//!
//! Pure. Only time spent waiting for the peer counts, so that a slow node is never held against
//! a client. A peer that is silent is judged by its silence alone, since its kernel may take or
//! give bytes in large steps; a peer that trickles is judged by its rate.
//!
//! Source: adr/0015.

use std::time::{Duration, Instant};

/// Over how much waiting the rate is averaged.
const WINDOW: Duration = Duration::from_secs(30);

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Longest silence.
    pub(crate) gap: Duration,
    /// Least bytes per second, averaged over 30 s of waiting.
    pub(crate) rate: u32,
}

/// The pace of one transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    bounds: Bounds,
    waiting_since: Option<Instant>,
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// A transfer that has not waited yet.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Pace {
            bounds,
            waiting_since: None,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// The peer is waited for; when its silence will have been too long.
    pub(crate) fn waits(&mut self, now: Instant) -> Instant {
        *self.waiting_since.get_or_insert(now) + self.bounds.gap
    }

    /// The peer has taken everything; it is waited for no longer.
    pub(crate) fn rests(&mut self, now: Instant) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_duration_since(since);
        }
    }

    /// Some bytes moved; whether the pace is still enough.
    pub(crate) fn moved(&mut self, bytes: usize, now: Instant) -> bool {
        self.bytes += bytes as u64;
        self.rests(now);
        if self.waited < WINDOW {
            return true;
        }
        let enough = self.bytes >= u64::from(self.bounds.rate) * self.waited.as_secs();
        self.waited = Duration::ZERO;
        self.bytes = 0;
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const BOUNDS: Bounds = Bounds {
        gap: Duration::from_secs(60),
        rate: 256,
    };
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_trickle_is_too_slow_and_a_steady_flow_is_not() {
        let mut now = clock::now();
        let (mut trickle, mut flow) = (Pace::new(BOUNDS), Pace::new(BOUNDS));
        let mut slow = Vec::new();
        for _ in 0..61 {
            trickle.waits(now);
            flow.waits(now);
            now += SECOND;
            slow.push(!trickle.moved(1, now));
            assert!(flow.moved(256, now));
        }
        assert_eq!(slow.iter().filter(|slow| **slow).count(), 2);
        assert!(slow[29]);
    }

    #[test]
    fn time_spent_on_something_else_is_not_held_against_the_peer() {
        let mut now = clock::now();
        let mut pace = Pace::new(BOUNDS);
        for _ in 0..100 {
            now += 10 * SECOND;
            pace.waits(now);
            now += SECOND / 10;
            assert!(pace.moved(64, now));
        }
    }

    #[test]
    fn silence_is_counted_from_the_last_byte() {
        let now = clock::now();
        let mut pace = Pace::new(BOUNDS);
        pace.waits(now);
        assert!(pace.moved(9, now + 10 * SECOND));
        assert_eq!(pace.waits(now + 11 * SECOND), now + 71 * SECOND);
        assert_eq!(pace.waits(now + 12 * SECOND), now + 71 * SECOND);
    }
}
