//! The data plane as the process sees it: start, prepare and activate a snapshot, drain, wait for the
//! end; and what can be seen of it meanwhile.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU16;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use gateway_config::Snapshot;
use gateway_config::model::{Listener, Model, Name, PairFiles};
use gateway_core::pool::Asked;
use tracing_appender::non_blocking::NonBlocking;

use crate::access::AccessLog;
use crate::clock;
use crate::departed::Departed;
use crate::exposition::Exposition;
use crate::fault::Fault;
use crate::generation::{Generations, Plan, Wanted};
use crate::listening::Listening;
use crate::pairs::Pairs;
use crate::probing::{Found, Probing, Tried};
use crate::series;
use crate::serving::{Serving, Shared};
use crate::shown::Shown;
use crate::threshold::Threshold;
use crate::view::{Applied, DataPlane, PoolView};

mod renewal;

/// How long a change waits for workers to hand sockets over; one that is so busy does it later.
const HANDOVER: Duration = Duration::from_millis(250);

/// A running data plane. Everything can be asked from any thread; changes go one at a time.
pub struct Engine {
    shared: Arc<Shared>,
    generations: Mutex<Generations>,
    /// Held by whoever changes something, from preparing to activating.
    overrides: Mutex<Overrides>,
    pairs: ArcSwap<Pairs>,
    probing: Probing,
    departed: Departed,
    started: SystemTime,
}

/// What a data plane is started with beside its snapshot.
#[derive(Default)]
pub struct Options {
    /// Takes a line for each request; `None`: no access log.
    pub access_log: Option<NonBlocking>,
    /// Workers, instead of what the configuration says.
    pub workers: Option<NonZeroU16>,
    /// Nodes that are drained from the start, by pool and name.
    pub drained: Vec<(String, String)>,
    /// Listening sockets made by somebody else, used for the listeners on their addresses.
    pub inherited: Vec<TcpListener>,
    /// Whether anybody may connect, or the end has come before.
    pub threshold: Arc<Threshold>,
}

/// What an operator has set against the configuration.
#[derive(Default)]
struct Overrides {
    workers: Option<NonZeroU16>,
    drained: BTreeSet<(String, String)>,
}

/// A snapshot that can be activated: checked, its files read, its addresses bound, and nobody able to
/// connect to new ones before [`listen`](Prepared::listen). Dropping it undoes
/// everything.
pub struct Prepared<'a> {
    engine: &'a Engine,
    /// Nothing else changes meanwhile.
    overrides: MutexGuard<'a, Overrides>,
    serving: Serving,
    pairs: Pairs,
    plan: Plan,
    /// Nodes without which a pool would have nobody to ask.
    tried: Vec<Tried>,
    /// Where access lines go from then on, if elsewhere.
    access_log: Option<Option<NonBlocking>>,
    is_new_generation: bool,
}

impl Engine {
    /// Binds, asks every node once, listens and serves. Returns once connections are accepted, which is
    /// at most one probe timeout later; nobody can connect before.
    ///
    /// # Errors
    /// A [`Fault`]; nothing is bound then. [`Fault::Draining`] when the end came first.
    pub fn start(snapshot: Arc<Snapshot>, options: Options) -> Result<Engine, Fault> {
        let serving = Serving::new(Arc::clone(&snapshot), None)?;
        let access_log = AccessLog::new(options.access_log, &snapshot.model().logs);
        let shared = Arc::new(Shared::new(serving, access_log));
        let engine = Engine {
            shared,
            generations: Mutex::new(Generations::none(clock::wall(), options.inherited)),
            overrides: Mutex::new(Overrides {
                workers: options.workers,
                drained: options.drained.into_iter().collect(),
            }),
            pairs: ArcSwap::default(),
            probing: Probing::new(&snapshot.model().resolver).map_err(Fault::Worker)?,
            departed: Departed::default(),
            started: clock::wall(),
        };
        let pairs = Pairs::read(snapshot.model(), &Pairs::default(), clock::wall());
        let wanted = wanted(&snapshot, &pairs, &[])?;
        engine.pairs.store(Arc::new(pairs));
        let workers = workers(options.workers, snapshot.model());
        let generations = engine.generations();
        let plan = generations.plan(wanted, workers, &engine.shared)?;
        for unused in generations.idle(&plan) {
            let addr = unused.local_addr().map(|addr| addr.to_string());
            let addr = addr.unwrap_or_default();
            tracing::warn!(addr, "an inherited socket is on no listener's address");
        }
        drop(generations);
        let serving = engine.shared.serving.load_full();
        engine.change().keep_drained(&serving);
        engine.probing.first_round(&serving.pools);
        engine
            .probing
            .watch(&serving.pools, |pool| pool.pool.probe.every);
        if !options.threshold.is_crossed() {
            return Err(Fault::Draining);
        }
        plan.listen()?;
        engine.turn_over(plan, true);
        Ok(engine)
    }

