//! Reads HTTP/1.1 off a connection, strictly, and keeps what came too early for the next reader.

use std::io::{self, ErrorKind, Read};

use crate::wire::Wire;

/// Longest head or chunk line the stage itself will take.
const LINE_LIMIT: usize = 256 * 1024;

/// Name and value of each header line, in the order received.
pub type Fields = Vec<(String, String)>;

/// A connection with the bytes read from it and not used yet.
#[derive(Debug)]
pub struct Inbox {
    /// The connection.
    pub wire: Wire,
    early: Vec<u8>,
}

impl Inbox {
    /// Nothing read yet.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            early: Vec::new(),
        }
    }

    /// What was read and not used.
    #[must_use]
    pub fn early(&self) -> &[u8] {
        &self.early
    }

    /// Reads once; zero is the end.
    ///
    /// # Errors
    /// Those of the socket, a spent time limit included.
    pub fn fill(&mut self) -> io::Result<usize> {
        let mut piece = [0_u8; 16 * 1024];
        let read = self.wire.read(&mut piece)?;
        self.early.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    /// Everything through `mark`; nothing when the connection ends before a first byte.
    ///
    /// # Errors
    /// The connection ended in between, or the mark did not come within the limit.
    pub fn through(&mut self, mark: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut looked_at = 0;
        loop {
            let from = looked_at.min(self.early.len());
            if let Some(at) = find(&self.early[from..], mark) {
                let rest = self.early.split_off(from + at + mark.len());
                return Ok(Some(std::mem::replace(&mut self.early, rest)));
            }
            if self.early.len() > LINE_LIMIT {
                return Err(io::Error::new(ErrorKind::InvalidData, "no end of the line"));
            }
            looked_at = self.early.len().saturating_sub(mark.len());
            if self.fill()? == 0 {
                return match self.early.is_empty() {
                    true => Ok(None),
                    false => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// A body of known length, appended to `into` as far as it comes.
    ///
    /// # Errors
    /// The connection ended or fell silent before the last byte.
    pub fn counted(&mut self, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let mut missing = length;
        while missing > 0 {
            if self.early.is_empty() && self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let take = missing.min(self.early.len());
            into.extend(self.early.drain(..take));
            missing -= take;
        }
        Ok(())
    }

    /// A chunked body, appended to `into` as far as it comes; returns the trailers.
    ///
    /// # Errors
    /// The framing is broken, or the connection ended or fell silent in it.
    pub fn chunked(&mut self, into: &mut Vec<u8>) -> io::Result<Fields> {
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default();
            let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let size = usize::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            match size.ok_or_else(|| broken("chunk size"))? {
                0 => return self.trailers(),
                size => self.counted(size, into)?,
            }
            if !self.line()?.is_empty() {
                return Err(broken("chunk end"));
            }
        }
    }

    /// Everything until the other side closes.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn rest(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        loop {
            into.append(&mut self.early);
            if self.fill()? == 0 {
                return Ok(());
            }
        }
    }

    fn trailers(&mut self) -> io::Result<Fields> {
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(fields);
            }
            fields.push(field(&line)?);
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut bytes = self.through(b"\r\n")?.ok_or(ErrorKind::UnexpectedEof)?;
        bytes.truncate(bytes.len() - 2);
        Ok(latin(&bytes))
    }
}

/// One header line, split at the colon; nothing but a token may stand before it.
///
/// # Errors
/// It is no header line.
pub fn field(line: &str) -> io::Result<(String, String)> {
    let (name, value) = line.split_once(':').ok_or_else(|| broken("no colon"))?;
    let is_token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic());
    match is_token {
        true => Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned())),
        false => Err(broken("field name")),
    }
}

/// Each byte as the character of the same number, so that nothing is lost.
#[must_use]
pub fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Where `mark` first stands in `bytes`.
#[must_use]
pub fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// An error for bytes that are not HTTP.
#[must_use]
pub fn broken(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("not HTTP: {what}"))
}
