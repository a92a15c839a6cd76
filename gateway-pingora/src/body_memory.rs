//! Bounds the bytes of request bodies that are held in memory at once, over all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes that may be held, and those that are.
#[derive(Clone)]
pub(crate) struct BodyMemory {
    held: Arc<AtomicU64>,
    most: u64,
}

impl BodyMemory {
    /// At most this many bytes.
    pub(crate) fn new(most: u64) -> Self {
        BodyMemory {
            held: Arc::new(AtomicU64::new(0)),
            most,
        }
    }

    /// Nothing held yet.
    pub(crate) fn hold(&self) -> Held {
        Held {
            memory: self.clone(),
            bytes: 0,
        }
    }
}

/// Bytes held for one request; given back when dropped.
pub(crate) struct Held {
    memory: BodyMemory,
    bytes: u64,
}

impl Held {
    /// Holds `bytes` in all; whether there was room for what that adds.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let fits = |held: u64| {
            held.checked_add(more)
                .filter(|held| *held <= self.memory.most)
        };
        let grown = self
            .memory
            .held
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, fits)
            .is_ok();
        self.bytes += if grown { more } else { 0 };
        grown
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_more_than_the_bound_and_all_given_back(
            sizes in proptest::collection::vec(0_u64..200, 0..50),
        ) {
            let memory = BodyMemory::new(1000);
            let mut held = Vec::new();
            for (number, size) in sizes.into_iter().enumerate() {
                let mut one = memory.hold();
                let _ = one.grow_to(size / 2) && one.grow_to(size);
                held.push(one);
                prop_assert!(memory.held.load(Ordering::Acquire) <= 1000);
                if number % 3 == 0 {
                    held.remove(0);
                }
            }
            drop(held);
            prop_assert_eq!(memory.held.load(Ordering::Acquire), 0);
        }
    }
}
