//! Nodes that may serve the same request, and how they are reached, chosen and watched.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Name;
use crate::settings as s;

/// Nodes that may serve the same request, and how one is chosen and watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: Name,
    /// Its nodes, in the order of the file; at least one, names unique.
    pub nodes: Vec<Node>,
    /// How one is chosen.
    pub balance: Balance,
    /// How a node is reached.
    pub tls: NodeTls,
    /// The name checked in a node's certificate.
    pub tls_name: TlsName,
    /// Whether nodes are spoken to in HTTP/2.
    pub http2: bool,
    /// What `Host` nodes see; `None`: what the site says.
    pub host: Option<NodeHost>,
    /// Requests in flight per node; at least 1.
    pub in_flight: u32,
    /// Requests in flight on the whole pool; `None`: not bounded.
    pub in_flight_total: Option<u32>,
    /// Longest wait for a free slot.
    pub queue_wait: Duration,
    /// Requests that may wait at once.
    pub queue: u32,
    /// Connect and handshake, each try.
    pub connect_timeout: Duration,
    /// To connect alone, each try; at most `connect_timeout`, and equal to it in clear text.
    pub tcp_timeout: Duration,
    /// Longest silence inside an answer, once its head has come.
    pub answer_gap: Duration,
    /// How long an idle connection to a node is kept.
    pub keep_idle: Duration,
    /// Requests on one connection to a node; the last is sent with `Connection: close`.
    pub keep_requests: u32,
    /// Further tries after the first, each on another node.
    pub retries: u32,
    /// Whether a 503 with `Retry-After` is tried once on another node when the route is repeatable.
    pub retry_busy: bool,
    /// What is tried again; its `busy` is `retry_busy`.
    pub retry_on: RetryOn,
    /// Tries again, in per cent of the requests; `None`: not bounded.
    pub retry_budget: Option<u8>,
    /// How nodes are probed.
    pub probe: Probe,
    /// What probes and failures do to a node.
    pub health: Health,
    /// How long a node that returns takes to get its full share.
    pub slow_start: Duration,
}

/// One address in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: label, TLS server name and the name that is verified.
    pub name: Name,
    /// `HOST:PORT`, host a name, an IPv4 address or a bracketed IPv6 address.
    pub addr: Arc<str>,
    /// Its share of the requests, compared with others'; at least 1.
    pub weight: u16,
    /// Whether it is asked only when no other node may take the request.
    pub backup: bool,
    /// Requests in flight on it; `None`: the pool's number.
    pub in_flight: Option<u32>,
    /// The name checked in its certificate; `None`: as the pool has it.
    pub tls_name: Option<Arc<str>>,
    /// Shards it starts as the primary of, as the cluster writes them (`0..64`, `64..`).
    pub shards: Option<Arc<str>>,
    /// The node it is a copy of.
    pub replica: Option<Name>,
}

/// How a node is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Balance {
    /// The same for the same thing, as long as nodes stay.
    Hash(HashBy),
    /// The one with the fewest requests in flight; ties in turn.
    LeastInFlight,
    /// The better of two picked by weight.
    Random,
    /// In turn, by weight.
    RoundRobin,
}

/// By what a choice is to stay the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashBy {
    /// The client's address.
    Client,
    /// This cookie.
    Cookie(Arc<str>),
    /// This field, lower case.
    Header(Arc<str>),
    /// Path and query.
    Uri,
}

/// How a node is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeTls {
    /// Clear text.
    Clear,
    /// TLS trusting whom the system trusts.
    System,
    /// TLS whose certificate nobody checks.
    Unverified,
    /// TLS trusting only this PEM file; the name checked is the node's name.
    Verified(PathBuf),
}

/// The name checked in a node's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsName {
    /// The host of its address.
    Address,
    /// This one.
    Literal(Arc<str>),
    /// The node's name.
    Node,
}

/// What `Host` nodes see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeHost {
    /// The client's own.
    Client,
    /// This one.
    Literal(Arc<str>),
    /// The address of the node dialled.
    Node,
}

/// What is tried again on another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOn {
    /// A connection that failed.
    pub connect: bool,
    /// Everything that a node cannot have begun; holds `connect`.
    pub unsent: bool,
    /// Requests with safe methods, sent or not; routes that are repeatable are in any case.
    pub repeatable: bool,
    /// A 503 with `Retry-After`, once.
    pub busy: bool,
}

