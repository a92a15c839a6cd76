//! The series of the data plane: every count with its name and its labels, read at the moment of a
//! scrape.
//!
//! What is shown is what is served, so a series ends with its thing; its label values are names out of
//! the configuration and words of ours. The old names of a front door are `metrics`' own.
//!
//! Source: GATEWAY §10; adr/0039; the naming rules of Prometheus.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use gateway_config::model::Model;
use gateway_core::node::LiveNode;
use gateway_core::tally::Outcome;

use crate::counts::{Count, OnListener, Totals};
use crate::departed::Departed;
use crate::exposition::{Exposition, Kind};
use crate::listening::Listening;
use crate::pairs::{self, Pairs};
use crate::pools::{LivePool, Pools};
use crate::serving::{Serving, Shared};
use crate::site::ServedSite;
use crate::view::DataPlane;

use Kind::{Counter, Gauge, Histogram};

/// What is counted of listeners.
pub(crate) fn listeners(out: &mut Exposition, all: &[Arc<Listening>]) {
    out.family("gateway_connections_open", Gauge, "Connections open.");
    for one in all {
        out.sample(&[("listener", &one.name)], one.connections());
    }
    out.family(
        "gateway_connections_accepted_total",
        Counter,
        "Connections accepted.",
    );
    for one in all {
        out.sample(&[("listener", &one.name)], one.counts.accepted.now());
    }
    let words = "Connections closed at once.";
    out.family("gateway_connections_refused_total", Counter, words);
    for one in all {
        by(out, &one.name, "reason", &one.counts.refused.rows());
    }
    let words = "Connections, streams and answers cut short for what the client did.";
    out.family("gateway_dropped_total", Counter, words);
    for one in all {
        by(out, &one.name, "reason", &one.counts.dropped.rows());
    }
    let words = "TLS handshakes that have ended.";
    out.family("gateway_handshakes_total", Counter, words);
    for one in all {
        for (outcome, count) in one.counts.handshakes.rows() {
            out.sample(&[("listener", &one.name), ("outcome", outcome)], count);
        }
    }
    let words = "Requests, and heads that were none, not served as asked.";
    out.family("gateway_failures_total", Counter, words);
    for one in all {
        for (reason, count) in one.counts.failures.rows() {
            out.sample(&[("listener", &one.name), ("reason", reason)], count);
        }
    }
}

fn by(out: &mut Exposition, listener: &str, label: &str, rows: &[(&str, &Count)]) {
    for (word, count) in rows {
        out.sample(&[("listener", listener), (label, word)], count.now());
    }
}

/// How certificates stand, by profile.
pub(crate) fn certificates(out: &mut Exposition, model: &Model, pairs: &Pairs) {
    let standing = pairs::profiles(model).map(|tls| (&*tls.name, pairs.standing(tls)));
    let standing: BTreeMap<&str, _> = standing.collect();
    let words = "When the first certificate of the profile ends, in seconds since 1970.";
    out.family("gateway_certificate_expiry_timestamp_seconds", Gauge, words);
    for (profile, (ends, _)) in &standing {
        let since = ends.and_then(|ends| ends.duration_since(UNIX_EPOCH).ok());
        if let Some(since) = since {
            out.sample(&[("profile", profile)], since.as_secs());
        }
    }
    let words = "Certificates of the profile of which what is in their files cannot be used.";
    out.family("gateway_certificates_broken", Gauge, words);
    for (profile, (_, broken)) in &standing {
        out.sample(&[("profile", profile)], *broken as u64);
    }
}

/// What is counted of sites.
pub(crate) fn sites(out: &mut Exposition, serving: &Serving) {
    let words = "Requests that have ended, by the class of their status.";
    out.family("gateway_requests_total", Counter, words);
    for site in serving.all_sites() {
        let name = &*site.site.name;
        site.counts
            .listeners
            .iter()
            .for_each(|on| requests(out, name, on));
    }
    of_sites(
        out,
        serving,
        ("gateway_requests_in_flight", Gauge, "Requests in flight."),
        |all| all.in_flight(),
    );
    let words = "Bytes of request bodies.";
    of_sites(
        out,
        serving,
        ("gateway_request_bytes_total", Counter, words),
        |all| all.bytes_in.now(),
    );
    let words = "Bytes of bodies of answers.";
    of_sites(
        out,
        serving,
        ("gateway_response_bytes_total", Counter, words),
        |all| all.bytes_out.now(),
    );
    let words = "From the end of the request head to the end of the answer.";
    out.family("gateway_request_duration_seconds", Histogram, words);
    serving.all_sites().for_each(|site| durations(out, site));
}

