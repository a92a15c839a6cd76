//! One node's verdict: in rotation or out of it.
//!
//! Fed by [`readiness`](crate::readiness) for probes and by the adapter for requests that broke.
//! Which other nodes there are is told to it by [`pool`](crate::pool), which also acts on the
//! verdict.
//!
//! Invariants: a node that is probed and that nobody has found good is out; counts eject only at
//! `fall` or `failures` in a row and never within the floor; a node that says it does not serve is
//! out at once; a node nobody probes comes back by one request that is answered, and by no other; a
//! node whose name has never been resolved is out.
//!
//! Source: the health sections of the front door and of pools; adr/0005, adr/0048, adr/0052.

use std::time::{Duration, Instant};

use gateway_config::model::Health as Rules;

use crate::readiness::{Document, Observation, Why};

/// What is known about one node's health.
#[derive(Clone, Debug)]
pub struct Health {
    standing: Standing,
    probe_failures: u32,
    traffic_failures: u32,
    good_probes: u32,
    changed: Option<Instant>,
    why: Option<Why>,
    last_ok: Option<Instant>,
    document: Document,
    probed: bool,
    /// Whether there are probes of it.
    watched: bool,
    /// Whether it is known where it is.
    resolved: bool,
    /// Trials that failed since the node was ejected.
    failed_trials: u32,
}

/// Whether the node is in rotation, and what its first verdict may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Out; the first good probe admits it, however many failed before.
    Added,
    /// Out, and nobody probes it; from this moment on one request may try it.
    Ejected(Instant),
    /// In rotation.
    In,
    /// Out; `rise` good probes in a row admit it.
    Out,
    /// Out, and nobody probes it; it is in as soon as it is known where it is.
    Unresolved,
    /// Out; the first probe of all decides alone.
    Unseen,
}

/// A change of rotation of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The node has come into rotation.
    In,
    /// The node has left rotation.
    Out(Why),
}

impl Health {
    /// A node known from the start: out, and its first probe decides alone.
    #[must_use]
    pub fn at_start() -> Self {
        Self::new(Standing::Unseen, true)
    }

    /// A node added later: out until its first good probe.
    #[must_use]
    pub fn added() -> Self {
        Self::new(Standing::Added, true)
    }

    /// A node nobody probes: in rotation until requests to it fail.
    #[must_use]
    pub fn unprobed() -> Self {
        Self::new(Standing::In, false)
    }

    /// The same node while its name has not been resolved: there is nowhere to send a request to, or a
    /// probe.
    #[must_use]
    pub fn somewhere(mut self) -> Self {
        self.resolved = false;
        if self.standing == Standing::In {
            self.wait_for_name();
        }
        self
    }

    /// Takes in that its name has been resolved. It stays so: the last good answer is kept.
    pub fn resolved(&mut self, now: Instant) -> Option<Turn> {
        self.resolved = true;
        (self.standing == Standing::Unresolved).then(|| self.enter(now))
    }

    /// Takes in that nobody probes it any more, or that somebody does again. Whether it is in
    /// rotation stays as it is, but for a node without a verdict, which is let in when nobody is
    /// going to make one and it is known where it is.
    pub fn set_watched(&mut self, watched: bool, now: Instant) -> Option<Turn> {
        self.watched = watched;
        if !watched && !self.resolved && self.standing != Standing::In {
            self.wait_for_name();
            return None;
        }
        match (self.standing, watched) {
            (Standing::Unresolved, true) => {
                self.standing = Standing::Added;
                None
            }
            (Standing::Unresolved, false) => None,
            (Standing::Ejected(_), true) => {
                self.standing = Standing::Out;
                None
            }
            (Standing::Out, false) => {
                self.standing = Standing::Ejected(now);
                None
            }
            (Standing::Added | Standing::Unseen, false) => Some(self.enter(now)),
            (Standing::Added | Standing::In | Standing::Out | Standing::Unseen, true)
            | (Standing::Ejected(_) | Standing::In, false) => None,
        }
    }

    fn wait_for_name(&mut self) {
        self.standing = Standing::Unresolved;
        self.why = Some(Why::Unresolved);
    }

    fn new(standing: Standing, watched: bool) -> Self {
        Self {
            standing,
            probe_failures: 0,
            traffic_failures: 0,
            good_probes: 0,
            changed: None,
            why: None,
            last_ok: None,
            document: Document::default(),
            probed: false,
            watched,
            resolved: true,
            failed_trials: 0,
        }
    }

    /// Takes in what a probe found. `is_last` tells whether no other node is in rotation.
    pub fn probed(
        &mut self,
        seen: &Observation,
        rules: &Rules,
        is_last: bool,
        now: Instant,
    ) -> Option<Turn> {
        self.probed = true;
        match seen {
            Observation::Good(document) => {
                self.document = document.clone();
                self.good(rules, now)
            }
            Observation::NotServing(document) => {
                self.document = document.clone();
                self.not_serving(now)
            }
            Observation::Status(status) => self.failed(Why::Status(*status), rules, is_last, now),
            Observation::Timeout => self.failed(Why::Timeout, rules, is_last, now),
            Observation::Unreachable => self.failed(Why::Unreachable, rules, is_last, now),
            Observation::Unreadable => self.failed(Why::Unreadable, rules, is_last, now),
        }
    }

    /// Takes in that a real request found no connection, or lost it before an answer. Of a node that
    /// nobody probes and that is out, only its trial counts.
    pub fn exchange_failed(
        &mut self,
        rules: &Rules,
        is_last: bool,
        is_trial: bool,
        now: Instant,
    ) -> Option<Turn> {
        if !rules.count_traffic {
            return None;
        }
        if let Standing::Ejected(_) = self.standing {
            if is_trial {
                self.failed_trials = self.failed_trials.saturating_add(1);
                self.standing = Standing::Ejected(now + backoff(rules, self.failed_trials));
            }
            return None;
        }
        self.traffic_failures = self.traffic_failures.saturating_add(1);
        self.eject_by_count(Why::Unreachable, rules, is_last, now)
    }

