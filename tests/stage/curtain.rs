//! The end of a scenario, told to the threads it started, also when it fails.

use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether the play is over.
#[derive(Debug, Default)]
pub struct Curtain {
    is_down: AtomicBool,
}

/// Lets the curtain fall when dropped, by a panic too: nobody plays on for an empty house.
#[derive(Debug)]
pub struct Play<'curtain> {
    curtain: &'curtain Curtain,
}

impl Curtain {
    /// Whether threads should stop.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.is_down.load(Ordering::SeqCst)
    }

    /// The play that ends with the value returned.
    #[must_use]
    pub fn rises(&self) -> Play<'_> {
        Play { curtain: self }
    }
}

impl Drop for Play<'_> {
    fn drop(&mut self) {
        self.curtain.is_down.store(true, Ordering::SeqCst);
    }
}
