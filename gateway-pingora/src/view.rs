//! What can be seen of a running data plane, at one moment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gateway_config::model::Name;

/// The data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlane {
    /// The number of the generation that serves; the first is 1.
    pub generation: u64,
    /// Since when it serves.
    pub since: SystemTime,
    /// When the process began to serve.
    pub started: SystemTime,
    /// Workers that serve.
    pub workers: usize,
    /// The listeners, in the order of the configuration.
    pub listeners: Vec<ListenerView>,
    /// Generations that still have connections, the oldest first.
    pub draining: Vec<DrainingView>,
    /// When what is left is cut, once the end has begun; nothing is served then.
    pub ends: Option<SystemTime>,
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerView {
    /// Its name.
    pub name: Name,
    /// Where it listens, with the ports that the system picked.
    pub addresses: Vec<SocketAddr>,
    /// Whether its connections are encrypted.
    pub tls: bool,
    /// Whether it speaks HTTP/1.
    pub http1: bool,
    /// Whether it speaks HTTP/2, agreed on over TLS or begun with in clear text.
    pub http2: bool,
    /// Its connections open.
    pub connections: u32,
}

/// A generation that drains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainingView {
    /// Its number.
    pub generation: u64,
    /// Since when it drains.
    pub since: SystemTime,
    /// When those that are left are cut.
    pub until: SystemTime,
    /// Its connections open.
    pub connections: u32,
}

/// A pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolView {
    /// Its name.
    pub name: Name,
    /// Its nodes, in the order of the configuration; none of a pool that a snapshot took away.
    pub nodes: Vec<NodeHealth>,
    /// Nodes that a snapshot took away and that still have requests: nobody is sent there any more.
    pub leaving: Vec<NodeHealth>,
}

/// A node of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeHealth {
    /// Its name.
    pub name: Name,
    /// Its address as configured.
    pub addr: Arc<str>,
    /// Its share of the requests, compared with others'.
    pub weight: u32,
    /// Whether it is in rotation.
    pub enabled: bool,
    /// Whether it is asked only when no other may be.
    pub backup: bool,
    /// Whether its probes, or its requests, say that it may be asked.
    pub healthy: bool,
    /// Whether an operator has taken it out.
    pub drained: bool,
    /// Until when counts of failures keep it out; `None` when they do not, or for no fixed time.
    pub ejected_until: Option<SystemTime>,
    /// Its requests in flight.
    pub in_flight: u32,
    /// Requests that may be in flight on it at once.
    pub ceiling: u32,
    /// Whether it would be given the next request.
    pub may_take: bool,
    /// Requests it was asked, since it is known.
    pub requests: u64,
    /// Requests that found no connection to it, or lost it before an answer.
    pub failures: u64,
    /// How long its last probe took.
    pub latency: Option<Duration>,
    /// When its last probe ended.
    pub last_probe: Option<SystemTime>,
    /// Why it is out.
    pub why: Option<String>,
}

/// What came of a snapshot that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The generation that serves.
    pub generation: u64,
    /// Whether it is another one than before.
    pub is_new_generation: bool,
    /// Pools that were added, removed or changed.
    pub pools_changed: usize,
    /// Listeners that were not served before, or have another address more.
    pub listeners_added: Vec<Name>,
    /// Listeners that are no longer served; their connections drain.
    pub listeners_removed: Vec<Name>,
}