    /// Takes in that a real request was answered, with whatever status. A node that nobody probes
    /// and that is out comes back when that was its trial.
    pub fn exchange_completed(&mut self, is_trial: bool, now: Instant) -> Option<Turn> {
        match self.standing {
            Standing::Ejected(_) if is_trial => Some(self.enter(now)),
            Standing::Ejected(_) => None,
            Standing::Added
            | Standing::In
            | Standing::Out
            | Standing::Unresolved
            | Standing::Unseen => {
                self.traffic_failures = 0;
                None
            }
        }
    }

    fn good(&mut self, rules: &Rules, now: Instant) -> Option<Turn> {
        self.probe_failures = 0;
        self.traffic_failures = 0;
        self.good_probes = self.good_probes.saturating_add(1);
        self.last_ok = Some(now);
        let admitted = match self.standing {
            Standing::Added | Standing::Ejected(_) | Standing::Unresolved | Standing::Unseen => {
                true
            }
            Standing::In => false,
            Standing::Out => self.good_probes >= u32::from(rules.rise),
        };
        admitted.then(|| self.enter(now))
    }

    fn enter(&mut self, now: Instant) -> Turn {
        self.standing = Standing::In;
        self.why = None;
        self.changed = Some(now);
        self.traffic_failures = 0;
        self.failed_trials = 0;
        Turn::In
    }

    fn not_serving(&mut self, now: Instant) -> Option<Turn> {
        self.count_probe_failure();
        match self.standing {
            Standing::In => Some(self.leave(Why::NotServing, Standing::Out, now)),
            Standing::Added
            | Standing::Ejected(_)
            | Standing::Out
            | Standing::Unresolved
            | Standing::Unseen => {
                self.stay_out(Why::NotServing);
                None
            }
        }
    }

    fn failed(&mut self, why: Why, rules: &Rules, is_last: bool, now: Instant) -> Option<Turn> {
        self.count_probe_failure();
        match self.standing {
            Standing::In => self.eject_by_count(why, rules, is_last, now),
            Standing::Added
            | Standing::Ejected(_)
            | Standing::Out
            | Standing::Unresolved
            | Standing::Unseen => {
                self.document.serving = None;
                self.stay_out(why);
                None
            }
        }
    }

    fn count_probe_failure(&mut self) {
        self.good_probes = 0;
        self.probe_failures = self.probe_failures.saturating_add(1);
    }

    fn eject_by_count(
        &mut self,
        why: Why,
        rules: &Rules,
        is_last: bool,
        now: Instant,
    ) -> Option<Turn> {
        let enough = self.probe_failures >= u32::from(rules.fall)
            || self.traffic_failures >= u32::from(rules.failures);
        let settled = self
            .changed
            .is_none_or(|at| now.saturating_duration_since(at) >= rules.floor);
        let kept = is_last && rules.keep_last;
        if self.standing == Standing::In && enough && settled && !kept {
            self.document.serving = None;
            let standing = match self.watched {
                true => Standing::Out,
                false => Standing::Ejected(now + backoff(rules, 0)),
            };
            Some(self.leave(why, standing, now))
        } else {
            None
        }
    }

    fn leave(&mut self, why: Why, standing: Standing, now: Instant) -> Turn {
        self.standing = standing;
        self.good_probes = 0;
        self.why = Some(why);
        self.changed = Some(now);
        Turn::Out(why)
    }

    fn stay_out(&mut self, why: Why) {
        self.why = Some(why);
        if self.standing == Standing::Unseen {
            self.standing = Standing::Out;
        }
    }

    /// Whether the node is in rotation.
    #[must_use]
    pub fn is_in(&self) -> bool {
        self.standing == Standing::In
    }

    /// Whether there are probes of it.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether it is known where it is.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.resolved
    }

    /// Whether any probe of it has ended; true as well when there are none.
    #[must_use]
    pub fn is_probed(&self) -> bool {
        self.probed || !self.watched
    }

    /// From when on one request may try it, while it is out and nobody probes it.
    #[must_use]
    pub fn ejected_until(&self) -> Option<Instant> {
        match self.standing {
            Standing::Ejected(until) => Some(until),
            Standing::Added
            | Standing::In
            | Standing::Out
            | Standing::Unresolved
            | Standing::Unseen => None,
        }
    }

    /// The longer of the two streaks of failures.
    #[must_use]
    pub fn consecutive_failures(&self) -> u32 {
        self.probe_failures.max(self.traffic_failures)
    }

    /// Failures of real requests in a row.
    #[must_use]
    pub fn traffic_failures(&self) -> u32 {
        self.traffic_failures
    }

    /// Why the node is out; `None` while it is in, or before its first probe.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        self.why
    }

    /// When a probe of it was last good.
    #[must_use]
    pub fn last_ok(&self) -> Option<Instant> {
        self.last_ok
    }

    /// What it last said about itself; `serving` is empty once it is out and silent.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }
}

/// How long a node is out after so many failed trials: twice as long after each, to a bound.
fn backoff(rules: &Rules, failed_trials: u32) -> Duration {
    2_u32
        .checked_pow(failed_trials)
        .and_then(|times| rules.backoff_min.checked_mul(times))
        .map_or(rules.backoff_max, |time| time.min(rules.backoff_max))
}

#[cfg(test)]
mod tests;
