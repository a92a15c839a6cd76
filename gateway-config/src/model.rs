//! The validated nouns: what a gateway serves, where, and under which limits.
//!
//! Everything here has been checked; nothing here is checked again. Made only by
//! [`load`](crate::load()) from files and by [`front_door`](crate::front_door) from the
//! command line; read by every crate above this one.
//!
//! Each noun has a `new` that gives every setting its default from
//! [`settings`](crate::settings), so that no default is written twice.
//!
//! Source: adr/0010, adr/0011.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::networks::Networks;
use crate::settings as s;

mod listener;
mod pool;
mod route;
mod site;

pub use listener::{HeadLimits, Http2Limits, InFlight, Listener, PairFiles, Protocols, Tls};
pub use pool::{
    Balance, HashBy, Health, HttpProbe, Node, NodeHost, NodeTls, Pool, Probe, ProbeKind, RetryOn,
    TlsName,
};
pub use route::{
    Action, Answer, Body, Condition, Files, ForwardPath, Location, Pattern, Redirect, RefusedKey,
    Rewrite, Route, RouteRetry, When,
};
pub use site::{
    Compression, Edits, ErrorPage, FailureStyle, ForwardedFor, HostSent, Hsts, Rate, Segments,
    Site, Www,
};

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
    /// Name servers that are asked what the names of nodes mean, in this order; empty: those of the
    /// system.
    pub resolver: Vec<SocketAddr>,
    /// Worker threads; at least 1. `None`: one per available core.
    pub workers: Option<u16>,
    /// How long requests in flight may go on once the process drains.
    pub drain: Duration,
    /// Where the access log goes.
    pub access_log: AccessLog,
    /// What is written, and how.
    pub logs: Logs,
    /// The listener for operators; `None`: there is none.
    pub admin: Option<Admin>,
}

/// Bounds of the whole process.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of request bodies, and of what compresses answers, held in memory at once, over all connections.
    pub body_memory: u64,
    /// Longest time until a change in the files of certificates and keys is seen.
    pub certificate_poll: Duration,
    /// Connections per listener.
    pub connections: u32,
    /// Connections per client address and listener; trusted proxies are not counted.
    pub connections_per_client: u32,
    /// TLS handshakes under way per listener; one client has at most a quarter of them.
    pub handshakes: u32,
}

/// Where one line per request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Lines appended to a file.
    File(PathBuf),
    /// No access log.
    Off,
    /// Lines on the standard output.
    Stdout,
}

/// What is written about requests and the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    /// How a line of the access log is written.
    pub format: LogFormat,
    /// Query keys whose values are never written; sorted.
    pub redact: Vec<Arc<str>>,
    /// How much the process says about itself.
    pub level: LogLevel,
}

/// How a line of the access log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined format of web servers.
    Combined,
    /// One JSON object.
    Json,
}

/// How much the process says about itself; each level says what those before it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What went wrong and needs somebody.
    Error,
    /// What may need somebody soon.
    Warn,
    /// What changed.
    Info,
    /// Why.
    Debug,
    /// Every step.
    Trace,
}

/// The listener for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// The address bound.
    pub bind: SocketAddr,
    /// From where operators may come; `None`: from this machine only.
    pub allow_from: Option<Networks>,
}

impl Model {
    /// A model that serves nothing yet, with every default.
    #[must_use]
    pub fn new() -> Self {
        Self {
            listeners: Vec::new(),
            sites: Vec::new(),
            pools: Vec::new(),
            limits: Limits {
                body_memory: s::LIMIT_BODY_MEMORY.number(),
                certificate_poll: s::LIMIT_CERTIFICATE_POLL.time(),
                connections: s::LIMIT_CONNECTIONS.number(),
                connections_per_client: s::LIMIT_PER_CLIENT.number(),
                handshakes: s::LIMIT_HANDSHAKES.number(),
            },
            resolver: Vec::new(),
            workers: None,
            drain: s::DRAIN_DEADLINE.time(),
            access_log: AccessLog::Stdout,
            logs: Logs {
                format: LogFormat::Json,
                redact: Vec::new(),
                level: LogLevel::Info,
            },
            admin: None,
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}
