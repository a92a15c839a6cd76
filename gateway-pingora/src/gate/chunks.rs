//! Follows the framing of a chunked body, byte by byte, and accepts nothing else.
//!
//! Pure: it is given bytes and says how many of them belong to the body. What they mean is
//! Pingora's to read; what comes after them is the next request and is never let through.
//!
//! Source: RFC 9112 §7.1.

/// Longest chunk line, size and extensions together. RFC 9112 §7.1.1 asks for a bound.
const MAX_LINE: usize = 256;
/// Most bytes of trailer fields.
const MAX_TRAILERS: usize = 16 * 1024;
/// Most hexadecimal digits of a size, leading zeros included: a `u64` has sixteen.
const MAX_DIGITS: usize = 16;

/// The bytes are not a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChunkFault {
    /// A bare CR or LF, or a missing one.
    #[error("a line of the chunked body does not end in CRLF")]
    Line,
    /// The size is not hexadecimal digits, or is more than can be counted.
    #[error("a chunk size is not a hexadecimal number in range")]
    Size,
    /// A chunk line or the trailer section is too long.
    #[error("a chunk line or the trailer section is too long")]
    TooLong,
    /// A trailer line is not a field.
    #[error("a trailer line is not a field")]
    Trailer,
}

/// Where in a chunked body the next byte lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Blanks after a size, which only an extension may follow.
    Blank,
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    Done,
    Extension {
        quoted: bool,
    },
    Size {
        digits: usize,
        value: u64,
    },
    SizeLf {
        value: u64,
    },
    Trailer {
        name: usize,
        value: bool,
    },
    TrailerLf {
        end: bool,
    },
}

/// The place reached in one chunked body.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    at: At,
    /// The size of the chunk whose line is being read.
    size: u64,
    /// Bytes of the current chunk line, or of the trailer section.
    long: usize,
}

impl Chunks {
    /// At the first byte of a body.
    pub(crate) fn new() -> Self {
        let at = At::Size {
            digits: 0,
            value: 0,
        };
        Chunks {
            at,
            size: 0,
            long: 0,
        }
    }

    /// Whether the body, its trailers included, is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// How many of these bytes belong to the body; fewer than given once it is complete.
    ///
    /// # Errors
    /// What is wrong with the first byte that cannot belong to a chunked body.
    pub(crate) fn accept(&mut self, bytes: &[u8]) -> Result<usize, ChunkFault> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.at {
                At::Done => break,
                At::Data { left } => {
                    let step = left.min(rest.len() as u64);
                    self.at = if step == left {
                        At::DataCr
                    } else {
                        At::Data { left: left - step }
                    };
                    taken += usize::try_from(step).unwrap_or(rest.len());
                }
                _ => {
                    if let Some(&byte) = rest.first() {
                        self.at = self.next(byte)?;
                    }
                    taken += 1;
                }
            }
        }
        Ok(taken)
    }

    /// The place after one byte that is not chunk data.
    fn next(&mut self, byte: u8) -> Result<At, ChunkFault> {
        match (self.at, byte) {
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => {
                self.long = 0;
                Ok(At::Size {
                    digits: 0,
                    value: 0,
                })
            }
            (At::Size { digits, value }, _) => self.size_byte(digits, value, byte),
            (At::Blank, b' ' | b'\t') => {
                self.lengthen(MAX_LINE)?;
                Ok(At::Blank)
            }
            (At::Blank, b';') => Ok(At::Extension { quoted: false }),
            (At::Extension { quoted }, _) => self.extension_byte(quoted, byte),
            (At::SizeLf { value: 0 }, b'\n') => {
                self.long = 0;
                Ok(At::Trailer {
                    name: 0,
                    value: false,
                })
            }
            (At::SizeLf { value }, b'\n') => Ok(At::Data { left: value }),
            (At::Trailer { name, value }, _) => self.trailer_byte(name, value, byte),
            (At::TrailerLf { end: true }, b'\n') => Ok(At::Done),
            (At::TrailerLf { end: false }, b'\n') => Ok(At::Trailer {
                name: 0,
                value: false,
            }),
            _ => Err(ChunkFault::Line),
        }
    }

    fn size_byte(&mut self, digits: usize, value: u64, byte: u8) -> Result<At, ChunkFault> {
        self.lengthen(MAX_LINE)?;
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\r' if digits > 0 => return Ok(At::SizeLf { value }),
            b';' if digits > 0 => {
                self.size = value;
                return Ok(At::Extension { quoted: false });
            }
            b' ' | b'\t' if digits > 0 => {
                self.size = value;
                return Ok(At::Blank);
            }
            _ => return Err(ChunkFault::Size),
        };
        if digits == MAX_DIGITS || value > u64::MAX >> 5 {
            return Err(ChunkFault::Size);
        }
        Ok(At::Size {
            digits: digits + 1,
            value: value << 4 | u64::from(digit),
        })
    }

    /// Extensions are let through unread; a line end inside a quoted one is refused (§7.1.1).
    fn extension_byte(&mut self, quoted: bool, byte: u8) -> Result<At, ChunkFault> {
        self.lengthen(MAX_LINE)?;
        match byte {
            b'"' => Ok(At::Extension { quoted: !quoted }),
            b'\r' if !quoted => Ok(At::SizeLf { value: self.size }),
            b'\t' | b' '..=b'~' | 0x80.. => Ok(At::Extension { quoted }),
            _ => Err(ChunkFault::Line),
        }
    }

    /// A trailer line is a field line (§7.1.2): a token, a colon, a value without controls.
    fn trailer_byte(&mut self, name: usize, value: bool, byte: u8) -> Result<At, ChunkFault> {
        self.lengthen(MAX_TRAILERS)?;
        match byte {
            b'\r' if value => Ok(At::TrailerLf { end: false }),
            b'\r' if name == 0 => Ok(At::TrailerLf { end: true }),
            b':' if name > 0 && !value => Ok(At::Trailer { name, value: true }),
            b'\t' | b' '..=b'~' | 0x80.. if value => Ok(At::Trailer { name, value }),
            _ if !value && super::head::is_token(byte) => Ok(At::Trailer {
                name: name + 1,
                value,
            }),
            _ => Err(ChunkFault::Trailer),
        }
    }

    fn lengthen(&mut self, most: usize) -> Result<(), ChunkFault> {
        self.long += 1;
        if self.long > most {
            Err(ChunkFault::TooLong)
        } else {
            Ok(())
        }
    }
}
