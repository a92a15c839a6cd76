//! What is counted, and where it is kept: each count with the thing it counts, so that a request finds
//! it without a look-up and its series ends with the thing.
//!
//! Only numbers; how they are shown is [`series`](crate::series)'s. Nothing a client sends chooses a
//! counter by its text.
//!
//! Source: adr/0039.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gateway_config::model::{Name, Site};
use gateway_core::failure::Failure;

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

/// Requests by the class of their status.
#[derive(Debug, Default)]
pub(crate) struct ByClass([Count; CLASSES.len()]);

/// The classes, as they are shown; `none`: nobody was there to answer.
pub(crate) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Lengths of time, in steps.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    steps: [Count; STEPS.len() + 1],
    micros: Count,
}

/// Longest times of the steps, in microseconds; one more takes what is longer.
pub(crate) const STEPS: [u64; 11] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000,
];

/// Failures by their reason.
#[derive(Debug)]
pub(crate) struct Failures([Count; Failure::REASONS.len()]);

/// Of one listener.
#[derive(Debug, Default)]
pub(crate) struct ListenerCounts {
    /// Connections accepted.
    pub(crate) accepted: Count,
    /// Connections closed at once.
    pub(crate) refused: Refusals,
    /// What was cut short because of what the client did.
    pub(crate) dropped: Drops,
    /// Handshakes, by what they came to.
    pub(crate) handshakes: Handshakes,
    /// Requests not served, and heads that were none.
    pub(crate) failures: Failures,
}

/// What a handshake came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// The connection is encrypted.
    Done,
    /// The connection failed in a way that has no word here.
    Failed,
    /// The client left.
    Gone,
    /// The client sent what is no TLS, or broke its rules.
    Malformed,
    /// None of the certificates for the name can be used.
    NoCertificate,
    /// No version, suite or protocol is spoken on both sides.
    NothingInCommon,
    /// The client did not take what it was shown.
    Rejected,
    /// It took too long.
    Slow,
    /// The name asked for is one that nobody has.
    UnknownName,
}

/// Handshakes, by what they came to.
#[derive(Debug, Default)]
pub(crate) struct Handshakes([Count; Handshake::ALL.len()]);

/// Connections closed at once, by the reason.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// As many as one client may have were open, or its share of the handshakes was under way.
    pub(crate) client: Count,
    /// As many as may be were open.
    pub(crate) full: Count,
    /// As many handshakes as may be were under way.
    pub(crate) handshakes: Count,
    /// The PROXY header that must come first did not come in time, or was none.
    pub(crate) proxy_header: Count,
}

/// What was cut short because of what a client did, where no answer could say so; by the reason.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Connections with too many frames of data without data.
    pub(crate) empty_data: Count,
    /// Connections of HTTP/2 that broke its rules.
    pub(crate) errors: Count,
    /// Connections with too many pings.
    pub(crate) pings: Count,
    /// Connections on which too many streams were reset.
    pub(crate) resets: Count,
    /// Connections with too many changes of settings.
    pub(crate) settings: Count,
    /// Connections that began with HTTP/2, or with a list of fields in it, and did not go on in time.
    pub(crate) slow_head: Count,
    /// Answers that a client took too slowly.
    pub(crate) slow_reader: Count,
    /// Streams of HTTP/2 that came to nothing before they were requests.
    pub(crate) streams: Count,
}

/// Of one site.
#[derive(Debug)]
pub(crate) struct SiteCounts {
    /// Over all listeners and routes.
    pub(crate) all: Arc<Totals>,
    /// The requests, by the listener they came in on.
    pub(crate) listeners: Vec<OnListener>,
}

/// Of one site, over all listeners and routes.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    begun: Count,
    ended: Count,
    /// How long requests took.
    pub(crate) took: Durations,
    /// Bytes of request bodies.
    pub(crate) bytes_in: Count,
    /// Bytes of answer bodies.
    pub(crate) bytes_out: Count,
}

/// A request in flight; until it is dropped.
pub(crate) struct InFlight(Arc<Totals>);

/// Of one site on one listener.
#[derive(Debug)]
pub(crate) struct OnListener {
    /// The listener.
    pub(crate) name: Name,
    /// What no route took.
    unrouted: Arc<ByClass>,
    /// Of each route, in the order of the site.
    routes: Vec<(Name, Arc<ByClass>)>,
}

