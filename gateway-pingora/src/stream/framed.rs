//! What HTTP/2 adds to a connection: its frames are counted as they pass, and a client that sends too
//! much of what carries nothing, or does not end what it has begun, is told to go away.
//!
//! Source: RFC 9113 §5.4.1, §10.5; adr/0044.

use std::io;

use super::Conn;
use crate::clock;
use crate::counts::Count;
use crate::gate::frames::{CALM, Flood, Frames, NO_ERROR};

impl Conn {
    /// Counts what the client sent.
    pub(super) fn received(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            return Ok(());
        };
        let now = clock::now();
        let was_owed = frames.is_owed();
        let passed = frames.receive(bytes, now);
        match (was_owed, frames.is_owed()) {
            (true, false) => self.client.watch.clear(),
            (false, true) => {
                let limit = self.client.listening.settings().head.timeout;
                self.client.watch.until(now + limit);
            }
            (false, false) | (true, true) => {}
        }
        passed.map_err(|flood| self.is_flooded(flood))
    }

    /// Counts what the engine sends.
    pub(super) fn sent(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            return Ok(());
        };
        let passed = frames.send(bytes, clock::now());
        passed.map_err(|flood| self.is_flooded(flood))
    }

    fn is_flooded(&mut self, flood: Flood) -> io::Error {
        let dropped = &self.client.listening.counts.dropped;
        let count: &Count = match flood {
            Flood::EmptyData => &dropped.empty_data,
            Flood::Pings => &dropped.pings,
            Flood::Resets => &dropped.resets,
            Flood::Settings => &dropped.settings,
        };
        count.one();
        self.say_go_away();
        io::ErrorKind::ConnectionAborted.into()
    }

    /// The client has not ended in time what it had begun.
    pub(super) fn is_owed_too_long(&mut self, error: io::Error) -> io::Error {
        if self.frames.is_some() {
            self.client.listening.counts.dropped.slow_head.one();
            self.say_go_away();
        }
        error
    }

    /// Puts the last frame behind what was gathered; it is sent when the connection is dropped, which
    /// follows the error that it goes with.
    fn say_go_away(&mut self) {
        self.put_last(CALM);
        self.count_unserved();
        self.frames = None;
    }

    /// A client that is closed on without an error, because it has been idle, learns which of its
    /// requests were taken (RFC 9113 §6.8). Where the engine has told it, or it has left, nothing is said.
    pub(super) fn say_farewell(&mut self) {
        let is_told = |frames: &Frames| frames.farewell().is_some();
        let frames = self.frames.as_deref();
        if frames.is_some_and(|frames| !is_told(frames)) && !self.has_left() {
            self.put_last(NO_ERROR);
        }
    }

    fn put_last(&mut self, code: u8) {
        let frames = self.frames.as_ref();
        if let Some(last) = frames.and_then(|frames| frames.go_away(code)) {
            self.output.extend_from_slice(&last);
        }
    }

    /// Counts what the engine refused by itself: streams that came to nothing before they were requests
    /// (malformed, too large, or reset at once), and the connection, where it was told to go away.
    pub(super) fn count_unserved(&mut self) {
        if let Some(frames) = &self.frames {
            let unserved = frames.begun().saturating_sub(self.client.admitted());
            let dropped = &self.client.listening.counts.dropped;
            dropped.streams.more(unserved);
            if frames.farewell().is_some_and(|code| code != 0) {
                dropped.errors.one();
            }
        }
    }
}