fn of_sites(
    out: &mut Exposition,
    serving: &Serving,
    (name, kind, help): (&'static str, Kind, &str),
    read: impl Fn(&Totals) -> u64,
) {
    out.family(name, kind, help);
    for site in serving.all_sites() {
        out.sample(&[("site", &site.site.name)], read(&site.counts.all));
    }
}

fn requests(out: &mut Exposition, site: &str, on: &OnListener) {
    for (route, counts) in on.rows() {
        for (class, count) in counts.rows() {
            let labels = [
                ("listener", &*on.name),
                ("site", site),
                ("route", route),
                ("class", class),
            ];
            out.sample(&labels, count);
        }
    }
}

fn durations(out: &mut Exposition, site: &ServedSite) {
    let took = &site.counts.all.took;
    let name = &*site.site.name;
    let mut all = 0;
    for (step, count) in took.rows() {
        let step = step.map_or_else(|| "+Inf".to_owned(), |step| step.to_string());
        out.part("_bucket", &[("site", name), ("le", &step)], count);
        all = count;
    }
    out.part("_sum", &[("site", name)], took.sum());
    out.part("_count", &[("site", name)], all);
}

/// What is counted of pools and their nodes.
pub(crate) fn pools(out: &mut Exposition, pools: &Pools, departed: &Departed) {
    out.family("gateway_retries_total", Counter, "Tries after the first.");
    for pool in pools.values() {
        out.sample(&[("pool", &pool.pool.name)], pool.retries.now());
    }
    let words = "Requests that wait for a place on a node.";
    out.family("gateway_pool_waiting", Gauge, words);
    for pool in pools.values() {
        out.sample(&[("pool", &pool.pool.name)], pool.state.waiting());
    }
    nodes(out, pools, departed);
}

fn nodes(out: &mut Exposition, pools: &Pools, departed: &Departed) {
    let nodes: Vec<(&LivePool, Vec<Arc<LiveNode>>)> = pools
        .values()
        .map(|pool| (&**pool, pool.state.nodes()))
        .collect();
    let words = "Whether the node is in rotation.";
    of_nodes(
        out,
        &nodes,
        ("gateway_node_in_rotation", Gauge, words),
        |one| u64::from(one.is_in_rotation()),
    );
    let words = "Requests in flight on the node, also while it leaves.";
    out.family("gateway_node_in_flight", Gauge, words);
    for ((pool, node), count) in departed.in_flight(pools) {
        out.sample(&[("pool", &pool), ("node", &node)], count);
    }
    let words = "How often failures of requests took the node out of rotation.";
    of_nodes(
        out,
        &nodes,
        ("gateway_ejections_total", Counter, words),
        |one| one.tally().ejections(),
    );
    let words = "Addresses of the node; 0: its name has not been resolved.";
    of_nodes(
        out,
        &nodes,
        ("gateway_node_addresses", Gauge, words),
        |one| one.addresses().len() as u64,
    );
    let words = "Tries of requests at the node that have ended.";
    out.family("gateway_tries_total", Counter, words);
    each(&nodes, |labels, node| {
        for outcome in Outcome::ALL {
            let outcome_label = ("outcome", outcome.as_str());
            let [pool, name] = labels;
            out.sample(&[pool, name, outcome_label], node.tally().of(outcome));
        }
    });
    let words = "Probes of the node.";
    results(out, &nodes, ("gateway_probes_total", words), |one| {
        let (passed, failed) = one.tally().probes();
        [("passed", passed), ("failed", failed)]
    });
    let words = "Look-ups of the node's name.";
    results(out, &nodes, ("gateway_lookups_total", words), |one| {
        let (resolved, failed) = one.tally().lookups();
        [("resolved", resolved), ("failed", failed)]
    });
}

fn results(
    out: &mut Exposition,
    nodes: &[(&LivePool, Vec<Arc<LiveNode>>)],
    (name, help): (&'static str, &str),
    read: impl Fn(&LiveNode) -> [(&'static str, u64); 2],
) {
    out.family(name, Counter, help);
    each(nodes, |[pool, node], one| {
        for (result, count) in read(one) {
            out.sample(&[pool, node, ("result", result)], count);
        }
    });
}

fn of_nodes(
    out: &mut Exposition,
    nodes: &[(&LivePool, Vec<Arc<LiveNode>>)],
    (name, kind, help): (&'static str, Kind, &str),
    read: impl Fn(&LiveNode) -> u64,
) {
    out.family(name, kind, help);
    each(nodes, |labels, node| out.sample(&labels, read(node)));
}

fn each(
    nodes: &[(&LivePool, Vec<Arc<LiveNode>>)],
    mut act: impl FnMut([(&str, &str); 2], &LiveNode),
) {
    for (pool, nodes) in nodes {
        for node in nodes {
            act([("pool", &pool.pool.name), ("node", node.name())], node);
        }
    }
}

/// What is counted once.
pub(crate) fn process(out: &mut Exposition, shared: &Shared, plane: &DataPlane) {
    let snapshot = Arc::clone(&shared.serving.load().snapshot);
    let words = "The number of the snapshot that is served.";
    out.family("gateway_snapshot_number", Gauge, words);
    out.sample(&[], snapshot.number());
    let words = "The snapshot that is served, by its hash.";
    out.family("gateway_snapshot_info", Gauge, words);
    out.sample(&[("hash", snapshot.hash())], 1);
    let words = "The number of the generation that serves.";
    out.family("gateway_generation_number", Gauge, words);
    out.sample(&[], plane.generation);
    let words = "Generations that drain.";
    out.family("gateway_generations_draining", Gauge, words);
    out.sample(&[], plane.draining.len());
    let words = "When the first of them is cut, in seconds since 1970; none while nothing drains.";
    out.family("gateway_drain_deadline_timestamp_seconds", Gauge, words);
    let deadlines = plane.draining.iter().map(|one| one.until);
    let first = deadlines
        .min()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    if let Some(first) = first {
        out.sample(&[], first.as_secs());
    }
    out.family("gateway_workers", Gauge, "Workers that serve.");
    out.sample(&[], plane.workers);
}
