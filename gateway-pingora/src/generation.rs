//! Generations: which listeners are served, on which sockets, by how many workers.
//!
//! A generation is a fixed set of listeners with one number of workers. The next one takes over the
//! sockets, the workers that stay, and the connections of listeners that stay; what it does not take
//! over drains. All decisions about it are made here; carried out they are at the
//! [posts](crate::post).
//!
//! Invariants: a socket is open as long as its address is served, one that was lent as long as the
//! process; a listener that stays loses no
//! connection; what drains has an end.
//!
//! Source: RUNTIME §1; adr/0035.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use gateway_config::model::{Listener, Name};

use crate::crew::{Crewman, Held};
use crate::drain::{LAST_LISTEN, Leave};
use crate::fault::Fault;
use crate::handover::{Handed, Handing, Outcome, handover};
use crate::listening::Listening;
use crate::post::Orders;
use crate::serving::Shared;
use crate::shown::Shown;
use crate::sockets::{Key, Planned, Sockets};
use crate::view::{DrainingView, ListenerView};

/// The generation that serves, and those that drain.
pub(crate) struct Generations {
    number: u64,
    since: SystemTime,
    sockets: Sockets,
    served: Vec<Served>,
    crew: Vec<Crewman>,
    leaving: Vec<Leaving>,
    /// Threads of workers that have gone; they end with their last connection.
    retired: Vec<JoinHandle<()>>,
    /// When what is left is cut, once nothing is served any more.
    ends: Option<SystemTime>,
}

/// A listener that is served.
struct Served {
    listening: Arc<Listening>,
    keys: Vec<Key>,
}

/// A post that nobody holds any more, with what is to be done there last.
type Relieved = (Held, Orders);

/// What a generation left behind.
struct Leaving {
    generation: u64,
    since: SystemTime,
    until: SystemTime,
    held: Vec<Held>,
}

/// A listener with what its handshakes are done with.
pub(crate) type Wanted = (Listener, Option<Arc<Shown>>);

/// A next generation, ready: its sockets are bound, but for listening, and its workers started.
pub(crate) struct Plan {
    wanted: Vec<Wanted>,
    sockets: Planned,
    workers: usize,
    fresh: Vec<Crewman>,
}

/// What came of a plan.
pub(crate) struct Turnover {
    /// Whether another generation serves from here on.
    pub(crate) is_new: bool,
    /// Listeners that were not served before.
    pub(crate) added: Vec<Name>,
    /// Listeners that drain.
    pub(crate) removed: Vec<Name>,
    /// When it is over, whoever connects finds the new generation.
    pub(crate) handover: Outcome,
}

impl Plan {
    /// Listens on new addresses: the last thing that can fail.
    ///
    /// # Errors
    /// [`Fault::Bind`].
    pub(crate) fn listen(&self) -> Result<(), Fault> {
        self.sockets.listen()
    }
}

impl Turnover {
    /// Nothing is otherwise than before.
    fn nothing(handover: Outcome) -> Self {
        Turnover {
            is_new: false,
            added: Vec::new(),
            removed: Vec::new(),
            handover,
        }
    }
}

impl Generations {
    /// Generation 0: nothing is served. Sockets that were `lent` wait for who asks for their address.
    pub(crate) fn none(now: SystemTime, lent: Vec<TcpListener>) -> Self {
        Generations {
            number: 0,
            since: now,
            sockets: Sockets::lent(lent),
            served: Vec::new(),
            crew: Vec::new(),
            leaving: Vec::new(),
            retired: Vec::new(),
            ends: None,
        }
    }

