//! The way in: a head that is judged before a byte of it is handed on, then its body as framed.
//!
//! Source: RFC 9112 §2–§7, adr/0015, adr/0021 (why an end is an end).

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Buf;
use gateway_config::model::HeadLimits;
use gateway_core::failure::Failure;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use super::{Conn, Io};
use crate::clock;
use crate::gate::chunks::{ChunkFault, Chunks};
use crate::gate::frames::Frames;
use crate::gate::head::{Framing, HeadFault, judge};
use crate::gate::scan::{Scan, ScanFault};
use crate::patience::Patience;

/// What a client of HTTP/2 says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Room made for one read.
const READ: usize = 4096;
/// How often a client that is not read any further is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes of a next message that are read while the current one is answered; beyond it the
/// client waits, as it must (RFC 9112 §9.3.2).
const READ_AHEAD: usize = 16 * 1024;

/// What may be handed on.
#[derive(Debug)]
pub(super) enum Reading {
    /// Nothing: no head has been asked for.
    Between,
    /// Nothing: the body is not framed as announced.
    Broken,
    /// The rest of a chunked body; `judged` bytes of the input belong to it.
    Chunked { chunks: Chunks, judged: usize },
    /// Nothing more: the message is complete.
    Complete,
    /// This much of a counted body.
    Counted { left: u64 },
    /// Nothing more: the client has ended its side of a tunnel, which Pingora has been told.
    Ended,
    /// This much of a judged head, then its body.
    Head { left: usize, then: Framing },
    /// Everything.
    Open,
}

/// Why no head was handed on.
#[derive(Debug)]
pub(crate) enum HeadRefusal {
    /// The client closed, or broke off, before a head was whole; nobody is there to answer.
    Closed,
    /// The fields are too long or too many: 431.
    Fields,
    /// The head is malformed: 400, or 501 for a transfer coding.
    Head(HeadFault),
    /// The request line is too long: 414.
    Line,
    /// The head took too long: 408.
    Slow,
}

impl HeadRefusal {
    /// What the client is told; `None`: nobody is there.
    pub(crate) fn failure(self) -> Option<Failure> {
        match self {
            HeadRefusal::Closed => None,
            HeadRefusal::Fields => Some(Failure::FieldsTooLarge),
            HeadRefusal::Head(HeadFault::TransferCoding) => Some(Failure::UnknownCoding),
            HeadRefusal::Head(fault) => Some(Failure::Malformed {
                because: fault.sentence(),
            }),
            HeadRefusal::Line => Some(Failure::LineTooLong),
            HeadRefusal::Slow => Some(Failure::HeadTooSlow),
        }
    }
}

impl From<ScanFault> for HeadRefusal {
    fn from(fault: ScanFault) -> Self {
        match fault {
            ScanFault::Fields => HeadRefusal::Fields,
            ScanFault::Head(fault) => HeadRefusal::Head(fault),
            ScanFault::Line => HeadRefusal::Line,
        }
    }
}

