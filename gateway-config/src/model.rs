//! The validated nouns: what a gateway serves, where, and under which limits.
//!
//! Everything here has been checked; nothing here is checked again. Made only by
//! [`load`](crate::load()) from a file and by [`front_door`](crate::front_door) from the
//! command line; read by every crate above this one.
//!
//! Source: adr/0010, adr/0011.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::template::Template;

/// The name of a listener, site, route, pool, node or TLS profile, as the operator wrote it.
///
/// 1 to 63 characters of `A-Z a-z 0-9 - _ .`, so that it may stand in a metric label, a log
/// field and a TLS server name without being escaped. Cheap to clone.
pub type Name = Arc<str>;

/// Everything one process serves.
///
/// Tables are sorted by name, so equal content is equal whatever the order in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Addresses that accept connections.
    pub listeners: Vec<Listener>,
    /// What is served on them.
    pub sites: Vec<Site>,
    /// Nodes that may serve the same request.
    pub pools: Vec<Pool>,
    /// Bounds of the whole process.
    pub limits: Limits,
    /// Worker threads; at least 1. `None`: one per available core.
    pub workers: Option<u16>,
    /// How long requests in flight may go on once the process drains.
    pub drain: Duration,
    /// Where the access log goes.
    pub access_log: AccessLog,
}

/// Bounds of the whole process.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of request bodies held in memory at once, over all connections.
    pub body_memory: u64,
    /// Connections per listener.
    pub connections: u32,
    /// TLS handshakes under way per listener.
    pub handshakes: u32,
}

/// Where one line per request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// JSON lines appended to a file.
    File(PathBuf),
    /// No access log.
    Off,
    /// JSON lines on the standard output.
    Stdout,
}

/// An address that accepts connections, with its TLS and the limits of what comes in.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Its name.
    pub name: Name,
    /// The address bound.
    pub bind: SocketAddr,
    /// Certificate and key; `None` is clear text.
    pub tls: Option<Tls>,
    /// Whether HTTP/2 is offered by ALPN. Only on a TLS listener.
    pub http2: bool,
    /// Bounds on a request head.
    pub head: HeadLimits,
    /// How long an idle keep-alive connection is kept.
    pub idle: Duration,
    /// Longest silence inside a request body.
    pub body_gap: Duration,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// Longest time in which a client takes no byte of an answer.
    pub write_gap: Duration,
    /// Least average rate, in bytes per second over 30 s, at which a client sends or takes a body.
    pub min_rate: u32,
}

/// Bounds on a request head. RFC 9110 §2.3 leaves them to the implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadLimits {
    /// Bytes of the request line without its CRLF; over it 414.
    pub line: u32,
    /// Bytes of all field lines together, CRLFs included; over it 431.
    pub fields: u32,
    /// Number of field lines; over it 431.
    pub count: u16,
    /// From the first byte to the end of the head; over it 408.
    pub timeout: Duration,
}

/// A certificate chain and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Name of the profile.
    pub name: Name,
    /// PEM file with the chain, leaf first.
    pub chain: PathBuf,
    /// PEM file with the private key, readable by its owner only.
    pub key: PathBuf,
}

/// The names served together, and what happens to a request for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Its name.
    pub name: Name,
    /// The listener it is served on.
    pub listener: Name,
    /// Host names, lower case; empty means every name that no other site of the listener has.
    pub hosts: Vec<Arc<str>>,
    /// How a path becomes segments.
    pub segments: Segments,
    /// How a failure of ours is written.
    pub failures: FailureStyle,
    /// Whether `/health`, `/ready` and `/metrics` are answered here, about this pool.
    pub endpoints: Option<Name>,
    /// What becomes of a client's `X-Forwarded-For`.
    pub forwarded_for: ForwardedFor,
    /// Request fields carried to the node, lower case; `None` carries all but hop-by-hop ones.
    pub request_fields: Option<Vec<Arc<str>>>,
    /// Answer fields carried to the client, lower case; `None` carries all but hop-by-hop ones.
    pub response_fields: Option<Vec<Arc<str>>>,
    /// What `Host` the node sees.
    pub host: HostSent,
    /// Its routes, in the order in which they are tried.
    pub routes: Vec<Route>,
}

