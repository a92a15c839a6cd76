//! A node that speaks HTTP/2: over TLS by ALPN, or in clear text with prior knowledge. What it does
//! with a request is in the path that is asked for; anything else is greeted.
//!
//! | path | what it does |
//! |---|---|
//! | `/echo` | sends each piece of the body back as it comes, and trailers after it |
//! | `/amplify` | answers each piece with a hundred times as much, and reads no further before they are taken |
//! | `/bare` | greets without saying how long that is |
//! | `/early` | refuses with 413, whole, and never makes room for the body |
//! | `/held` | answers once it is let go |
//! | `/large` | 12 MiB |
//! | `/only` | says everything in trailers that come alone |
//! | `/ready` | says that it is |
//! | `/refused`, `/broken` | resets the stream: not begun; failed |
//! | `/tick` | one piece at once, the next once it is let go |

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::certs::Identity;
use crate::inbox::latin;
use crate::message::Head;

/// A running node.
#[derive(Debug)]
pub struct Http2Node {
    addr: SocketAddr,
    inner: Arc<Inner>,
    _runtime: Runtime,
}

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Seen2 {
    /// The connection it came on, counted from 1.
    pub connection: usize,
    /// Its method and target, and its fields, those of HTTP/2 itself included.
    pub head: Head,
    /// As much of its body as came.
    pub body: Vec<u8>,
    /// The code that its client has reset it with.
    pub reset: Option<u32>,
}

#[derive(Debug, Default)]
struct Inner {
    seen: Mutex<Vec<Seen2>>,
    connections: Mutex<usize>,
    goes_on: Notify,
}

impl Http2Node {
    /// A node that takes HTTP/2 in clear text for granted.
    #[must_use]
    pub fn clear() -> Self {
        Self::start(None)
    }

    /// A node with TLS, which offers HTTP/2 and nothing else.
    #[must_use]
    pub fn over_tls(identity: &Identity) -> Self {
        Self::start(Some(identity.config_offering(&[b"h2"]).into()))
    }

    fn start(tls: Option<TlsAcceptor>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free loopback port");
        let addr = listener.local_addr().expect("a bound socket");
        let inner = Arc::new(Inner::default());
        runtime.spawn(accept(listener, tls, Arc::clone(&inner)));
        Self {
            addr,
            inner,
            _runtime: runtime,
        }
    }

    /// Its address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it was asked, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen2> {
        lock(&self.inner.seen).clone()
    }

    /// What it was asked for at one path.
    #[must_use]
    pub fn seen_at(&self, path: &str) -> Vec<Seen2> {
        let is_there = |one: &Seen2| one.head.first(":path") == Some(path);
        self.seen().into_iter().filter(is_there).collect()
    }

    /// How many connections spoke HTTP/2 to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        *lock(&self.inner.connections)
    }

    /// Lets everything go on that waits for it.
    pub fn lets_go(&self) {
        self.inner.goes_on.notify_waiters();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, inner: Arc<Inner>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, inner) = (tls.clone(), Arc::clone(&inner));
        tokio::spawn(async move { connection(socket, tls, inner).await });
    }
}

async fn connection(socket: TcpStream, tls: Option<TlsAcceptor>, inner: Arc<Inner>) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    match tls {
        None => serve(socket, inner).await,
        Some(tls) => serve(tls.accept(socket).await.ok()?, inner).await,
    }
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin, inner: Arc<Inner>) -> Option<()> {
    let mut connection = h2::server::handshake(io).await.ok()?;
    let number = {
        let mut connections = lock(&inner.connections);
        *connections += 1;
        *connections
    };
    while let Some(Ok((request, answer))) = connection.accept().await {
        let (parts, body) = request.into_parts();
        let index = note(&inner, number, &Request::from_parts(parts.clone(), ()));
        let exchange = Exchange {
            inner: Arc::clone(&inner),
            index,
            body,
            answer,
        };
        tokio::spawn(async move { exchange.run(parts.uri.path()).await });
    }
    Some(())
}

