//! Makes request ids: 128 bits as 32 hexadecimal digits, different for every request.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

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
    pub(crate) fn make(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!(
            "{:016x}{:016x}",
            self.keys.hash_one(number),
            self.keys.hash_one(!number)
        )
    }
}