impl Conn {
    /// Ready with true once the first bytes of a next message have been read, or the end; with
    /// false once `deadline` has passed. Holds no buffer while it waits.
    pub(crate) fn poll_begins(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<bool> {
        let may_read = match &self.io {
            Io::Gone => return Poll::Ready(true),
            Io::Plain(stream) => stream.poll_read_ready(cx).is_ready(),
            Io::Tls(stream) => {
                self.tls_may_hold_bytes || stream.get_ref().0.poll_read_ready(cx).is_ready()
            }
        };
        if !self.input.is_empty() || may_read && self.poll_fill(cx).is_ready() {
            return Poll::Ready(true);
        }
        self.input = bytes::BytesMut::new();
        self.timer.poll(cx, deadline).map(|()| false)
    }

    /// Whether the client begins with the preface of HTTP/2 (RFC 9113 §3.4). As soon as a byte is none
    /// of it, what there is is the beginning of a head.
    ///
    /// # Errors
    /// Why nothing came that tells.
    ///
    /// Cancel-safe: what has been read is kept.
    pub(crate) async fn begins_http2(&mut self, deadline: Instant) -> Result<bool, HeadRefusal> {
        loop {
            let seen = self.input.len().min(PREFACE.len());
            if self.input.get(..seen) != PREFACE.get(..seen) {
                return Ok(false);
            }
            if seen == PREFACE.len() {
                return Ok(true);
            }
            self.fill_until(deadline).await?;
        }
    }

    /// Reads and judges the next head; afterwards the connection can be read as one message.
    ///
    /// # Errors
    /// Why there is none. After an error the connection can only be answered and closed.
    ///
    /// Cancel-safe: what has been read is kept.
    pub(crate) async fn read_head(
        &mut self,
        limits: &HeadLimits,
        deadline: Instant,
    ) -> Result<(), HeadRefusal> {
        let mut scan = Scan::default();
        let range = loop {
            if let Some(range) = scan.find(&self.input, limits)? {
                break range;
            }
            self.fill_until(deadline).await?;
        };
        let _ = self.input.split_to(range.start);
        let length = range.len();
        let head = self.input.get(..length).unwrap_or_default();
        let judged = judge(head, usize::from(limits.count)).map_err(HeadRefusal::Head)?;
        let then = judged.framing;
        let left = judged.bytes.len();
        if let std::borrow::Cow::Owned(rewritten) = judged.bytes {
            let rest = self.input.split_off(length);
            self.input = bytes::BytesMut::from(rewritten.as_slice());
            self.input.unsplit(rest);
        }
        self.reading = Reading::Head { left, then };
        Ok(())
    }

    /// Reads more of what begins a message.
    async fn fill_until(&mut self, deadline: Instant) -> Result<(), HeadRefusal> {
        let fill = poll_fn(|cx| self.poll_fill(cx));
        match tokio::time::timeout_at(deadline.into(), fill).await {
            Ok(Ok(0)) | Ok(Err(_)) => Err(HeadRefusal::Closed),
            Ok(Ok(_)) => Ok(()),
            Err(_) if self.input.is_empty() => Err(HeadRefusal::Closed),
            Err(_) => Err(HeadRefusal::Slow),
        }
    }

    /// Ends the message; whether a next one may follow on this connection.
    pub(crate) fn end_message(&mut self) -> bool {
        self.client.watch.clear();
        self.sending = None;
        self.taking = None;
        let complete = matches!(self.reading, Reading::Complete);
        self.reading = Reading::Between;
        if self.input.is_empty() {
            // An idle connection holds no buffer.
            self.input = bytes::BytesMut::new();
        }
        complete
    }

    /// Whether the client may have sent, or be sending, what nobody has read.
    pub(super) fn may_have_unread(&self) -> bool {
        match &self.io {
            Io::Gone => false,
            Io::Plain(_) | Io::Tls(_) => {
                let said_farewell = |frames: &Frames| frames.farewell().is_some();
                self.frames.as_deref().is_some_and(said_farewell)
                    || !self.input.is_empty()
                    || !matches!(
                        self.reading,
                        Reading::Between | Reading::Complete | Reading::Ended | Reading::Open
                    )
            }
        }
    }

    /// Reads once into the input; 0 is the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.input.reserve(READ);
        // Reading holds no state of its own, so a future may be made for each poll.
        let read = pin!(self.io.read_buf(&mut self.input)).poll(cx);
        self.tls_may_hold_bytes = read.is_ready();
        read
    }

    /// Hands on at most `most` bytes of the input; how many it was.
    fn give(&mut self, most: usize, buf: &mut ReadBuf<'_>) -> usize {
        let count = most.min(buf.remaining()).min(self.input.len());
        buf.put_slice(self.input.get(..count).unwrap_or_default());
        self.input.advance(count);
        count
    }

    fn poll_head(
        &mut self,
        left: usize,
        then: Framing,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = left - self.give(left, buf);
        self.reading = match (left, then) {
            (0, Framing::None | Framing::Counted(0)) => Reading::Complete,
            (0, Framing::Counted(left)) => Reading::Counted { left },
            (0, Framing::Chunked) => Reading::Chunked {
                chunks: Chunks::new(),
                judged: 0,
            },
            (left, then) => Reading::Head { left, then },
        };
        Poll::Ready(Ok(()))
    }

