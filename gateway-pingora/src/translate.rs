//! What an error of Pingora's means here. The only reader of that type.

use gateway_core::failure::Unsent;
use nix::errno::Errno;
use pingora_core::{Error, ErrorSource, ErrorType};

/// Why no connection came about.
pub(crate) fn not_connected(error: &Error) -> Unsent {
    match error.etype() {
        ErrorType::ConnectTimedout | ErrorType::TLSHandshakeTimedout => Unsent::ConnectTimeout,
        ErrorType::TLSHandshakeFailure
        | ErrorType::InvalidCert
        | ErrorType::HandshakeError
        | ErrorType::TLSWantX509Lookup => Unsent::Handshake,
        _ => Unsent::Connect,
    }
}

/// The words of the error that others were made of; those of the library alone, where it has some.
pub(crate) fn deepest_words(error: &Error) -> &str {
    let inner = error
        .cause
        .as_deref()
        .and_then(|cause| cause.downcast_ref::<Box<Error>>());
    let deeper = inner.map_or("", |inner| deepest_words(inner));
    let words = match deeper.is_empty() {
        true => error.context.as_ref().map_or("", |own| own.as_str()),
        false => deeper,
    };
    let words = words.rsplit(" cause: ").next().unwrap_or(words);
    // Which name it was is said beside it.
    words
        .rsplit_once(", SNI: ")
        .map_or(words, |(words, _)| words)
}

/// Whether a connection of HTTP/2 was there and took no further stream: it had ended, or was about to,
/// and nothing was written.
pub(crate) fn took_no_stream(error: &Error) -> bool {
    matches!(error.etype(), ErrorType::H2Error)
}

/// Whether no connection came about because this process, or the system, has no descriptor left:
/// that says nothing about the node.
pub(crate) fn is_for_want_of_descriptors(error: &Error) -> bool {
    let io = error.root_cause().downcast_ref::<std::io::Error>();
    let code = io
        .and_then(std::io::Error::raw_os_error)
        .map(Errno::from_raw);
    matches!(code, Some(Errno::EMFILE | Errno::ENFILE))
}

/// Who broke a connection that had been made.
pub(crate) enum Broken {
    /// The client.
    Client,
    /// The client, in time: it sent its body too slowly.
    ClientSlow,
    /// The node, in some other way.
    Node,
    /// The node: it closed the connection, reset it, or could not be written to.
    NodeClosed,
    /// The node: it has ended a connection of HTTP/2 and never began the stream (RFC 9113 §6.8).
    NodeGone,
    /// The node: it refused the stream (RFC 9113 §8.7).
    NodeRefused,
    /// The node, in time: it was silent for too long.
    NodeSilent,
    /// The node: what it sent is not HTTP.
    NodeUnreadable,
}

/// Who broke a connection that had been made.
pub(crate) fn broken(error: &Error) -> Broken {
    match (error.esource(), error.etype()) {
        (ErrorSource::Downstream, ErrorType::ReadTimedout) => Broken::ClientSlow,
        (ErrorSource::Downstream, _) => Broken::Client,
        (_, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => Broken::NodeSilent,
        (_, ErrorType::InvalidHTTPHeader | ErrorType::InvalidH2) => Broken::NodeUnreadable,
        (_, kind) => match error.root_cause().downcast_ref::<h2::Error>() {
            Some(cause) => broken_http2(cause, kind),
            None => broken_http1(kind),
        },
    }
}

fn broken_http1(kind: &ErrorType) -> Broken {
    match kind {
        ErrorType::ConnectionClosed | ErrorType::ReadError | ErrorType::WriteError => {
            Broken::NodeClosed
        }
        _ => Broken::Node,
    }
}

/// What a stream ended with. Only streams above the last one that a node says it has begun, or will,
/// end with its GOAWAY.
fn broken_http2(cause: &h2::Error, kind: &ErrorType) -> Broken {
    let is_refused = cause.reason() == Some(h2::Reason::REFUSED_STREAM);
    if cause.is_remote() && cause.is_go_away() {
        Broken::NodeGone
    } else if cause.is_remote() && cause.is_reset() && is_refused {
        Broken::NodeRefused
    } else if cause.is_io() {
        // Pingora calls it this where the stream could not even be opened, and a failed read otherwise.
        match kind {
            ErrorType::H2Error => Broken::NodeGone,
            _ => Broken::NodeClosed,
        }
    } else if cause.is_library() {
        Broken::NodeUnreadable
    } else {
        Broken::Node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_told_from_a_connect() {
        let of = |kind| not_connected(&Error::new(kind));
        assert_eq!(of(ErrorType::ConnectRefused), Unsent::Connect);
        assert_eq!(of(ErrorType::ConnectTimedout), Unsent::ConnectTimeout);
        assert_eq!(of(ErrorType::TLSHandshakeFailure), Unsent::Handshake);
    }

    #[test]
    fn a_want_of_descriptors_is_seen_through_its_wrapping() {
        let of = |code| {
            let io = std::io::Error::from_raw_os_error(code);
            let inner = Error::because(ErrorType::SocketError, "socket", io);
            is_for_want_of_descriptors(&Error::because(ErrorType::ConnectError, "connect", inner))
        };
        assert!(of(Errno::EMFILE as i32));
        assert!(!of(Errno::ECONNREFUSED as i32));
    }

    #[test]
    fn what_the_client_broke_is_never_held_against_the_node() {
        for kind in [ErrorType::ConnectionClosed, ErrorType::InvalidHTTPHeader] {
            assert!(matches!(broken(&Error::new_down(kind)), Broken::Client));
        }
        let up = |kind| broken(&Error::new_up(kind));
        assert!(matches!(
            up(ErrorType::InvalidHTTPHeader),
            Broken::NodeUnreadable
        ));
        assert!(matches!(
            up(ErrorType::ConnectionClosed),
            Broken::NodeClosed
        ));
        assert!(matches!(up(ErrorType::InternalError), Broken::Node));
        assert!(matches!(up(ErrorType::ReadTimedout), Broken::NodeSilent));
    }
}
