//! Listeners and TLS profiles as they were typed.

use serde::Deserialize;
use toml::Spanned;

use super::{Leaf, List, OneOrMany, Quantity, Short};

/// `[listeners.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Listener {
    pub(crate) bind: Leaf<OneOrMany<String>>,
    pub(crate) tls: Leaf<String>,
    pub(crate) strict_sni: Leaf<bool>,
    pub(crate) alpn: List,
    pub(crate) h2c: Leaf<bool>,
    pub(crate) redirect: Leaf<String>,
    pub(crate) trusted_proxies: List,
    pub(crate) client_ip_header: Leaf<String>,
    pub(crate) proxy_protocol_from: List,
    pub(crate) in_flight: Leaf<Short<i64, InFlight>>,
    #[serde(default)]
    pub(crate) head: Head,
    #[serde(default)]
    pub(crate) http2: Http2,
    pub(crate) idle: Leaf<Quantity>,
    pub(crate) body_gap: Leaf<Quantity>,
    pub(crate) handshake: Leaf<Quantity>,
    pub(crate) write_gap: Leaf<Quantity>,
    pub(crate) tunnel_idle: Leaf<Quantity>,
    pub(crate) min_rate: Leaf<Quantity>,
    pub(crate) reuse_port: Leaf<bool>,
    pub(crate) v6only: Leaf<bool>,
    pub(crate) backlog: Leaf<i64>,
}

/// The long form of `in_flight`.
#[derive(Debug, Deserialize)]
pub(crate) struct InFlight {
    pub(crate) max: Leaf<i64>,
    pub(crate) when_full: Leaf<i64>,
}

/// `[listeners.NAME.head]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Head {
    pub(crate) line: Leaf<Quantity>,
    pub(crate) fields: Leaf<Quantity>,
    pub(crate) count: Leaf<i64>,
    pub(crate) timeout: Leaf<Quantity>,
}

/// `[listeners.NAME.http2]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Http2 {
    pub(crate) streams: Leaf<i64>,
    pub(crate) resets: Leaf<i64>,
    pub(crate) pings: Leaf<i64>,
    pub(crate) settings: Leaf<i64>,
    pub(crate) empty_data: Leaf<i64>,
}

/// `[tls.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Tls {
    pub(crate) chain: Leaf<String>,
    pub(crate) key: Leaf<String>,
    pub(crate) also: Option<Vec<Spanned<Certificate>>>,
    pub(crate) min: Leaf<String>,
    pub(crate) max: Leaf<String>,
    pub(crate) suites: List,
    pub(crate) alpn: List,
    pub(crate) resumption: Leaf<bool>,
}

/// An entry of `also`.
#[derive(Debug, Deserialize)]
pub(crate) struct Certificate {
    pub(crate) chain: Leaf<String>,
    pub(crate) key: Leaf<String>,
}
