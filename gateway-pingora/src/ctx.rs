//! What one request carries from step to step. It only grows: a later step reads what an earlier
//! one left, and never asks again.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_config::model::{Body, Name};
use gateway_core::deadline::Budget;
use gateway_core::failure::{Asked, Failure};
use gateway_core::node::{LiveNode, Slot};
use gateway_core::retry::Tries;
use gateway_core::tally::Outcome;
use gateway_core::tried::Hints;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use pingora_core::protocols::tls::SslDigest;
use pingora_core::{Error, ErrorType};

use crate::body_memory::Held;
use crate::client::{Client, Watch};
use crate::clock;
use crate::compress::Encoder;
use crate::connections_out::Turn;
use crate::counts::InFlight;
use crate::ids::REQUEST_ID;
use crate::listening::Counted;
use crate::metrics::Metrics;
use crate::origin::Origin;
use crate::pools::LivePool;
use crate::replay::Replay;
use crate::serving::Shared;
use crate::site::ServedSite;

/// What one request carries.
pub(crate) struct Ctx {
    /// When its head had been read.
    pub(crate) started: Instant,
    /// Left by `admit`.
    pub(crate) admitted: Option<Admitted>,
    /// The route that takes it; left by `route`.
    pub(crate) route: Option<Name>,
    /// Its place in the site; left by `route`.
    pub(crate) route_at: Option<usize>,
    /// Left by `route`, for a request that goes to a node.
    pub(crate) routed: Option<Routed>,
    /// Left by `body`, for a request that is read whole.
    pub(crate) body: Option<Buffered>,
    /// What has been passed on of a body that is not read whole.
    pub(crate) replay: Option<Replay>,
    /// Whether some of the body was passed on and is not kept, so that it cannot be sent again.
    pub(crate) is_body_gone: bool,
    /// Left by `choose`; taken by `judge` when the try has failed.
    pub(crate) attempt: Option<Attempt>,
    /// The nodes asked so far.
    pub(crate) asked: AskedSoFar,
    /// What compresses the answer; left by `answer`.
    pub(crate) encoder: Option<Encoder>,
    /// Whether an answer of this status to this method has no content, whatever comes after its head.
    pub(crate) has_no_content: bool,
    /// Why no node's answer is given.
    pub(crate) failure: Option<Failure>,
    /// Whether the last step has run. Whoever is dropped before it was cut.
    pub(crate) is_over: bool,
}

/// A request that is being served.
pub(crate) struct Admitted {
    /// Who asks.
    pub(crate) client: Arc<Client>,
    /// Until when the node may be silent.
    pub(crate) watch: Arc<Watch>,
    /// The site, pinned for the request's life.
    pub(crate) site: Arc<ServedSite>,
    /// What is asked, for a line about a request that is cut.
    pub(crate) head: Head,
    /// How far it has got.
    pub(crate) passed: Passed,
    /// Where its end is counted and written.
    pub(crate) shared: Arc<Shared>,
    /// Whether the site has the name asked for.
    pub(crate) is_named: bool,
    /// Where the request comes from.
    pub(crate) origin: Origin,
    /// The request's id.
    pub(crate) id: HeaderValue,
    /// The generation that served when the request came.
    pub(crate) generation: u64,
    /// Counts it for as long as it lasts.
    pub(crate) _in_flight: InFlight,
    /// Counts it where its listener bounds what is in flight; left by `screen`.
    pub(crate) counted: Option<Counted>,
}

/// What a line says of a request. Shares the bytes of its head, and copies none.
pub(crate) struct Head {
    /// The method.
    pub(crate) method: Method,
    /// The target.
    pub(crate) uri: Uri,
    /// Whom it is for, where the target does not say.
    pub(crate) host: Option<HeaderValue>,
    /// The version of HTTP.
    pub(crate) version: Version,
    /// What the handshake came to.
    pub(crate) tls: Option<Arc<SslDigest>>,
}

impl Head {
    /// Whom the request is for, as the client wrote it; empty where it does not say.
    pub(crate) fn authority(&self) -> &str {
        let host = || self.host.as_ref().and_then(|host| host.to_str().ok());
        let named = self.uri.authority().map(Authority::as_str);
        named.or_else(host).unwrap_or_default()
    }

    /// The target, as the client wrote it.
    pub(crate) fn target(&self) -> &[u8] {
        let target = self.uri.path_and_query().map(PathAndQuery::as_str);
        target.unwrap_or_default().as_bytes()
    }
}

/// How far a request has got: its session is gone when it is cut.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// The status of the answer; 0 before there is one.
    pub(crate) status: AtomicU16,
    /// Bytes taken of its body.
    pub(crate) bytes_in: AtomicU64,
    /// Bytes passed on of the answer's body.
    pub(crate) bytes_out: AtomicU64,
}

impl Passed {
    /// The head of its answer is sent.
    pub(crate) fn answers(&self, status: StatusCode) {
        self.status.store(status.as_u16(), Ordering::Relaxed);
    }

