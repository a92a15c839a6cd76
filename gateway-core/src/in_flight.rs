//! Counts the requests a node has in flight, and never lets the count pass its ceiling.
//!
//! Whether the node may be picked at all sits in the same word as the count, so one atomic step
//! answers both questions. Who gets a slot is decided by [`pool`](crate::pool), who waits for one
//! by [`queue`](crate::queue).
//!
//! Invariants: a slot is never granted at or above the ceiling, nor while the gate is shut; every
//! slot granted is released once.
//!
//! Source: adr/0004.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The slots of one node: a count, a ceiling and whether any may be taken.
///
/// The order of memory accesses is sequentially consistent throughout: a release followed by a
/// look at the queue must not pass a join of the queue followed by a look at the slots.
#[derive(Debug)]
pub(crate) struct Gate {
    word: AtomicU64,
    ceiling: AtomicU32,
}

impl Gate {
    /// A shut gate with nothing in flight.
    #[must_use]
    pub(crate) fn shut(ceiling: u32) -> Self {
        Self {
            word: AtomicU64::new(SHUT),
            ceiling: AtomicU32::new(ceiling),
        }
    }

    /// Takes one slot, unless the gate is shut or the ceiling is reached.
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        let ceiling = u64::from(self.ceiling.load(Ordering::SeqCst));
        let more = |word| (word & SHUT == 0 && word < ceiling).then_some(word + 1);
        self.word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .is_ok()
    }

    /// Gives back one slot that was taken.
    pub(crate) fn release(&self) {
        let before = self.word.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(
            before & !SHUT > 0,
            "a slot was released that nobody had taken"
        );
    }

    /// The slots taken, or `None` while the gate is shut.
    #[must_use]
    pub(crate) fn open_count(&self) -> Option<u32> {
        let word = self.word.load(Ordering::SeqCst);
        (word & SHUT == 0).then(|| count(word))
    }

    /// The slots taken, whether the gate is open or shut.
    #[must_use]
    pub(crate) fn count(&self) -> u32 {
        count(self.word.load(Ordering::SeqCst))
    }

    /// Slots that may be taken at once.
    #[must_use]
    pub(crate) fn ceiling(&self) -> u32 {
        self.ceiling.load(Ordering::SeqCst)
    }

    /// Whether one more may be taken where so many are.
    #[must_use]
    pub(crate) fn has_room(&self, count: u32) -> bool {
        count < self.ceiling()
    }

    /// Changes the ceiling; slots above a lower one stay until they are released.
    pub(crate) fn set_ceiling(&self, ceiling: u32) {
        self.ceiling.store(ceiling, Ordering::SeqCst);
    }

    /// Lets slots be taken.
    pub(crate) fn open(&self) {
        self.word.fetch_and(!SHUT, Ordering::SeqCst);
    }

    /// Lets no further slot be taken; those taken stay until they are released.
    pub(crate) fn shut_again(&self) {
        self.word.fetch_or(SHUT, Ordering::SeqCst);
    }

    /// Whether slots may be taken.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.word.load(Ordering::SeqCst) & SHUT == 0
    }
}

fn count(word: u64) -> u32 {
    u32::try_from(word & !SHUT).unwrap_or(u32::MAX)
}

const SHUT: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn a_shut_gate_grants_nothing_and_still_takes_slots_back() {
        let gate = Gate::shut(2);
        assert!(!gate.take());
        gate.open();
        assert!(gate.take() && gate.take() && !gate.take());
        gate.shut_again();
        assert_eq!((gate.count(), gate.open_count()), (2, None));
        gate.release();
        gate.release();
        assert!(!gate.take());
        assert_eq!(gate.count(), 0);
    }

    #[test]
    fn a_lower_ceiling_waits_for_slots_to_come_back() {
        let gate = Gate::shut(3);
        gate.open();
        assert!(gate.take() && gate.take() && gate.take());
        gate.set_ceiling(1);
        gate.release();
        assert!(!gate.take());
        gate.release();
        gate.release();
        assert!(gate.take() && !gate.take());
    }

    #[test]
    fn threads_never_pass_the_ceiling_and_give_back_what_they_took() {
        for ceiling in [1, 2, 5] {
            let gate = Gate::shut(ceiling);
            let inside = AtomicU32::new(0);
            let over = AtomicBool::new(false);
            gate.open();
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for turn in 0..4_000 {
                            if turn % 257 == 0 {
                                gate.shut_again();
                                gate.open();
                            }
                            if gate.take() {
                                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                                over.fetch_or(now > ceiling, Ordering::SeqCst);
                                if turn % 64 == 0 {
                                    thread::yield_now();
                                }
                                inside.fetch_sub(1, Ordering::SeqCst);
                                gate.release();
                            }
                        }
                    });
                }
            });
            assert!(!over.load(Ordering::SeqCst), "ceiling {ceiling} passed");
            assert_eq!(gate.count(), 0);
        }
    }
}
