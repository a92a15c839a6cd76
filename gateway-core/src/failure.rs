//! Says why a request was not served by a node, and what its client is told.
//!
//! One variant is one reason an operator can act on. Every fact about a reason (whose side, which
//! status, which code, is the connection closed) is one exhaustive `match`, in
//! [`answer`](Failure::answer) and [`side`](Failure::side). Made by the adapter and by the gate;
//! whether it is tried again is decided by [`retry`](crate::retry).
//!
//! Invariant: an answer claims *never sent* only when no byte of the request was written.
//!
//! Source: the errors section of the front door; RFC 9110 §15.

use std::sync::Arc;
use std::time::Duration;

use gateway_config::model::Name;

mod answer;
mod retry_after;

pub use answer::{Answer, Outcome};
pub use retry_after::RetryAfter;

/// The node a request was really put to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node} at {addr}")]
pub struct Asked {
    /// Its name.
    pub node: Name,
    /// Its address as configured.
    pub addr: Arc<str>,
}

/// Why no byte of a request was written to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// The connection was refused, reset or not routed.
    #[error("no connection came about")]
    Connect,
    /// No connection, or no handshake, within the time for it.
    #[error("no connection came about in time")]
    ConnectTimeout,
    /// The TLS handshake failed, a certificate that does not fit included.
    #[error("the TLS handshake failed")]
    Handshake,
    /// HTTP/2: the node did not begin this stream (RFC 9113 §8.7).
    #[error("the node did not accept the stream")]
    Refused,
    /// The name of the node has no address.
    #[error("its name has no address")]
    Resolve,
}

/// Whose side a failure is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client sent, or did, something that cannot be served.
    Client,
    /// The gateway has no room, or is going down.
    Gateway,
    /// A node did not do its part, or none is there.
    Node,
}

