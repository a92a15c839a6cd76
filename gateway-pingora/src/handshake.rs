//! A handshake: the hello is read first, then what it is answered with is chosen by the name in it.
//!
//! Nothing is logged of one that fails, since whoever scans the network makes many: it is counted, by
//! one of few reasons.
//!
//! Source: GATEWAY §7, RFC 6066 §3, RFC 8446 §6.2; adr/0053.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustls::Error;
use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::counts::Handshake;
use crate::profile::Agreed;
use crate::shown::{Secured, Shown};

/// A fatal alert outside of encryption, as a record (RFC 8446 §5.1, §6): that something here is not as it
/// should be (`internal_error`).
const NOT_THE_CLIENTS_FAULT: [u8; 7] = [21, 3, 3, 0, 2, 2, 80];

/// Does a handshake. Whoever drops it closes the connection.
///
/// # Errors
/// What it came to instead.
pub(crate) async fn shake_hands(
    stream: TcpStream,
    shown: &Shown,
) -> Result<(TlsStream<TcpStream>, Secured), Handshake> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
    let mut start = hello.map_err(|why| reason(&why))?;
    let chosen = {
        let hello = start.client_hello();
        let profile = shown.profile(hello.server_name());
        profile.choose(&hello).map(|certificate| {
            let covered = Arc::clone(&certificate.pair.covered);
            (Arc::clone(&certificate.config), covered)
        })
    };
    let Some((config, covered)) = chosen else {
        let _ = start.io.write_all(&NOT_THE_CLIENTS_FAULT).await;
        return Err(Handshake::NoCertificate);
    };
    let stream = start.into_stream(config).await;
    let stream = stream.map_err(|why| reason(&why))?;
    let agreed = Agreed::of(stream.get_ref().1);
    Ok((stream, Secured { covered, agreed }))
}

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