/// What a request came to.
pub(crate) struct Ended<'a> {
    /// The listener it came in on.
    pub(crate) listener: &'a str,
    /// The place of its route in the site.
    pub(crate) route: Option<usize>,
    /// The status answered.
    pub(crate) status: Option<u16>,
    /// How long it took; `None` for a head that could not be read.
    pub(crate) took: Option<Duration>,
    /// Bytes of its body, and of the answer's.
    pub(crate) bytes: (u64, u64),
}

impl Count {
    /// One more.
    pub(crate) fn one(&self) {
        self.more(1);
    }

    /// So many more.
    pub(crate) fn more(&self, many: u64) {
        self.0.fetch_add(many, Ordering::Relaxed);
    }

    /// How many there are.
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl ByClass {
    fn count(&self, status: Option<u16>) {
        let class = status.map_or(0, |status| usize::from(status / 100));
        if let Some(counter) = self.0.get(class) {
            counter.one();
        }
    }

    /// The classes with their numbers.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CLASSES.into_iter().zip(self.0.iter().map(Count::now))
    }
}

impl Handshake {
    const ALL: [(Handshake, &str); 9] = [
        (Handshake::Done, "done"),
        (Handshake::Failed, "failed"),
        (Handshake::Gone, "gone"),
        (Handshake::Malformed, "malformed"),
        (Handshake::NoCertificate, "no_certificate"),
        (Handshake::NothingInCommon, "nothing_in_common"),
        (Handshake::Rejected, "rejected"),
        (Handshake::Slow, "slow"),
        (Handshake::UnknownName, "unknown_name"),
    ];
}

impl Handshakes {
    /// One more has come to this.
    pub(crate) fn count(&self, what: Handshake) {
        let at = Handshake::ALL.iter().position(|(one, _)| *one == what);
        if let Some(count) = at.and_then(|at| self.0.get(at)) {
            count.one();
        }
    }

    /// What they came to, with their numbers.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let words = Handshake::ALL.into_iter().map(|(_, word)| word);
        words.zip(self.0.iter().map(Count::now))
    }
}

impl Refusals {
    /// The reasons with their numbers.
    pub(crate) fn rows(&self) -> [(&'static str, &Count); 4] {
        [
            ("client", &self.client),
            ("full", &self.full),
            ("handshakes", &self.handshakes),
            ("proxy_header", &self.proxy_header),
        ]
    }
}

impl Drops {
    /// The reasons with their numbers.
    pub(crate) fn rows(&self) -> [(&'static str, &Count); 8] {
        [
            ("http2_empty_data", &self.empty_data),
            ("http2_error", &self.errors),
            ("http2_pings", &self.pings),
            ("http2_resets", &self.resets),
            ("http2_settings", &self.settings),
            ("http2_slow_head", &self.slow_head),
            ("http2_stream", &self.streams),
            ("slow_reader", &self.slow_reader),
        ]
    }
}

impl Durations {
    fn count(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let step = STEPS.partition_point(|&longest| longest < micros);
        if let Some(counter) = self.steps.get(step) {
            counter.one();
        }
        self.micros.more(micros);
    }

    /// How many took no longer than each step, with the step in seconds; the last has no bound.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = STEPS.into_iter().map(|micros| Some(seconds(micros)));
        let mut sum = 0;
        let sums = self.steps.iter().map(move |step| {
            sum += step.now();
            sum
        });
        bounds.chain([None]).zip(sums)
    }

