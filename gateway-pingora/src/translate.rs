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
    /// The node: it closed, reset, or could not be written to.
    Node,
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
        (_, ErrorType::InvalidHTTPHeader) => Broken::NodeUnreadable,
        _ => Broken::Node,
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
        assert!(matches!(up(ErrorType::ConnectionClosed), Broken::Node));
        assert!(matches!(up(ErrorType::ReadTimedout), Broken::NodeSilent));
    }
}
