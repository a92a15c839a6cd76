//! The file as it was typed: every leaf with its place, and no rules.
//!
//! Filled by serde once [`shape`](crate::shape) has found everything of the right kind; what is
//! unknown has been reported there and is left out here.
//! None of these types is flattened, untagged or tagged, because each of those loses the places.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use toml::Spanned;

/// A setting that may be absent.
pub(crate) type Leaf<T> = Option<Spanned<T>>;
/// Tables under names of the operator's.
pub(crate) type Named<T> = BTreeMap<Spanned<String>, T>;
/// A list whose entries have places.
pub(crate) type List = Leaf<Vec<Spanned<String>>>;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct File {
    pub(crate) workers: Leaf<i64>,
    #[serde(default)]
    pub(crate) listeners: Named<Listener>,
    #[serde(default)]
    pub(crate) tls: Named<Tls>,
    #[serde(default)]
    pub(crate) sites: Named<Site>,
    #[serde(default)]
    pub(crate) pools: Named<Pool>,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) logs: Logs,
    #[serde(default)]
    pub(crate) drain: Drain,
    #[serde(default)]
    pub(crate) front_door: Named<FrontDoor>,
}

/// A number, or a text that may carry a unit.
#[derive(Clone, Debug)]
pub(crate) enum Quantity {
    Number(i64),
    Text(String),
}

/// `[listeners.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Listener {
    pub(crate) bind: Leaf<String>,
    pub(crate) tls: Leaf<String>,
    pub(crate) http2: Leaf<bool>,
    #[serde(default)]
    pub(crate) head: Head,
    pub(crate) idle: Leaf<Quantity>,
    pub(crate) body_gap: Leaf<Quantity>,
    pub(crate) handshake: Leaf<Quantity>,
    pub(crate) write_gap: Leaf<Quantity>,
    pub(crate) min_rate: Leaf<Quantity>,
}

/// `[listeners.NAME.head]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Head {
    pub(crate) line: Leaf<Quantity>,
    pub(crate) fields: Leaf<Quantity>,
    pub(crate) count: Leaf<i64>,
    pub(crate) timeout: Leaf<Quantity>,
}

/// `[tls.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Tls {
    pub(crate) chain: Leaf<String>,
    pub(crate) key: Leaf<String>,
}

/// `[sites.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Site {
    pub(crate) listener: Leaf<String>,
    pub(crate) hosts: List,
    pub(crate) pool: Leaf<String>,
    pub(crate) segments: Leaf<String>,
    pub(crate) failures: Leaf<String>,
    pub(crate) endpoints: Leaf<String>,
    pub(crate) forwarded_for: Leaf<String>,
    pub(crate) request_fields: List,
    pub(crate) response_fields: List,
    pub(crate) host: Leaf<String>,
    #[serde(default)]
    pub(crate) routes: Named<Route>,
}

/// `[sites.NAME.routes.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Route {
    pub(crate) path: Leaf<String>,
    pub(crate) template: Leaf<String>,
    pub(crate) methods: List,
    pub(crate) query: List,
    #[serde(default)]
    pub(crate) refuse_query: Named<Spanned<String>>,
    pub(crate) repeatable: Leaf<bool>,
    pub(crate) budget: Leaf<Quantity>,
    pub(crate) body: Leaf<Body>,
    pub(crate) upgrade: Leaf<bool>,
    pub(crate) pool: Leaf<String>,
}

/// `body = { … }` of a route.
#[derive(Debug, Deserialize)]
pub(crate) struct Body {
    pub(crate) buffer: Leaf<Quantity>,
    pub(crate) stream: Leaf<Quantity>,
}

/// `[pools.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Pool {
    pub(crate) nodes: Leaf<Vec<Spanned<Node>>>,
    pub(crate) tls: Leaf<NodeTls>,
    pub(crate) in_flight: Leaf<i64>,
    pub(crate) queue_wait: Leaf<Quantity>,
    pub(crate) queue: Leaf<i64>,
    pub(crate) connect_timeout: Leaf<Quantity>,
    pub(crate) answer_gap: Leaf<Quantity>,
    pub(crate) keep_idle: Leaf<Quantity>,
    pub(crate) keep_requests: Leaf<i64>,
    pub(crate) retries: Leaf<i64>,
    pub(crate) retry_busy: Leaf<bool>,
    #[serde(default)]
    pub(crate) probe: Probe,
    #[serde(default)]
    pub(crate) health: Health,
}

/// A node in its short form, an address, or in its long form.
#[derive(Debug)]
pub(crate) enum Node {
    Long(Box<LongNode>),
    Short(String),
}

/// The long form of a node.
#[derive(Debug, Deserialize)]
pub(crate) struct LongNode {
    pub(crate) addr: Leaf<String>,
    pub(crate) name: Leaf<String>,
    pub(crate) shards: Leaf<String>,
    pub(crate) replica: Leaf<String>,
}

/// `[pools.NAME.tls]`.
#[derive(Debug, Deserialize)]
pub(crate) struct NodeTls {
    pub(crate) ca: Leaf<String>,
    pub(crate) verify: Leaf<bool>,
}

/// `[pools.NAME.probe]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Probe {
    pub(crate) every: Leaf<Quantity>,
    pub(crate) timeout: Leaf<Quantity>,
    pub(crate) may_outlive: Leaf<bool>,
}

/// `[pools.NAME.health]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Health {
    pub(crate) fall: Leaf<i64>,
    pub(crate) rise: Leaf<i64>,
    pub(crate) floor: Leaf<Quantity>,
    pub(crate) keep_last: Leaf<bool>,
    pub(crate) count_traffic: Leaf<bool>,
}

/// `[limits]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Limits {
    pub(crate) body_memory: Leaf<Quantity>,
    pub(crate) connections: Leaf<i64>,
    pub(crate) handshakes: Leaf<i64>,
}

/// `[logs]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Logs {
    pub(crate) access: Leaf<String>,
}

/// `[drain]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Drain {
    pub(crate) deadline: Leaf<Quantity>,
}

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

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Quantity;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a number with its unit, like \"5s\" or \"64 KiB\"")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::Number(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Quantity, E> {
                Ok(Quantity::Text(value.to_owned()))
            }
        }
        input.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Node;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a node address like \"10.0.0.11:8080\", or a table with `addr`")
            }
            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Short(value.to_owned()))
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Node, M::Error> {
                LongNode::deserialize(MapAccessDeserializer::new(map))
                    .map(|long| Node::Long(Box::new(long)))
            }
        }
        input.deserialize_any(Read)
    }
}
