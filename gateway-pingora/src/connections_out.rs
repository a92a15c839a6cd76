//! Counts the requests on each connection of a worker to a node.
//!
//! A connection is known by its descriptor, which belongs to one connection at a time; a connection
//! that is new starts again at one.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};

/// The connections of one worker to nodes.
#[derive(Default)]
pub(crate) struct ConnectionsOut {
    /// Locked by one thread only, and never across an await.
    requests: Mutex<HashMap<RawFd, u32>>,
}

impl ConnectionsOut {
    /// Counts a request; how many there have been on this connection, itself included.
    pub(crate) fn count(&self, fd: RawFd, is_reused: bool) -> u32 {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(fd).or_insert(0);
        *count = if is_reused {
            count.saturating_add(1)
        } else {
            1
        };
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_is_used_again_starts_again() {
        let connections = ConnectionsOut::default();
        assert_eq!(connections.count(7, false), 1);
        assert_eq!(connections.count(7, true), 2);
        assert_eq!(connections.count(8, false), 1);
        assert_eq!(connections.count(7, false), 1);
    }
}
