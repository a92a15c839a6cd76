//! Keeps descriptors back for what must go on when clients take all the others: connections to
//! nodes, probes and log files.
//!
//! A client waits in the kernel's queue while there is no descriptor for it: accepting rests, and goes
//! on within a moment of one being given back. Nor does a request get a connection to a node or a file
//! when few are left. How many there are is seen from a number: the system gives the lowest that is free.
//!
//! Source: adr/0022.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that are no client's: sockets, timers, logs, probes.
const OURS: usize = 40;
/// Clients that are served whatever the limit is.
const FEWEST: usize = 4;
/// Of a low limit only a part is kept from requests: most of ours are open by then.
const PART: usize = 8;

/// Descriptors held by clients, and how many may be.
#[derive(Clone)]
pub(crate) struct Descriptors {
    held: Arc<AtomicUsize>,
    most: usize,
    /// From this number on they are kept back.
    kept: RawFd,
    /// One that is kept back was given out.
    is_short: Arc<AtomicBool>,
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
            kept: RawFd::try_from(limit - OURS.min(limit / PART)).unwrap_or(RawFd::MAX),
            is_short: Arc::default(),
        }
    }

    /// Whether one that has just been opened is kept back, so that whoever wants it for a request has
    /// to do without.
    pub(crate) fn are_short(&self, opened: &impl AsFd) -> bool {
        let are_short = opened.as_fd().as_raw_fd() >= self.kept;
        if are_short {
            self.is_short.store(true, Ordering::Release);
        }
        are_short
    }

    /// Whether a next one would be kept back. Asks the system, but only after one was.
    fn are_still_short(&self) -> bool {
        if !self.is_short.load(Ordering::Acquire) {
            return false;
        }
        let next = io::stderr().as_fd().try_clone_to_owned();
        let are_short = next.map_or(true, |next| next.as_raw_fd() >= self.kept);
        self.is_short.store(are_short, Ordering::Release);
        are_short
    }

    /// Whether there is one for a next connection.
    ///
    /// # Errors
    /// Clients hold as many descriptors as they may, or few are left.
    pub(crate) fn check(&self) -> io::Result<()> {
        let held = self.held.load(Ordering::Acquire);
        let why = match held < self.most {
            true if held < FEWEST || !self.are_still_short() => return Ok(()),
            true => "no descriptors are left but those that are kept back",
            false => "clients hold as many descriptors as they may",
        };
        Err(io::Error::other(why))
    }

    /// This one is held.
    pub(crate) fn hold(&self, client: &impl AsFd) -> Held {
        let _ = self.are_short(client);
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