    /// So much of the answer's body is sent.
    pub(crate) fn sends(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A request that a route takes.
pub(crate) struct Routed {
    /// Where it goes.
    pub(crate) pool: Arc<LivePool>,
    /// What the node is asked for.
    pub(crate) path_and_query: String,
    /// What may be tried, and what has been.
    pub(crate) tries: Tries,
    /// The protocols that a 101 may change to; `None`: to none.
    pub(crate) protocols: Option<HeaderValue>,
    /// How the body travels.
    pub(crate) body: Body,
    /// How long it may take up to the head of the answer.
    pub(crate) budget: Budget,
    /// Whether its body has been passed on, which is when the budget begins.
    pub(crate) is_passed_on: bool,
    /// Longest silence inside the answer.
    pub(crate) answer_gap: Duration,
    /// When the whole exchange is over, if it is bounded.
    pub(crate) end: Option<Instant>,
}

/// A body that was read whole.
pub(crate) struct Buffered {
    /// Its bytes.
    pub(crate) bytes: Bytes,
    /// Gives the memory back.
    pub(crate) _held: Option<Held>,
}

/// One node, asked once.
pub(crate) struct Attempt {
    /// The slot on it.
    pub(crate) slot: Slot,
    /// How far the try has got.
    pub(crate) reached: Reached,
    /// Whether it has been sent what an earlier one was sent of the body.
    pub(crate) is_caught_up: bool,
    /// The address of the node that is dialled.
    pub(crate) dialled: Option<SocketAddr>,
    /// Its addresses at which no connection came about.
    pub(crate) passed_over: Vec<SocketAddr>,
    /// Whether the connection is to carry no request after this one.
    pub(crate) is_last_on_connection: bool,
    /// The turn to take a connection, until it is taken.
    pub(crate) turn: Option<Turn>,
    /// The connection, once there is one.
    pub(crate) connection: Option<RawFd>,
    /// The protocols that the node is asked to change to.
    pub(crate) asks_for: Option<HeaderValue>,
    /// What it has come to so far; counted when it ends.
    pub(crate) outcome: Outcome,
}

/// How far a try has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Nothing has been written.
    Nothing,
    /// The first write has been entered.
    Sent,
    /// The head of an answer that is the client's has come.
    Answered,
    /// A 503 with `Retry-After` has come, and another node is asked instead.
    Busy,
    /// The connection had ended while it rested; the node is dialled again, at no cost.
    Ended,
    /// A step has found a limit exceeded, and has said so in [`Ctx::failure`].
    Stopped,
}

/// The nodes asked so far.
#[derive(Default)]
pub(crate) struct AskedSoFar {
    /// Who they are, and what leads the request to the same node again; the latter left by `route`.
    pub(crate) hints: Hints,
    /// How many there were.
    pub(crate) made: u32,
    /// The node asked last.
    pub(crate) last: Option<Arc<LiveNode>>,
}

impl Ctx {
    /// A request whose head has just been read.
    pub(crate) fn new() -> Self {
        Ctx {
            started: clock::now(),
            admitted: None,
            route: None,
            route_at: None,
            routed: None,
            body: None,
            replay: None,
            is_body_gone: false,
            attempt: None,
            asked: AskedSoFar::default(),
            encoder: None,
            has_no_content: false,
            failure: None,
            is_over: false,
        }
    }

    /// What `admit` left.
    ///
    /// # Errors
    /// When it has not run, which is a fault of ours.
    pub(crate) fn admitted(&self) -> Result<&Admitted, Box<Error>> {
        self.admitted.as_ref().ok_or_else(|| out_of_order("admit"))
    }

    /// The metrics of its site by their old names, where there are any.
    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.admitted.as_ref()?.site.metrics.as_deref()
    }

    /// What `route` left.
    ///
    /// # Errors
    /// When it has not run, which is a fault of ours.
    pub(crate) fn routed(&self) -> Result<&Routed, Box<Error>> {
        self.routed.as_ref().ok_or_else(|| out_of_order("route"))
    }
}

impl Admitted {
    /// Puts into an answer what every answer to this request has.
    pub(crate) fn dress(&self, fields: &mut HeaderMap) {
        self.site.dress(fields, self.origin.is_https);
        fields.insert(REQUEST_ID, self.id.clone());
    }
}

impl Attempt {
    /// Takes in that no connection came about where it was dialled; whether the node has an address left
    /// to dial.
    pub(crate) fn has_another_address(&mut self, now: Instant) -> bool {
        let node = self.slot.node();
        if let Some(address) = self.dialled.take() {
            node.address_failed(address, now);
            self.passed_over.push(address);
        }
        node.has_another(&self.passed_over)
    }

    /// The node, as failures name it.
    pub(crate) fn asked(&self) -> Asked {
        let node = self.slot.node();
        Asked {
            node: Arc::clone(node.name()),
            addr: Arc::clone(node.addr()),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.slot.node().tally().count(self.outcome);
    }
}

fn out_of_order(step: &'static str) -> Box<Error> {
    Error::explain(ErrorType::InternalError, format!("step {step} has not run"))
}