fn note(inner: &Inner, connection: usize, request: &Request<()>) -> usize {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("", |one| one.as_str());
    let authority = uri.authority().map_or("", |one| one.as_str());
    let own = [
        (":method", request.method().as_str()),
        (":scheme", uri.scheme_str().unwrap_or_default()),
        (":authority", authority),
        (":path", path),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let others = request.headers().iter();
    let others = others.map(|(name, value)| (name.to_string(), latin(value.as_bytes())));
    let mut seen = lock(&inner.seen);
    seen.push(Seen2 {
        connection,
        head: Head {
            start: format!("{} {path}", request.method()),
            fields: own.into_iter().chain(others).collect(),
            ..Head::default()
        },
        ..Seen2::default()
    });
    seen.len() - 1
}

struct Exchange {
    inner: Arc<Inner>,
    index: usize,
    body: RecvStream,
    answer: SendResponse<Bytes>,
}

impl Exchange {
    async fn run(mut self, path: &str) -> Option<()> {
        match path {
            "/amplify" => self.amplifies().await,
            "/bare" => {
                self.reads().await;
                let mut body = self.begins(StatusCode::OK, &[])?;
                body.send_data(Bytes::from_static(b"hello"), true).ok()
            }
            "/broken" => {
                self.reads().await;
                self.answer.send_reset(Reason::INTERNAL_ERROR);
                None
            }
            "/early" => {
                let length = [("content-length", "5")];
                let mut body = self.begins(StatusCode::PAYLOAD_TOO_LARGE, &length)?;
                body.send_data(Bytes::from_static(b"large"), true).ok()?;
                // What is not dropped is not reset either: the client is left to itself.
                self.inner.goes_on.notified().await;
                Some(())
            }
            "/echo" => self.echoes().await,
            "/held" => self.holds().await,
            "/large" => {
                self.reads().await;
                let mut body = self.begins(StatusCode::OK, &[])?;
                send(&mut body, Bytes::from(vec![b'x'; 12 << 20]), true).await
            }
            "/only" => {
                let head = Response::builder()
                    .header("content-type", "application/grpc")
                    .header("grpc-status", "7");
                let head = head.body(()).expect("a head");
                self.answer.send_response(head, true).ok().map(drop)
            }
            "/ready" => {
                let mut body = self.begins(StatusCode::OK, &[])?;
                let ready = Bytes::from_static(br#"{"status":"ready","serving":true}"#);
                body.send_data(ready, true).ok()
            }
            "/refused" => {
                self.answer.send_reset(Reason::REFUSED_STREAM);
                None
            }
            "/tick" => {
                let mut body = self.begins(StatusCode::OK, &[])?;
                body.send_data(Bytes::from_static(b"tick"), false).ok()?;
                self.inner.goes_on.notified().await;
                body.send_data(Bytes::from_static(b"tock"), true).ok()
            }
            _ => {
                self.reads().await;
                self.greets()
            }
        }
    }

    fn greets(&mut self) -> Option<()> {
        let mut body = self.begins(StatusCode::OK, &[("content-length", "5")])?;
        body.send_data(Bytes::from_static(b"hello"), true).ok()
    }

    fn begins(&mut self, status: StatusCode, fields: &[(&str, &str)]) -> Option<SendStream<Bytes>> {
        let mut head = Response::builder().status(status);
        for (name, value) in fields {
            head = head.header(*name, *value);
        }
        let head = head.body(()).expect("a head");
        self.answer.send_response(head, false).ok()
    }

    async fn piece(&mut self) -> Option<Bytes> {
        let piece = self.body.data().await?.ok()?;
        let _ = self.body.flow_control().release_capacity(piece.len());
        let mut seen = lock(&self.inner.seen);
        seen[self.index].body.extend_from_slice(&piece);
        Some(piece)
    }

    async fn reads(&mut self) {
        while self.piece().await.is_some() {}
    }

    async fn echoes(&mut self) -> Option<()> {
        let mut body = self.begins(StatusCode::OK, &[("content-type", "text/plain")])?;
        while let Some(piece) = self.piece().await {
            send(&mut body, piece, false).await?;
        }
        let mut trailers = HeaderMap::new();
        for (name, value) in [
            ("x-end", "yes"),
            ("x-forwarded-for", "6.6.6.6"),
            ("x-real-ip", "6.6.6.6"),
        ] {
            trailers.insert(name, value.parse().expect("a value"));
        }
        body.send_trailers(trailers).ok()
    }

    async fn amplifies(&mut self) -> Option<()> {
        let mut body = self.begins(StatusCode::OK, &[])?;
        while let Some(piece) = self.piece().await {
            send(&mut body, piece.repeat(100).into(), false).await?;
        }
        body.send_data(Bytes::new(), true).ok()
    }

    async fn holds(&mut self) -> Option<()> {
        let goes_on = Arc::clone(&self.inner);
        let reset = tokio::select! {
            () = goes_on.goes_on.notified() => return self.greets(),
            reset = std::future::poll_fn(|cx| self.answer.poll_reset(cx)) => reset.ok()?,
        };
        lock(&self.inner.seen)[self.index].reset = Some(reset.into());
        Some(())
    }
}

/// Sends bytes as there is room for them.
async fn send(body: &mut SendStream<Bytes>, mut bytes: Bytes, ends: bool) -> Option<()> {
    while !bytes.is_empty() {
        body.reserve_capacity(bytes.len());
        let room = std::future::poll_fn(|cx| body.poll_capacity(cx))
            .await?
            .ok()?;
        let part = bytes.split_to(room.min(bytes.len()));
        body.send_data(part, ends && bytes.is_empty()).ok()?;
    }
    Some(())
}
