//! The snapshot that is served, prepared for the request path; swapped whole.
//!
//! A request pins the site it was admitted to and keeps it to its end, so it never sees two
//! snapshots.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use gateway_config::model::{Listener, Name, Node, Site};
use gateway_config::{FoundBy, Hosts, Snapshot};
use gateway_core::node::NodeView;

use crate::access::AccessLog;
use crate::body_memory::BodyMemory;
use crate::capability::{self, CAPABILITIES};
use crate::descriptors::Descriptors;
use crate::fault::Fault;
use crate::ids::Ids;
use crate::peer::{self, Dialling};
use crate::pools::{LivePool, Pools};
use crate::site::ServedSite;

/// What all workers share.
pub(crate) struct Shared {
    /// The snapshot that is served.
    pub(crate) serving: ArcSwap<Serving>,
    /// Descriptors held by clients.
    pub(crate) descriptors: Descriptors,
    /// What a connection for a request is made under.
    pub(crate) dialling: Dialling,
    /// Bytes of request bodies, and of what compresses answers, held in memory.
    pub(crate) body_memory: BodyMemory,
    /// Where access lines go.
    pub(crate) access_log: AccessLog,
    /// Makes request ids.
    pub(crate) ids: Ids,
    /// The number of the generation that serves.
    pub(crate) generation: AtomicU64,
    draining: AtomicBool,
}

impl Shared {
    /// Serves `serving` from the start.
    pub(crate) fn new(serving: Serving, access_log: AccessLog) -> Self {
        let descriptors = Descriptors::new();
        Shared {
            serving: ArcSwap::from_pointee(serving),
            dialling: peer::dialling(descriptors.clone()),
            descriptors,
            body_memory: BodyMemory::default(),
            access_log,
            ids: Ids::new(),
            generation: AtomicU64::new(0),
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
    pub(crate) pools: Arc<Pools>,
    all: Arc<[Arc<ServedSite>]>,
    sites: BTreeMap<Name, Sites>,
    /// Of listeners that drain, as they were when they were served last.
    departed: BTreeMap<Name, Sites>,
    /// Stands for the site of a name that nobody has: without routes, and without a name of its own.
    pub(crate) nobody: Arc<ServedSite>,
}

impl Serving {
    /// Prepares a snapshot, keeping what `before` knows about pools and sites of the same name.
    ///
    /// # Errors
    /// A [`Fault`] when a file cannot be read or something is not served; nothing has changed then.
    pub(crate) fn new(snapshot: Arc<Snapshot>, before: Option<&Serving>) -> Result<Self, Fault> {
        let model = snapshot.model();
        capability::refuse_more(model, CAPABILITIES)?;
        let mut pools = Pools::new();
        for pool in &model.pools {
            let known = before.and_then(|before| before.pools.get(&pool.name));
            pools.insert(
                Arc::clone(&pool.name),
                Arc::new(LivePool::new(pool, known.map(|known| &**known))?),
            );
        }
        let hash = snapshot.hash();
        let pools = Arc::new(pools);
        let sites_before = before.map_or(&[][..], |before| &before.all);
        let known: HashMap<&str, &ServedSite> = sites_before
            .iter()
            .map(|served| (&*served.site.name, &**served))
            .collect();
        let prepare = |site: &Site| {
            let known = known.get(&*site.name).copied();
            ServedSite::new(model, site, hash, &pools, known).map(Arc::new)
        };
        let all: Arc<[Arc<ServedSite>]> =
            model.sites.iter().map(prepare).collect::<Result<_, _>>()?;
        let of_listener = |listener: &Listener| {
            let names = Arc::clone(snapshot.hosts(&listener.name)?);
            let all = Arc::clone(&all);
            Some((Arc::clone(&listener.name), Sites { names, all }))
        };
        let sites = model.listeners.iter().filter_map(of_listener).collect();
        let nobody = Site::new("".into(), "".into());
        let nobody = ServedSite::new(
            model,
            &nobody,
            hash,
            &Arc::default(),
            before.map(|before| &*before.nobody),
        )?;
        Ok(Serving {
            snapshot,
            pools,
            all,
            sites,
            departed: BTreeMap::new(),
            nobody: Arc::new(nobody),
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

    /// The sites, and what stands for the site of a name that nobody has.
    pub(crate) fn all_sites(&self) -> impl Iterator<Item = &Arc<ServedSite>> {
        self.all.iter().chain([&self.nobody])
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
#[derive(Clone)]
pub(crate) struct Sites {
    names: Arc<Hosts>,
    /// All sites of the snapshot, in its order.
    all: Arc<[Arc<ServedSite>]>,
}

impl Sites {
    /// The site that takes this host, and by what it was found.
    pub(crate) fn of(&self, host: &str) -> Option<(&Arc<ServedSite>, FoundBy)> {
        let found = self.names.find(host)?;
        Some((self.all.get(found.site)?, found.by))
    }

    /// The site for names that nobody has.
    pub(crate) fn others(&self) -> Option<&Arc<ServedSite>> {
        self.of("").map(|(site, _)| site)
    }
}
