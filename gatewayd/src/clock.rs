//! The only place of the process that asks what time it is.

use std::time::{Instant, SystemTime};

/// Now, to measure how long something takes.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock, for time stamps only.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
