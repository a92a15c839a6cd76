//! What HTTP/2 adds to a connection: its frames are counted as they pass, and a client that sends too
//! much of what carries nothing, or does not end what it has begun, or rests too long, is told to go away.
//!
//! Source: RFC 9113 §5.4.1, §10.5; adr/0044.

use std::io;
use std::task::Context;
use std::time::Duration;

use super::{Conn, LINGER};
use crate::clock;
use crate::counts::Count;
use crate::gate::frames::{CALM, Flood, NO_ERROR, Wait};

/// How long a client that was told to go away, and whose answers are complete, may take to say that it has
/// heard of it (RFC 9113 §6.8: a round trip).
const SETTLE: Duration = Duration::from_secs(1);

impl Conn {
    /// Counts what the client sent.
    pub(super) fn received(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            return Ok(());
        };
        let before = frames.wait();
        let passed = frames.receive(bytes, clock::now());
        self.waits_since(before);
        passed.map_err(|flood| self.is_flooded(flood))
    }

    /// Counts what the engine sends.
    pub(super) fn sent(&mut self, cx: &Context<'_>, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            return Ok(());
        };
        let before = frames.wait();
        let passed = frames.send(bytes, clock::now());
        if self.waits_since(before) {
            // Whoever reads watches the time, and may have looked before it was set.
            cx.waker().wake_by_ref();
        }
        passed.map_err(|flood| self.is_flooded(flood))
    }

    /// Sets the time for what the connection waits for now; whether that is something else than `before`.
    fn waits_since(&self, before: Wait) -> bool {
        let Some(wait) = self.frames.as_ref().map(|frames| frames.wait()) else {
            return false;
        };
        if wait == before {
            return false;
        }
        let watch = &self.client.watch;
        let until = |limit| watch.until(clock::now() + limit);
        match wait {
            Wait::Owed => until(self.client.listening.settings().head.timeout),
            // Each request has times of its own; what is left of answers when they are over has this one.
            Wait::Answers => until(self.client.write_bounds().gap),
            Wait::Rest => until(self.idle),
            Wait::Leave => until(SETTLE),
        }
        true
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

    /// What the connection waited for has not come in time: what that comes to, or `None` where it is waited for
    /// longer. To rest or to stay for too long is no error: it is as if the client had ended.
    pub(super) fn waited_too_long(&mut self, error: io::Error) -> Option<io::Result<()>> {
        let wait = self.frames.as_ref().map(|frames| frames.wait());
        match wait {
            Some(Wait::Owed) => {
                self.client.listening.counts.dropped.slow_head.one();
                self.say_go_away();
                Some(Err(error))
            }
            Some(wait @ (Wait::Rest | Wait::Leave)) if self.is_taking() => {
                let more = if wait == Wait::Rest {
                    self.idle
                } else {
                    SETTLE
                };
                self.client.watch.until(clock::now() + more);
                None
            }
            Some(Wait::Rest | Wait::Leave) => {
                self.say_farewell();
                Some(Ok(()))
            }
            Some(Wait::Answers) if self.client.is_served() || self.has_taken_more() => {
                let gap = self.client.write_bounds().gap;
                self.client.watch.until(clock::now() + gap);
                None
            }
            Some(Wait::Answers) => {
                self.client.listening.counts.dropped.slow_reader.one();
                self.say_go_away();
                Some(Err(error))
            }
            None => Some(Err(error)),
        }
    }

    /// Whether the client has made room for more of its answers, or is taking what it made room for: the engine may
    /// hold the end of an answer whose request is over, for a client that has closed its window again. Other frames
    /// are no sign of that.
    fn has_taken_more(&mut self) -> bool {
        let has_sent = self.frames.as_mut().is_some_and(|frames| frames.has_sent());
        has_sent || self.is_taking()
    }

    /// Whether the client is still taking what was sent: the system holds megabytes of it, which a close would
    /// throw away when the client says another word. It may go on as long as it takes some of it within the time
    /// for a slow reader.
    fn is_taking(&mut self) -> bool {
        let Some(info) = self.socket.tcp_info() else {
            return false;
        };
        if info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0 {
            return false;
        }
        let now = clock::now();
        match self.taken {
            Some((taken, since)) if taken == info.tcpi_bytes_acked => {
                now.saturating_duration_since(since) < self.client.write_bounds().gap
            }
            Some(_) | None => {
                self.taken = Some((info.tcpi_bytes_acked, now));
                true
            }
        }
    }

    /// Puts the last frame behind what was gathered; it is sent when the connection is dropped, which
    /// follows the error that it goes with.
    fn say_go_away(&mut self) {
        self.count_unserved();
        self.put_last(CALM);
        self.frames = None;
    }

    /// A client that is closed on without an error, because it has been idle or does not leave, learns which of its
    /// requests were taken (RFC 9113 §6.8). Where the engine has told it, or it has left, nothing is said.
    pub(super) fn say_farewell(&mut self) {
        let frames = self.frames.as_deref();
        if frames.is_some_and(|frames| !frames.is_told()) && !self.has_left() {
            self.put_last(NO_ERROR);
        }
    }

    /// How long to read on for the client to see the end.
    pub(super) fn linger(&self) -> Duration {
        let frames = self.frames.as_deref();
        match frames.is_some_and(|frames| frames.wait() == Wait::Leave) {
            true => SETTLE,
            false => LINGER,
        }
    }

    fn put_last(&mut self, code: u8) {
        let frames = self.frames.as_mut();
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
