//! The way out: small writes gathered, head and body sent together, a client that takes nothing
//! given up on.
//!
//! The buffer lies above TLS, so that a head and the beginning of its body share one record and one
//! system call. It is empty between messages.
//!
//! Source: adr/0014 (what gathering saves); adr/0015 (the bounds on a slow reader).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use super::Conn;
use crate::patience::Patience;

/// Bytes gathered before they are written.
const GATHER: usize = 8192;

impl Conn {
    /// Writes once; how many of the bytes were taken, of those gathered first.
    fn poll_once(&mut self, cx: &mut Context<'_>, more: &[u8]) -> Poll<io::Result<usize>> {
        let io = Pin::new(&mut self.io);
        let written = match (self.output.is_empty(), more.is_empty()) {
            (true, _) => io.poll_write(cx, more),
            (false, true) => io.poll_write(cx, &self.output),
            (false, false) => {
                io.poll_write_vectored(cx, &[IoSlice::new(&self.output), IoSlice::new(more)])
            }
        };
        match written {
            Poll::Pending => self.poll_stall(cx),
            Poll::Ready(Ok(count)) => Poll::Ready(self.wrote(count)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }

    /// The client takes nothing: how long may it go on?
    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let bounds = self.client.write_bounds();
        let taking = self.taking.get_or_insert_with(|| Patience::new(bounds));
        ready!(taking.poll_wait(cx));
        Poll::Ready(Err(self.slow_reader()))
    }

    fn wrote(&mut self, count: usize) -> io::Result<usize> {
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        if let Some(taking) = &mut self.taking {
            // While the client was slow, the node was not asked for more.
            self.client.watch.moved();
            if !taking.moved(count) {
                return Err(self.slow_reader());
            }
        }
        Ok(count)
    }

    fn slow_reader(&self) -> io::Error {
        self.client.watch.gives_reader_up();
        self.client.listening.counts.dropped.slow_reader.one();
        io::ErrorKind::TimedOut.into()
    }

    /// Writes what has been gathered, and what TLS still holds of it.
    pub(super) fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        let done = Pin::new(&mut self.io).poll_flush(cx);
        self.poll_done(cx, done)
    }

    /// TLS has taken the bytes but the client has not: that is waiting too.
    fn poll_done(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        match done {
            Poll::Pending => self.poll_stall(cx).map_ok(|_| ()),
            Poll::Ready(Ok(())) => {
                if let Some(taking) = &mut self.taking {
                    taking.rests();
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }

    /// Takes bytes, to be gathered or written at once; how many it was.
    fn poll_take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.output.len() + bytes.len() <= GATHER {
            self.output.extend_from_slice(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        let count = ready!(self.poll_once(cx, bytes))?;
        let gathered = self.output.len();
        self.output.drain(..count.min(gathered));
        if count > gathered {
            return Poll::Ready(Ok(count - gathered));
        }
        ready!(self.poll_drain(cx))?;
        self.poll_once(cx, bytes)
    }

    /// Writes what has been gathered.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.is_empty() {
            let count = ready!(self.poll_once(cx, &[]))?;
            self.output.drain(..count.min(self.output.len()));
        }
        // An idle connection holds no buffer.
        self.output = Vec::new();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Conn {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.client.is_tunnel() {
            this.client.watch.moved();
        }
        let count = ready!(this.poll_take(cx, bytes))?;
        this.sent(cx, bytes.get(..count).unwrap_or_default())?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_out(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        let done = Pin::new(&mut this.io).poll_shutdown(cx);
        this.poll_done(cx, done)
    }
}
