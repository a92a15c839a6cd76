//! A client of HTTP/2: streams on one TLS connection.
//!
//! The one place of the stage with a runtime inside, because framing and header compression are
//! the library's; a scenario still calls it and waits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::Request as Head2;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;

use crate::certs::Trust;
use crate::client::Answer;
use crate::inbox::latin;
use crate::message::Head;
use crate::wait;

/// One connection.
pub struct Http2 {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    version: Option<Vec<u8>>,
}

/// A request under way on a stream of its own.
pub struct Stream {
    answer: ResponseFuture,
}

/// An answer whose head has come and whose body is left where it is.
pub struct Begun {
    parts: http::response::Parts,
    body: h2::RecvStream,
}

/// A body under way.
pub struct Upload {
    body: h2::SendStream<Bytes>,
}

impl Upload {
    async fn sends(&mut self, piece: &[u8], ends: bool) -> Result<(), String> {
        let mut piece = Bytes::copy_from_slice(piece);
        while !piece.is_empty() {
            self.body.reserve_capacity(piece.len());
            let room = std::future::poll_fn(|cx| self.body.poll_capacity(cx)).await;
            let room = room.ok_or("closed")?.map_err(|error| error.to_string())?;
            let part = piece.split_to(room.min(piece.len()));
            let ends = ends && piece.is_empty();
            let sent = self.body.send_data(part, ends);
            sent.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Gives the request up.
    pub fn cancels(&mut self) {
        self.body.send_reset(h2::Reason::CANCEL);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn handshake(
    addr: SocketAddr,
    trust: &Trust,
    name: &str,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut config = trust.config();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpStream::connect(addr).await?;
    TlsConnector::from(Arc::new(config))
        .connect(Trust::name(name), socket)
        .await
}

impl Http2 {
    /// Connects, offering HTTP/2 only.
    #[must_use]
    pub fn open(addr: SocketAddr, trust: &Trust, name: &str) -> Self {
        Self::tries(addr, trust, name).expect("a TLS handshake and a preface")
    }

    /// The same, for who expects that it may fail.
    ///
    /// # Errors
    /// The connection was not taken, or the handshake failed.
    pub fn tries(addr: SocketAddr, trust: &Trust, name: &str) -> std::io::Result<Self> {
        let runtime = runtime();
        let tls = runtime.block_on(handshake(addr, trust, name))?;
        let version = tls.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        Self::over(runtime, tls, version)
    }

    /// Begins with HTTP/2 in clear text, by prior knowledge.
    ///
    /// # Errors
    /// The connection was not taken.
    pub fn in_clear(addr: SocketAddr) -> std::io::Result<Self> {
        let runtime = runtime();
        let socket = runtime.block_on(TcpStream::connect(addr))?;
        Self::over(runtime, socket, None)
    }

    fn over(
        runtime: Runtime,
        io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        version: Option<Vec<u8>>,
    ) -> std::io::Result<Self> {
        let sender = runtime.block_on(async {
            let shaken = h2::client::handshake(io).await;
            let (sender, connection) = shaken.map_err(std::io::Error::other)?;
            tokio::spawn(connection);
            std::io::Result::Ok(sender)
        })?;
        Ok(Self {
            runtime,
            sender,
            version,
        })
    }

    /// Whether somebody who speaks nothing else is let in.
    #[must_use]
    pub fn is_offered(addr: SocketAddr, trust: &Trust, name: &str) -> bool {
        let tls = runtime().block_on(handshake(addr, trust, name));
        tls.is_ok_and(|tls| tls.get_ref().1.alpn_protocol() == Some(b"h2"))
    }

    /// The protocol agreed on during the handshake.
    #[must_use]
    pub fn protocol(&self) -> Option<&[u8]> {
        self.version.as_deref()
    }

    /// Sends a request and does not wait for its answer.
    #[must_use]
    pub fn sends(&self, head: Head2<()>, body: &[u8]) -> Stream {
        self.tries_to_send(head, body).expect("a connection")
    }

    /// The same, for who expects that the connection may have ended.
    ///
    /// # Errors
    /// It takes no further stream.
    pub fn tries_to_send(&self, head: Head2<()>, body: &[u8]) -> Result<Stream, h2::Error> {
        let mut sender = self.sender.clone();
        let body = Bytes::copy_from_slice(body);
        self.runtime.block_on(async {
            std::future::poll_fn(|cx| sender.poll_ready(cx)).await?;
            let is_bare = body.is_empty();
            let (answer, mut stream) = sender.send_request(head, is_bare)?;
            if !is_bare {
                // A refused body shows in the answer.
                let _ = stream.send_data(body, true);
                tokio::spawn(async move {
                    let _ = std::future::poll_fn(|cx| stream.poll_reset(cx)).await;
                });
            }
            Ok(Stream { answer })
        })
    }

    /// Sends a request whose body ends in a frame without bytes, as clients do that do not know its
    /// length, and waits for its answer.
    ///
    /// # Errors
    /// The stream or the connection was reset.
    pub fn asks_with_an_empty_end(
        &self,
        head: Head2<()>,
        body: &[u8],
    ) -> Result<Answer, h2::Error> {
        let mut sender = self.sender.clone();
        let body = Bytes::copy_from_slice(body);
        let stream = self.runtime.block_on(async {
            std::future::poll_fn(|cx| sender.poll_ready(cx)).await?;
            let (answer, mut stream) = sender.send_request(head, false)?;
            if !body.is_empty() {
                stream.send_data(body, false)?;
            }
            stream.send_data(Bytes::new(), true)?;
            Ok::<_, h2::Error>(Stream { answer })
        })?;
        self.hears(stream)
    }

    /// Waits for the whole answer.
    ///
    /// # Errors
    /// The stream or the connection was reset.
    pub fn hears(&self, stream: Stream) -> Result<Answer, h2::Error> {
        let begun = self.hears_head(stream)?;
        self.hears_rest(begun)
    }

    /// Waits for the head of an answer and takes no more of its body than the first window lets come.
    ///
    /// # Errors
    /// The stream or the connection was reset.
    pub fn hears_head(&self, stream: Stream) -> Result<Begun, h2::Error> {
        let (parts, body) = self.runtime.block_on(stream.answer)?.into_parts();
        Ok(Begun { parts, body })
    }

    /// Waits for the body of an answer.
    ///
    /// # Errors
    /// The stream or the connection was reset.
    pub fn hears_rest(&self, begun: Begun) -> Result<Answer, h2::Error> {
        let Begun { parts, mut body } = begun;
        self.runtime.block_on(async {
            let mut bytes = Vec::new();
            while let Some(piece) = body.data().await {
                let piece = piece?;
                let _ = body.flow_control().release_capacity(piece.len());
                bytes.extend_from_slice(&piece);
            }
            let trailers = body.trailers().await?.unwrap_or_default();
            Ok(Answer {
                status: parts.status.as_u16(),
                head: read(&parts.headers),
                body: bytes,
                is_whole: true,
                trailers: read(&trailers),
                ..Answer::default()
            })
        })
    }

    /// Waits for the first piece of an answer's body, whatever comes after.
    ///
    /// # Errors
    /// The stream or the connection was reset.
    pub fn hears_first_piece(&self, stream: Stream) -> Result<Vec<u8>, h2::Error> {
        self.runtime.block_on(async {
            let mut body = stream.answer.await?.into_body();
            let piece = tokio::time::timeout(wait::SOON, body.data()).await;
            let piece = piece.ok().flatten().transpose()?;
            Ok(piece.unwrap_or_default().to_vec())
        })
    }

    /// Sends a request whose body goes on for as long as it is not ended, and waits for no answer.
    #[must_use]
    pub fn begins(&self, head: Head2<()>) -> (Stream, Upload) {
        let mut sender = self.sender.clone();
        let (answer, body) = self.runtime.block_on(async {
            let ready = std::future::poll_fn(|cx| sender.poll_ready(cx));
            ready.await.expect("a connection");
            sender.send_request(head, false).expect("a stream")
        });
        (Stream { answer }, Upload { body })
    }

    /// Sends a piece of a body, as there is room for it.
    ///
    /// # Errors
    /// The stream or the connection was reset, or there was no room in time.
    pub fn uploads(&self, to: &mut Upload, piece: &[u8], ends: bool) -> Result<(), String> {
        self.runtime.block_on(async {
            let sent = tokio::time::timeout(wait::SOON, to.sends(piece, ends)).await;
            sent.unwrap_or_else(|_| Err("no room".to_owned()))
        })
    }

    /// Hears an answer and throws its body away, while a body is sent that goes on; how many bytes came.
    ///
    /// # Errors
    /// The stream or the connection was reset, or nothing moved in time.
    pub fn hears_while(
        &self,
        stream: Stream,
        to: Upload,
        pieces: usize,
        piece: &[u8],
    ) -> Result<usize, String> {
        let (mut to, piece) = (to, piece.to_vec());
        self.runtime.spawn(async move {
            for at in 1..=pieces {
                to.sends(&piece, at == pieces).await?;
            }
            Ok::<(), String>(())
        });
        self.runtime.block_on(async {
            let mut body = stream
                .answer
                .await
                .map_err(|error| error.to_string())?
                .into_body();
            let mut came = 0;
            while let Some(piece) = tokio::time::timeout(wait::SOON, body.data())
                .await
                .map_err(|_| format!("nothing moved after {came} bytes"))?
            {
                let piece = piece.map_err(|error| error.to_string())?;
                let _ = body.flow_control().release_capacity(piece.len());
                came += piece.len();
            }
            Ok(came)
        })
    }

    /// Whether the gateway ends the connection in this time.
    #[must_use]
    pub fn is_closed_within(&self, limit: Duration) -> bool {
        let is_closed = || {
            let ready = self.sender.clone().ready();
            self.runtime.block_on(ready).is_err().then_some(())
        };
        wait::maybe(limit, is_closed).is_some()
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    #[must_use]
    pub fn asks(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let head = head(method, path);
        self.hears(self.sends(head, body))
            .unwrap_or_else(|error| panic!("no answer: {error}"))
    }
}

fn read(fields: &http::HeaderMap) -> Head {
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), latin(value.as_bytes()))
    };
    Head {
        fields: fields.iter().map(field).collect(),
        ..Head::default()
    }
}

/// A request head for `door.test`.
#[must_use]
pub fn head(method: &str, path: &str) -> Head2<()> {
    Head2::builder()
        .method(method)
        .uri(format!("https://door.test{path}"))
        .body(())
        .expect("a request head")
}
