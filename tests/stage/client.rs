//! A client that puts exactly the bytes on the wire that a scenario wants there.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};

use socket2::{Domain, Socket, Type};

use crate::certs::Trust;
use crate::inbox::{Inbox, broken, latin};
use crate::message::{Head, Request};
use crate::wire::Wire;

/// How long a client waits for the next byte before it calls the other side silent.
const PATIENCE: Duration = Duration::from_secs(25);

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Statuses of the interim answers before it.
    pub interim: Vec<u16>,
    /// Its status.
    pub status: u16,
    /// Start line and header lines.
    pub head: Head,
    /// As much of the body as came.
    pub body: Vec<u8>,
    /// Whether the body came to its announced end.
    pub is_whole: bool,
    /// The fields after it; in HTTP/2 only.
    pub trailers: Head,
}

impl Answer {
    /// The first header of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.first(name)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, or `null` when it is not.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    /// The `code` of a failure's body.
    #[must_use]
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The sentence of a failure's body.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts the status.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(
            self.status,
            status,
            "answer: {:?} {}",
            self.head,
            self.text()
        );
        self
    }

    /// Asserts status and code of a failure.
    #[track_caller]
    pub fn fails_with(&self, status: u16, code: &str) -> &Self {
        self.is(status);
        assert_eq!(self.code(), code, "answer: {}", self.text());
        self
    }
}

/// One connection of a client.
#[derive(Debug)]
pub struct Conversation {
    inbox: Inbox,
    method: String,
}

impl Conversation {
    /// Connects in clear text.
    #[must_use]
    pub fn open(addr: SocketAddr) -> Self {
        Self::over(Wire::Clear(connect(addr)))
    }

    /// Connects with TLS, trusting so much, asking for `name`.
    #[must_use]
    pub fn open_tls(addr: SocketAddr, trust: &Trust, name: &str) -> Self {
        Self::over(Wire::TlsClient(Box::new(trust.client(name, connect(addr)))))
    }

    /// The same as [`open`](Self::open), for who expects that it may fail.
    ///
    /// # Errors
    /// The connection was not taken.
    pub fn tries(addr: SocketAddr) -> io::Result<Self> {
        Ok(Self::over(Wire::Clear(connected(addr)?)))
    }

    /// The same as [`open_tls`](Self::open_tls). A handshake that fails shows when the answer is read.
    ///
    /// # Errors
    /// The connection was not taken.
    pub fn tries_tls(addr: SocketAddr, trust: &Trust, name: &str) -> io::Result<Self> {
        let socket = connected(addr)?;
        Ok(Self::over(Wire::TlsClient(Box::new(
            trust.client(name, socket),
        ))))
    }

    /// Goes on, in clear text, on a connection that is there already.
    #[must_use]
    pub fn on(socket: TcpStream) -> Self {
        Self::over(Wire::Clear(socket))
    }

    pub(crate) fn over_tls(stream: StreamOwned<ClientConnection, TcpStream>) -> Self {
        Self::over(Wire::TlsClient(Box::new(stream)))
    }

    fn over(wire: Wire) -> Self {
        wire.reads_within(PATIENCE);
        Self {
            inbox: Inbox::new(wire),
            method: "GET".to_owned(),
        }
    }

    /// Puts bytes on the wire. A connection that is gone shows when the answer is read.
    pub fn says(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.inbox.wire.write_all(bytes.as_ref());
        let _ = self.inbox.wire.flush();
        self
    }

    /// The same, one byte per segment, with a pause after each; stops when the other side is gone.
    pub fn says_in_crumbs(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) -> &mut Self {
        for byte in bytes.as_ref() {
            if self.inbox.wire.write_all(&[*byte]).is_err() {
                break;
            }
            let _ = self.inbox.wire.flush();
            thread::sleep(pause);
        }
        self
    }

    /// Sends a request and does not wait for its answer.
    pub fn sends(&mut self, request: &Request) -> &mut Self {
        self.expects_answer_to(request.method());
        self.says(request.bytes())
    }

    /// Sends only these bytes of a request.
    pub fn sends_part(&mut self, request: &Request, part: &[u8]) -> &mut Self {
        self.expects_answer_to(request.method());
        self.says(part)
    }

    /// Sends a request and reads its answer.
    #[track_caller]
    pub fn asks(&mut self, request: &Request) -> Answer {
        self.sends(request).hears()
    }

    /// Which method the next answer belongs to; decides whether it has a body.
    pub fn expects_answer_to(&mut self, method: &str) -> &mut Self {
        self.method = method.to_owned();
        self
    }

    /// Reads one final answer.
    #[track_caller]
    pub fn hears(&mut self) -> Answer {
        match self.listens() {
            Ok(Some(answer)) => answer,
            other => panic!(
                "no answer: {other:?}; heard {:?}",
                latin(self.inbox.early())
            ),
        }
    }

