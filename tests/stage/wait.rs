//! Waiting for something to become true, with a deadline; never for a length of time.

use std::thread;
use std::time::Duration;

use crate::clock;

/// How long a scenario waits for what should happen at once.
pub const SOON: Duration = Duration::from_secs(10);

/// How long a scenario waits for what the contract puts behind a constant of several seconds.
pub const EVENTUALLY: Duration = Duration::from_secs(30);

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits until `is_true`, or panics with what was being waited for.
pub fn until(what: &str, within: Duration, mut is_true: impl FnMut() -> bool) {
    value(what, within, || is_true().then_some(()));
}

/// Waits until `look` finds something, or panics with what was being waited for.
pub fn value<T>(what: &str, within: Duration, look: impl FnMut() -> Option<T>) -> T {
    maybe(within, look).unwrap_or_else(|| panic!("waited {within:?} in vain: {what}"))
}

/// Waits until `look` finds something or the time is over.
pub fn maybe<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = clock::now() + within;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if clock::now() >= end {
            return None;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Watches for the whole of `during` that something stays true, or panics.
///
/// For claims that something does *not* happen: the length of the watch is the claim.
pub fn stays(what: &str, during: Duration, mut is_true: impl FnMut() -> bool) {
    let broken = maybe(during, || (!is_true()).then_some(()));
    assert!(broken.is_none(), "did not stay so for {during:?}: {what}");
}
