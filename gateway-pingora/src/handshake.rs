//! A handshake: the hello is read first, then what it is answered with is chosen by the name in it.
//!
//! Nothing is logged of one that fails, since whoever scans the network makes many: it is counted, by
//! one of few reasons.
//!
//! Source: GATEWAY §7, RFC 6066 §3, RFC 8446 §6.2; adr/0053.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustls::Error;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::StartHandshake;
use tokio_rustls::server::TlsStream;

use crate::counts::Handshake;
use crate::hello::{self, Hello};
use crate::listening::Listening;
use crate::profile::{Agreed, Certificate, Profile};
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
    mut stream: TcpStream,
    listening: &Listening,
) -> Result<(TlsStream<TcpStream>, Secured), Handshake> {
    let hello = hello::read(&mut stream).await;
    let hello = hello.map_err(|why| reason(&why))?;
    let shown = listening.shown().clone();
    let chosen = match &shown {
        Some(shown) => choose(&hello, shown),
        // It speaks clear text from now on.
        None => Err((UNRECOGNIZED_NAME, Handshake::UnknownName)),
    };
    let (profile, certificate) = match chosen {
        Ok(chosen) => chosen,
        Err((alert, why)) => {
            // Fatal, and outside of encryption (RFC 8446 §5.1).
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).await;
            return Err(why);
        }
    };
    let start = StartHandshake::from_parts(hello.accepted, stream);
    let stream = start.into_stream(Arc::clone(&certificate.config)).await;
    let stream = stream.map_err(|why| reason(&why))?;
    let agreed = Agreed::of(stream.get_ref().1);
    // A second hello (RFC 8446 §4.1.4) may leave out what the first one had.
    if !profile.policy.allows(&agreed) {
        return Err(Handshake::NothingInCommon);
    }
    let covered = Arc::clone(&certificate.pair.covered);
    Ok((stream, Secured { covered, agreed }))
}

/// What a hello is answered with; else the alert, and what it comes to.
fn choose<'s>(hello: &Hello, shown: &'s Shown) -> Result<Chosen<'s>, (u8, Handshake)> {
    let said = hello.accepted.client_hello();
    let profile = shown.profile(said.server_name());
    let profile = profile.ok_or((UNRECOGNIZED_NAME, Handshake::UnknownName))?;
    // Who offers none means HTTP/1.1 (RFC 9113 §3.2). A list with nothing in common is refused by the
    // library, with the same alert (RFC 7301 §3.2).
    if said.alpn().is_none() && !profile.policy.speaks_http1() {
        return Err((NO_APPLICATION_PROTOCOL, Handshake::NothingInCommon));
    }
    let certificate = profile.choose(&said, hello.knows_tls13);
    let certificate = certificate.ok_or((INTERNAL_ERROR, Handshake::NoCertificate))?;
    Ok((profile, certificate))
}

type Chosen<'s> = (&'s Profile, &'s Certificate);

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
