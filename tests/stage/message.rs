//! HTTP/1.1 messages as the stage writes and reads them.

use std::io;

use crate::inbox::{Fields, Inbox, broken, field, latin};

/// A request to be sent, or the bytes of one.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    fields: Fields,
    body: Vec<u8>,
    chunks: Option<usize>,
}

impl Request {
    /// With `Host` and, where there is a body, `Content-Length` to come.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: vec![("Host".to_owned(), "door.test".to_owned())],
            body: Vec::new(),
            chunks: None,
        }
    }

    /// `GET`.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// `POST` with a body.
    #[must_use]
    pub fn post(target: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", target).body(body)
    }

    /// To this host.
    #[must_use]
    pub fn to(mut self, host: &str) -> Self {
        self.fields.retain(|(name, _)| name != "Host");
        self.field("Host", host)
    }

    /// Adds one header line.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Sends the body chunked, in pieces of this size.
    #[must_use]
    pub fn in_chunks_of(mut self, size: usize) -> Self {
        self.chunks = Some(size);
        self
    }

    /// Head only.
    #[must_use]
    pub fn head_bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        let counted = !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT");
        match self.chunks {
            Some(_) => head += "Transfer-Encoding: chunked\r\n",
            None if counted => head += &format!("Content-Length: {}\r\n", self.body.len()),
            None => {}
        }
        (head + "\r\n").chars().map(to_byte).collect()
    }

    /// The whole of it.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head_bytes();
        match self.chunks {
            Some(size) => bytes.extend(chunked(&self.body, size)),
            None => bytes.extend_from_slice(&self.body),
        }
        bytes
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }
}

/// `body` as chunks of at most `size` bytes, with the last chunk.
#[must_use]
pub fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in body.chunks(size.max(1)) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The byte of a character below 256; see [`latin`].
#[must_use]
pub fn to_byte(character: char) -> u8 {
    u8::try_from(u32::from(character)).expect("a character of one byte")
}

/// A start line and its header lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The first line.
    pub start: String,
    /// The header lines, in order.
    pub fields: Fields,
    /// All of it as it came.
    pub raw: Vec<u8>,
}

impl Head {
    /// Reads a head; nothing when the connection ends before its first byte.
    ///
    /// # Errors
    /// It is not HTTP/1.1, or the connection ended or fell silent in it.
    pub fn read(inbox: &mut Inbox) -> io::Result<Option<Self>> {
        let Some(raw) = inbox.through(b"\r\n\r\n")? else {
            return Ok(None);
        };
        let text = latin(&raw[..raw.len() - 4]);
        if text
            .split("\r\n")
            .any(|line| line.contains(['\r', '\n', '\0']))
        {
            return Err(broken("a bare CR, LF or NUL in the head"));
        }
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let fields = lines.map(field).collect::<io::Result<_>>()?;
        Ok(Some(Self { start, fields, raw }))
    }

    /// The value of the first line of this name.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    /// The values of all lines of this name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        let same = |line: &&(String, String)| line.0.eq_ignore_ascii_case(name);
        self.fields
            .iter()
            .filter(same)
            .map(|line| line.1.as_str())
            .collect()
    }

    /// The names of all lines in lower case, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.fields
            .iter()
            .map(|line| line.0.to_ascii_lowercase())
            .collect()
    }

    /// Whether a comma list of this name holds the word.
    #[must_use]
    pub fn lists(&self, name: &str, word: &str) -> bool {
        let has = |value: &str| {
            value
                .split(',')
                .any(|w| w.trim().eq_ignore_ascii_case(word))
        };
        self.all(name).into_iter().any(has)
    }
}
