//! The metrics of one site, under the names that existing dashboards know.
//!
//! Label values come from the configuration only: the number of series never depends on clients.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gateway_core::node::NodeView;
use prometheus::{
    Encoder, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::fault::Fault;

/// Bounds of the duration histogram, in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
/// The classes of status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The metrics of one site; outlives snapshots.
pub(crate) struct Metrics {
    registry: Registry,
    /// Requests received, refused ones included.
    pub(crate) requests: IntCounter,
    responses: [IntCounter; 5],
    /// Requests no route takes.
    pub(crate) denied: IntCounter,
    /// Requests for which no node was in rotation.
    pub(crate) no_node: IntCounter,
    /// Tries after the first.
    pub(crate) retries: IntCounter,
    /// Bytes of request bodies.
    pub(crate) request_bytes: IntCounter,
    /// Bytes of answer bodies.
    pub(crate) response_bytes: IntCounter,
    duration: Histogram,
    in_rotation: IntGauge,
    up: IntGaugeVec,
    serving: IntGaugeVec,
    in_flight: IntGaugeVec,
    bare_ranges: IntGauge,
    /// One scrape at a time fills the gauges and reads them.
    rendering: Mutex<()>,
}

impl Metrics {
    /// All families at zero.
    ///
    /// # Errors
    /// [`Fault::Metric`] when a name is taken, which only a fault of ours could cause.
    pub(crate) fn new() -> Result<Self, Fault> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| -> Result<IntCounter, Fault> {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok(counter)
        };
        let gauge = |name: &str, help: &str| -> Result<IntGauge, Fault> {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let per_node = |name: &str, help: &str| -> Result<IntGaugeVec, Fault> {
            let gauges = IntGaugeVec::new(Opts::new(name, help), &["node"])?;
            registry.register(Box::new(gauges.clone()))?;
            Ok(gauges)
        };
        let by_class = IntCounterVec::new(
            Opts::new(
                "big_proxy_responses_total",
                "Answers sent, by class of status.",
            ),
            &["class"],
        )?;
        registry.register(Box::new(by_class.clone()))?;
        let duration = Histogram::with_opts(
            HistogramOpts::new(
                "big_proxy_request_duration_seconds",
                "From the end of the request head to the end of the answer.",
            )
            .buckets(BUCKETS.to_vec()),
        )?;
        registry.register(Box::new(duration.clone()))?;
        Ok(Metrics {
            requests: counter("big_proxy_requests_total", "Requests received.")?,
            responses: CLASSES.map(|class| by_class.with_label_values(&[class])),
            denied: counter("big_proxy_route_denied_total", "Requests no route takes.")?,
            no_node: counter(
                "big_proxy_no_upstream_total",
                "Requests with no node in rotation.",
            )?,
            retries: counter("big_proxy_retries_total", "Tries after the first.")?,
            request_bytes: counter("big_proxy_request_bytes_total", "Bytes of request bodies.")?,
            response_bytes: counter("big_proxy_response_bytes_total", "Bytes of answer bodies.")?,
            duration,
            in_rotation: gauge("big_proxy_upstreams_in_rotation", "Nodes in rotation.")?,
            up: per_node("big_proxy_upstream_up", "Whether the node is in rotation.")?,
            serving: per_node(
                "big_proxy_upstream_serving",
                "What the node says: 1 serving, 0 not, -1 no agreement to report.",
            )?,
            in_flight: per_node("big_proxy_upstream_in_flight", "Requests in flight.")?,
            bare_ranges: gauge(
                "big_proxy_shards_without_node",
                "Ranges none of whose holders is in rotation.",
            )?,
            registry,
            rendering: Mutex::new(()),
        })
    }

    /// A request has been answered.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).wrapping_sub(1);
        if let Some(counter) = self.responses.get(class) {
            counter.inc();
        }
        self.duration.observe(took.as_secs_f64());
    }

    /// The text a scraper reads, with the nodes as they are at this moment.
    pub(crate) fn render(&self, nodes: &[NodeView], bare_ranges: usize) -> Vec<u8> {
        let _alone = self
            .rendering
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = |some: usize| i64::try_from(some).unwrap_or(i64::MAX);
        for gauges in [&self.up, &self.serving, &self.in_flight] {
            gauges.reset();
        }
        for node in nodes {
            let label = [&*node.name];
            self.up.with_label_values(&label).set(i64::from(node.is_in));
            let serving = node.document.serving.map_or(-1, i64::from);
            self.serving.with_label_values(&label).set(serving);
            self.in_flight
                .with_label_values(&label)
                .set(i64::from(node.in_flight));
        }
        self.in_rotation
            .set(count(nodes.iter().filter(|node| node.is_in).count()));
        self.bare_ranges.set(count(bare_ranges));
        let mut text = Vec::new();
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }
}
