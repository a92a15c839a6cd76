//! How long one side of a body waits for a client: the bounds of [`pace`](crate::pace), and a timer
//! that says when they are passed. One for the way in and one for the way out of a message, whatever
//! the version of HTTP.
//!
//! Source: adr/0015, adr/0044.

use std::task::{Context, Poll};

use crate::clock;
use crate::pace::{Bounds, Pace};
use crate::timer::Timer;

/// The wait for a client. Nothing is allocated until it is first waited for.
pub(crate) struct Patience {
    pace: Pace,
    timer: Timer,
}

impl Patience {
    /// A client that has not been waited for.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Patience {
            pace: Pace::new(bounds),
            timer: Timer::default(),
        }
    }

    /// The client is waited for; ready once its silence has been too long.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.pace.waits(clock::now());
        self.timer.poll(cx, deadline)
    }

    /// Some bytes moved; whether the pace is still enough.
    pub(crate) fn moved(&mut self, bytes: usize) -> bool {
        self.pace.moved(bytes, clock::now())
    }

    /// The client has taken everything; it is waited for no longer.
    pub(crate) fn rests(&mut self) {
        self.pace.rests(clock::now());
    }
}
