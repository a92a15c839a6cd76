//! The only place of the process that asks what time it is.

use std::time::SystemTime;

/// The wall clock, for time stamps only.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
