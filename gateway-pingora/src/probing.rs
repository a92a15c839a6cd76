//! Keeps every node of the snapshot that is served under probes, and no other.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gateway_config::model::Name;
use gateway_core::node::LiveNode;
use gateway_core::pool::{Asked, PoolState};
use gateway_core::readiness::Observation;
use gateway_core::tried::NodeId;
use pingora_core::connectors::http::Connector;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::clock;
use crate::names::Names;
use crate::pools::{LivePool, Pools};
use crate::probe_io::{self, NodeCheck};
use crate::unshaken::Unshaken;

/// The probes of all nodes, on a runtime of their own (adr/0019).
pub(crate) struct Probing {
    control: Handle,
    runtime: Mutex<Option<Runtime>>,
    connector: Arc<Connector>,
    names: Names,
    unshaken: Arc<Unshaken>,
    probes: Mutex<HashMap<(Name, NodeId), Probe>>,
    /// Nobody waits for nodes any more.
    no_more: watch::Sender<bool>,
}

/// A node that is probed again and again.
struct Probe {
    check: Arc<NodeCheck>,
    task: AbortHandle,
}

/// What was seen of a node before its pool knows it.
pub(crate) struct Tried {
    pool: Arc<LivePool>,
    node: Arc<LiveNode>,
    /// `None` where nobody probes it.
    seen: Option<Observation>,
    /// Keeps what its name means, which the check to come asks for again.
    _check: Arc<NodeCheck>,
}

/// The same, with what its name resolved to.
pub(crate) struct Found<'a> {
    tried: &'a Tried,
    addresses: Vec<SocketAddr>,
}

impl Found<'_> {
    /// As its pool takes it over.
    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            name: self.tried.node.name(),
            addr: self.tried.node.addr(),
            addresses: &self.addresses,
            seen: self.tried.seen.as_ref(),
        }
    }
}

impl Tried {
    /// Whether it is a node of this pool.
    pub(crate) fn is_of(&self, pool: &LivePool) -> bool {
        self.pool.pool.name == pool.pool.name
    }

    /// With what its name resolved to.
    pub(crate) fn found(&self) -> Found<'_> {
        Found {
            tried: self,
            addresses: self.node.addresses(),
        }
    }

    /// Tells the pool, if it knows the node already. What it knows better stays.
    pub(crate) fn tell(&self, now: Instant) {
        let state = &self.pool.state;
        let is_it = |one: &&Arc<LiveNode>| {
            one.name() == self.node.name()
                && one.addr() == self.node.addr()
                && !one.is_in_rotation()
        };
        if let Some(node) = state.nodes().iter().find(is_it) {
            let (_, moves) = state.resolved(node, &self.node.addresses(), now);
            self.pool.report(&moves);
            if let Some(seen) = &self.seen {
                let moves = state.probed(node, seen, now);
                self.pool.report(&moves);
            }
        }
    }
}

impl Probing {
    /// Nobody is probed yet. Names are asked of these servers; of the system's when there are none.
    ///
    /// # Errors
    /// What the system says of another thread.
    pub(crate) fn new(servers: &[SocketAddr]) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("control")
            .enable_all()
            .build()?;
        Ok(Probing {
            control: runtime.handle().clone(),
            names: Names::new(runtime.handle().clone(), servers),
            runtime: Mutex::new(Some(runtime)),
            unshaken: Arc::default(),
            connector: probe_io::connector(),
            probes: Mutex::default(),
            no_more: watch::Sender::new(false),
        })
    }

    /// Every node is asked once, all at the same time, so that nobody is told `ready` too soon.
    /// Blocks for one probe timeout at most.
    pub(crate) fn first_round(&self, pools: &Pools) {
        let mut probes = tokio::task::JoinSet::new();
        for pool in pools.values() {
            for node in pool.state.nodes() {
                let check = self.check(pool, node);
                probes.spawn_on(async move { check.probe().await }, &self.control);
            }
        }
        self.wait(async move { while probes.join_next().await.is_some() {} });
    }

    /// Asks the nodes of these pools, each once, as they will be: nobody is told, and no pool knows
    /// them yet. Blocks for one probe timeout at most.
    pub(crate) fn try_out(&self, pools: &[Arc<LivePool>]) -> Vec<Tried> {
        let mut probes = tokio::task::JoinSet::new();
        for pool in pools {
            for node in PoolState::new(&pool.pool, 0, clock::now()).nodes() {
                let (check, pool) = (self.check(pool, Arc::clone(&node)), Arc::clone(pool));
                let seen = async move {
                    let seen = check.observe().await;
                    Tried {
                        pool,
                        node,
                        seen,
                        _check: check,
                    }
                };
                probes.spawn_on(seen, &self.control);
            }
        }
        let all = self.wait(async move { probes.join_all().await });
        all.unwrap_or_default()
    }

    /// Probes the nodes of these pools, and no others. A node that stays goes on being probed as
    /// before; a probe of a node that has left counts for nothing.
    pub(crate) fn watch(&self, pools: &Pools, first: impl Fn(&LivePool) -> Duration) {
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *probes);
        for pool in pools.values() {
            for node in pool.state.nodes() {
                let key = (Arc::clone(&pool.pool.name), node.id());
                let probe = before.remove(&key).unwrap_or_else(|| {
                    let check = self.check(pool, node);
                    let watch = probe_io::watch(Arc::clone(&check), first(pool));
                    let task = self.control.spawn(watch).abort_handle();
                    Probe { check, task }
                });
                probe.check.apply(Arc::clone(pool));
                probes.insert(key, probe);
            }
        }
        for probe in before.values() {
            probe.task.abort();
        }
        let is_probed = |pool: &Name| pools.contains_key(pool);
        self.unshaken.forget(|pool, _| !is_probed(pool));
    }

    /// From here on names are asked of these servers; of the system's when there are none.
    pub(crate) fn ask_names_of(&self, servers: &[SocketAddr]) {
        self.names.turn_to(servers);
    }

    fn check(&self, pool: &Arc<LivePool>, node: Arc<LiveNode>) -> Arc<NodeCheck> {
        let connector = Arc::clone(&self.connector);
        NodeCheck::new(
            Arc::clone(pool),
            node,
            connector,
            &self.names,
            &self.unshaken,
        )
    }

    /// Whoever waits for nodes goes on without them, and so does who comes later.
    pub(crate) fn waits_no_more(&self) {
        self.no_more.send_replace(true);
    }

    /// Blocks until the runtime of the probes has done it; `None` when it could not, or nobody is to
    /// wait any more.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (done, result) = std::sync::mpsc::channel();
        let mut no_more = self.no_more.subscribe();
        self.control.spawn(async move {
            tokio::select! {
                worked = work => { let _ = done.send(worked); }
                _ = no_more.wait_for(|no_more| *no_more) => {}
            }
        });
        result.recv().ok()
    }

    /// Ends all probes, without waiting for one.
    pub(crate) fn end(&self) {
        let runtime = self.runtime.lock();
        if let Some(runtime) = runtime.unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        self.end();
    }
}
