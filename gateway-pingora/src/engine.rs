//! The data plane as the process sees it: start, apply a snapshot, drain, wait for the end.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gateway_config::Snapshot;
use gateway_config::model::{Listener, Model, Name};
use gateway_core::tried::NodeId;
use pingora_core::connectors::http::v1::Connector;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing_appender::non_blocking::NonBlocking;

use crate::fault::Fault;
use crate::listening::Listening;
use crate::pools::LivePool;
use crate::probe_io::{self, ReadyCheck};
use crate::serving::{Serving, Shared};
use crate::telemetry::AccessLog;
use crate::{socket, tls, worker};

/// A running data plane.
pub struct Engine {
    shared: Arc<Shared>,
    listenings: Vec<Arc<Listening>>,
    addresses: Vec<(Name, SocketAddr)>,
    drain: watch::Sender<bool>,
    workers: Vec<JoinHandle<()>>,
    control: tokio::runtime::Runtime,
    connector: Arc<Connector>,
    probes: Mutex<HashMap<(Name, NodeId), Probe>>,
}

impl Engine {
    /// Binds, asks every node once, and serves. Returns once connections are accepted, which is at
    /// most one probe timeout later.
    ///
    /// One line of the access log is written to `access_log` for each request, if there is one.
    ///
    /// # Errors
    /// A [`Fault`]; nothing is bound then.
    pub fn start(
        snapshot: Arc<Snapshot>,
        access_log: Option<NonBlocking>,
    ) -> Result<Engine, Fault> {
        let workers = workers(&snapshot);
        let serving = Serving::new(Arc::clone(&snapshot), None)?;
        let mut listenings = Vec::new();
        let mut addresses = Vec::new();
        let mut sockets: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for listener in &snapshot.model().listeners {
            let config = listener
                .tls
                .as_ref()
                .map(|tls| tls::server(tls, listener.http2));
            let listening = Arc::new(Listening::new(listener.clone(), config.transpose()?));
            let bound = bind(&listening, workers)?;
            addresses.push((Arc::clone(&listener.name), bound.1));
            for (worker, socket) in sockets.iter_mut().zip(bound.0) {
                worker.push((Arc::clone(&listening), socket));
            }
            listenings.push(listening);
        }
        let control = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("control")
            .enable_all()
            .build()
            .map_err(Fault::Worker)?;
        let shared = Arc::new(Shared::new(serving, AccessLog(access_log)));
        let (drain, draining) = watch::channel(false);
        let mut engine = Engine {
            shared,
            listenings,
            addresses,
            drain,
            workers: Vec::new(),
            control,
            connector: probe_io::connector(),
            probes: Mutex::default(),
        };
        engine.first_round();
        engine.watch_nodes(|pool| pool.pool.probe.every);
        for (number, sockets) in sockets.into_iter().enumerate() {
            let (shared, draining) = (Arc::clone(&engine.shared), draining.clone());
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            let worker = thread.spawn(move || {
                if let Err(error) = worker::run(sockets, shared, draining) {
                    tracing::error!(%error, "a worker ended");
                }
            });
            engine.workers.push(worker.map_err(Fault::Worker)?);
        }
        Ok(engine)
    }

    /// The listeners and the addresses they are bound to.
    #[must_use]
    pub fn addresses(&self) -> &[(Name, SocketAddr)] {
        &self.addresses
    }

    /// Serves another snapshot: requests under way keep theirs, the next ones have this.
    ///
    /// # Errors
    /// A [`Fault`]; everything is as it was then.
    pub fn apply(&self, snapshot: Arc<Snapshot>) -> Result<(), Fault> {
        let before = self.shared.serving.load_full();
        same_generation(before.snapshot.model(), snapshot.model())?;
        let serving = Serving::new(Arc::clone(&snapshot), Some(&before))?;
        let mut certificates = Vec::new();
        for listening in &self.listenings {
            let listener = &listening.listener;
            let config = listener
                .tls
                .as_ref()
                .map(|tls| tls::server(tls, listener.http2));
            certificates.push((listening, config.transpose()?));
        }
        for (listening, config) in certificates {
            listening.tls.store(config);
        }
        let pools = serving.pools.clone();
        self.shared.serving.store(Arc::new(serving));
        for pool in pools.values() {
            let moves = pool.state.apply(&pool.pool);
            pool.report(&moves);
        }
        self.watch_nodes(|_| Duration::ZERO);
        Ok(())
    }

    /// The snapshot that is served.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shared.serving.load().snapshot)
    }

    /// Takes no new connection from here on; requests in flight end.
    pub fn drain(&self) {
        self.shared.drain();
        let _ = self.drain.send(true);
    }

    /// Waits until everything has ended, after [`drain`](Engine::drain).
    pub fn join(self) {
        for worker in self.workers {
            let _ = worker.join();
        }
        self.control.shutdown_background();
    }

    /// Every node is asked once, all at the same time, so that nobody is told `ready` too soon.
    fn first_round(&self) {
        let serving = self.shared.serving.load_full();
        let mut probes = tokio::task::JoinSet::new();
        for pool in serving.pools.values() {
            for node in pool.state.nodes() {
                let check = ReadyCheck::new(Arc::clone(pool), node, Arc::clone(&self.connector));
                probes.spawn_on(async move { check.probe().await }, self.control.handle());
            }
        }
        self.control
            .block_on(async { while probes.join_next().await.is_some() {} });
    }

    /// Probes the nodes of the snapshot that is served, and no others. A node that stays goes on
    /// being probed as before; a probe of a node that has left counts for nothing.
    fn watch_nodes(&self, first: impl Fn(&LivePool) -> Duration) {
        let serving = self.shared.serving.load_full();
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *probes);
        for pool in serving.pools.values() {
            for node in pool.state.nodes() {
                let key = (Arc::clone(&pool.pool.name), node.id());
                let probe = before.remove(&key).unwrap_or_else(|| {
                    let connector = Arc::clone(&self.connector);
                    let check = Arc::new(ReadyCheck::new(Arc::clone(pool), node, connector));
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
    }
}

/// A node that is probed again and again.
struct Probe {
    check: Arc<ReadyCheck>,
    task: AbortHandle,
}

fn workers(snapshot: &Snapshot) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    snapshot
        .model()
        .workers
        .map_or_else(cores, usize::from)
        .max(1)
}

fn bind(
    listening: &Listening,
    count: usize,
) -> Result<(Vec<std::net::TcpListener>, SocketAddr), Fault> {
    let addr = listening.listener.bind;
    let fault = |source| Fault::Bind {
        listener: Arc::clone(&listening.listener.name),
        addr,
        source,
    };
    let sockets = socket::bind(addr, count).map_err(fault)?;
    let bound = sockets
        .first()
        .map(std::net::TcpListener::local_addr)
        .transpose();
    Ok((sockets, bound.map_err(fault)?.unwrap_or(addr)))
}

/// Listeners, workers and the access log are fixed until generations exist.
fn same_generation(old: &Model, new: &Model) -> Result<(), Fault> {
    let changed = |what: String| Err(Fault::NeedsRestart { what });
    let named = |listeners: &[Listener], name: &Name| {
        listeners.iter().find(|one| one.name == *name).cloned()
    };
    for listener in old.listeners.iter().chain(&new.listeners) {
        let name = &listener.name;
        if named(&old.listeners, name) != named(&new.listeners, name) {
            return changed(format!("listener `{name}`"));
        }
    }
    if old.workers != new.workers {
        return changed("the number of workers".to_owned());
    }
    if old.access_log != new.access_log {
        return changed("the access log".to_owned());
    }
    Ok(())
}