    /// Makes ready what is to be served next. Nothing that serves is touched.
    ///
    /// # Errors
    /// [`Fault::Bind`], [`Fault::Worker`]; [`Fault::Draining`] after the end.
    pub(crate) fn plan(
        &self,
        wanted: Vec<Wanted>,
        workers: usize,
        shared: &Arc<Shared>,
    ) -> Result<Plan, Fault> {
        if self.has_ended() {
            return Err(Fault::Draining);
        }
        let listeners: Vec<Listener> = wanted.iter().map(|(one, _)| one.clone()).collect();
        let sockets = self.sockets.prepare(&listeners, workers)?;
        let missing = self.crew.len()..workers;
        let fresh = missing.map(|number| Crewman::hire(number, Arc::clone(shared)));
        Ok(Plan {
            wanted,
            sockets,
            workers,
            fresh: fresh.collect::<Result<_, _>>()?,
        })
    }

    /// Lent sockets that nobody asks for in this plan.
    pub(crate) fn idle(&self, plan: &Plan) -> impl Iterator<Item = &TcpListener> {
        self.sockets.idle(&plan.sockets)
    }

    /// What is served, to be planned with another number of workers.
    pub(crate) fn wanted(&self) -> Vec<Wanted> {
        let wanted = |one: &Served| {
            let settings = Listener::clone(&one.listening.settings());
            (settings, one.listening.shown().clone())
        };
        self.served.iter().map(wanted).collect()
    }

    /// Serves what was planned. What is no longer served is listened to for `drain` at most. After the
    /// end nothing is served.
    pub(crate) fn turn_over(
        &mut self,
        plan: Plan,
        is_forced: bool,
        drain: Duration,
        now: Instant,
        wall: SystemTime,
    ) -> Turnover {
        let (handing, handed, outcome) = handover();
        if self.has_ended() {
            return Turnover::nothing(outcome);
        }
        let crew_before = self.crew.len();
        let sockets = self.sockets.with(plan.sockets);
        let old_sockets = std::mem::replace(&mut self.sockets, sockets);
        let (gone, added) = self.take_over(plan.wanted);
        let removed: Vec<Name> = gone
            .iter()
            .map(|one| Arc::clone(&one.listening.name))
            .collect();
        let is_new =
            is_forced || !added.is_empty() || !removed.is_empty() || plan.workers != crew_before;
        if is_new {
            let leave = Leave {
                idle_until: now + drain,
                ends: now + drain,
            };
            let retired = self.crew.split_off(plan.workers.min(crew_before));
            self.crew.extend(plan.fresh);
            self.man(&gone, &handed);
            let mut relieved = self.relieve(&gone, &old_sockets, crew_before);
            relieved.extend(self.retire(retired, &gone, &old_sockets, crew_before));
            // Nobody holds a socket now but who takes what is queued there and closes it: what came
            // after that would be reset.
            drop(old_sockets);
            let held = see_off(relieved, leave, &handing);
            if !held.is_empty() {
                self.leaving.push(Leaving {
                    generation: self.number,
                    since: wall,
                    until: wall + drain,
                    held,
                });
            }
            self.number += 1;
            self.since = wall;
        }
        self.forget();
        Turnover {
            is_new,
            added,
            removed,
            handover: outcome,
        }
    }

    /// Serves these listeners, with the connections of those that stay. Returns those that have gone,
    /// and the names of those that were added or have an address more.
    fn take_over(&mut self, wanted: Vec<Wanted>) -> (Vec<Served>, Vec<Name>) {
        let mut gone = std::mem::take(&mut self.served);
        let mut added = Vec::new();
        for (listener, tls) in wanted {
            let keys: Vec<Key> = Key::of(&listener).collect();
            let stays = gone.iter().position(|one| one.is_now(&listener, &keys));
            let before = stays.map(|at| gone.remove(at));
            let has_all = |one: &Served| one.keys.len() == keys.len();
            if !before.as_ref().is_some_and(has_all) {
                added.push(Arc::clone(&listener.name));
            }
            let listening = match before {
                Some(before) => {
                    before.listening.apply(listener, tls);
                    before.listening
                }
                None => Arc::new(Listening::new(listener, tls)),
            };
            self.served.push(Served { listening, keys });
        }
        (gone, added)
    }

