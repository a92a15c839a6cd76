//! Finds the end of a request head as its bytes come in, within the listener's limits.
//!
//! Pure: it is given the bytes read so far and remembers how far it has looked. It judges
//! line ends, so that a head without an end is refused at its first wrong byte and not at
//! its deadline; what the lines say is [`head`](super::head)'s.
//!
//! Source: RFC 9112 §2.2, §3; RFC 9110 §5.4; adr/0015.

use gateway_config::model::HeadLimits;

use super::head::HeadFault;

/// Empty lines before a request line that are passed over (RFC 9112 §2.2 asks for one).
const MAX_EMPTY_LINES: usize = 2;

/// Why no head is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanFault {
    /// All field lines together are too long, or there are too many: 431.
    Fields,
    /// A byte that cannot be part of a head: 400.
    Head(HeadFault),
    /// The request line is too long: 414.
    Line,
}

/// How far the search for the end of a head has come.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Where the request line begins: after empty lines.
    begin: usize,
    /// Everything before this offset has been looked at.
    seen: usize,
    /// Where the current line begins.
    line: usize,
    /// Where the fields begin; 0 until the request line has ended.
    fields: usize,
    /// Complete field lines.
    count: usize,
}

impl Scan {
    /// Looks at what has been added to `bytes`; the range of the head once it is whole.
    ///
    /// # Errors
    /// The first limit exceeded or wrong line end.
    pub(crate) fn find(
        &mut self,
        bytes: &[u8],
        limits: &HeadLimits,
    ) -> Result<Option<std::ops::Range<usize>>, ScanFault> {
        while let Some(rest) = bytes.get(self.seen..) {
            let Some(offset) = memchr::memchr3(b'\r', b'\n', 0, rest) else {
                self.seen = bytes.len();
                break;
            };
            let at = self.seen + offset;
            match (bytes.get(at), bytes.get(at + 1)) {
                (Some(b'\r'), Some(b'\n')) => {}
                // A CR at the end: its LF may still come.
                (Some(b'\r'), None) => {
                    self.seen = at;
                    break;
                }
                _ => return Err(ScanFault::Head(HeadFault::Line)),
            }
            self.seen = at + 2;
            if self.ends_head(at, limits)? {
                return Ok(Some(self.begin..self.seen));
            }
        }
        self.within(bytes.len(), limits)?;
        Ok(None)
    }

    /// Takes note of a line that ended at `at`; whether it was the empty one after the fields.
    fn ends_head(&mut self, at: usize, limits: &HeadLimits) -> Result<bool, ScanFault> {
        let empty = at == self.line;
        self.within(at, limits)?;
        if self.fields == 0 && empty {
            if self.seen > 2 * MAX_EMPTY_LINES {
                return Err(ScanFault::Head(HeadFault::RequestLine));
            }
            self.begin = self.seen;
        } else if self.fields == 0 {
            self.fields = self.seen;
        } else if empty {
            return Ok(true);
        } else {
            self.count += 1;
            if self.count > usize::from(limits.count) {
                return Err(ScanFault::Fields);
            }
        }
        self.line = self.seen;
        Ok(false)
    }

    /// Holds the current part of the head, which reaches up to `end`, against its limit.
    fn within(&self, end: usize, limits: &HeadLimits) -> Result<(), ScanFault> {
        let (from, most, fault) = match self.fields {
            0 => (self.begin, limits.line, ScanFault::Line),
            fields => (fields, limits.fields, ScanFault::Fields),
        };
        match end.saturating_sub(from) > most as usize {
            true => Err(fault),
            false => Ok(()),
        }
    }
}
