//! A client's connection as Pingora sees it: buffered both ways, and letting through only what
//! the gate has judged.
//!
//! It follows the framing itself: a judged head, then its body, then nothing until the next
//! head is asked for. So Pingora never reads past a message. While a request waits for its
//! answer, reading also watches the deadline that the steps set ([`Watch`](crate::client::Watch)).
//!
//! [`read`](mod@read) is the way in, [`write`](mod@write) the way out, [`framed`] what HTTP/2 adds. What happens on the connection, and in which
//! order, is [`connection`](crate::connection)'s.
//!
//! Source: adr/0014 (why a stream of our own), adr/0015.

mod framed;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::HeadRefusal;

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use pingora_core::protocols::raw_connect::ProxyDigest;
use pingora_core::protocols::tls::SslDigest;
use pingora_core::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl,
    TimingDigest, UniqueID,
};
use pingora_http::ResponseHeader;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::client::Client;
use crate::clock;
use crate::gate::frames::Frames;
use crate::patience::Patience;
use crate::timer::Timer;
use read::Reading;

/// How long a connection that is closed with bytes unread goes on reading, so that the client can
/// take the answer before a reset reaches it (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(5);

/// A client's connection.
pub(crate) struct Conn {
    io: Io,
    fd: RawFd,
    client: Arc<Client>,
    proxy: Arc<ProxyDigest>,
    socket: Arc<SocketDigest>,
    ssl: Option<Arc<SslDigest>>,
    since: SystemTime,
    /// Bytes read and not handed on.
    input: BytesMut,
    reading: Reading,
    /// Bytes accepted and not written.
    output: Vec<u8>,
    timer: Timer,
    look_timer: Timer,
    next_look: Option<Instant>,
    /// What passes on a connection of HTTP/2.
    frames: Option<Box<Frames>>,
    /// How long a connection of HTTP/2 may rest.
    idle: Duration,
    /// How much its client had taken of what was sent, and since when it has not taken more.
    taken: Option<(u64, Instant)>,
    /// A body that had to be waited for.
    sending: Option<Patience>,
    /// An answer that had to wait for the client to take bytes.
    taking: Option<Patience>,
    /// Decrypted bytes may be left inside the TLS session.
    tls_may_hold_bytes: bool,
}

/// What carries the bytes.
enum Io {
    Gone,
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Conn {
    /// A clear connection.
    pub(crate) fn plain(stream: TcpStream, client: Arc<Client>) -> Self {
        Conn::new(stream.as_raw_fd(), Io::Plain(stream), client, None)
    }

    /// A connection whose handshake is done.
    pub(crate) fn tls(stream: TlsStream<TcpStream>, client: Arc<Client>) -> Self {
        let session = stream.get_ref().1;
        let suite = session
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str());
        let version = session
            .protocol_version()
            .and_then(|version| version.as_str());
        let digest = SslDigest::new(
            suite.unwrap_or(""),
            version.unwrap_or(""),
            None,
            None,
            Vec::new(),
        );
        let fd = stream.get_ref().0.as_raw_fd();
        Conn::new(
            fd,
            Io::Tls(Box::new(stream)),
            client,
            Some(Arc::new(digest)),
        )
    }

    fn new(fd: RawFd, io: Io, client: Arc<Client>, ssl: Option<Arc<SslDigest>>) -> Self {
        let socket = SocketDigest::from_raw_fd(fd);
        let _ = socket.peer_addr.set(Some(client.peer.into()));
        // The digest of a forward proxy is the one place where a connection may carry something of
        // ours to the steps; the answer it is made for does not exist.
        let carrier = Box::new(ResponseHeader::from(http::Response::new(()).into_parts().0));
        let proxy = ProxyDigest::new(carrier, Some(Box::new(Arc::clone(&client))));
        Conn {
            io,
            fd,
            client,
            proxy: Arc::new(proxy),
            socket: Arc::new(socket),
            ssl,
            since: clock::wall(),
            input: BytesMut::new(),
            reading: Reading::Between,
            output: Vec::new(),
            timer: Timer::default(),
            look_timer: Timer::default(),
            next_look: None,
            frames: None,
            idle: Duration::ZERO,
            taken: None,
            sending: None,
            taking: None,
            tls_may_hold_bytes: true,
        }
    }

