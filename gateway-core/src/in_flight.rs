//! Counts the requests in flight, and never lets the count pass its ceiling.
//!
//! Whether a node may be picked at all, or by one request only, sits in the same word as the count,
//! so one atomic step answers both questions. Who gets a slot is decided by [`pool`](crate::pool), who waits for one
//! by [`queue`](crate::queue).
//!
//! Invariants: a slot is never granted at or above the ceiling, nor while the gate is shut, but for
//! one each time it was opened for one; every slot granted is released once.
//!
//! Source: adr/0004, adr/0048.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// How a slot was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// By a gate that was open for one request only.
    Only,
    /// By an open gate.
    Usual,
}

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
    pub(crate) fn take(&self) -> Option<Taken> {
        let ceiling = self.ceiling.load(Ordering::SeqCst);
        let more = |word| {
            let may_enter = word & (SHUT | ONE) != SHUT && count(word) < ceiling;
            // Whoever comes in by a gate that is open for one shuts it.
            may_enter.then_some((word & !ONE) + 1)
        };
        let before = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .ok()?;
        Some(match before & ONE {
            0 => Taken::Usual,
            _ => Taken::Only,
        })
    }

    /// Gives back one slot that was taken.
    pub(crate) fn release(&self) {
        let before = self.word.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(
            before & !(SHUT | ONE) > 0,
            "a slot was released that nobody had taken"
        );
    }

    /// The slots taken, or `None` while the gate is shut.
    #[must_use]
    pub(crate) fn open_count(&self) -> Option<u32> {
        let word = self.word.load(Ordering::SeqCst);
        (word & (SHUT | ONE) != SHUT).then(|| count(word))
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
        self.word.fetch_and(!(SHUT | ONE), Ordering::SeqCst);
    }

    /// Lets one slot be taken while the gate is shut; does nothing while it is open.
    pub(crate) fn open_for_one(&self) {
        let open = |word| (word & SHUT != 0).then_some(word | ONE);
        let _ = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, open);
    }

    /// Lets no further slot be taken; those taken stay until they are released.
    pub(crate) fn shut_again(&self) {
        let shut = |word| Some((word & !ONE) | SHUT);
        let _ = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, shut);
    }

    /// Whether slots may be taken.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.word.load(Ordering::SeqCst) & SHUT == 0
    }
}

/// Takes a slot of a node, and before it one of its pool where that is bounded; both or neither.
#[must_use]
pub(crate) fn take(node: &Gate, total: Option<&Gate>) -> Option<Taken> {
    if let Some(total) = total {
        total.take()?;
    }
    let taken = node.take();
    if let (None, Some(total)) = (taken, total) {
        total.release();
    }
    taken
}

/// Gives back what was taken so.
pub(crate) fn give_back(node: &Gate, total: Option<&Gate>) {
    node.release();
    if let Some(total) = total {
        total.release();
    }
}

fn count(word: u64) -> u32 {
    u32::try_from(word & !(SHUT | ONE)).unwrap_or(u32::MAX)
}

const SHUT: u64 = 1 << 63;
/// Beside [`SHUT`]: one slot may be taken all the same.
const ONE: u64 = 1 << 62;
