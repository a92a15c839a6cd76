//! The first hello of a client, and what it says that the library keeps to itself: whether it knows
//! TLS 1.3.
//!
//! Source: RFC 8446 §4.1.2, §4.2.1, §5.1; adr/0053.

use std::io::{Error, ErrorKind, Result};

use rustls::server::{Accepted, Acceptor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[cfg(test)]
pub(crate) mod offer;

/// Most bytes taken at once.
const AT_ONCE: u64 = 4096;

/// A hello that has been read, and found to be one.
pub(crate) struct Hello {
    /// With which the handshake goes on.
    pub(crate) accepted: Accepted,
    /// Whether TLS 1.3 is among the versions that it names.
    pub(crate) knows_tls13: bool,
}

/// Reads a hello, of 64 KiB at the most, which is the library's bound. Whoever drops it has lost what was read.
///
/// # Errors
/// What the connection says, or the library, which has told the client.
pub(crate) async fn read(stream: &mut TcpStream) -> Result<Hello> {
    let mut acceptor = Acceptor::default();
    let mut heard = Vec::new();
    loop {
        let known = heard.len();
        let mut some = AsyncReadExt::take(&mut *stream, AT_ONCE);
        if some.read_buf(&mut heard).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut fresh = heard.get(known..).unwrap_or_default();
        while !fresh.is_empty() {
            acceptor.read_tls(&mut fresh)?;
            // A record that is whole has to be taken in before there is room for more of the next.
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) if fresh.is_empty() => {
                    let knows_tls13 = knows_tls13(&heard);
                    return Ok(Hello {
                        accepted,
                        knows_tls13,
                    });
                }
                Ok(Some(_)) => return Err(ErrorKind::InvalidData.into()),
                Err((why, mut alert)) => {
                    let mut bytes = Vec::new();
                    alert.write_all(&mut bytes)?;
                    let _ = stream.write_all(&bytes).await;
                    return Err(Error::new(ErrorKind::InvalidData, why));
                }
            }
        }
    }
}

fn knows_tls13(heard: &[u8]) -> bool {
    let versions = versions(&message(heard)).map(<[u8]>::to_vec);
    versions.is_some_and(|all| all.chunks_exact(2).any(|one| one == [3, 4]))
}

/// What is in the records.
fn message(heard: &[u8]) -> Vec<u8> {
    let mut records = Bytes(heard);
    let mut message = Vec::new();
    while let Some(part) = records.take(3).and_then(|_| records.block(2)) {
        message.extend_from_slice(part);
    }
    message
}

/// The versions that a hello names, where it has a list of them.
fn versions(message: &[u8]) -> Option<&[u8]> {
    const SUPPORTED_VERSIONS: [u8; 2] = [0, 43];

    let mut hello = Bytes(message);
    // Kind and length, version of old, random; session, suites, compression.
    hello.take(4 + 2 + 32)?;
    for size in [1, 2, 1] {
        hello.block(size)?;
    }
    let mut extensions = Bytes(hello.block(2)?);
    loop {
        let kind = extensions.take(2)?;
        let data = extensions.block(2)?;
        if kind == SUPPORTED_VERSIONS {
            return Bytes(data).block(1);
        }
    }
}

/// Bytes that are still to be read.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// What comes behind its length, which has this many bytes.
    fn block(&mut self, size: usize) -> Option<&'b [u8]> {
        let digits = self.take(size)?.iter();
        self.take(digits.fold(0, |length, digit| length << 8 | usize::from(*digit)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::offer::{Offer, an_offer};
    use super::*;

    /// Whether what is sent is read as a hello.
    fn is_read(sent: Vec<u8>) -> Result<bool> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
            let mut client = TcpStream::connect(listener.local_addr()?).await?;
            let (mut stream, _) = listener.accept().await?;
            let sends = async {
                let _ = client.write_all(&sent).await;
                client.shutdown().await
            };
            let (read, _) = tokio::join!(read(&mut stream), sends);
            Ok(read.is_ok())
        })
    }

    /// RFC 8446 §5.1: a message may be spread over records, of 16 KiB at the most.
    #[test]
    fn a_long_hello_is_read_however_it_is_spread_over_records() {
        const LARGEST: usize = 1 << 14;

        for (suites, fits) in [
            (100, true),
            (7_000, true),
            (9_000, true),
            (20_000, true),
            (30_000, true),
            (32_760, false),
        ] {
            let hello = Offer {
                versions: Some(vec![0x0304]),
                suites: [0x1301].into_iter().chain(vec![0x002f; suites]).collect(),
                schemes: vec![0x0403],
                ..Offer::default()
            };
            for piece in [100, 1_000, 4_000, LARGEST - 1, LARGEST] {
                let sent = hello.hello(piece);
                assert_eq!(is_read(sent).unwrap(), fits, "{suites} suites by {piece}");
            }
        }
    }

    proptest! {
        #[test]
        fn tls_1_3_is_known_where_it_is_named_however_the_hello_is_cut(
            offer in an_offer(),
            piece in 1..400_usize,
        ) {
            let heard = offer.hello(piece);
            let named = |all: &Vec<u16>| all.contains(&0x0304);
            prop_assert_eq!(knows_tls13(&heard), offer.versions.as_ref().is_some_and(named));
        }

        #[test]
        fn what_is_cut_off_or_no_hello_names_nothing(bytes in vec(any::<u8>(), 0..200), at in 0..90_usize) {
            let _ = knows_tls13(&bytes);
            let whole = Offer { versions: Some(vec![0x0304]), ..Offer::default() }.hello(usize::MAX);
            prop_assert!(!knows_tls13(&whole[..at.min(whole.len() - 1)]));
        }
    }
}