    fn poll_counted(
        &mut self,
        cx: &mut Context<'_>,
        left: u64,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buf.remaining());
        let count = if self.input.is_empty() {
            let read = self.poll_directly(cx, most.min(READ_AHEAD), buf);
            ready!(self.poll_pace(cx, read))?
        } else {
            self.give(most, buf)
        };
        self.reading = match left.saturating_sub(count as u64) {
            0 => Reading::Complete,
            left => Reading::Counted { left },
        };
        Poll::Ready(Ok(()))
    }

    /// Reads past the input, straight to whoever asks.
    fn poll_directly(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        let read = Pin::new(&mut self.io).poll_read(cx, &mut part);
        self.tls_may_hold_bytes = read.is_ready();
        let count = part.filled().len();
        ready!(read)?;
        buf.advance(count);
        Poll::Ready(Ok(count))
    }

    fn poll_chunked(
        &mut self,
        cx: &mut Context<'_>,
        (mut chunks, mut judged): (Chunks, usize),
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while judged == 0 {
            if !self.input.is_empty() {
                match chunks.accept(&self.input) {
                    Ok(accepted) => judged = accepted,
                    Err(fault) => return self.refuse_body(fault),
                }
                continue;
            }
            let read = self.poll_fill(cx);
            match self.poll_pace(cx, read) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                other => {
                    self.reading = Reading::Chunked { chunks, judged };
                    return other.map_ok(|_end| ());
                }
            }
        }
        judged -= self.give(judged, buf);
        self.reading = match judged == 0 && chunks.is_done() {
            true => Reading::Complete,
            false => Reading::Chunked { chunks, judged },
        };
        Poll::Ready(Ok(()))
    }

    /// Holds what was read of a body to the pace that a client must keep.
    fn poll_pace(
        &mut self,
        cx: &mut Context<'_>,
        read: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let is_slow = match &read {
            Poll::Pending => {
                let bounds = self.client.read_bounds();
                let sending = self.sending.get_or_insert_with(|| Patience::new(bounds));
                ready!(sending.poll_wait(cx));
                true
            }
            Poll::Ready(Ok(count)) => {
                let sending = self.sending.as_mut().filter(|_| *count > 0);
                sending.is_some_and(|sending| !sending.moved(*count))
            }
            Poll::Ready(Err(_)) => false,
        };
        if is_slow {
            self.client.give_up_body();
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }

    /// The body cannot be followed any further; where the message ends is unknown.
    fn refuse_body(&mut self, fault: ChunkFault) -> Poll<io::Result<()>> {
        self.client.break_body();
        self.reading = Reading::Broken;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault)))
    }

    /// Nothing more is handed on; watches for the client's end and for the node's deadline. Whoever
    /// waits here has nothing more to write for now, so what was gathered goes out.
    fn poll_complete(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_out(cx) {
            return Poll::Ready(Err(error));
        }
        ready!(self.poll_watch(cx))?;
        while self.input.len() < READ_AHEAD {
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Ok(()));
            }
        }
        // A client that has sent this much ahead is not read any further, so that its end cannot be
        // read either: it is looked for.
        loop {
            let next = *self.next_look.get_or_insert_with(|| clock::now() + LOOK);
            ready!(self.look_timer.poll(cx, next));
            self.next_look = None;
            if self.has_left() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Whether the client has closed, whatever it has sent before (RFC 9293 §3.3.2: every state
    /// after ESTABLISHED follows the end of one side).
    pub(super) fn has_left(&self) -> bool {
        const ESTABLISHED: u8 = 1;
        self.socket
            .tcp_info()
            .is_none_or(|info| info.tcpi_state != ESTABLISHED)
    }

    fn poll_open(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if !self.input.is_empty() {
            self.give(usize::MAX, buf);
            let given = buf.filled().get(before..).unwrap_or_default();
            return Poll::Ready(self.received(given));
        }
        let read = Pin::new(&mut self.io).poll_read(cx, buf);
        self.tls_may_hold_bytes = read.is_ready();
        match read {
            Poll::Pending => {
                while let Err(error) = ready!(self.poll_watch(cx)) {
                    if let Some(end) = self.waited_too_long(error) {
                        return Poll::Ready(end);
                    }
                }
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                self.client.watch.moved();
                let more = buf.filled().get(before..).unwrap_or_default();
                // One end of a tunnel is told once; the other may go on.
                if self.client.is_tunnel() && more.is_empty() {
                    self.reading = Reading::Ended;
                }
                Poll::Ready(self.received(more))
            }
        }
    }

    /// Ready with an error once the deadline of the steps has passed, and with nothing while
    /// it has not.
    fn poll_watch(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.client.watch.deadline() {
            Some(deadline) if self.timer.poll(cx, deadline).is_ready() => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Some(_) | None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Conn {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.client.is_tunnel() && !matches!(this.reading, Reading::Ended) {
            this.reading = Reading::Open;
        }
        match std::mem::replace(&mut this.reading, Reading::Complete) {
            nothing @ (Reading::Between | Reading::Broken) => {
                this.reading = nothing;
                Poll::Ready(Ok(()))
            }
            Reading::Chunked { chunks, judged } => this.poll_chunked(cx, (chunks, judged), buf),
            Reading::Complete => this.poll_complete(cx),
            Reading::Counted { left } => {
                this.reading = Reading::Counted { left };
                this.poll_counted(cx, left, buf)
            }
            Reading::Ended => {
                this.reading = Reading::Ended;
                ready!(this.poll_watch(cx))?;
                Poll::Pending
            }
            Reading::Head { left, then } => this.poll_head(left, then, buf),
            Reading::Open => {
                this.reading = Reading::Open;
                this.poll_open(cx, buf)
            }
        }
    }
}