    /// Gives every worker a post for each listener, and its share of the sockets. On those of listeners
    /// that have gone it waits until they have been handed over.
    fn man(&mut self, gone: &[Served], handed: &Handed) {
        let workers = self.crew.len();
        let was_theirs = |key: &Key| gone.iter().any(|one| one.keys.contains(key));
        for (number, man) in self.crew.iter_mut().enumerate() {
            for served in &self.served {
                let sockets = self.sockets.share(&served.keys, number, workers);
                let waits = served.keys.iter().any(was_theirs);
                man.accepts(&served.listening, sockets, waits.then(|| handed.clone()));
            }
        }
    }

    /// Takes the workers that stay from the posts of listeners that have gone. Each comes with the
    /// sockets that it has to close or to hand over.
    fn relieve(&mut self, gone: &[Served], sockets: &Sockets, workers: usize) -> Vec<Relieved> {
        let mut relieved = Vec::new();
        for (number, man) in self.crew.iter_mut().enumerate() {
            for served in gone {
                let Some(held) = man.leaves(&served.listening) else {
                    continue;
                };
                relieved.push((
                    held,
                    last_orders(&self.sockets, &served.keys, (sockets, number, workers)),
                ));
            }
        }
        relieved
    }

    /// Takes workers from all their posts. Their sockets are with the others, unless nobody listens
    /// there any more.
    fn retire(
        &mut self,
        retired: Vec<Crewman>,
        gone: &[Served],
        sockets: &Sockets,
        workers: usize,
    ) -> Vec<Relieved> {
        let mut relieved = Vec::new();
        let first = self.crew.len();
        for (number, man) in (first..).zip(retired) {
            let (posts, thread) = man.retires();
            for held in posts {
                let is_it = |one: &&Served| Arc::ptr_eq(&one.listening, &held.listening);
                let keys = gone.iter().find(is_it).map_or(&[][..], |one| &one.keys);
                let orders = last_orders(&self.sockets, keys, (sockets, number, workers));
                relieved.push((held, orders));
            }
            self.retired.push(thread);
        }
        relieved
    }

    /// Nothing is served any more; idle connections are listened to for what is on its way already.
    pub(crate) fn end(&mut self, drain: Duration, now: Instant, wall: SystemTime) {
        let leave = Leave {
            idle_until: now + LAST_LISTEN.min(drain),
            ends: now + drain,
        };
        for leaving in &mut self.leaving {
            leaving.until = leaving.until.min(wall + drain);
            for held in &leaving.held {
                held.is_told(Orders {
                    leave: Some(leave),
                    ..Orders::default()
                });
            }
        }
        let sockets = std::mem::take(&mut self.sockets);
        let workers = self.crew.len();
        let mut last = Vec::new();
        for (number, man) in std::mem::take(&mut self.crew).into_iter().enumerate() {
            let (posts, thread) = man.retires();
            for held in posts {
                let is_it = |one: &&Served| Arc::ptr_eq(&one.listening, &held.listening);
                let keys = self
                    .served
                    .iter()
                    .find(is_it)
                    .map_or(&[][..], |one| &one.keys);
                held.is_told(Orders {
                    leave: Some(leave),
                    ..last_orders(&self.sockets, keys, (&sockets, number, workers))
                });
                last.push(held);
            }
            self.retired.push(thread);
        }
        self.leaving.push(Leaving {
            generation: self.number,
            since: wall,
            until: wall + drain,
            held: last,
        });
        self.served.clear();
        self.ends = Some(wall + drain);
    }

    /// Whether nothing is served any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ends.is_some()
    }

    /// When what is left is cut, if nothing is served any more.
    pub(crate) fn ends(&self) -> Option<SystemTime> {
        self.ends
    }

    /// The threads of all workers, which end with their last connection.
    pub(crate) fn threads(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.retired)
    }

    /// Forgets what has ended.
    fn forget(&mut self) {
        for leaving in &mut self.leaving {
            leaving.held.retain(|held| !held.is_over());
        }
        self.leaving.retain(|leaving| !leaving.held.is_empty());
        self.retired.retain(|thread| !thread.is_finished());
    }
}