/// Why a request was not served by a node. Its text is the sentence of the answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The answer of a node had begun and broke off.
    #[error("{0} broke off in the middle of its answer")]
    AnswerLost(Asked),
    /// The answer of a node had begun and then nothing came for too long.
    #[error("{0} fell silent in the middle of its answer for longer than {gap:?}", gap = .1)]
    AnswerStalled(Asked, Duration),
    /// The memory for request bodies is taken.
    #[error("too many request bodies are held in memory at this moment; try again shortly")]
    BodyMemory,
    /// The client sent its body too slowly.
    #[error("the request body did not arrive in time")]
    BodyTooSlow,
    /// The body is longer than the route takes, in bytes.
    #[error("the request body is longer than the {limit} bytes this route takes")]
    BodyTooLarge {
        /// Bytes the route takes.
        limit: u64,
    },
    /// The budget ran out before anything was written.
    #[error("the {budget:?} this request may take are spent, and it was never sent to a node")]
    BudgetSpentBefore {
        /// The whole budget.
        budget: Duration,
    },
    /// The budget ran out while a node had the request.
    #[error(
        "{asked} did not answer within the {budget:?} this request may take; it may still be working on it"
    )]
    BudgetSpent {
        /// The node that has the request.
        asked: Asked,
        /// The whole budget.
        budget: Duration,
    },
    /// A busy answer was tried on another node, and that try failed.
    #[error("the nodes of this pool are busy; try again later")]
    BusyThenLost {
        /// What the busy node asked for.
        retry_after: RetryAfter,
    },
    /// The client went away; there is nobody to answer.
    #[error("the client went away before it had its answer")]
    ClientGone,
    /// The gateway goes down and takes no further request; or the end of a drain cut this one.
    #[error("this gateway is shutting down")]
    Draining,
    /// There are more header fields, in bytes or by number, than the listener takes.
    #[error("the header fields of the request are larger than this gateway takes")]
    FieldsTooLarge,
    /// The client sent its head too slowly.
    #[error("the request head did not arrive in time")]
    HeadTooSlow,
    /// Something went wrong that no rule foresees; a fault of the gateway's own.
    #[error("the gateway could not serve this request")]
    Internal {
        /// What it was, for the log; never told to a client.
        because: String,
    },
    /// The request has a method that is not served here.
    #[error("this method is not served here")]
    MethodNotAllowed {
        /// Those that are, as `Allow` has them (RFC 9110 §10.2.1).
        allow: &'static str,
    },
    /// No site of the listener has the name asked for, and none takes such names.
    #[error("no site of this gateway has that name")]
    Misdirected,
    /// The client does not come from where the site lets clients in.
    #[error("clients from this address are not let in")]
    NotLetIn,
    /// There are no bytes in that range of a file (RFC 9110 §15.5.17).
    #[error("there is nothing in that range")]
    RangeNotSatisfiable,
    /// The client has sent more requests than one may.
    #[error("too many requests from this address; try again later")]
    RateExceeded {
        /// When the next one will be taken.
        retry_after: RetryAfter,
    },
    /// The request line is longer than the listener takes.
    #[error("the request line is longer than this gateway takes")]
    LineTooLong,
    /// The request breaks a rule of HTTP, or one of ours; the sentence says which.
    #[error("{because}")]
    Malformed {
        /// The rule it breaks, as a sentence.
        because: &'static str,
    },
    /// No byte was written to any node in this try.
    #[error("the request was never sent: {asked} could not be reached, {cause}")]
    NeverSent {
        /// The node that was to have it.
        asked: Asked,
        /// How far the try got.
        cause: Unsent,
    },
    /// This process has no descriptor left for a connection to a node.
    #[error("this gateway cannot open another connection at this moment; try again shortly")]
    NoDescriptors,
    /// No node of the pool is in rotation.
    #[error("no node is in rotation that could take this request")]
    NoHealthyNode,
    /// There is no file of that name, or none that is shown.
    #[error("there is no such file")]
    NoSuchFile,
    /// No route takes this method and path, or the site has none.
    #[error("there is no such route")]
    NoSuchRoute,
    /// The request was written, at least in part, and the connection broke before an answer.
    #[error(
        "the connection to {0} broke before an answer came; whether the request was carried out is unknown"
    )]
    OutcomeUnknown(Asked),
    /// What the client has is not what is there (RFC 9110 §13.1).
    #[error("what is there is not what the request asks for")]
    PreconditionFailed,
    /// The request carries a query key the route refuses; the sentence is the route's.
    #[error("{because}")]
    QueryRefused {
        /// The sentence of the route.
        because: Arc<str>,
    },
    /// Every node is full, and as many requests wait as may.
    #[error("every node is busy and no more requests may wait; try again shortly")]
    QueueFull,
    /// Every node was full for as long as a request may wait.
    #[error("every node stayed busy for as long as a request may wait; try again shortly")]
    QueueWaitSpent,
    /// The client took its answer too slowly, or not at all; there is nobody to tell.
    #[error("the client did not take its answer in time")]
    SlowReader,
    /// As many requests are in flight on the listener as may be.
    #[error("as many requests are in flight here as may be; try again shortly")]
    TooManyInFlight {
        /// The status that the listener answers with.
        status: u16,
    },
    /// The request has a transfer coding other than chunked.
    #[error("the only transfer coding this gateway reads is chunked")]
    UnknownCoding,
    /// What the node sent is not HTTP.
    #[error("{0} sent an answer that is not HTTP; whether the request was carried out is unknown")]
    Unreadable(Asked),
}

impl Failure {
    /// The path of a request cannot be that of a file.
    pub const NO_FILE: Self = Self::Malformed {
        because: "the path cannot be that of a file",
    };

    /// Every [`reason`](Self::reason), sorted.
    pub const REASONS: [&str; 38] = [
        "answer_lost",
        "answer_stalled",
        "body_memory",
        "body_too_large",
        "body_too_slow",
        "budget_spent",
        "budget_spent_before_sending",
        "busy_then_lost",
        "client_gone",
        "draining",
        "fields_too_large",
        "head_too_slow",
        "internal",
        "line_too_long",
        "malformed",
        "method_not_allowed",
        "misdirected",
        "no_descriptors",
        "no_healthy_node",
        "no_such_file",
        "no_such_route",
        "node_connect",
        "node_connect_timeout",
        "node_handshake",
        "node_refused_stream",
        "node_resolve",
        "node_unreadable",
        "not_let_in",
        "outcome_unknown",
        "precondition_failed",
        "query_refused",
        "queue_full",
        "queue_wait_spent",
        "range_not_satisfiable",
        "rate_exceeded",
        "slow_reader",
        "too_many_in_flight",
        "unknown_coding",
    ];