    /// Makes ready to serve another snapshot: checks it, reads the files it names, binds new addresses.
    /// Waits for a change that is under way.
    ///
    /// # Errors
    /// A [`Fault`]; everything is as it was then.
    pub fn prepare(&self, snapshot: Arc<Snapshot>) -> Result<Prepared<'_>, Fault> {
        let overrides = self.change();
        let before = self.shared.serving.load_full();
        let model = snapshot.model();
        let mut serving = Serving::new(Arc::clone(&snapshot), Some(&before))?;
        serving.keep_departed(&before, &self.generations().names());
        let workers = workers(overrides.workers, model);
        let pairs = Pairs::read(model, &self.pairs.load(), clock::wall());
        let wanted = wanted(&snapshot, &pairs, &self.generations().listening())?;
        let plan = self.generations().plan(wanted, workers, &self.shared)?;
        let tried = self.probing.try_out(&serving.pools_of_strangers());
        if self.generations().has_ended() {
            return Err(Fault::Draining);
        }
        Ok(Prepared {
            engine: self,
            tried,
            overrides,
            serving,
            pairs,
            plan,
            access_log: None,
            is_new_generation: false,
        })
    }

    /// Serves with so many workers, whatever the configuration says; `None`: with what it says.
    ///
    /// # Errors
    /// A [`Fault`]; everything is as it was then.
    pub fn set_workers(&self, count: Option<NonZeroU16>) -> Result<(), Fault> {
        let mut overrides = self.change();
        let workers = workers(count, self.snapshot().model());
        let mut generations = self.generations();
        let wanted = generations.wanted();
        let plan = generations.plan(wanted, workers, &self.shared)?;
        let drain = self.snapshot().model().drain;
        let turnover = generations.turn_over(plan, false, drain, clock::now(), clock::wall());
        drop(generations);
        self.say_generation();
        turnover.handover.wait(HANDOVER);
        overrides.workers = count;
        Ok(())
    }

    /// Takes a node out of rotation for as long as it is drained, or lets it back in. Requests in
    /// flight on it end; probes go on.
    ///
    /// # Errors
    /// [`Fault::Unknown`] when there is no such pool or node.
    pub fn set_drained(&self, pool: &str, node: &str, drained: bool) -> Result<(), Fault> {
        let mut overrides = self.change();
        let serving = self.shared.serving.load_full();
        let named = (pool.to_owned(), node.to_owned());
        // What was told of a node that has left since is taken back like everything that was told.
        let is_taken_back = !drained && overrides.drained.contains(&named);
        let known = serving.pools.get(pool);
        match known.map(|known| (known, known.state.set_drained(node, drained, clock::now()))) {
            Some((known, Some(moves))) => known.report(&moves),
            Some((_, None)) | None if is_taken_back => {}
            Some((_, None)) => {
                let what = format!("node `{node}` in pool `{pool}`");
                return Err(Fault::Unknown { what });
            }
            None => {
                let what = format!("pool `{pool}`");
                return Err(Fault::Unknown { what });
            }
        }
        match drained {
            true => overrides.drained.insert(named),
            false => overrides.drained.remove(&named),
        };
        Ok(())
    }

    /// The snapshot that is served.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.shared.serving.load().snapshot)
    }

    /// Where each listener listens, with the ports that the system picked.
    #[must_use]
    pub fn addresses(&self) -> Vec<(Name, SocketAddr)> {
        self.generations().addresses()
    }

    /// What serves, and what drains.
    #[must_use]
    pub fn data_plane(&self) -> DataPlane {
        let mut generations = self.generations();
        let (generation, since) = generations.current();
        DataPlane {
            generation,
            since,
            started: self.started,
            workers: generations.workers(),
            listeners: generations.listeners(),
            draining: generations.draining(),
            ends: generations.ends(),
        }
    }

    /// The pools and what is known about their nodes, by name; then those that a snapshot took away and
    /// in which requests are still under way.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        let serving = self.shared.serving.load_full();
        self.departed.views(&serving.pools)
    }

    /// The certificates that are shown, by their files.
    #[must_use]
    pub fn shown_pairs(&self) -> Vec<PairFiles> {
        self.pairs.load().shown().cloned().collect()
    }

    /// Writes what it counts, for a scraper.
    pub fn write_metrics(&self, out: &mut Exposition) {
        let serving = self.shared.serving.load_full();
        let listening = self.generations().listening();
        series::listeners(out, &listening);
        series::sites(out, &serving);
        series::pools(out, &serving.pools, &self.departed);
        series::certificates(out, serving.snapshot.model(), &self.pairs.load());
        series::process(out, &self.shared, &self.data_plane());
    }

    /// Takes no new connection from here on; requests in flight end. What is being prepared is refused,
    /// and what is prepared is not served any more.
    pub fn drain(&self) {
        self.shared.drain();
        let length = self.snapshot().model().drain;
        self.generations().end(length, clock::now(), clock::wall());
        self.probing.waits_no_more();
    }

    /// Waits until everything has ended, after [`drain`](Engine::drain).
    pub fn join(&self) {
        let threads = self.generations().threads();
        for worker in threads {
            let _ = worker.join();
        }
        self.probing.end();
    }

    fn turn_over(&self, plan: Plan, is_forced: bool) -> crate::generation::Turnover {
        let drain = self.snapshot().model().drain;
        let (now, wall) = (clock::now(), clock::wall());
        let turnover = self
            .generations()
            .turn_over(plan, is_forced, drain, now, wall);
        self.say_generation();
        turnover.handover.wait(HANDOVER);
        turnover
    }

    /// Requests that come from here on know it.
    fn say_generation(&self) {
        let (number, _) = self.generations().current();
        self.shared.generation.store(number, Ordering::Relaxed);
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> MutexGuard<'_, Overrides> {
        self.overrides
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Prepared<'_> {
    /// The same in another generation, even if listeners and workers stay as they are.
    #[must_use]
    pub fn in_a_new_generation(self) -> Self {
        Prepared {
            is_new_generation: true,
            ..self
        }
    }

    /// The same with access lines that go there; `None`: nowhere. Once it is activated nobody writes
    /// to where they went before.
    #[must_use]
    pub fn with_access_log(self, to: Option<NonBlocking>) -> Self {
        Prepared {
            access_log: Some(to),
            ..self
        }
    }

    /// Listens on new addresses. Clients who connect there wait until it is activated, and are reset
    /// when it never is: call it right before.
    ///
    /// # Errors
    /// [`Fault::Bind`]; everything is as it was then.
    pub fn listen(&self) -> Result<(), Fault> {
        self.plan.listen()
    }

    /// Serves it: requests under way keep their snapshot, the next ones have this. Cannot fail, after
    /// [`listen`](Self::listen).
    pub fn activate(self) -> Applied {
        let shared = &self.engine.shared;
        let pools = self.serving.pools.clone();
        let now = clock::now();
        for tried in &self.tried {
            tried.tell(now);
        }
        // A pool that comes has no nodes yet that an operator could have drained.
        self.overrides.keep_drained(&self.serving);
        let before = shared.serving.swap(Arc::new(self.serving));
        self.engine.departed.take(&before.pools, &pools);
        let logs = shared.serving.load().snapshot.model().logs.clone();
        shared.access_log.turn_to(self.access_log, &logs);
        for pool in pools.values() {
            let mine = self.tried.iter().filter(|one| one.is_of(pool));
            let found: Vec<Found<'_>> = mine.map(Tried::found).collect();
            let asked: Vec<Asked<'_>> = found.iter().map(Found::asked).collect();
            let drained = self.overrides.drained_in(&pool.pool.name);
            let moves = pool.state.apply(&pool.pool, &asked, &drained, now);
            pool.report(&moves);
        }
        self.engine.pairs.store(Arc::new(self.pairs));
        let serving = shared.serving.load_full();
        let probing = &self.engine.probing;
        probing.ask_names_of(&serving.snapshot.model().resolver);
        probing.watch(&pools, |_| Duration::ZERO);
        let turnover = self.engine.turn_over(self.plan, self.is_new_generation);
        let (generation, _) = self.engine.generations().current();
        let same = |one: &gateway_config::model::Pool| {
            let now = pools.get(&one.name);
            now.is_some_and(|now| now.pool == *one)
        };
        let stayed = before
            .pools
            .values()
            .filter(|pool| same(&pool.pool))
            .count();
        Applied {
            generation,
            is_new_generation: turnover.is_new,
            pools_changed: before.pools.len().max(pools.len()) - stayed,
            listeners_added: turnover.added,
            listeners_removed: turnover.removed,
        }
    }
}

