//! The one place of the stage that asks what time it is.

use std::time::{Instant, SystemTime};

/// The present moment.
#[must_use]
#[allow(
    clippy::disallowed_methods,
    reason = "the stage's own clock: real sockets live in real time"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// The wall clock.
#[must_use]
#[allow(
    clippy::disallowed_methods,
    reason = "the stage's own clock: certificates are valid in real time"
)]
pub fn wall() -> SystemTime {
    SystemTime::now()
}