    /// Reads one final answer; nothing when the connection was closed before a first byte of it.
    ///
    /// # Errors
    /// What came is not HTTP, or the head was cut or did not come in time.
    pub fn listens(&mut self) -> io::Result<Option<Answer>> {
        let mut interim = Vec::new();
        loop {
            let head = match Head::read(&mut self.inbox) {
                Ok(Some(head)) => head,
                Ok(None) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            };
            let status = status_of(&head)?;
            match status {
                100 | 102..=199 => interim.push(status),
                _ => return self.body_of(status, head, interim).map(Some),
            }
        }
    }

    fn body_of(&mut self, status: u16, head: Head, interim: Vec<u16>) -> io::Result<Answer> {
        let mut body = Vec::new();
        let has_none = self.method == "HEAD" || matches!(status, 101 | 204 | 304);
        let read = match head.first("content-length") {
            _ if has_none => Ok(()),
            _ if head.lists("transfer-encoding", "chunked") => {
                self.inbox.chunked(&mut body).map(|_| ())
            }
            Some(length) => {
                let length = length.parse().map_err(|_| broken("content-length"))?;
                self.inbox.counted(length, &mut body)
            }
            None => self.inbox.rest(&mut body),
        };
        Ok(Answer {
            interim,
            status,
            head,
            body,
            is_whole: read.is_ok(),
            ..Answer::default()
        })
    }

    /// The head of an answer in chunks, and the first of them, whatever comes after.
    #[track_caller]
    pub fn hears_first_chunk(&mut self) -> (Head, Vec<u8>) {
        let head = Head::read(&mut self.inbox)
            .expect("a head")
            .expect("an answer");
        let line = self.inbox.through(b"\r\n").expect("a chunk");
        let digits = latin(&line.unwrap_or_default());
        let length = usize::from_str_radix(digits.trim(), 16).expect("the length of a chunk");
        (head, self.hears_bytes(length))
    }

    /// Raw bytes: exactly so many.
    #[track_caller]
    pub fn hears_bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.inbox.counted(length, &mut bytes);
        read.unwrap_or_else(|error| panic!("{error} after {:?}", latin(&bytes)));
        bytes
    }

    /// Raw bytes: all there are until the end, or as many as come in time.
    #[must_use]
    pub fn hears_the_rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = self.inbox.rest(&mut bytes);
        bytes
    }

    /// Raw bytes: exactly so many.
    ///
    /// # Errors
    /// The connection ended or fell silent before the last one.
    pub fn listens_for_bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.inbox.counted(length, &mut bytes)?;
        Ok(bytes)
    }

    /// Whether the other side ends the connection within the time, without another byte.
    pub fn is_closed_within(&mut self, limit: Duration) -> bool {
        self.inbox.wire.reads_within(limit);
        let end = self.inbox.fill();
        self.inbox.wire.reads_within(PATIENCE);
        match end {
            Ok(read) => read == 0 && self.inbox.early().is_empty(),
            Err(error) => !is_silence(&error),
        }
    }

    /// Whether nothing at all comes for that long, and the connection stays open.
    pub fn is_silent_for(&mut self, limit: Duration) -> bool {
        self.inbox.wire.reads_within(limit);
        let end = self.inbox.fill();
        self.inbox.wire.reads_within(PATIENCE);
        end.is_err_and(|error| is_silence(&error))
    }

    /// Sends no more, and keeps reading.
    pub fn half_closes(&mut self) -> &mut Self {
        self.inbox.wire.half_close();
        self
    }

    /// Reads nothing more for now: makes the receive buffer as small as the kernel lets it be.
    pub fn shrinks_its_window(&self) {
        let _ = socket2::SockRef::from(self.inbox.wire.socket()).set_recv_buffer_size(1);
    }
}

/// Sends one request on a connection of its own and reads the answer.
#[track_caller]
#[must_use]
pub fn ask(addr: SocketAddr, request: &Request) -> Answer {
    Conversation::open(addr).asks(request)
}

/// Connects from this address of this machine.
#[track_caller]
#[must_use]
pub fn connect_from(client: &str, addr: SocketAddr) -> TcpStream {
    let client = format!("{client}:0").parse::<SocketAddr>();
    let client = client.expect("an address");
    let socket = Socket::new(Domain::for_address(client), Type::STREAM, None).expect("a socket");
    socket.bind(&client.into()).expect("an address of ours");
    socket.connect(&addr.into()).expect("a connection");
    socket.into()
}

fn connect(addr: SocketAddr) -> TcpStream {
    connected(addr).unwrap_or_else(|e| panic!("connect to {addr}: {e}"))
}

fn connected(addr: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&addr, PATIENCE)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn status_of(head: &Head) -> io::Result<u16> {
    let mut words = head.start.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let digits = words.next().unwrap_or_default();
    match (version, digits.len(), digits.parse()) {
        ("HTTP/1.1" | "HTTP/1.0", 3, Ok(status)) => Ok(status),
        _ => Err(broken("status line")),
    }
}