impl Overrides {
    /// The nodes of a pool that are to be drained, whether or not they are there.
    fn drained_in(&self, pool: &str) -> Vec<&str> {
        let of_pool = self.drained.iter().filter(|(of, _)| of == pool);
        of_pool.map(|(_, node)| &**node).collect()
    }

    /// A node that has come under the name of one that is drained is drained as well. One that has
    /// left the configuration is as drained as can be.
    fn keep_drained(&self, serving: &Serving) {
        for (pool, node) in &self.drained {
            if let Some(known) = serving.pools.get(&**pool)
                && let Some(moves) = known.state.set_drained(node, true, clock::now())
            {
                known.report(&moves);
            }
        }
    }
}

/// The listeners with what they show; profiles that stay as they are on listeners `before`, too.
fn wanted(
    snapshot: &Snapshot,
    pairs: &Pairs,
    before: &[Arc<Listening>],
) -> Result<Vec<Wanted>, Fault> {
    let with_shown = |listener: &Listener| {
        let known = before.iter().find(|one| one.name == listener.name);
        let known = known.and_then(|one| one.shown().clone());
        let shown = Shown::new(snapshot, listener, pairs, known.as_deref())?;
        Ok((listener.clone(), shown))
    };
    snapshot.model().listeners.iter().map(with_shown).collect()
}

fn workers(set: Option<NonZeroU16>, model: &Model) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let configured = model.workers.map_or_else(cores, usize::from);
    set.map_or(configured, |set| usize::from(set.get())).max(1)
}
