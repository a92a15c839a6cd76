//! What a stand-in node saw, so that *seen twice* can be counted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::message::Head;

/// One request as a node received it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Which of the node's connections brought it, counted from one.
    pub connection: u64,
    /// Its place on that connection, counted from one.
    pub index: usize,
    /// Whether the node ends the connection with its answer.
    pub is_last: bool,
    /// Method.
    pub method: String,
    /// Target exactly as on the wire.
    pub target: String,
    /// Request line and header lines.
    pub head: Head,
    /// Body, framing removed.
    pub body: Vec<u8>,
}

/// Everything one node saw.
#[derive(Debug, Default)]
pub(super) struct Record {
    requests: Mutex<Vec<Seen>>,
    probes: Mutex<Vec<Seen>>,
    fragments: Mutex<Vec<Vec<u8>>>,
    in_flight: Mutex<(usize, usize)>,
}

impl Record {
    pub(super) fn request(&self, seen: Seen) {
        lock(&self.requests).push(seen);
    }

    pub(super) fn probe(&self, seen: Seen) {
        lock(&self.probes).push(seen);
    }

    /// Bytes that never became a whole request.
    pub(super) fn fragment(&self, bytes: Vec<u8>) {
        lock(&self.fragments).push(bytes);
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        lock(&self.requests).clone()
    }

    pub(super) fn probes(&self) -> Vec<Seen> {
        lock(&self.probes).clone()
    }

    pub(super) fn fragments(&self) -> Vec<Vec<u8>> {
        lock(&self.fragments).clone()
    }

    pub(super) fn tell(&self) -> (Vec<Seen>, Vec<Vec<u8>>) {
        let requests = std::mem::take(&mut *lock(&self.requests));
        (requests, std::mem::take(&mut *lock(&self.fragments)))
    }

    pub(super) fn forget(&self) {
        lock(&self.requests).clear();
        lock(&self.probes).clear();
        lock(&self.fragments).clear();
        let mut count = lock(&self.in_flight);
        count.1 = count.0;
    }

    /// Counts a request as under way until the answer's return value is dropped.
    pub(super) fn begins(&self) -> UnderWay<'_> {
        let mut count = lock(&self.in_flight);
        count.0 += 1;
        count.1 = count.1.max(count.0);
        UnderWay { record: self }
    }

    pub(super) fn in_flight(&self) -> usize {
        lock(&self.in_flight).0
    }

    pub(super) fn most_in_flight(&self) -> usize {
        lock(&self.in_flight).1
    }
}

/// A request under way at a node.
pub(super) struct UnderWay<'record> {
    record: &'record Record,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.record.in_flight).0 -= 1;
    }
}

/// A lock that does not care whether somebody panicked under it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