    /// A stable label for metrics and logs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::AnswerLost(_) => "answer_lost",
            Self::AnswerStalled(..) => "answer_stalled",
            Self::BodyMemory => "body_memory",
            Self::BodyTooSlow => "body_too_slow",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::BudgetSpentBefore { .. } => "budget_spent_before_sending",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::BusyThenLost { .. } => "busy_then_lost",
            Self::ClientGone => "client_gone",
            Self::Draining => "draining",
            Self::FieldsTooLarge => "fields_too_large",
            Self::HeadTooSlow => "head_too_slow",
            Self::Internal { .. } => "internal",
            Self::LineTooLong => "line_too_long",
            Self::Malformed { .. } => "malformed",
            Self::MethodNotAllowed { .. } => "method_not_allowed",
            Self::Misdirected => "misdirected",
            Self::NeverSent { cause, .. } => match cause {
                Unsent::Connect => "node_connect",
                Unsent::ConnectTimeout => "node_connect_timeout",
                Unsent::Handshake => "node_handshake",
                Unsent::Refused => "node_refused_stream",
                Unsent::Resolve => "node_resolve",
            },
            Self::NoDescriptors => "no_descriptors",
            Self::NoHealthyNode => "no_healthy_node",
            Self::NoSuchFile => "no_such_file",
            Self::NoSuchRoute => "no_such_route",
            Self::NotLetIn => "not_let_in",
            Self::OutcomeUnknown(_) => "outcome_unknown",
            Self::PreconditionFailed => "precondition_failed",
            Self::QueryRefused { .. } => "query_refused",
            Self::QueueFull => "queue_full",
            Self::QueueWaitSpent => "queue_wait_spent",
            Self::RangeNotSatisfiable => "range_not_satisfiable",
            Self::RateExceeded { .. } => "rate_exceeded",
            Self::SlowReader => "slow_reader",
            Self::TooManyInFlight { .. } => "too_many_in_flight",
            Self::UnknownCoding => "unknown_coding",
            Self::Unreadable(_) => "node_unreadable",
        }
    }

    /// Whose side it is on.
    #[must_use]
    pub fn side(&self) -> Side {
        match self {
            Self::BodyTooSlow
            | Self::BodyTooLarge { .. }
            | Self::ClientGone
            | Self::FieldsTooLarge
            | Self::HeadTooSlow
            | Self::LineTooLong
            | Self::Malformed { .. }
            | Self::MethodNotAllowed { .. }
            | Self::Misdirected
            | Self::NoSuchFile
            | Self::NoSuchRoute
            | Self::NotLetIn
            | Self::PreconditionFailed
            | Self::QueryRefused { .. }
            | Self::RangeNotSatisfiable
            | Self::RateExceeded { .. }
            | Self::SlowReader
            | Self::UnknownCoding => Side::Client,
            Self::BodyMemory
            | Self::BudgetSpentBefore { .. }
            | Self::Draining
            | Self::Internal { .. }
            | Self::NoDescriptors
            | Self::QueueFull
            | Self::QueueWaitSpent
            | Self::TooManyInFlight { .. } => Side::Gateway,
            Self::AnswerLost(_)
            | Self::AnswerStalled(..)
            | Self::BudgetSpent { .. }
            | Self::BusyThenLost { .. }
            | Self::NeverSent { .. }
            | Self::NoHealthyNode
            | Self::OutcomeUnknown(_)
            | Self::Unreadable(_) => Side::Node,
        }
    }

    /// The node the request was really put to, where there is one.
    #[must_use]
    pub fn asked(&self) -> Option<&Asked> {
        match self {
            Self::AnswerLost(asked)
            | Self::AnswerStalled(asked, _)
            | Self::BudgetSpent { asked, .. }
            | Self::NeverSent { asked, .. }
            | Self::OutcomeUnknown(asked)
            | Self::Unreadable(asked) => Some(asked),
            Self::BodyMemory
            | Self::BodyTooSlow
            | Self::BodyTooLarge { .. }
            | Self::BudgetSpentBefore { .. }
            | Self::BusyThenLost { .. }
            | Self::ClientGone
            | Self::Draining
            | Self::FieldsTooLarge
            | Self::HeadTooSlow
            | Self::Internal { .. }
            | Self::LineTooLong
            | Self::Malformed { .. }
            | Self::MethodNotAllowed { .. }
            | Self::Misdirected
            | Self::NoDescriptors
            | Self::NoHealthyNode
            | Self::NoSuchFile
            | Self::NoSuchRoute
            | Self::NotLetIn
            | Self::PreconditionFailed
            | Self::QueryRefused { .. }
            | Self::QueueFull
            | Self::QueueWaitSpent
            | Self::RangeNotSatisfiable
            | Self::RateExceeded { .. }
            | Self::SlowReader
            | Self::TooManyInFlight { .. }
            | Self::UnknownCoding => None,
        }
    }
}

#[cfg(test)]
mod tests;
