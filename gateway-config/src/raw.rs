//! The file as it was typed: every leaf with its place, and no rules.
//!
//! Filled by serde once [`shape`](crate::shape) has found everything of the right kind; what is
//! unknown has been reported there and is left out here.
//! None of these types is flattened, untagged or tagged, because each of those loses the places.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

mod door;
mod listener;
mod pool;
mod short;
mod site;

pub(crate) use door::FrontDoor;
pub(crate) use listener::{Head, Http2, InFlight, Listener, Tls};
pub(crate) use pool::{Ejection, Node, NodeTls, Pool, Probe};
pub(crate) use short::{OneOrMany, Presence, Quantity, Short, each};
pub(crate) use site::{
    Answer, Compression, Edits, Files, Hsts, Rate, Redirect, Rewrite, Route, Site, When,
};

/// A setting that may be absent.
pub(crate) type Leaf<T> = Option<Spanned<T>>;
/// Tables under names of the operator's.
pub(crate) type Named<T> = BTreeMap<Spanned<String>, T>;
/// A list whose entries have places.
pub(crate) type List = Leaf<Vec<Spanned<String>>>;

/// The whole configuration.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct File {
    pub(crate) workers: Leaf<i64>,
    #[serde(default)]
    pub(crate) listeners: Named<Listener>,
    #[serde(default)]
    pub(crate) tls: Named<Tls>,
    #[serde(default)]
    pub(crate) address_sets: Named<AddressSet>,
    #[serde(default)]
    pub(crate) sites: Named<Site>,
    #[serde(default)]
    pub(crate) pools: Named<Pool>,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) resolver: Resolver,
    #[serde(default)]
    pub(crate) logs: Logs,
    pub(crate) admin: Leaf<Admin>,
    #[serde(default)]
    pub(crate) drain: Drain,
    #[serde(default)]
    pub(crate) front_door: Named<FrontDoor>,
}

/// `[address_sets.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct AddressSet {
    pub(crate) cidrs: List,
}

/// `[limits]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Limits {
    pub(crate) body_memory: Leaf<Quantity>,
    pub(crate) certificate_poll: Leaf<Quantity>,
    pub(crate) connections: Leaf<i64>,
    pub(crate) connections_per_client: Leaf<i64>,
    pub(crate) handshakes: Leaf<i64>,
}

/// `[resolver]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Resolver {
    pub(crate) servers: List,
}

/// `[logs]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Logs {
    pub(crate) access: Leaf<String>,
    pub(crate) format: Leaf<String>,
    pub(crate) redact: List,
    pub(crate) level: Leaf<String>,
}

/// `[admin]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Admin {
    pub(crate) bind: Leaf<String>,
    pub(crate) allow_from: List,
}

/// `[drain]`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Drain {
    pub(crate) deadline: Leaf<Quantity>,
}
