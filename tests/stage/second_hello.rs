//! A client of TLS 1.3 whose second hello does not offer the protocols that its first one did.
//!
//! It has to say a second one, because the first has a share of no group that anybody speaks. The
//! library would never change its mind in between, so the change is made on the wire, and in all that
//! the library takes for what was said.
//!
//! Source: RFC 8446 §4.1.2, which forbids it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup, ring};
use rustls::{
    ClientConfig, ClientConnection, Error, NamedGroup, SupportedCipherSuite, Tls13CipherSuite,
    version,
};

use crate::certs::Trust;

/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// ALPN with HTTP/2 alone (RFC 7301 §3.1), and the same under a number that stands for nothing.
const OFFERS: &[u8] = &[0, 16, 0, 5, 0, 3, 2, b'h', b'2'];
const OFFERS_NOT: &[u8] = &[0xfa, 0xfa, 0, 5, 0, 3, 2, b'h', b'2'];

/// Offers HTTP/2 in the first hello and nothing in the second, and then asks this in HTTP/1.1. Gives
/// back what was heard before the connection ended.
///
/// # Errors
/// The handshake failed.
pub fn offers_http2_once(
    addr: SocketAddr,
    trust: &Trust,
    name: &str,
    asked: &[u8],
) -> io::Result<Vec<u8>> {
    let mut socket = TcpStream::connect(addr)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let config = Arc::new(config(trust));
    let mut conn = ClientConnection::new(config, Trust::name(name)).map_err(io::Error::other)?;
    let mut hellos = 0;
    while conn.is_handshaking() {
        while conn.wants_write() {
            let mut flight = Vec::new();
            conn.write_tls(&mut flight)?;
            hellos += usize::from(has(&flight, OFFERS));
            socket.write_all(&if hellos == 2 { edited(&flight) } else { flight })?;
        }
        if conn.is_handshaking() {
            conn.read_tls(&mut socket)?;
            conn.process_new_packets().map_err(io::Error::other)?;
        }
    }
    assert_eq!(hellos, 2, "nobody asked for a second hello");
    let mut stream = rustls::StreamOwned::new(conn, socket);
    let mut heard = Vec::new();
    // A connection that ends without a word ends here, too.
    let _ = stream.write_all(asked);
    let _ = stream.read_to_end(&mut heard);
    Ok(heard)
}

fn config(trust: &Trust) -> ClientConfig {
    let mut provider = ring::default_provider();
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = suite.tls13().expect("a suite of TLS 1.3");
    let edits: &'static Edits = Box::leak(Box::new(Edits(suite.common.hash_provider)));
    let edited = Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: edits,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: suite.hkdf_provider,
        aead_alg: suite.aead_alg,
        quic: None,
    };
    let suite: &'static Tls13CipherSuite = Box::leak(Box::new(edited));
    provider.cipher_suites = vec![SupportedCipherSuite::Tls13(suite)];
    provider.kx_groups = vec![&Nobodys, ring::kx_group::X25519];
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&version::TLS13])
        .expect("a suite of TLS 1.3")
        .with_root_certificates(trust.roots())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|one| one == part)
}

fn edited(bytes: &[u8]) -> Vec<u8> {
    let mut edited = bytes.to_vec();
    let at = bytes.windows(OFFERS.len()).position(|one| one == OFFERS);
    if let Some(at) = at {
        edited[at..at + OFFERS.len()].copy_from_slice(OFFERS_NOT);
    }
    edited
}

/// The hash of what was said, in which the second hello is what was sent.
struct Edits(&'static dyn Hash);

struct Said {
    so_far: Box<dyn Context>,
    /// What came first was the hash of a first hello (RFC 8446 §4.4.1).
    is_second: Option<bool>,
}

impl Hash for Edits {
    fn start(&self) -> Box<dyn Context> {
        Box::new(Said {
            so_far: self.0.start(),
            is_second: None,
        })
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }
}

impl Context for Said {
    fn fork_finish(&self) -> Output {
        self.so_far.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Said {
            so_far: self.so_far.fork(),
            is_second: self.is_second,
        })
    }

    fn finish(self: Box<Self>) -> Output {
        self.so_far.finish()
    }

    fn update(&mut self, data: &[u8]) {
        const MESSAGE_HASH: u8 = 254;

        let begins = || data.first() == Some(&MESSAGE_HASH);
        if *self.is_second.get_or_insert_with(begins) {
            self.so_far.update(&edited(data));
        } else {
            self.so_far.update(data);
        }
    }
}

/// A group that nobody speaks.
#[derive(Debug)]
struct Nobodys;

impl SupportedKxGroup for Nobodys {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Nobodys))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X448
    }
}

impl ActiveKeyExchange for Nobodys {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, Error> {
        Err(Error::General("nobody speaks it".into()))
    }

    fn pub_key(&self) -> &[u8] {
        &[7; 56]
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X448
    }
}
