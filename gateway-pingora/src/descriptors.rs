//! Keeps descriptors back for what must go on when clients take all the others: connections to
//! nodes, probes and log files.
//!
//! A client waits in the kernel's queue while there is no descriptor for it: accepting rests, and goes
//! on within a moment of one being given back.
//!
//! Source: adr/0022.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that are no client's: sockets, timers, logs, probes.
const OURS: usize = 40;
/// Clients that are served whatever the limit is.
const FEWEST: usize = 4;

/// Descriptors held by clients, and how many may be.
#[derive(Clone)]
pub(crate) struct Descriptors {
    held: Arc<AtomicUsize>,
    most: usize,
}

impl Descriptors {
    /// Raises the limit of the process to what it may have, and leaves half of what is not ours to
    /// connections to nodes.
    pub(crate) fn new() -> Self {
        let limit =
            getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, hard)| {
                match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
                    Ok(()) => hard,
                    Err(_) => soft,
                }
            });
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Descriptors {
            held: Arc::default(),
            most: (limit.saturating_sub(OURS) / 2).max(FEWEST),
        }
    }

    /// Whether there is one for a next connection.
    ///
    /// # Errors
    /// Clients hold as many descriptors as they may.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.held.load(Ordering::Acquire) < self.most {
            true => Ok(()),
            false => Err(io::Error::other(
                "clients hold as many descriptors as they may",
            )),
        }
    }

    /// One is held.
    pub(crate) fn hold(&self) -> Held {
        self.held.fetch_add(1, Ordering::AcqRel);
        Held(self.clone())
    }
}

/// One descriptor held by a client; given back when dropped.
pub(crate) struct Held(Descriptors);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}
