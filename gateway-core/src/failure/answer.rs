//! Turns a failure into what its client is told.
//!
//! Source: the errors section of the front door; GATEWAY §6; adr/0012 for the outcome field, adr/0037
//! for what an edge says otherwise.

use gateway_config::model::Site;
use serde::Serialize;

use super::{Failure, RetryAfter, Unsent};

/// What a client is told about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status. 499 is never sent: the client is gone, and only logs show it.
    pub status: u16,
    /// The stable token of the JSON body.
    pub code: &'static str,
    /// One sentence that names the node where one was asked.
    pub sentence: String,
    /// One sentence that names no node.
    pub plain: &'static str,
    /// When the client may come back.
    pub retry_after: Option<RetryAfter>,
    /// What is known about the request having been carried out, where that is a question.
    pub outcome: Option<Outcome>,
    /// Whether the client's connection is closed after it, whatever else speaks for keeping it.
    pub close: bool,
}

/// What is known about a request that got no answer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No node has seen it.
    NotSent,
    /// A node may have carried it out.
    Unknown,
}

impl Outcome {
    /// The value of `X-Gateway-Outcome`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "not-sent",
            Self::Unknown => "unknown",
        }
    }
}

impl Answer {
    /// The JSON body: `{"error":"…","code":"…"}`.
    #[must_use]
    pub fn json(&self) -> String {
        let body = Body {
            error: &self.sentence,
            code: self.code,
        };
        serde_json::to_string(&body)
            .unwrap_or_else(|_| format!(r#"{{"error":"","code":"{}"}}"#, self.code))
    }

    /// The HTML body: the same line, which holds nothing of a request.
    #[must_use]
    pub fn html(&self) -> String {
        format!(
            "<!doctype html><title>{}</title><p>{}</p>\n",
            self.status, self.plain
        )
    }

    /// The plain body: one line that names no node.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n", self.plain)
    }
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    code: &'a str,
}

/// Everything of an answer but its sentence.
struct Row {
    status: u16,
    code: &'static str,
    plain: &'static str,
    retry_after: Option<RetryAfter>,
    outcome: Option<Outcome>,
    close: bool,
}

impl Failure {
    /// What the client is told at an edge, where all that took too long is 504.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.with(self.row())
    }

    /// What the client of this site is told. A front door has one status for all that was never sent.
    #[must_use]
    pub fn answer_at(&self, site: &Site) -> Answer {
        match self {
            Self::NeverSent { .. } if site.is_front_door() => {
                self.with(unreachable_node(Outcome::NotSent))
            }
            _ => self.answer(),
        }
    }

    fn with(&self, row: Row) -> Answer {
        let Row {
            status,
            code,
            plain,
            retry_after,
            outcome,
            close,
        } = row;
        Answer {
            status,
            code,
            sentence: self.to_string(),
            plain,
            retry_after,
            outcome,
            close,
        }
    }

    fn row(&self) -> Row {
        match self {
            Self::AnswerLost(_) => unreachable_node(Outcome::Unknown).closing(),
            Self::AnswerStalled(..) => timeout(Outcome::Unknown).closing(),
            Self::BodyMemory => overloaded(RetryAfter::ONE_SECOND).closing(),
            Self::BodyTooSlow | Self::HeadTooSlow => Row::new(
                408,
                "request_timeout",
                "The request did not arrive in time.",
            )
            .closing(),
            Self::BodyTooLarge { .. } => too_large(413, "The request body is too large."),
            Self::BudgetSpentBefore { .. } => timeout(Outcome::NotSent),
            Self::BudgetSpent { .. } => timeout(Outcome::Unknown),
            Self::BusyThenLost { retry_after } => overloaded(retry_after.clone()),
            Self::ClientGone => Row::new(499, "client_gone", "The client went away.").closing(),
            Self::Draining => overloaded(RetryAfter::ONE_SECOND).closing(),
            Self::FieldsTooLarge => {
                too_large(431, "The header fields of the request are too large.")
            }
            Self::Internal { .. } => {
                Row::new(500, "internal", "The gateway could not serve this request.").closing()
            }
            Self::LineTooLong => too_large(414, "The request line is too long."),
            Self::Malformed { .. } => bad_request().closing(),
            Self::MethodNotAllowed { .. } => {
                Row::new(405, "method_not_allowed", "This method is not served here.")
            }
            Self::Misdirected => Row::new(
                421,
                "misdirected",
                "Nothing is served under that name here.",
            ),
            Self::NeverSent {
                cause: Unsent::ConnectTimeout,
                ..
            } => timeout(Outcome::NotSent),
            Self::NeverSent { .. } => unreachable_node(Outcome::NotSent),
            Self::NoHealthyNode => Row {
                retry_after: Some(RetryAfter::ONE_SECOND),
                ..Row::new(
                    503,
                    "no_healthy_upstream",
                    "The service is not available at this moment.",
                )
            },
            Self::NoSuchFile => Row::new(404, "no_such_file", "There is nothing here."),
            Self::NoSuchRoute => Row::new(404, "no_such_route", "There is nothing here."),
            Self::NotLetIn => Row::new(
                403,
                "not_let_in",
                "Clients from this address are not let in.",
            ),
            Self::OutcomeUnknown(_) => unreachable_node(Outcome::Unknown),
            Self::PreconditionFailed => Row::new(
                412,
                "precondition_failed",
                "What is here is not what was asked for.",
            ),
            Self::RangeNotSatisfiable => Row::new(
                416,
                "range_not_satisfiable",
                "There is nothing in that range.",
            ),
            Self::RateExceeded { retry_after } => Row {
                retry_after: Some(retry_after.clone()),
                ..Row::new(429, "rate_exceeded", "Too many requests; try again later.")
            },
            Self::QueryRefused { .. } => bad_request(),
            Self::NoDescriptors | Self::QueueFull | Self::QueueWaitSpent => {
                overloaded(RetryAfter::ONE_SECOND)
            }
            Self::SlowReader => {
                Row::new(499, "slow_reader", "The answer was not taken in time.").closing()
            }
            Self::TooManyInFlight { status } => Row {
                status: *status,
                ..overloaded(RetryAfter::ONE_SECOND)
            },
            Self::UnknownCoding => Row::new(
                501,
                "bad_request",
                "The transfer coding of the request is not supported.",
            )
            .closing(),
            Self::Unreadable(_) => Row {
                outcome: Some(Outcome::Unknown),
                ..Row::new(
                    502,
                    "upstream_unreadable",
                    "The service gave an answer that cannot be read.",
                )
            },
        }
    }

