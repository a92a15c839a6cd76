//! `[front_door.NAME]` as it was typed.

use serde::Deserialize;
use toml::Spanned;

use super::{Leaf, Named, Quantity};

/// `[front_door.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct FrontDoor {
    pub(crate) listen: Leaf<String>,
    pub(crate) cluster: Leaf<String>,
    #[serde(default)]
    pub(crate) upstreams: Named<Spanned<String>>,
    pub(crate) no_ddl: Leaf<bool>,
    pub(crate) allow_ops: Leaf<bool>,
    pub(crate) query_timeout: Leaf<Quantity>,
    pub(crate) max_retries: Leaf<i64>,
    pub(crate) in_flight: Leaf<i64>,
    pub(crate) queue_wait: Leaf<Quantity>,
    pub(crate) connect_timeout: Leaf<Quantity>,
    pub(crate) health_interval: Leaf<Quantity>,
    pub(crate) health_timeout: Leaf<Quantity>,
    pub(crate) health_fail: Leaf<i64>,
    pub(crate) health_pass: Leaf<i64>,
    pub(crate) tls_cert: Leaf<String>,
    pub(crate) tls_key: Leaf<String>,
    pub(crate) upstream_ca: Leaf<String>,
    pub(crate) insecure_skip_verify: Leaf<bool>,
    pub(crate) insecure_no_tls: Leaf<bool>,
    pub(crate) trust_forwarded_for: Leaf<bool>,
    pub(crate) read_timeout: Leaf<Quantity>,
}
