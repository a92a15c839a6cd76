//! The one reload: prepare, make it last, activate; and whatever else changes what is served.
//!
//! Called by SIGHUP, by the interface, and by the command line through it. One change goes at a
//! time, a second one waits. What a change is read from is left to its [`Owner`], how it is served
//! to the engine, and whether a kept file can be believed to [`state`](crate::state).
//!
//! Invariant: a change that is refused leaves everything as it was, and says why: to whoever
//! asked, in the log, and in the status.
//!
//! Source: adr/0034.

use std::num::NonZeroU16;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_config::model::PairFiles;
use gateway_config::{Loaded, Snapshot, Sources};
use gateway_pingora::{DataPlane, Engine, Exposition, PoolView, Prepared};
use tokio::sync::broadcast;

use crate::around::{self, Around};
use crate::clock;
use crate::origin::Document;
use crate::state::{Kept, Overrides, StateDir};

mod bundle;
mod ending;
mod first;
mod keeping;
mod looks;
mod owner;
mod refused;
mod status;
mod took;

pub(crate) use first::Start;
pub(crate) use owner::{Applied, Owner, Said, Who, Written};
pub(crate) use refused::{Findings, Refused};
pub(crate) use status::{Active, Change, Ending, Event, Refusal, Status};

/// How long a change waits for the one before it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Events that may wait for whoever watches; beyond it the oldest are lost, and counted.
const EVENTS: usize = 256;
/// Most workers.
const WORKERS: u32 = 256;

/// Everything that changes what is served.
pub(crate) struct Reload {
    engine: Arc<Engine>,
    around: Arc<Around>,
    state: Option<StateDir>,
    who: Who,
    turn: Arc<tokio::sync::Mutex<Turn>>,
    status: Mutex<Status>,
    events: broadcast::Sender<Event>,
    is_draining: AtomicBool,
    /// Held from when a change can no longer be refused until it is served, and by the end: a change
    /// is before the end, or is refused.
    turning: Mutex<()>,
}

/// What only the one who changes something may touch.
struct Turn {
    owner: Box<dyn Owner>,
    /// The highest number that was ever given.
    last: u64,
}

/// Whether a reload ends in another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// In any case.
    Another,
    /// Where listeners or workers change.
    WhereNeeded,
}

/// What is to be served next.
struct Next {
    said: Said,
    generation: Generation,
    /// It is an older snapshot, and so perhaps not what its owner says.
    is_rollback: bool,
}

