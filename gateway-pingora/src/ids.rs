//! Makes request ids: 128 bits as 32 hexadecimal digits, different for every request.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

/// Makes request ids.
pub(crate) struct Ids {
    keys: RandomState,
    next: AtomicU64,
}

impl Ids {
    /// Ids that no other process makes, since the keys are random.
    pub(crate) fn new() -> Self {
        Ids {
            keys: RandomState::new(),
            next: AtomicU64::new(0),
        }
    }

    /// The next id.
    pub(crate) fn make(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (self.keys.hash_one(number), self.keys.hash_one(!number));
        // Digits are always a value; the other arm is for the types only.
        HeaderValue::try_from(format!("{high:016x}{low:016x}"))
            .unwrap_or(HeaderValue::from_static(""))
    }
}
