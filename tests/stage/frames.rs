//! A client of HTTP/2 that puts exactly the frames on the wire that a scenario wants there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use crate::certs::{Identity, Trust};
use crate::wire::Wire;

/// How long it waits for the next frame.
const PATIENCE: Duration = Duration::from_secs(25);
/// What a client begins with (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of this kind (RFC 9113 §6).
pub const DATA: u8 = 0;
/// A frame of this kind.
pub const HEADERS: u8 = 1;
/// A frame of this kind.
pub const RST_STREAM: u8 = 3;
/// A frame of this kind.
pub const SETTINGS: u8 = 4;
/// A frame of this kind.
pub const PING: u8 = 6;
/// A frame of this kind.
pub const GOAWAY: u8 = 7;
/// A frame of this kind.
pub const WINDOW_UPDATE: u8 = 8;
/// A frame of this kind.
pub const CONTINUATION: u8 = 9;

/// The flag of the last frame of a stream.
pub const END_STREAM: u8 = 1;
/// The flag of the last frame of a list of fields.
pub const END_HEADERS: u8 = 4;

/// One frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its kind.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream.
    pub stream: u32,
    /// What it carries.
    pub payload: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub struct Frames {
    wire: Wire,
}

impl Frames {
    /// Connects and agrees on HTTP/2; says nothing in it yet.
    #[must_use]
    pub fn open(addr: SocketAddr, trust: &Trust, name: &str) -> Self {
        let socket = TcpStream::connect(addr).expect("a connection");
        Self::over(socket, trust, name)
    }

    /// The same over a connection on which something was said before.
    #[must_use]
    pub fn over(socket: TcpStream, trust: &Trust, name: &str) -> Self {
        socket.set_nodelay(true).expect("an option");
        let tls = trust.client_offering(&[b"h2"], name, socket);
        let wire = Wire::TlsClient(Box::new(tls));
        wire.reads_within(PATIENCE);
        let mut client = Self { wire };
        let _ = client.wire.flush();
        client
    }

    /// The other end: a node's, on a connection that somebody made to it, with TLS where it has an
    /// identity to show. Whoever it is has begun as clients do, and is told that nothing is bounded.
    #[must_use]
    pub fn accepted(socket: TcpStream, identity: Option<&Identity>) -> Option<Self> {
        socket.set_nodelay(true).expect("an option");
        let wire = match identity {
            None => Wire::Clear(socket),
            Some(identity) => {
                let tls = ServerConnection::new(identity.config_offering(&[b"h2"]));
                let tls = StreamOwned::new(tls.expect("a server"), socket);
                Wire::TlsServer(Box::new(tls))
            }
        };
        let mut node = Self { wire };
        node.wire.reads_within(PATIENCE);
        let mut preface = [0; PREFACE.len()];
        node.wire.read_exact(&mut preface).ok()?;
        assert_eq!(preface, *PREFACE);
        node.sends(SETTINGS, 0, 0, &[]);
        Some(node)
    }

    /// Answers a stream with 200 and these bytes.
    pub fn answers(&mut self, stream: u32, body: &[u8]) -> &mut Self {
        self.sends(HEADERS, END_HEADERS, stream, &[0x88])
            .sends(DATA, END_STREAM, stream, body)
    }

    /// Says that no stream above this one is begun, or will be (RFC 9113 §6.8).
    pub fn goes_away(&mut self, last: u32) -> &mut Self {
        let mut payload = last.to_be_bytes().to_vec();
        payload.extend_from_slice(&[0; 4]);
        self.sends(GOAWAY, 0, 0, &payload)
    }