    /// The error type of `Proxy-Status` (RFC 9209 §2.3); `None` where the RFC has none for it, which
    /// is so for most of what clients do wrong.
    #[must_use]
    pub fn proxy_error(&self) -> Option<&'static str> {
        Some(match self {
            Self::AnswerLost(_) => "http_response_incomplete",
            Self::AnswerStalled(..) | Self::BudgetSpent { .. } => "http_response_timeout",
            Self::BodyMemory
            | Self::BusyThenLost { .. }
            | Self::NoDescriptors
            | Self::QueueFull
            | Self::QueueWaitSpent
            | Self::TooManyInFlight { .. } => "connection_limit_reached",
            Self::BudgetSpentBefore { .. } => "connection_timeout",
            Self::Draining | Self::NoHealthyNode => "destination_unavailable",
            Self::Internal { .. } => "proxy_internal_error",
            Self::Malformed { .. } | Self::UnknownCoding => "http_request_error",
            Self::NeverSent { cause, .. } => match cause {
                Unsent::Connect => "connection_refused",
                Unsent::ConnectTimeout => "connection_timeout",
                Unsent::Handshake => "tls_protocol_error",
                Unsent::Refused => "connection_terminated",
                Unsent::Resolve => "dns_error",
            },
            Self::NotLetIn | Self::RateExceeded { .. } => "http_request_denied",
            Self::OutcomeUnknown(_) => "connection_terminated",
            Self::Unreadable(_) => "http_protocol_error",
            Self::BodyTooSlow
            | Self::BodyTooLarge { .. }
            | Self::ClientGone
            | Self::FieldsTooLarge
            | Self::HeadTooSlow
            | Self::LineTooLong
            | Self::MethodNotAllowed { .. }
            | Self::Misdirected
            | Self::NoSuchFile
            | Self::NoSuchRoute
            | Self::PreconditionFailed
            | Self::QueryRefused { .. }
            | Self::RangeNotSatisfiable
            | Self::SlowReader => return None,
        })
    }

    /// Whether a node may have carried the request out.
    #[must_use]
    pub(crate) fn is_outcome_unknown(&self) -> bool {
        self.row().outcome == Some(Outcome::Unknown)
    }

    /// Whether the request failed because no node could be brought to answer it, and not because
    /// of what it is or because its time is over.
    #[must_use]
    pub(crate) fn is_for_want_of_a_node(&self) -> bool {
        match self {
            Self::NeverSent { .. }
            | Self::NoDescriptors
            | Self::NoHealthyNode
            | Self::OutcomeUnknown(_)
            | Self::QueueFull
            | Self::QueueWaitSpent => true,
            Self::AnswerLost(_)
            | Self::AnswerStalled(..)
            | Self::BodyMemory
            | Self::BodyTooSlow
            | Self::BodyTooLarge { .. }
            | Self::BudgetSpentBefore { .. }
            | Self::BudgetSpent { .. }
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
            | Self::NoSuchFile
            | Self::NoSuchRoute
            | Self::NotLetIn
            | Self::PreconditionFailed
            | Self::QueryRefused { .. }
            | Self::RangeNotSatisfiable
            | Self::RateExceeded { .. }
            | Self::SlowReader
            | Self::TooManyInFlight { .. }
            | Self::UnknownCoding
            | Self::Unreadable(_) => false,
        }
    }
}

impl Row {
    fn new(status: u16, code: &'static str, plain: &'static str) -> Self {
        Self {
            status,
            code,
            plain,
            retry_after: None,
            outcome: None,
            close: false,
        }
    }

    fn closing(self) -> Self {
        Self {
            close: true,
            ..self
        }
    }
}

fn bad_request() -> Row {
    Row::new(400, "bad_request", "The request cannot be understood.")
}

/// The connection is closed, since what is left of the request will not be read.
fn too_large(status: u16, plain: &'static str) -> Row {
    Row::new(status, "request_too_large", plain).closing()
}

fn overloaded(retry_after: RetryAfter) -> Row {
    Row {
        retry_after: Some(retry_after),
        ..Row::new(503, "overloaded", "The service is busy; try again shortly.")
    }
}

fn unreachable_node(outcome: Outcome) -> Row {
    Row {
        outcome: Some(outcome),
        ..Row::new(
            502,
            "upstream_unreachable",
            "The service could not be reached.",
        )
    }
}

fn timeout(outcome: Outcome) -> Row {
    Row {
        outcome: Some(outcome),
        ..Row::new(
            504,
            "upstream_timeout",
            "The service did not answer in time.",
        )
    }
}
