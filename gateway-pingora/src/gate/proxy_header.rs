//! Reads the header with which a proxy tells whose connection it passes on: the PROXY protocol, in its
//! text (version 1) and its binary form (version 2).
//!
//! Finds the header's end, so that not one byte behind it is taken, and leaves its words to the `ppp`
//! crate. Asked by [`arrival`](crate::arrival).
//!
//! Source: The PROXY protocol, versions 1 and 2 (HAProxy, 2020) §2; adr/0045.

use std::net::{IpAddr, SocketAddr};

use memchr::memchr;
use ppp::{v1, v2};

/// Longest header of version 1, its CRLF included (§2.1).
const LONGEST_TEXT: usize = 107;
/// Bytes of version 2 that tell its length (§2.2).
const FIXED: usize = 16;
/// The byte of version 2 that tells its version and command (§2.2).
const COMMAND: usize = 12;
/// Version 2 for the proxy itself.
const LOCAL: u8 = 0x20;
/// Longest header of version 2 that is taken: addresses, and a few KiB of what a proxy adds.
const LONGEST_BINARY: usize = 8 * 1024;

/// What does not begin a connection as it must.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no PROXY header")]
pub(crate) struct NoHeader;

/// A header as far as it has been read.
#[derive(Debug, Default)]
pub(crate) struct ProxyHeader {
    bytes: Vec<u8>,
}

impl ProxyHeader {
    /// Takes those of the next bytes that belong to the header; how many they are.
    ///
    /// # Errors
    /// They cannot be of one, or it is longer than it may be.
    pub(crate) fn take(&mut self, next: &[u8]) -> Result<usize, NoHeader> {
        let mut taken = 0;
        while let (Some(more), false) = (next.get(taken..), self.is_complete()) {
            let most = self.missing(more)?.min(more.len());
            if most == 0 {
                break;
            }
            self.bytes
                .extend_from_slice(more.get(..most).unwrap_or_default());
            taken += most;
        }
        Ok(taken)
    }

    /// How many of the next bytes may be taken before it is asked again.
    fn missing(&self, next: &[u8]) -> Result<usize, NoHeader> {
        let have = self.bytes.len();
        let begin = |whole: &[u8]| {
            let both = self.bytes.iter().chain(next);
            both.zip(whole).all(|(ours, theirs)| ours == theirs)
        };
        if begin(b"PROXY ") {
            let end = memchr(b'\n', next).map_or(next.len(), |at| at + 1);
            return match have + end <= LONGEST_TEXT {
                true => Ok(end),
                false => Err(NoHeader),
            };
        }
        if !begin(v2::PROTOCOL_PREFIX) {
            return Err(NoHeader);
        }
        match self.length() {
            None => Ok(FIXED - have),
            Some(length) if length <= LONGEST_BINARY => Ok(length.saturating_sub(have)),
            Some(_) => Err(NoHeader),
        }
    }

    /// The whole length of a header of version 2, once it is known.
    fn length(&self) -> Option<usize> {
        let length = self.bytes.get(FIXED - 2..FIXED)?;
        Some(FIXED + usize::from(u16::from_be_bytes(length.try_into().ok()?)))
    }

    fn is_text(&self) -> bool {
        self.bytes.first() == Some(&b'P')
    }

    /// Whether all of it has been read.
    pub(crate) fn is_complete(&self) -> bool {
        match self.is_text() {
            true => self.bytes.last() == Some(&b'\n'),
            false => self.length() == Some(self.bytes.len()),
        }
    }

    /// Whether nothing has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whose connection it is; `None` for that of the proxy itself, and where it is no connection
    /// over IP: its own address counts then (§2.1 `UNKNOWN`, §2.2 `LOCAL`, `AF_UNSPEC`, `AF_UNIX`).
    ///
    /// # Errors
    /// It is malformed, or not whole.
    pub(crate) fn client(&self) -> Result<Option<SocketAddr>, NoHeader> {
        match self.is_text() {
            true => text_client(&self.bytes),
            // What follows is skipped, the family included, whatever it is (§2.2).
            false if self.is_complete() && self.bytes.get(COMMAND) == Some(&LOCAL) => Ok(None),
            false => binary_client(&self.bytes),
        }
    }
}

fn text_client(bytes: &[u8]) -> Result<Option<SocketAddr>, NoHeader> {
    let header = v1::Header::try_from(bytes).map_err(|_| NoHeader)?;
    let client = match header.addresses {
        v1::Addresses::Tcp4(both) => address(both.source_address, both.source_port),
        v1::Addresses::Tcp6(both) => address(both.source_address, both.source_port),
        v1::Addresses::Unknown => return Ok(None),
    };
    // A port is digits and nothing else (§2.1); the crate takes a sign as well.
    match bytes.contains(&b'+') {
        true => Err(NoHeader),
        false => Ok(client),
    }
}

fn binary_client(bytes: &[u8]) -> Result<Option<SocketAddr>, NoHeader> {
    let header = v2::Header::try_from(bytes).map_err(|_| NoHeader)?;
    let client = match header.addresses {
        v2::Addresses::IPv4(both) => address(both.source_address, both.source_port),
        v2::Addresses::IPv6(both) => address(both.source_address, both.source_port),
        // What such a block holds is not for us to understand.
        v2::Addresses::Unspecified => return Ok(None),
        v2::Addresses::Unix(_) => None,
    };
    if header.tlvs().any(|one| one.is_err()) {
        return Err(NoHeader);
    }
    Ok(client.filter(|_| header.protocol == v2::Protocol::Stream))
}

fn address(ip: impl Into<IpAddr>, port: u16) -> Option<SocketAddr> {
    Some(SocketAddr::new(ip.into().to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads in pieces of this many bytes; what was taken, and what it says.
    fn read(bytes: &[u8], piece: usize) -> Result<(usize, Option<SocketAddr>), NoHeader> {
        let (mut header, mut at) = (ProxyHeader::default(), 0);
        while !header.is_complete() {
            let next = bytes.get(at..(at + piece).min(bytes.len())).unwrap();
            match header.take(next)? {
                0 => return Err(NoHeader),
                taken => at += taken,
            }
        }
        Ok((at, header.client()?))
    }

    proptest! {
        #[test]
        fn nothing_behind_it_is_taken_however_it_comes(
            is_text in any::<bool>(),
            source in any::<std::net::SocketAddrV4>(),
            behind in proptest::collection::vec(any::<u8>(), 0..40),
            piece in 1_usize..200,
        ) {
            let mut bytes = match is_text {
                true => format!("PROXY TCP4 {} 192.0.2.1 {} 443\r\n", source.ip(), source.port())
                    .into_bytes(),
                false => {
                    let mut bytes = [v2::PROTOCOL_PREFIX, &[0x21, 0x11, 0, 12]].concat();
                    bytes.extend_from_slice(&source.ip().octets());
                    bytes.extend_from_slice(&[192, 0, 2, 1]);
                    bytes.extend_from_slice(&source.port().to_be_bytes());
                    bytes.extend_from_slice(&443_u16.to_be_bytes());
                    bytes
                }
            };
            let length = bytes.len();
            bytes.extend_from_slice(&behind);
            prop_assert_eq!(read(&bytes, piece), Ok((length, Some(source.into()))));
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0_usize..3) {
            let binary = [v2::PROTOCOL_PREFIX, &[0x21]].concat();
            let begin = [&b""[..], b"PROXY ", &binary][kind];
            let bytes = [begin, &bytes].concat();
            prop_assert_eq!(read(&bytes, 1).is_ok(), read(&bytes, 400).is_ok());
        }
    }
}
