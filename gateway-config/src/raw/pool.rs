//! Pools and nodes as they were typed.

use serde::Deserialize;
use toml::Spanned;

use super::{Leaf, List, OneOrMany, Quantity, Short};

/// `[pools.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Pool {
    pub(crate) nodes: Leaf<Vec<Spanned<Node>>>,
    pub(crate) balance: Leaf<Short<String, Balance>>,
    pub(crate) host: Leaf<String>,
    pub(crate) http2: Leaf<bool>,
    pub(crate) tls: Leaf<Short<bool, NodeTls>>,
    pub(crate) in_flight: Leaf<i64>,
    pub(crate) in_flight_total: Leaf<i64>,
    pub(crate) queue_wait: Leaf<Quantity>,
    pub(crate) queue: Leaf<i64>,
    #[serde(default)]
    pub(crate) timeouts: Timeouts,
    pub(crate) keep_idle: Leaf<Quantity>,
    pub(crate) keep_requests: Leaf<i64>,
    #[serde(default)]
    pub(crate) retry: Retry,
    pub(crate) probe: Option<Probe>,
    #[serde(default)]
    pub(crate) ejection: Ejection,
    pub(crate) slow_start: Leaf<Quantity>,
}

/// A node in its short form, an address, or in its long form.
pub(crate) type Node = Short<String, LongNode>;

/// The long form of a node.
#[derive(Debug, Deserialize)]
pub(crate) struct LongNode {
    pub(crate) addr: Leaf<String>,
    pub(crate) name: Leaf<String>,
    pub(crate) weight: Leaf<i64>,
    pub(crate) backup: Leaf<bool>,
    pub(crate) in_flight: Leaf<i64>,
    pub(crate) tls_name: Leaf<String>,
    pub(crate) shards: Leaf<String>,
    pub(crate) replica: Leaf<String>,
}

/// The long form of `balance`.
#[derive(Debug, Deserialize)]
pub(crate) struct Balance {
    pub(crate) by: Leaf<String>,
    pub(crate) name: Leaf<String>,
}

/// The long form of `tls`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NodeTls {
    pub(crate) ca: Leaf<String>,
    pub(crate) verify: Leaf<bool>,
    pub(crate) name: Leaf<String>,
}

/// `[pools.NAME.timeouts]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Timeouts {
    pub(crate) connect: Leaf<Quantity>,
    pub(crate) tls: Leaf<Quantity>,
    pub(crate) response: Leaf<Quantity>,
    pub(crate) idle: Leaf<Quantity>,
}

/// `[pools.NAME.retry]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Retry {
    pub(crate) attempts: Leaf<i64>,
    pub(crate) on: List,
    pub(crate) budget: Leaf<Quantity>,
}

/// `[pools.NAME.probe]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Probe {
    pub(crate) kind: Leaf<String>,
    pub(crate) path: Leaf<String>,
    pub(crate) method: Leaf<String>,
    pub(crate) host: Leaf<String>,
    pub(crate) expect: Leaf<OneOrMany<i64>>,
    pub(crate) every: Leaf<Quantity>,
    pub(crate) timeout: Leaf<Quantity>,
    pub(crate) may_outlive: Leaf<bool>,
    pub(crate) jitter: Leaf<Quantity>,
    pub(crate) rise: Leaf<i64>,
    pub(crate) fall: Leaf<i64>,
}

/// `[pools.NAME.ejection]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Ejection {
    pub(crate) count_traffic: Leaf<bool>,
    pub(crate) failures: Leaf<i64>,
    #[serde(default)]
    pub(crate) backoff: Backoff,
    pub(crate) floor: Leaf<Quantity>,
    pub(crate) keep_last: Leaf<bool>,
}

/// `backoff` of `ejection`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Backoff {
    pub(crate) min: Leaf<Quantity>,
    pub(crate) max: Leaf<Quantity>,
}
