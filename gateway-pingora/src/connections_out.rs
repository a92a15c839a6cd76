//! Counts the requests on each connection of a worker to a node, and looks whether one that has
//! rested is still open and silent: what a node sent unasked would answer the next request. In HTTP/2
//! a node may say something at any time, and whoever reads there looks after the end.
//!
//! A connection is known by its descriptor, which belongs to one connection at a time; a connection
//! that is new starts again at one.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long one waits for a connection that another makes.
const PATIENCE: Duration = Duration::from_secs(1);

/// The connections of one worker to nodes.
#[derive(Default)]
pub(crate) struct ConnectionsOut {
    /// Locked by one thread only, and never across an await.
    all: Mutex<HashMap<RawFd, Out>>,
    /// Locked like the other.
    turns: Mutex<HashMap<Place, Arc<Semaphore>>>,
}

/// Where connections of HTTP/2 lead: the group that they share, and the node's address.
type Place = (u64, Arc<str>);
/// Held by whoever may make a connection, until it is there or is not to be had.
pub(crate) type Turn = OwnedSemaphorePermit;

/// One connection.
#[derive(Clone, Copy, Default)]
struct Out {
    requests: u32,
    is_http2: bool,
}

/// What is found when a connection is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It carries this request as its n-th.
    Open(u32),
    /// The node has closed it while it rested, or sent what nobody asked for; nothing may be written
    /// on it.
    Ended,
}

impl ConnectionsOut {
    /// Takes a connection for a request.
    pub(crate) fn take(&self, fd: RawFd, is_reused: bool) -> Found {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let out = all.entry(fd).or_default();
        if !is_reused {
            *out = Out::default();
        } else if !out.is_http2 && has_ended(fd) {
            return Found::Ended;
        }
        out.requests = out.requests.saturating_add(1);
        Found::Open(out.requests)
    }

    /// Waits for the turn to take a connection of HTTP/2: one at a time is made, and whoever comes
    /// meanwhile finds it there. `None` when that has taken too long; each makes its own then.
    ///
    /// Cancel-safe: yes.
    pub(crate) async fn turn(&self, place: Place) -> Option<Turn> {
        let turns = {
            let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            if !all.contains_key(&place) {
                // A place is known for as long as somebody waits there, or until another is new.
                all.retain(|_, turns| Arc::strong_count(turns) > 1);
            }
            Arc::clone(
                all.entry(place)
                    .or_insert_with(|| Arc::new(Semaphore::new(1))),
            )
        };
        let turn = tokio::time::timeout(PATIENCE, turns.acquire_owned()).await;
        turn.ok()?.ok()
    }

    /// The connection speaks HTTP/2.
    pub(crate) fn speaks_http2(&self, fd: RawFd) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(fd).or_default().is_http2 = true;
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
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    #[test]
    fn a_descriptor_that_is_used_again_starts_again() {
        let connections = ConnectionsOut::default();
        let (ours, _theirs) = pair();
        let fd = ours.as_raw_fd();
        assert_eq!(connections.take(fd, false), Found::Open(1));
        assert_eq!(connections.take(fd, true), Found::Open(2));
        assert_eq!(connections.take(fd, false), Found::Open(1));
    }

    #[test]
    fn a_connection_that_ended_or_spoke_while_it_rested_is_seen() {
        let connections = ConnectionsOut::default();
        let (ours, mut theirs) = pair();
        assert_eq!(connections.take(ours.as_raw_fd(), true), Found::Open(1));
        theirs.write_all(b"x").unwrap();
        // The byte is there once it can be peeked at; this waits for it, and the next for the end.
        assert_eq!(ours.peek(&mut [0]).unwrap(), 1);
        assert_eq!(connections.take(ours.as_raw_fd(), true), Found::Ended);
        connections.speaks_http2(ours.as_raw_fd());
        assert_eq!(connections.take(ours.as_raw_fd(), true), Found::Open(2));
        let (ours, theirs) = pair();
        assert_eq!(connections.take(ours.as_raw_fd(), false), Found::Open(1));
        drop(theirs);
        assert_eq!(ours.peek(&mut [0]).unwrap(), 0);
        assert_eq!(connections.take(ours.as_raw_fd(), true), Found::Ended);
    }
}