    /// Whose it is.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Whether HTTP/2 was agreed on in the handshake.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self.selected_alpn_proto(), Some(ALPN::H2))
    }

    /// Lets bytes through from here on: an HTTP/2 connection frames itself. Its frames are counted,
    /// what its client has begun it must end in time, and it may rest as long as it may now.
    pub(crate) fn open(&mut self) {
        let listener = self.client.listening.settings();
        self.reading = Reading::Open;
        self.frames = Some(Box::new(Frames::new(listener.http2_limits)));
        self.idle = listener.idle;
        self.client
            .watch
            .until(clock::now() + listener.head.timeout);
    }

    /// Whether the time of all that drains here is over in the middle of a message of HTTP/1. Who is not told
    /// would take it for the end of an answer that has no length (RFC 9112 §8).
    fn is_cut(&self) -> bool {
        let is_message = !matches!(self.reading, Reading::Between)
            && self.frames.is_none()
            && !self.client.is_tunnel();
        is_message && self.client.drain.is_over(clock::now())
    }

    /// Closes, reading on for a while if the client may still be sending.
    fn close_lingering(&mut self) {
        let io = std::mem::replace(&mut self.io, Io::Gone);
        let output = std::mem::take(&mut self.output);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(linger(io, output, self.linger(), Arc::clone(&self.client)));
        }
    }
}

/// Sends what is left, then says that nothing more will be sent, then reads on until the client
/// has seen it. The connection counts as open until then.
async fn linger(mut io: Io, output: Vec<u8>, limit: Duration, _held: Arc<Client>) {
    let _ = tokio::time::timeout(limit, async {
        if io.write_all(&output).await.is_err() || io.shutdown().await.is_err() {
            return;
        }
        let mut sink = [0_u8; 4096];
        while io.read(&mut sink).await.is_ok_and(|read| read > 0) {}
    })
    .await;
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.count_unserved();
        if self.client.take_reset() || self.is_cut() {
            if let Io::Plain(stream) = &self.io {
                let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
            }
            return;
        }
        self.say_farewell();
        if self.may_have_unread() || !self.output.is_empty() {
            self.close_lingering();
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Gone => Poll::Ready(Ok(())),
            Io::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Io::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Io::Gone => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Io::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Io::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Io::Gone => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Io::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Io::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Gone => Poll::Ready(Ok(())),
            Io::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Gone => Poll::Ready(Ok(())),
            Io::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn")
            .field("peer", &self.client.peer)
            .finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl Shutdown for Conn {
    async fn shutdown(&mut self) {
        let _ = self.flush().await;
        // The rest is done when the connection is dropped: see `Drop`.
    }
}

impl UniqueID for Conn {
    fn id(&self) -> i32 {
        self.fd
    }
}

impl Ssl for Conn {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.ssl.clone()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        match &self.io {
            Io::Tls(stream) => match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Some(ALPN::H2),
                Some(b"http/1.1") => Some(ALPN::H1),
                _ => None,
            },
            // By prior knowledge (RFC 9113 §3.3).
            Io::Plain(_) if self.frames.is_some() => Some(ALPN::H2),
            Io::Gone | Io::Plain(_) => None,
        }
    }
}

impl GetTimingDigest for Conn {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        vec![Some(TimingDigest {
            established_ts: self.since,
            ..TimingDigest::default()
        })]
    }
}

impl GetProxyDigest for Conn {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        Some(Arc::clone(&self.proxy))
    }
}

impl GetSocketDigest for Conn {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        Some(Arc::clone(&self.socket))
    }
}

impl Peek for Conn {}
