//! How a stand-in node may treat one request: the ways in which real ones fail.

use std::time::Duration;

use crate::inbox::Fields;
use crate::message::{chunked, to_byte};

/// What a node does with a request once it has read it.
#[derive(Clone, Debug)]
pub enum Way {
    /// Does this, but not before so much time has gone by.
    After(Duration, Box<Way>),
    /// Sends a part of the announced body and ends the connection.
    BreaksOffInBody,
    /// Ends the connection without a byte.
    ClosesWithoutAnswer,
    /// Answers from the store, one byte per segment.
    Crumbs(Duration),
    /// Sends the head of its answer and then nothing more.
    HangsAfterHead,
    /// Sends nothing at all, and keeps the connection.
    HangsBeforeHead,
    /// Sends a part of the body and then nothing more.
    HangsInBody,
    /// Waits for [`Node::lets_go`](super::Node::lets_go), then answers from the store.
    Held,
    /// Answers from the store.
    Plainly,
    /// Writes these bytes as they are and keeps the connection.
    Raw(Vec<u8>),
    /// Writes these bytes as they are and ends the connection.
    RawThenCloses(Vec<u8>),
    /// Ends the connection with a TCP reset, without a byte.
    Resets,
    /// Gives this answer.
    Says(Reply),
    /// Switches to the protocol asked for at once and returns every byte.
    SwitchesAndEchoes,
    /// Switches, says `bye` and that it says no more, and keeps what still comes as a fragment.
    SwitchesAndEnds,
    /// Switches, and returns every byte once no more will come.
    SwitchesAndWaits,
}

/// How the body of a reply is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By chunks of at most so many bytes.
    Chunks(usize),
    /// By the end of the connection.
    Close,
    /// By `Content-Length`.
    Length,
    /// Not at all: neither header is written.
    Unsaid,
}

/// An answer put together by a test.
#[derive(Clone, Debug)]
pub struct Reply {
    start: String,
    interim: Vec<u16>,
    fields: Fields,
    body: Vec<u8>,
    framing: Framing,
}

impl Reply {
    /// With a JSON body.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            start: format!("HTTP/1.1 {status} Said So"),
            interim: Vec::new(),
            fields: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: b"{\"said\":true}".to_vec(),
            framing: Framing::Length,
        }
    }

    /// Replaces the status line.
    #[must_use]
    pub fn start(mut self, line: &str) -> Self {
        line.clone_into(&mut self.start);
        self
    }

    /// Adds a header line.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Chooses how the body ends.
    #[must_use]
    pub fn framed(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Puts interim answers before it.
    #[must_use]
    pub fn after(mut self, interim: &[u16]) -> Self {
        self.interim = interim.to_vec();
        self
    }

    /// Whether the connection must end with it.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        let says_close = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        };
        self.framing == Framing::Close
            || self.start.starts_with("HTTP/1.0")
            || self.fields.iter().any(says_close)
    }

    /// Interim answers and head.
    #[must_use]
    pub fn head_bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        for status in &self.interim {
            text += &format!("HTTP/1.1 {status} Not Yet\r\nX-Interim: {status}\r\n\r\n");
        }
        text += &format!("{}\r\n", self.start);
        for (name, value) in &self.fields {
            text += &format!("{name}: {value}\r\n");
        }
        match self.framing {
            Framing::Chunks(_) => text += "Transfer-Encoding: chunked\r\n",
            Framing::Length => text += &format!("Content-Length: {}\r\n", self.body.len()),
            Framing::Close | Framing::Unsaid => {}
        }
        (text + "\r\n").chars().map(to_byte).collect()
    }

    /// The body as it goes on the wire.
    #[must_use]
    pub fn body_bytes(&self) -> Vec<u8> {
        match self.framing {
            Framing::Chunks(size) => chunked(&self.body, size),
            Framing::Close | Framing::Length | Framing::Unsaid => self.body.clone(),
        }
    }
}