    /// All of them together, in seconds.
    pub(crate) fn sum(&self) -> f64 {
        seconds(self.micros.now())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a metric is a float anyway")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

impl Default for Failures {
    fn default() -> Self {
        Failures(std::array::from_fn(|_| Count::default()))
    }
}

impl Failures {
    /// A request was not served.
    pub(crate) fn count(&self, failure: &Failure) {
        let at = Failure::REASONS.binary_search(&failure.reason());
        if let Some(counter) = at.ok().and_then(|at| self.0.get(at)) {
            counter.one();
        }
    }

    /// The reasons with their numbers.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Failure::REASONS
            .into_iter()
            .zip(self.0.iter().map(Count::now))
    }
}

impl SiteCounts {
    /// Counts of a site on these listeners, going on from those before.
    pub(crate) fn new<'a>(
        site: &Site,
        listeners: impl Iterator<Item = &'a Name>,
        before: Option<&SiteCounts>,
    ) -> Self {
        let before_on = |name: &Name| {
            let listeners = before.map_or(&[][..], |before| &before.listeners);
            listeners.iter().find(|one| one.name == *name)
        };
        let on = |name: &Name| OnListener::new(name, site, before_on(name));
        SiteCounts {
            all: before.map_or_else(Arc::default, |before| Arc::clone(&before.all)),
            listeners: listeners.map(on).collect(),
        }
    }

    /// A request has begun.
    pub(crate) fn begin(&self) -> InFlight {
        self.all.begun.one();
        InFlight(Arc::clone(&self.all))
    }

    /// A request has ended.
    pub(crate) fn end(&self, ended: &Ended<'_>) {
        let mut listeners = self.listeners.iter();
        if let Some(on) = listeners.find(|one| *one.name == *ended.listener) {
            let route = ended.route.and_then(|at| on.routes.get(at));
            route
                .map_or(&on.unrouted, |(_, counts)| counts)
                .count(ended.status);
        }
        if let Some(took) = ended.took {
            self.all.took.count(took);
        }
        let (bytes_in, bytes_out) = ended.bytes;
        if bytes_in > 0 {
            self.all.bytes_in.more(bytes_in);
        }
        self.all.bytes_out.more(bytes_out);
    }
}

impl Totals {
    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        let ended = self.ended.now();
        self.begun.now().saturating_sub(ended)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.ended.one();
    }
}

impl OnListener {
    fn new(name: &Name, site: &Site, before: Option<&OnListener>) -> Self {
        let known: HashMap<&str, &Arc<ByClass>> = before
            .iter()
            .flat_map(|before| &before.routes)
            .map(|(name, counts)| (&**name, counts))
            .collect();
        let of_route = |name: &Name| {
            let counts = known.get(&**name).copied();
            (
                Arc::clone(name),
                counts.map_or_else(Arc::default, Arc::clone),
            )
        };
        OnListener {
            name: Arc::clone(name),
            unrouted: before.map_or_else(Arc::default, |before| Arc::clone(&before.unrouted)),
            routes: site
                .routes
                .iter()
                .map(|route| of_route(&route.name))
                .collect(),
        }
    }

    /// The routes with their counts, and what no route took.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &ByClass)> {
        let routes = self.routes.iter();
        let routes = routes.map(|(name, counts)| (&**name, &**counts));
        routes.chain([("", &*self.unrouted)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_in_its_step_and_in_those_after_it() {
        let took = Durations::default();
        took.count(Duration::from_millis(1));
        took.count(Duration::from_micros(1001));
        took.count(Duration::from_secs(60));
        let rows: Vec<_> = took.rows().collect();
        assert_eq!(rows.first(), Some(&(Some(0.001), 1)));
        assert_eq!(rows.get(1), Some(&(Some(0.0025), 2)));
        assert_eq!(rows.last(), Some(&(None, 3)));
    }

    #[test]
    fn a_site_goes_on_counting_where_its_names_stay() {
        let site = Site::new("s".into(), "a".into());
        let (a, b): (Name, Name) = ("a".into(), "b".into());
        let first = SiteCounts::new(&site, [&a].into_iter(), None);
        let end = |counts: &SiteCounts| {
            counts.end(&Ended {
                listener: "a",
                route: Some(7),
                status: Some(204),
                took: None,
                bytes: (0, 0),
            });
        };
        let held = first.begin();
        end(&first);
        let second = SiteCounts::new(&site, [&b, &a].into_iter(), Some(&first));
        end(&second);
        assert_eq!(second.all.in_flight(), 1);
        drop(held);
        assert_eq!(second.all.in_flight(), 0);
        let on_a = second.listeners.iter().find(|one| one.name == a).unwrap();
        let (_, unrouted) = on_a.rows().last().unwrap();
        assert!(unrouted.rows().any(|row| row == ("2xx", 2)));
    }
}