impl Reload {
    /// What is served is asked of its owner again.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn reload(
        self: &Arc<Self>,
        generation: Generation,
    ) -> Result<Change, Refused> {
        self.in_turn(Self::refused, move |this, turn| {
            let said = turn.owner.says(&this.shown_pairs());
            let is_rollback = false;
            this.serve(
                turn,
                Next {
                    said,
                    generation,
                    is_rollback,
                },
            )
        })
        .await
    }

    /// Serves these documents, if what is active has the hash that is expected; the same content
    /// again is no change.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn apply(
        self: &Arc<Self>,
        documents: Vec<Document>,
        expected: String,
    ) -> Result<Change, Refused> {
        self.in_turn(Self::refused, move |this, turn| {
            if !this.who.takes_apply() {
                return Err(Refused::Owned(this.who.to_string()));
            }
            let said = Said::of(documents, &this.shown_pairs());
            let active = this.engine.snapshot().hash().to_owned();
            let hash = said
                .outcome
                .result
                .as_ref()
                .map(|loaded| loaded.snapshot.hash());
            if active != expected && hash.ok() != Some(active.as_str()) {
                return Err(Refused::Moved { active, expected });
            }
            let (generation, is_rollback) = (Generation::WhereNeeded, false);
            this.serve(
                turn,
                Next {
                    said,
                    generation,
                    is_rollback,
                },
            )
        })
        .await
    }

    /// Serves a snapshot that is kept; without a number the one before the active one.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn rollback(self: &Arc<Self>, number: Option<u64>) -> Result<Change, Refused> {
        self.in_turn(Self::refused, move |this, turn| {
            let active = this.status().active.number;
            let kept = this.kept()?;
            let is_it = |one: &&Kept| match number {
                Some(number) => one.number == number,
                None => one.number < active,
            };
            let Some(kept) = kept.iter().find(is_it) else {
                return Err(number.map_or(Refused::NothingBefore, Refused::NoSuchSnapshot));
            };
            let said = first::said(kept);
            let (generation, is_rollback) = (Generation::WhereNeeded, true);
            this.serve(
                turn,
                Next {
                    said,
                    generation,
                    is_rollback,
                },
            )
        })
        .await
    }

    /// Serves with so many workers, whatever the configuration says; `None`: with what it says.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn set_workers(self: &Arc<Self>, count: Option<u32>) -> Result<(), Refused> {
        let wanted = count.map(|count| {
            let fits = u16::try_from(count).ok().filter(|_| count <= WORKERS);
            fits.and_then(NonZeroU16::new)
                .ok_or(Refused::Workers(count))
        });
        self.in_turn(Self::not_overruled, move |this, _| {
            let wanted = wanted.transpose()?;
            this.overrule(
                |overrides| overrides.workers = wanted.map(NonZeroU16::get),
                |engine| engine.set_workers(wanted),
            )
        })
        .await
    }

    /// Takes a node out of rotation, or lets it in again.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) async fn set_drained(
        self: &Arc<Self>,
        pool: String,
        node: String,
        is_drained: bool,
    ) -> Result<(), Refused> {
        self.in_turn(Self::not_overruled, move |this, _| {
            this.overrule(
                |overrides| {
                    let named = (pool.clone(), node.clone());
                    match is_drained {
                        true => overrides.drained.insert(named),
                        false => overrides.drained.remove(&named),
                    };
                },
                |engine| engine.set_drained(&pool, &node, is_drained),
            )
        })
        .await
    }

    /// What the process says of its own state.
    pub(crate) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who says what is served.
    pub(crate) fn who(&self) -> &Who {
        &self.who
    }

    /// What is served.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot()
    }

    /// The certificates that are shown.
    pub(crate) fn shown_pairs(&self) -> Vec<PairFiles> {
        self.engine.shown_pairs()
    }

    /// The data plane as it is.
    pub(crate) fn data_plane(&self) -> DataPlane {
        self.engine.data_plane()
    }

    /// The pools as they are.
    pub(crate) fn pools(&self) -> Vec<PoolView> {
        self.engine.pools()
    }

    /// Writes what the data plane counts.
    pub(crate) fn write_metrics(&self, out: &mut Exposition) {
        self.engine.write_metrics(out);
    }

    /// What is beside the data plane.
    pub(crate) fn around(&self) -> &Around {
        &self.around
    }

    /// What changes from here on.
    pub(crate) fn watch(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Does something that changes what is served, when everybody before is done. It goes on to its
    /// end when whoever asked has gone; a refusal is said all the same.
    async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        says: fn(&Self, &Refused),
        act: impl FnOnce(&Self, &mut Turn) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let waited = tokio::time::timeout(PATIENCE, Arc::clone(&self.turn).lock_owned()).await;
        let this = Arc::clone(self);
        let acted = tokio::task::spawn_blocking(move || {
            let done = match waited {
                Ok(_) if this.is_draining() => Err(Refused::Draining),
                Ok(mut turn) => act(&this, &mut turn),
                Err(_) => Err(Refused::Busy(PATIENCE)),
            };
            done.inspect_err(|refused| says(&this, refused))
        });
        acted
            .await
            .unwrap_or_else(|bug| Err(Refused::Bug(bug.to_string())))
    }

    /// Prepare, make it last, activate.
    fn serve(&self, turn: &mut Turn, next: Next) -> Result<Change, Refused> {
        let text = next.said.outcome.result.as_ref().ok();
        let text = text.map(|loaded| next.said.kept(&loaded.snapshot));
        let text = text.transpose().map_err(Refused::OddDocument)?;
        let sources = next.said.outcome.sources;
        let loaded = match next.said.outcome.result {
            Ok(loaded) => loaded,
            Err(found) => return Err(Refused::Configuration(Findings { found, sources })),
        };
        let before = self.status().active.clone();
        let is_unchanged = before.number > 0 && loaded.snapshot.hash() == before.hash;
        let known = is_unchanged.then_some(before.number);
        let number = known.unwrap_or(turn.last + 1);
        let snapshot = Arc::new(loaded.snapshot.clone().with_number(number));
        let mut took = next.said.took;
        let (prepared, around) = self.prepare(&snapshot, &loaded, &sources)?;
        took.ends("prepare");
        let _turning = self.before_the_end()?;
        let listens = prepared.listen();
        listens.map_err(|fault| Refused::of_fault(fault, &loaded, &sources))?;
        let at = clock::wall();
        if !is_unchanged || self.is_kept_otherwise(number, text.as_deref()) {
            let (hash, text) = (snapshot.hash().to_owned(), text.unwrap_or_default());
            self.keep(&Kept {
                number,
                hash,
                text,
                at,
            })?;
            turn.last = number;
        }
        took.ends("keep");
        let applied = match next.generation {
            Generation::Another => prepared.in_a_new_generation().activate(),
            Generation::WhereNeeded => prepared.activate(),
        };
        took.ends("activate");
        self.around.turn_to(around);
        let told = next
            .said
            .documents
            .is_some_and(|all| turn.owner.is_told(&all));
        let active = Active {
            number,
            hash: snapshot.hash().to_owned(),
            since: if is_unchanged { before.since } else { at },
            differs: next.is_rollback && !told,
        };
        Ok(self.served(Change {
            active,
            is_unchanged,
            applied,
            took,
            warnings: Findings {
                found: loaded.warnings,
                sources,
            },
            degraded: Vec::new(),
        }))
    }

    /// Everything that can keep a snapshot from being served, and nothing that anybody sees yet.
    fn prepare(
        &self,
        snapshot: &Arc<Snapshot>,
        loaded: &Loaded,
        sources: &Sources,
    ) -> Result<(Prepared<'_>, around::Next), Refused> {
        let prepared = self.engine.prepare(Arc::clone(snapshot));
        let prepared = prepared.map_err(|fault| Refused::of_fault(fault, loaded, sources))?;
        let next = self.around.next(snapshot.model());
        let next = next.map_err(|why| Refused::of_around(&why, loaded, sources))?;
        Ok(match next.writer() {
            Some(log) => (prepared.with_access_log(log), next),
            None => (prepared, next),
        })
    }

    /// Says one thing to the running process, against its configuration, and makes it last.
    fn overrule(
        &self,
        say: impl FnOnce(&mut Overrides),
        act: impl FnOnce(&Engine) -> Result<(), gateway_pingora::Fault>,
    ) -> Result<(), Refused> {
        let before = self.status().overrides.clone();
        let mut overrides = before.clone();
        say(&mut overrides);
        let _turning = self.before_the_end()?;
        act(&self.engine).map_err(Refused::Fault)?;
        self.remember(&overrides);
        self.status().overrides.clone_from(&overrides);
        tracing::info!(workers = overrides.workers, drained = ?overrides.drained, "overrides");
        if overrides != before {
            let _ = self.events.send(Event::Overrides(overrides));
        }
        Ok(())
    }

    fn served(&self, change: Change) -> Change {
        let forgotten = self.status().not_remembered.clone();
        if forgotten.is_some() {
            let overrides = self.status().overrides.clone();
            self.remember(&overrides);
        }
        let mut status = self.status();
        status.took(&change);
        status.certificates = self.engine.broken_certificates();
        if !change.active.differs {
            status.not_as_said.clear();
        }
        let degraded = status.degraded();
        drop(status);
        let change = Change { degraded, ..change };
        self.say(&change);
        let _ = self.events.send(Event::Applied(change.clone()));
        change
    }

    fn refused(&self, refused: &Refused) {
        let refusal = self.status().refused(refused, clock::wall());
        let active = self.snapshot();
        let (snapshot, why) = (active.hash(), refusal.message.as_str());
        tracing::error!(snapshot, why, "reload: refused");
        let _ = self.events.send(Event::Refused(refusal));
    }

    /// What is served is as it was said, so this is no refused change; whoever asked is told.
    fn not_overruled(&self, refused: &Refused) {
        let why = refused.to_string();
        tracing::warn!(why, "overrides: refused");
    }

    fn say(&self, change: &Change) {
        let (snapshot, number) = (change.active.hash.as_str(), change.active.number);
        let generation = change.applied.generation;
        let message = match change.is_unchanged {
            true => "reload: unchanged but for the files it names",
            false => "reload: applied",
        };
        tracing::info!(snapshot, number, generation, took = %change.took, "{message}");
        for one in &change.warnings.found {
            tracing::warn!("{}", change.warnings.line(one));
        }
        if change.applied.is_new_generation {
            say_where(&self.engine);
        }
    }
}

/// Says where each listener listens, which may be a port that the system picked.
fn say_where(engine: &Engine) {
    for (listener, addr) in engine.addresses() {
        tracing::info!(listener = &*listener, addr = %addr, "listening");
    }
}

#[cfg(test)]
pub(crate) mod tests;