    /// Sends the preface, and settings that are pairs of a number and a value; and that it keeps no
    /// table of fields, so that each status can be read by itself (RFC 7541 §4.2).
    pub fn begins_with(&mut self, settings: &[(u16, u32)]) -> &mut Self {
        let mut payload = vec![0, 1, 0, 0, 0, 0];
        for (name, value) in settings {
            payload.extend_from_slice(&name.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        self.says(PREFACE).sends(SETTINGS, 0, 0, &payload)
    }

    /// Puts bytes on the wire. A connection that is gone shows when an answer is read.
    pub fn says(&mut self, bytes: &[u8]) -> &mut Self {
        let _ = self.wire.write_all(bytes);
        let _ = self.wire.flush();
        self
    }

    /// Sends a frame.
    pub fn sends(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> &mut Self {
        self.says(&frame(kind, flags, stream, payload))
    }

    /// Sends the head of a request for `door.test`; `ends` when no body comes after it.
    pub fn asks(&mut self, stream: u32, method: &str, path: &str, ends: bool) -> &mut Self {
        let block = fields(&[
            (":method", method),
            (":scheme", "https"),
            (":authority", "door.test"),
            (":path", path),
        ]);
        let flags = END_HEADERS | if ends { END_STREAM } else { 0 };
        self.sends(HEADERS, flags, stream, &block)
    }

    /// The next frame; nothing when the connection has ended.
    ///
    /// # Panics
    /// When nothing comes for too long.
    pub fn hears(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        match self.wire.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if is_silence(&error) => panic!("no frame within {PATIENCE:?}"),
            Err(_) => return None,
        }
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)];
        self.wire.read_exact(&mut payload).ok()?;
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
        })
    }

    /// Reads until a frame fits.
    #[must_use]
    pub fn hears_one(&mut self, fits: impl Fn(&Frame) -> bool) -> Option<Frame> {
        loop {
            let frame = self.hears()?;
            if fits(&frame) {
                return Some(frame);
            }
        }
    }

    /// The status of the next head on this stream; nothing when it, or the connection, was reset.
    #[must_use]
    pub fn status(&mut self, stream: u32) -> Option<u16> {
        let is_word =
            |one: &Frame| one.stream == stream && matches!(one.kind, HEADERS | RST_STREAM);
        let head = self.hears_one(is_word)?;
        match head.kind {
            HEADERS => status(&head.payload),
            _ => None,
        }
    }

    /// Reads to the end; the code with which the client was told to go away (RFC 9113 §7).
    #[must_use]
    pub fn is_told_to_go(&mut self) -> Option<u32> {
        let last = self.hears_one(|frame| frame.kind == GOAWAY)?;
        let code = last.payload.get(4..8)?.try_into().ok()?;
        while self.hears().is_some() {}
        Some(u32::from_be_bytes(code))
    }

    /// Whether the connection ends within the time; what still comes is passed over.
    #[must_use]
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        self.wire.reads_within(limit);
        let mut sink = [0; 4096];
        let has_ended = loop {
            match self.wire.read(&mut sink) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => break !is_silence(&error),
            }
        };
        self.wire.reads_within(PATIENCE);
        has_ended
    }
}

fn is_silence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

/// A frame as it goes on the wire.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len())
        .expect("a length")
        .to_be_bytes();
    let mut bytes = vec![a, b, c, kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A list of fields, each written out (RFC 7541 §6.2.2).
#[must_use]
pub fn fields(all: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in all {
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// RFC 7541 §5.1, in seven bits.
fn length(block: &mut Vec<u8>, length: usize) {
    if length < 127 {
        return block.push(u8::try_from(length).expect("seven bits"));
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).expect("seven bits") | 128);
        rest /= 128;
    }
    block.push(u8::try_from(rest).expect("seven bits"));
}

/// The status that a list of fields begins with: whole from the table, or its digits, packed
/// (RFC 7541 §5.2, Appendix A and B).
#[must_use]
pub fn status(block: &[u8]) -> Option<u16> {
    const TABLE: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    // RFC 7541 §6.3: that there is no table stands before.
    let block = block.strip_prefix(&[0x20]).unwrap_or(block);
    let (&first, rest) = block.split_first()?;
    if let Some(known) = first.checked_sub(0x88).map(usize::from) {
        return TABLE.get(known).copied();
    }
    let (&length, rest) = rest.split_first()?;
    let text = rest.get(..usize::from(length & 127))?;
    if length & 128 == 0 {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let bit = |at: usize| {
        text.get(at / 8)
            .map(|byte| u16::from(byte >> (7 - at % 8) & 1))
    };
    let bits = |from: usize, count: usize| {
        (from..from + count).try_fold(0, |sum, at| Some(sum << 1 | bit(at)?))
    };
    let (mut at, mut number) = (0, 0);
    for _ in 0..3 {
        let short = bits(at, 5)?;
        let (digit, length) = match short {
            0..=2 => (short, 5),
            _ => (bits(at, 6)?.checked_sub(0b01_1001)? + 3, 6),
        };
        at += length;
        number = number * 10 + digit;
    }
    Some(number)
}