/// How nodes are probed: over the pool's transport, on a connection of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is asked.
    pub kind: ProbeKind,
    /// From the start of one probe to the start of the next; at least 50 ms.
    pub every: Duration,
    /// How long one may take; at least 50 ms.
    pub timeout: Duration,
    /// How far the interval may be off, in per cent.
    pub jitter: u8,
}

/// What a probe asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// For an answer with an expected status.
    Http(Box<HttpProbe>),
    /// Nothing; there are no probes.
    None,
    /// `GET /ready`, for the readiness document.
    Ready,
    /// For a connection, TLS included.
    Tcp,
}

/// A request that asks a node's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpProbe {
    /// Path and query.
    pub path: Arc<str>,
    /// Method.
    pub method: Arc<str>,
    /// `Host`; `None`: the node's address.
    pub host: Option<Arc<str>>,
    /// Statuses that are good; sorted, at least one.
    pub expect: Vec<u16>,
}

/// What probes and failures of real requests do to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Consecutive failures to leave rotation; 1 to 255.
    pub fall: u8,
    /// Consecutive good probes to return; 1 to 255.
    pub rise: u8,
    /// Time after a change in which counts do not eject.
    pub floor: Duration,
    /// Whether counts never eject the last node.
    pub keep_last: bool,
    /// Whether transport failures of real requests count.
    pub count_traffic: bool,
    /// Consecutive failures of real requests to leave rotation; 1 to 255.
    pub failures: u8,
    /// How long a node without probes is out at first …
    pub backoff_min: Duration,
    /// … and at most, doubling in between.
    pub backoff_max: Duration,
}

impl Pool {
    /// A pool in clear text and without probes, with every default.
    #[must_use]
    pub fn new(name: Name, nodes: Vec<Node>) -> Self {
        let in_flight = s::POOL_IN_FLIGHT.number();
        Self {
            name,
            balance: Balance::LeastInFlight,
            tls: NodeTls::Clear,
            tls_name: TlsName::Node,
            http2: s::POOL_HTTP2.is_on(),
            host: None,
            in_flight,
            in_flight_total: None,
            queue_wait: s::POOL_QUEUE_WAIT.time(),
            queue: Self::usual_queue(in_flight, nodes.len()),
            connect_timeout: s::POOL_CONNECT.time(),
            tcp_timeout: s::POOL_CONNECT.time(),
            answer_gap: s::POOL_ANSWER_GAP.time(),
            keep_idle: s::POOL_KEEP_IDLE.time(),
            keep_requests: s::POOL_KEEP_REQUESTS.number(),
            retries: s::POOL_RETRIES.number(),
            retry_busy: false,
            retry_on: RetryOn::default(),
            retry_budget: None,
            probe: Probe {
                kind: ProbeKind::None,
                every: s::PROBE_EVERY.time(),
                timeout: s::PROBE_TIMEOUT.time(),
                jitter: s::PROBE_JITTER.number(),
            },
            health: Health::new(s::PROBE_FALL.number(), s::PROBE_RISE.number()),
            slow_start: s::POOL_SLOW_START.time(),
            nodes,
        }
    }

    /// Requests that may wait when nothing is said: four for each one that may be in flight.
    pub(crate) fn usual_queue(in_flight: u32, nodes: usize) -> u32 {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        in_flight.saturating_mul(nodes).saturating_mul(4)
    }
}

impl Node {
    /// A node with every default.
    #[must_use]
    pub fn new(name: Name, addr: Arc<str>) -> Self {
        Self {
            name,
            addr,
            weight: s::NODE_WEIGHT.number(),
            backup: s::NODE_BACKUP.is_on(),
            in_flight: None,
            tls_name: None,
            shards: None,
            replica: None,
        }
    }
}

impl Health {
    /// These streaks, for probes and traffic alike, and every default.
    #[must_use]
    pub fn new(fall: u8, rise: u8) -> Self {
        Self {
            fall,
            rise,
            floor: s::EJECTION_FLOOR.time(),
            keep_last: s::EJECTION_KEEP_LAST.is_on(),
            count_traffic: s::EJECTION_COUNT_TRAFFIC.is_on(),
            failures: fall,
            backoff_min: s::BACKOFF_MIN.time(),
            backoff_max: s::BACKOFF_MAX.time(),
        }
    }
}

impl Default for RetryOn {
    /// Everything that a node cannot have begun.
    fn default() -> Self {
        Self {
            connect: true,
            unsent: true,
            repeatable: false,
            busy: false,
        }
    }
}
