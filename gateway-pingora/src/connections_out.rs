//! Counts the requests on each connection of a worker to a node, and looks whether one that has
//! rested is still open.
//!
//! A connection is known by its descriptor, which belongs to one connection at a time; a connection
//! that is new starts again at one.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

/// How long a connection may have been out of use and still be taken without a look: one that is used
/// all the time is watched by the runtime anyway.
const FRESH: Duration = Duration::from_millis(5);

/// The connections of one worker to nodes.
#[derive(Default)]
pub(crate) struct ConnectionsOut {
    /// Locked by one thread only, and never across an await.
    used: Mutex<HashMap<RawFd, Used>>,
}

struct Used {
    requests: u32,
    last: Instant,
}

/// What is found when a connection is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It carries this request as its n-th.
    Open(u32),
    /// The node has closed it while it rested; nothing may be written on it.
    Ended,
}

impl ConnectionsOut {
    /// Takes a connection for a request.
    pub(crate) fn take(&self, fd: RawFd, is_reused: bool, now: Instant) -> Found {
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.entry(fd).or_insert(Used {
            requests: 0,
            last: now,
        });
        let has_rested = now.saturating_duration_since(used.last) > FRESH;
        if is_reused && has_rested && has_ended(fd) {
            return Found::Ended;
        }
        used.requests = if is_reused {
            used.requests.saturating_add(1)
        } else {
            1
        };
        used.last = now;
        Found::Open(used.requests)
    }
}

/// Whether the end of the stream, or bytes nobody asked for, are waiting to be read.
fn has_ended(fd: RawFd) -> bool {
    let looked = recv(fd, &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
    looked != Err(Errno::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_descriptor_that_is_used_again_starts_again() {
        let connections = ConnectionsOut::default();
        let now = clock::now();
        let take = |fd, is_reused| connections.take(fd, is_reused, now);
        assert_eq!(take(7, false), Found::Open(1));
        assert_eq!(take(7, true), Found::Open(2));
        assert_eq!(take(8, false), Found::Open(1));
        assert_eq!(take(7, false), Found::Open(1));
    }

    #[test]
    fn a_connection_that_ended_while_it_rested_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let connections = ConnectionsOut::default();
        let (fd, now) = (ours.as_raw_fd(), clock::now());
        assert_eq!(connections.take(fd, false, now), Found::Open(1));
        assert_eq!(connections.take(fd, true, now + 2 * FRESH), Found::Open(2));
        drop(theirs);
        // The end is there once it can be peeked at; this waits for it.
        assert_eq!(ours.peek(&mut [0]).unwrap(), 0);
        assert_eq!(connections.take(fd, true, now + 4 * FRESH), Found::Ended);
    }
}
