//! Bounds the bytes of request bodies, and of what compresses answers, that are held in memory at once, over all
//! connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes that are held.
#[derive(Clone, Default)]
pub(crate) struct BodyMemory(Arc<AtomicU64>);

impl BodyMemory {
    /// Nothing held yet, and at most `most` bytes by all together.
    pub(crate) fn hold(&self, most: u64) -> Held {
        Held {
            memory: self.clone(),
            most,
            bytes: 0,
        }
    }
}

/// Bytes held for one request; given back when dropped.
pub(crate) struct Held {
    memory: BodyMemory,
    most: u64,
    bytes: u64,
}

impl Held {
    /// Holds `bytes` in all; whether there was room for what that adds.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let fits = |held: u64| held.checked_add(more).filter(|held| *held <= self.most);
        let grown = self
            .memory
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, fits)
            .is_ok();
        self.bytes += if grown { more } else { 0 };
        grown
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes, Ordering::AcqRel);
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
            let memory = BodyMemory::default();
            let mut held = Vec::new();
            for (number, size) in sizes.into_iter().enumerate() {
                let mut one = memory.hold(1000);
                let _ = one.grow_to(size / 2) && one.grow_to(size);
                held.push(one);
                prop_assert!(memory.0.load(Ordering::Acquire) <= 1000);
                if number % 3 == 0 {
                    held.remove(0);
                }
            }
            drop(held);
            prop_assert_eq!(memory.0.load(Ordering::Acquire), 0);
        }
    }
}