/// How a path becomes segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// Split first, decode each, drop empty ones, refuse dot segments as names.
    Decoded,
    /// RFC 3986 §6.2.2: dot segments removed, unreserved escapes decoded.
    Normalised,
}

/// How a failure of ours is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureStyle {
    /// `{"error":…,"code":…}`, with sentences that name the node asked.
    Json,
    /// One short sentence of plain text that names no node.
    Text,
}

/// What becomes of a client's `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedFor {
    /// The peer's address is appended after every line the client sent.
    Append,
    /// Only the peer's address is sent.
    Replace,
}

/// What `Host` the node sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSent {
    /// The client's own.
    Client,
    /// The address of the node dialled.
    Node,
}

/// A path under a site and what happens there.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name, unique within the site.
    pub name: Name,
    /// Methods it takes, compared exactly; empty means every method.
    pub methods: Vec<Arc<str>>,
    /// The paths it takes.
    pub pattern: Pattern,
    /// Query keys that travel, in the order in which they are sent; `None` carries the query as it is.
    pub query: Option<Vec<Arc<str>>>,
    /// Query keys whose presence is answered 400, each with the sentence of that answer.
    pub refuse_query: Vec<RefusedKey>,
    /// Whether a second request is as good as the first (adr/0012).
    pub repeatable: bool,
    /// From the request read whole to the head of the answer.
    pub budget: Duration,
    /// How the body travels.
    pub body: Body,
    /// Whether `Upgrade` is carried and a 101 opens a tunnel.
    pub upgrade: bool,
    /// Where the request goes.
    pub pool: Name,
}

/// The paths a route takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every path below this one, on segment boundaries.
    Prefix(Arc<str>),
    /// Literal segments and captured names, by position.
    Template(Template),
}

/// A query key that a route refuses, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedKey {
    /// The key, compared with the raw text of the query.
    pub key: Arc<str>,
    /// The sentence of the 400.
    pub because: Arc<str>,
}

/// How a request body travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Read whole before a node is chosen, at most this many bytes; over it 413.
    Buffer(u64),
    /// Passed on as it comes, at most this many bytes; over it 413.
    Stream(u64),
}

/// Nodes that may serve the same request, and how one is chosen and watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: Name,
    /// Its nodes, in the order of the file; at least one, names unique.
    pub nodes: Vec<Node>,
    /// How a node is reached.
    pub tls: NodeTls,
    /// Requests in flight per node; at least 1.
    pub in_flight: u32,
    /// Longest wait for a free slot.
    pub queue_wait: Duration,
    /// Requests that may wait at once.
    pub queue: u32,
    /// Connect and handshake, each try.
    pub connect_timeout: Duration,
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
    /// How nodes are probed.
    pub probe: Probe,
    /// What probes and failures do to a node.
    pub health: Health,
}

/// One address in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: label, TLS server name and the name that is verified.
    pub name: Name,
    /// `HOST:PORT`, host a name, an IPv4 address or a bracketed IPv6 address.
    pub addr: Arc<str>,
    /// Shards it starts as the primary of, as the cluster writes them (`0..64`, `64..`).
    pub shards: Option<Arc<str>>,
    /// The node it is a copy of.
    pub replica: Option<Name>,
}

/// How a node is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeTls {
    /// Clear text.
    Clear,
    /// TLS whose certificate nobody checks.
    Unverified,
    /// TLS trusting only this PEM file; the name checked is the node's name.
    Verified(PathBuf),
}

/// How nodes are probed: `GET /ready` over the pool's transport, on a connection of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// From the start of one probe to the start of the next; at least 50 ms.
    pub every: Duration,
    /// How long one may take; at least 50 ms.
    pub timeout: Duration,
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
}
