//! A handshake: the hello is read first, then what it is answered with is chosen by the name in it.
//!
//! Nothing is logged of one that fails, since whoever scans the network makes many: it is counted, by
//! one of few reasons.
//!
//! Source: GATEWAY §7, RFC 6066 §3, RFC 8446 §6.2; adr/0053.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustls::server::{Acceptor, ClientHello};
use rustls::{Error, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::counts::Handshake;
use crate::covered::Covered;
use crate::listening::Listening;
use crate::profile::Agreed;
use crate::shown::{Secured, Shown};

/// Alerts (RFC 8446 §6.2): something here is not as it should be; nobody has the name; no protocol in
/// common.
const INTERNAL_ERROR: u8 = 80;
const UNRECOGNIZED_NAME: u8 = 112;
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// Does a handshake, of what the listener shows once the hello is read. Whoever drops it closes the connection.
///
/// # Errors
/// What it came to instead.
pub(crate) async fn shake_hands(
    stream: TcpStream,
    listening: &Listening,
) -> Result<(TlsStream<TcpStream>, Secured), Handshake> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
    let mut start = hello.map_err(|why| reason(&why))?;
    let chosen = match &*listening.shown() {
        Some(shown) => choose(&start.client_hello(), shown),
        // It speaks clear text from now on.
        None => Err((UNRECOGNIZED_NAME, Handshake::UnknownName)),
    };
    let (config, covered) = match chosen {
        Ok(chosen) => chosen,
        Err((alert, why)) => {
            // Fatal, and outside of encryption (RFC 8446 §5.1).
            let _ = start.io.write_all(&[21, 3, 3, 0, 2, 2, alert]).await;
            return Err(why);
        }
    };
    let stream = start.into_stream(config).await;
    let stream = stream.map_err(|why| reason(&why))?;
    let agreed = Agreed::of(stream.get_ref().1);
    Ok((stream, Secured { covered, agreed }))
}

/// What a hello is answered with, and for whom that may be taken; else the alert, and what it comes to.
fn choose(hello: &ClientHello<'_>, shown: &Shown) -> Result<Chosen, (u8, Handshake)> {
    let profile = shown.profile(hello.server_name());
    let profile = profile.ok_or((UNRECOGNIZED_NAME, Handshake::UnknownName))?;
    // Who offers none means HTTP/1.1 (RFC 9113 §3.2). A list with nothing in common is refused by the
    // library, with the same alert (RFC 7301 §3.2).
    if hello.alpn().is_none() && !profile.policy.speaks_http1() {
        return Err((NO_APPLICATION_PROTOCOL, Handshake::NothingInCommon));
    }
    let certificate = profile.choose(hello);
    let certificate = certificate.ok_or((INTERNAL_ERROR, Handshake::NoCertificate))?;
    let covered = Arc::clone(&certificate.pair.covered);
    Ok((Arc::clone(&certificate.config), covered))
}

type Chosen = (Arc<ServerConfig>, Arc<Covered>);

/// Why a handshake has failed.
fn reason(why: &io::Error) -> Handshake {
    let of_tls = why.get_ref().and_then(|why| why.downcast_ref::<Error>());
    match (of_tls, why.kind()) {
        (Some(Error::AlertReceived(_)), _) => Handshake::Rejected,
        (Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol), _) => {
            Handshake::NothingInCommon
        }
        (Some(_), _) => Handshake::Malformed,
        (None, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            Handshake::Gone
        }
        (None, _) => Handshake::Failed,
    }
}