/// Tells those who hold no post any more what is to be done there last, and by when all is over.
fn see_off(relieved: Vec<Relieved>, leave: Leave, handing: &Handing) -> Vec<Held> {
    let told = relieved.into_iter().map(|(held, orders)| {
        held.is_told(Orders {
            leave: Some(leave),
            until: Some(handing.clone()),
            ..orders
        });
        held
    });
    told.collect()
}

/// What somebody who leaves these addresses has to do with the sockets that were its share `before`,
/// when there are these `now`. Where a service manager listens too, others may accept next, in another
/// process.
fn last_orders(
    now: &Sockets,
    keys: &[Key],
    (before, number, workers): (&Sockets, usize, usize),
) -> Orders {
    let stays = |key: &Key| now.get(key).is_some();
    let (stay, go): (Vec<Key>, Vec<Key>) = keys.iter().cloned().partition(stays);
    let go = before.share(&go, number, workers).into_iter();
    let (lent, closing) = go.partition(|socket| before.is_lent(socket));
    let mut handing: Vec<_> = lent;
    handing.extend(before.share(&stay, number, workers));
    Orders {
        closing,
        handing,
        ..Orders::default()
    }
}

/// What can be seen of it.
impl Generations {
    /// Its number, which rises by one with each, and since when it serves.
    pub(crate) fn current(&self) -> (u64, SystemTime) {
        (self.number, self.since)
    }

    /// The listeners that are served, and those that drain.
    pub(crate) fn names(&mut self) -> Vec<Name> {
        self.forget();
        let served = self.served.iter().map(|one| &one.listening);
        let left = self.leaving.iter().flat_map(|one| &one.held);
        let all = served.chain(left.map(|held| &held.listening));
        all.map(|one| Arc::clone(&one.name)).collect()
    }

    /// The listeners that are served, as they run.
    pub(crate) fn listening(&self) -> Vec<Arc<Listening>> {
        let served = self.served.iter();
        served.map(|one| Arc::clone(&one.listening)).collect()
    }

    /// How many workers serve.
    pub(crate) fn workers(&self) -> usize {
        self.crew.len()
    }

    /// The listeners with their addresses, in the order of the configuration.
    pub(crate) fn listeners(&self) -> Vec<ListenerView> {
        let view = |one: &Served| {
            let settings = one.listening.settings();
            let bound = one.keys.iter().filter_map(|key| self.sockets.get(key));
            ListenerView {
                name: Arc::clone(&one.listening.name),
                addresses: bound.map(|bound| bound.addr).collect(),
                tls: settings.tls.is_some(),
                http1: settings.http1,
                http2: settings.http2 || settings.h2c,
                connections: one.listening.connections(),
            }
        };
        self.served.iter().map(view).collect()
    }

    /// Where each listener listens; one row an address.
    pub(crate) fn addresses(&self) -> Vec<(Name, SocketAddr)> {
        let rows = |one: ListenerView| {
            let name = one.name;
            let row = move |addr| (Arc::clone(&name), addr);
            one.addresses.into_iter().map(row)
        };
        self.listeners().into_iter().flat_map(rows).collect()
    }

    /// What drains, the oldest first.
    pub(crate) fn draining(&mut self) -> Vec<DrainingView> {
        self.forget();
        let view = |one: &Leaving| DrainingView {
            generation: one.generation,
            since: one.since,
            until: one.until,
            connections: one.held.iter().map(Held::connections).sum(),
        };
        self.leaving.iter().map(view).collect()
    }
}

impl Served {
    /// Whether this listener is the same to those who are connected: a name, clear or not, and no
    /// address less than before.
    fn is_now(&self, listener: &Listener, keys: &[Key]) -> bool {
        self.listening.name == listener.name
            && self.listening.is_tls() == listener.tls.is_some()
            && self.keys.iter().all(|key| keys.contains(key))
    }
}
