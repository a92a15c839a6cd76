//! The snapshot that is served, prepared for the request path; swapped whole.
//!
//! A request pins the site it was admitted to and keeps it to its end, so it never sees two
//! snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gateway_config::Snapshot;
use gateway_config::model::{Name, Site};
use http::HeaderName;

use crate::body_memory::BodyMemory;
use crate::fault::Fault;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::pools::{LivePool, Pools};
use crate::telemetry::AccessLog;

/// What all workers share.
pub(crate) struct Shared {
    /// The snapshot that is served.
    pub(crate) serving: ArcSwap<Serving>,
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
        let body_memory = BodyMemory::new(serving.snapshot.model().limits.body_memory);
        Shared {
            serving: ArcSwap::from_pointee(serving),
            body_memory,
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
    sites: BTreeMap<Name, Arc<ServedSite>>,
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
        let mut pools = Pools::new();
        for pool in &model.pools {
            let known = before.and_then(|before| before.pools.get(&pool.name));
            let state = known.map(|known| Arc::clone(&known.state));
            pools.insert(
                Arc::clone(&pool.name),
                Arc::new(LivePool::new(pool, state)?),
            );
        }
        let mut sites = BTreeMap::new();
        for site in &model.sites {
            let known = before.and_then(|before| before.sites.get(&site.name));
            let metrics = match known {
                Some(known) => Arc::clone(&known.metrics),
                None => Arc::new(Metrics::new()?),
            };
            let served = ServedSite {
                metrics,
                pools: pools.clone(),
                request_fields: fields(site.request_fields.as_deref())?,
                response_fields: fields(site.response_fields.as_deref())?,
                hash: snapshot.hash().into(),
                site: site.clone(),
            };
            sites.insert(Arc::clone(&site.name), Arc::new(served));
        }
        let served = Serving {
            snapshot: Arc::clone(&snapshot),
            pools,
            sites,
        };
        for listener in &model.listeners {
            if served.site(&listener.name, "").is_none() {
                let what = format!("listener `{}` without a site for every host", listener.name);
                return Err(Fault::NotServed { what });
            }
        }
        Ok(served)
    }

    /// The site of a listener that has this host, else the one that has every host.
    pub(crate) fn site(&self, listener: &str, host: &str) -> Option<&Arc<ServedSite>> {
        let mut here = self
            .sites
            .values()
            .filter(|served| *served.site.listener == *listener);
        let named = |served: &&Arc<ServedSite>| served.site.hosts.iter().any(|one| **one == *host);
        let mut others = here.clone();
        here.find(named)
            .or_else(|| others.find(|served| served.site.hosts.is_empty()))
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
