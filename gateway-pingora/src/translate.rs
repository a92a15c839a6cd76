//! What an error of Pingora's means here. The only reader of that type.

use gateway_core::failure::Unsent;
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

/// Who broke a connection that had been made.
pub(crate) enum Broken {
    /// The client.
    Client,
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
        (ErrorSource::Downstream, _) => Broken::Client,
        (_, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => Broken::NodeSilent,
        (_, ErrorType::InvalidHTTPHeader) => Broken::NodeUnreadable,
        _ => Broken::Node,
    }
}
