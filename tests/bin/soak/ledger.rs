//! Counts what came of everything in one act.

use std::collections::BTreeMap;
use std::sync::Mutex;

use gateway_tests::clock;
use serde::Serialize;

use crate::judge::{Exchange, Saw, Verdict, judge};
use crate::weather::{Weather, lock};

/// How many failures of each kind are told in full.
const TOLD: usize = 3;

/// The counts of one act.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Counts>);

/// What was counted.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Counts {
    /// Requests and frames sent.
    pub(crate) requests: u64,
    /// Failed, and had to after what we did.
    pub(crate) had_to_fail: u64,
    /// Failed, and need not have.
    pub(crate) need_not: u64,
    /// Not repeatable, and seen by nodes more than once.
    pub(crate) duplicates: u64,
    /// Answers or requests with other bytes than were sent.
    pub(crate) differing: u64,
    /// Connections closed that could have stayed.
    pub(crate) closed: u64,
    /// What else was promised and not kept.
    pub(crate) broken: u64,
    /// Requests by client.
    pub(crate) clients: BTreeMap<&'static str, u64>,
    /// Requests that had to fail, by what explains it.
    pub(crate) excuses: BTreeMap<String, u64>,
    /// Reloads and faults by kind.
    pub(crate) done: BTreeMap<String, u64>,
    /// The first failures of each kind in full.
    pub(crate) told: Vec<String>,
    #[serde(skip)]
    told_by_kind: BTreeMap<String, usize>,
    /// What was measured.
    pub(crate) measured: Vec<String>,
}

impl Ledger {
    /// Judges one exchange and counts it.
    pub(crate) fn takes(&self, weather: &Weather, exchange: &Exchange) {
        let now = clock::now();
        let verdict = judge(weather, exchange, now);
        let mut counts = lock(&self.0);
        counts.requests += 1;
        *counts.clients.entry(exchange.client).or_default() += 1;
        let meanwhile = match verdict {
            Verdict::Served => return,
            Verdict::HadToFail(why) => {
                counts.had_to_fail += 1;
                *counts.excuses.entry(why).or_default() += 1;
                return;
            }
            Verdict::NeedNotHaveFailed(meanwhile) => meanwhile,
        };
        match exchange.saw {
            Saw::Differs(_) => counts.differing += 1,
            Saw::Closed(_) => {
                counts.closed += 1;
                counts.need_not += 1;
            }
            _ => counts.need_not += 1,
        }
        let told = format!(
            "{:.3} s (asked at {:.3} s), {}: saw {:?}; under way or just over: {}",
            weather.since_start(now),
            weather.since_start(exchange.begun),
            exchange.client,
            exchange.saw,
            match meanwhile.is_empty() {
                true => "nothing".to_owned(),
                false => meanwhile.join(", "),
            },
        );
        counts.tell(exchange.client, told);
    }

    /// A reload or a fault was done.
    pub(crate) fn did(&self, what: &str) {
        *lock(&self.0).done.entry(what.to_owned()).or_default() += 1;
    }

    /// A body was seen more than once.
    pub(crate) fn seen_again(&self, what: String) {
        let mut counts = lock(&self.0);
        counts.duplicates += 1;
        counts.tell("duplicate", what);
    }

    /// A node saw other bytes than were sent.
    pub(crate) fn differs(&self, what: String) {
        let mut counts = lock(&self.0);
        counts.differing += 1;
        counts.tell("bytes", what);
    }

    /// A measurement; a promise is broken unless it `holds`.
    pub(crate) fn measures(&self, what: String, holds: bool) {
        let mut counts = lock(&self.0);
        if !holds {
            counts.broken += 1;
            counts.tell("promise", what.clone());
        }
        counts.measured.push(what);
    }

    /// Everything so far.
    pub(crate) fn counts(&self) -> Counts {
        lock(&self.0).clone()
    }
}

impl Counts {
    /// Whether nothing went wrong.
    pub(crate) fn is_clean(&self) -> bool {
        self.need_not + self.duplicates + self.differing + self.broken == 0
    }

    /// The first of each kind; one fault is soon met by everybody.
    fn tell(&mut self, kind: &str, what: String) {
        let told = self.told_by_kind.entry(kind.to_owned()).or_default();
        *told += 1;
        if *told <= TOLD {
            self.told.push(what);
        }
    }
}
