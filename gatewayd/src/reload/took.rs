//! How long the parts of a change took, as the log says it.

use std::fmt;
use std::time::{Duration, Instant};

use crate::clock;

/// The parts of a change with their times, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Took {
    since: Instant,
    parts: Vec<(&'static str, Duration)>,
}

impl Took {
    /// Begins with the first part.
    pub(super) fn begins() -> Self {
        Took {
            since: clock::now(),
            parts: Vec::new(),
        }
    }

    /// A part has ended, and the next one begins.
    pub(super) fn ends(&mut self, part: &'static str) {
        let now = clock::now();
        let took = now.saturating_duration_since(self.since);
        self.parts.push((part, took));
        self.since = now;
    }
}

impl fmt::Display for Took {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (part, took)) in self.parts.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(out, "{comma}{part} {:.1} ms", took.as_secs_f64() * 1000.0)?;
        }
        Ok(())
    }
}
