//! The snapshot that is served, prepared for the request path; swapped whole.
//!
//! A request pins the site it was admitted to and keeps it to its end, so it never sees two
//! snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gateway_config::Snapshot;
use gateway_config::model::{Name, Node, Site};
use gateway_core::node::NodeView;
use http::HeaderName;

use crate::body_memory::BodyMemory;
use crate::capability;
use crate::descriptors::Descriptors;
use crate::fault::Fault;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::pools::{LivePool, Pools};
use crate::telemetry::AccessLog;

/// What all workers share.
pub(crate) struct Shared {
    /// The snapshot that is served.
    pub(crate) serving: ArcSwap<Serving>,
    /// Descriptors held by clients.
    pub(crate) descriptors: Descriptors,
    /// Bytes of request bodies held in memory.
    pub(crate) body_memory: BodyMemory,
    /// Where access lines go.
    pub(crate) access_log: AccessLog,
    /// Makes request ids.
    pub(crate) ids: Ids,
    draining: AtomicBool,
}

impl Shared {
    /// Serves `serving` from the start.
    pub(crate) fn new(serving: Serving, access_log: AccessLog) -> Self {
        Shared {
            serving: ArcSwap::from_pointee(serving),
            descriptors: Descriptors::new(),
            body_memory: BodyMemory::default(),
            access_log,
            ids: Ids::new(),
            draining: AtomicBool::new(false),
        }
    }

    /// No new work from here on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether the process is going down.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}

/// A snapshot, prepared.
pub(crate) struct Serving {
    /// What it was made from.
    pub(crate) snapshot: Arc<Snapshot>,
    /// Its pools.
    pub(crate) pools: Pools,
    sites: BTreeMap<Name, Sites>,
    /// Of listeners that drain, as they were when they were served last.
    departed: BTreeMap<Name, Sites>,
}

/// A site, prepared.
pub(crate) struct ServedSite {
    /// Its settings.
    pub(crate) site: Site,
    /// Its metrics; outlive snapshots.
    pub(crate) metrics: Arc<Metrics>,
    /// The pools its routes go to, and the one its endpoints speak of.
    pub(crate) pools: Pools,
    /// Request fields carried to the node; `None` is all but hop-by-hop ones.
    pub(crate) request_fields: Option<Vec<HeaderName>>,
    /// Answer fields carried to the client; `None` is all but hop-by-hop ones.
    pub(crate) response_fields: Option<Vec<HeaderName>>,
    /// The snapshot it belongs to.
    pub(crate) hash: Arc<str>,
}

impl Serving {
    /// Prepares a snapshot, keeping what `before` knows about pools and sites of the same name.
    ///
    /// # Errors
    /// A [`Fault`] when a file cannot be read or something is not served; nothing has changed then.
    pub(crate) fn new(snapshot: Arc<Snapshot>, before: Option<&Serving>) -> Result<Self, Fault> {
        let model = snapshot.model();
        capability::refuse_more(model)?;
        let mut pools = Pools::new();
        for pool in &model.pools {
            let known = before.and_then(|before| before.pools.get(&pool.name));
            let state = known.map(|known| Arc::clone(&known.state));
            pools.insert(
                Arc::clone(&pool.name),
                Arc::new(LivePool::new(pool, state)?),
            );
        }
        let mut sites: BTreeMap<Name, Sites> = BTreeMap::new();
        for site in &model.sites {
            let known = before.and_then(|before| before.metrics_of(&site.name));
            let served = Arc::new(ServedSite {
                metrics: match known {
                    Some(known) => known,
                    None => Arc::new(Metrics::new()?),
                },
                pools: pools.clone(),
                request_fields: fields(site.request_fields.as_deref())?,
                response_fields: fields(site.response_fields.as_deref())?,
                hash: snapshot.hash().into(),
                site: site.clone(),
            });
            for listener in site.listeners() {
                let here = sites.entry(Arc::clone(listener)).or_default();
                match site.hosts.is_empty() {
                    true => here.others = Some(Arc::clone(&served)),
                    false => here.named.push(Arc::clone(&served)),
                }
            }
        }
        for listener in &model.listeners {
            let here = sites.get(&listener.name);
            if here.and_then(Sites::others).is_none() {
                let what = format!("listener `{}` without a site for every host", listener.name);
                return Err(Fault::NotServed { what });
            }
        }
        Ok(Serving {
            snapshot,
            pools,
            sites,
            departed: BTreeMap::new(),
        })
    }

    /// Goes on serving what `before` has for listeners of these names, if they have gone.
    pub(crate) fn keep_departed(&mut self, before: &Serving, names: &[Name]) {
        for name in names {
            if let Some(sites) = before.sites(name)
                && !self.sites.contains_key(name)
            {
                self.departed.insert(Arc::clone(name), sites.clone());
            }
        }
    }

    fn metrics_of(&self, site: &str) -> Option<Arc<Metrics>> {
        let mut all = self.sites.values().flat_map(Sites::all);
        let known = all.find(|served| *served.site.name == *site)?;
        Some(Arc::clone(&known.metrics))
    }

    /// The pools that have nobody in rotation but may have somebody new: served as they are known,
    /// their first requests would find no node.
    pub(crate) fn pools_of_strangers(&self) -> Vec<Arc<LivePool>> {
        let strange = |pool: &&Arc<LivePool>| {
            let seen = pool.state.view();
            let has = |node: &Node, known: &NodeView| {
                node.name == known.name && node.addr == known.addr && known.last_probe.is_some()
            };
            let mut nodes = pool.pool.nodes.iter();
            let is_served = nodes.any(|node| seen.iter().any(|one| one.is_in && has(node, one)));
            let mut nodes = pool.pool.nodes.iter();
            !is_served && nodes.any(|node| !seen.iter().any(|one| has(node, one)))
        };
        self.pools.values().filter(strange).cloned().collect()
    }

    /// The sites of a listener, also of one that drains.
    pub(crate) fn sites(&self, listener: &str) -> Option<&Sites> {
        self.sites
            .get(listener)
            .or_else(|| self.departed.get(listener))
    }
}

/// The sites of one listener.
#[derive(Clone, Default)]
pub(crate) struct Sites {
    named: Vec<Arc<ServedSite>>,
    others: Option<Arc<ServedSite>>,
}

impl Sites {
    /// The site that has this host, else the one for every host. The host is asked for only when
    /// there is a choice.
    pub(crate) fn of(&self, host: impl FnOnce() -> String) -> Option<&Arc<ServedSite>> {
        if !self.named.is_empty() {
            let host = host();
            let has = |site: &&Arc<ServedSite>| site.site.hosts.iter().any(|one| **one == *host);
            if let Some(site) = self.named.iter().find(has) {
                return Some(site);
            }
        }
        self.others.as_ref()
    }

    /// The site for every host.
    pub(crate) fn others(&self) -> Option<&Arc<ServedSite>> {
        self.others.as_ref()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<ServedSite>> {
        self.named.iter().chain(&self.others)
    }
}

fn fields(names: Option<&[Arc<str>]>) -> Result<Option<Vec<HeaderName>>, Fault> {
    let parse = |name: &Arc<str>| {
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| Fault::NotServed {
            what: format!("the field name `{name}`"),
        })
    };
    names
        .map(|names| names.iter().map(parse).collect())
        .transpose()
}
