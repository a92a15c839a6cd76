//! What we are doing to the gateway at a moment: the faults and changes under way, kept long enough to
//! judge the requests they may have met.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway_tests::clock;

use crate::shape::DRAIN;
use crate::troubles::Trouble;

/// How many changes are remembered: more than happen within the life of any request.
const REMEMBERED: usize = 400;
/// A gateway that cuts when it should is not late within this.
const SLACK: Duration = Duration::from_millis(200);

/// One thing we did.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// What, for whoever reads of a failure.
    pub(crate) what: String,
    /// What may follow from it.
    pub(crate) cause: Cause,
    from: Instant,
    until: Option<Instant>,
}

/// What may follow from a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The connections of the side listener have to end by the drain deadline.
    SideLeaves,
    /// Connections of any listener may have to end by the drain deadline: their worker has gone.
    WorkerLeaves,
    /// A node does not do its part.
    Node(&'static str, Trouble),
    /// Nothing at all.
    Nothing,
    /// The process is to end.
    Stop,
}

/// Which connections a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// A listener that stays.
    Stays,
    /// The listener that comes and goes.
    Side,
}

/// Where the side listener is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Its address.
    pub(crate) addr: SocketAddr,
    /// Whether it is encrypted.
    pub(crate) is_tls: bool,
    /// Rises whenever who is connected has to go, from the moment that is begun.
    pub(crate) epoch: u64,
    /// Rises whenever somebody else, or nobody, is to be found there.
    pub(crate) moves: u64,
}

#[derive(Debug, Default)]
struct SideNow {
    spot: Option<Spot>,
    epoch: u64,
    moves: u64,
}

/// The last change for which somebody had to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// How many there have been.
    pub(crate) times: u64,
    /// Which connections it is about.
    pub(crate) door: Option<Door>,
}

impl Left {
    fn leaves(&mut self, door: Door) {
        self.times += 1;
        self.door = Some(door);
    }
}

/// Everything under way.
#[derive(Debug)]
pub(crate) struct Weather {
    began: Instant,
    left: Mutex<Left>,
    changes: Mutex<VecDeque<Change>>,
    side: Mutex<SideNow>,
}

impl Weather {
    /// Nothing is under way.
    pub(crate) fn calm() -> Self {
        Weather {
            began: clock::now(),
            left: Mutex::default(),
            changes: Mutex::default(),
            side: Mutex::default(),
        }
    }

    /// Something begins, and lasts until what is returned is dropped.
    pub(crate) fn begins(&self, what: impl Into<String>, cause: Cause) -> UnderWay<'_> {
        let from = clock::now();
        match cause {
            Cause::SideLeaves => lock(&self.left).leaves(Door::Side),
            Cause::WorkerLeaves => lock(&self.left).leaves(Door::Stays),
            Cause::Node(..) | Cause::Nothing | Cause::Stop => {}
        }
        let mut changes = lock(&self.changes);
        changes.push_back(Change {
            what: what.into(),
            cause,
            from,
            until: None,
        });
        if changes.len() > REMEMBERED {
            changes.pop_front();
        }
        UnderWay {
            weather: self,
            from,
        }
    }

    /// The last change for which sockets may be closed or given to somebody else.
    pub(crate) fn left(&self) -> Left {
        *lock(&self.left)
    }

    /// What was under way at any moment between these.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> Vec<Change> {
        let meets = |one: &&Change| one.from <= to && one.until.is_none_or(|until| until >= from);
        lock(&self.changes).iter().filter(meets).cloned().collect()
    }

    /// Whether a connection last used, or begun, at `since` may have been cut by now: something made it
    /// leave, and the drain deadline has passed since.
    pub(crate) fn may_be_cut(&self, door: Door, since: Instant, now: Instant) -> bool {
        let makes_leave = |one: &Change| match one.cause {
            Cause::WorkerLeaves | Cause::Stop => true,
            Cause::SideLeaves => door == Door::Side,
            Cause::Node(..) | Cause::Nothing => false,
        };
        let cuts = |one: &Change| {
            makes_leave(one)
                && one.until.is_none_or(|until| until >= since)
                && one.from + DRAIN <= now + SLACK
        };
        lock(&self.changes).iter().any(cuts)
    }

    /// When the process was told to end.
    pub(crate) fn stopped(&self) -> Option<Instant> {
        let changes = lock(&self.changes);
        let stop = changes.iter().find(|one| one.cause == Cause::Stop);
        stop.map(|one| one.from)
    }

    /// Seconds since the beginning.
    pub(crate) fn since_start(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.began).as_secs_f64()
    }

    /// Where the side listener is; nothing while it moves, or is nowhere.
    pub(crate) fn side(&self) -> Option<Spot> {
        lock(&self.side).spot
    }

    /// Whether who connected to the side listener at `spot` has to go by now.
    pub(crate) fn has_left(&self, spot: &Spot) -> bool {
        lock(&self.side).epoch != spot.epoch
    }

    /// Whether who connects to `spot` now may find another there, or nobody.
    pub(crate) fn has_moved(&self, spot: &Spot) -> bool {
        lock(&self.side).moves != spot.moves
    }

    /// Who is connected to the side listener has to go; who connects finds it where it is.
    pub(crate) fn side_leaves(&self) {
        let mut side = lock(&self.side);
        side.epoch += 1;
    }

    /// The side listener is about to leave where it is.
    pub(crate) fn side_moves(&self) {
        let mut side = lock(&self.side);
        side.epoch += 1;
        side.moves += 1;
        side.spot = None;
    }

    /// The side listener is there from here on, or nowhere.
    pub(crate) fn side_is(&self, at: Option<(SocketAddr, bool)>) {
        let mut side = lock(&self.side);
        let (epoch, moves) = (side.epoch, side.moves);
        side.spot = at.map(|(addr, is_tls)| Spot {
            addr,
            is_tls,
            epoch,
            moves,
        });
    }
}

/// A change under way.
pub(crate) struct UnderWay<'weather> {
    weather: &'weather Weather,
    from: Instant,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut changes = lock(&self.weather.changes);
        let ours = changes.iter_mut().rfind(|one| one.from == self.from);
        if let Some(ours) = ours {
            ours.until = Some(clock::now());
        }
    }
}

/// A lock that does not care whether somebody panicked under it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
