//! Chance that can be repeated: the same seed, the same order of faults.

/// A small generator; good enough to shuffle.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Rolls the same for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1)
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides.max(1)
    }

    /// One of several.
    pub(crate) fn one_of<'all, T>(&mut self, all: &'all [T]) -> &'all T {
        &all[self.below(all.len())]
    }

    /// Any other order.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
    }
}
