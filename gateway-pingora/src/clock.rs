//! The only place that asks what time it is.
//!
//! Everything else takes the time as an argument, so that a rule can be tested by moving it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The current time.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The instant from which [`since_start`] counts: the first time anybody asked.
pub(crate) fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(now)
}

/// How long after [`start`] the given instant lies; zero before it.
pub(crate) fn since_start(at: Instant) -> Duration {
    at.saturating_duration_since(start())
}

/// The wall clock, for time stamps only.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
pub(crate) fn wall() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// The wall clock in seconds since 1970, for a line that a program reads.
pub(crate) fn unix_seconds() -> f64 {
    let since = wall().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
