//! The status page: how the process stands, in plain text for people.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use gateway_pingora::{DataPlane, NodeHealth, PoolView};

use super::readiness;
use crate::clock;
use crate::release;
use crate::reload::Reload;

/// The page. Names are the operator's own, and plain text is no markup.
pub(super) fn text(reload: &Reload) -> String {
    let status = reload.status().clone();
    let plane = reload.data_plane();
    let now = clock::wall();
    let (_, ready) = readiness::of(reload).said();
    let version = release::WORDS;
    let up = since(plane.started, now);
    let mut page = format!("gatewayd {version}, up {up}, {ready}");
    let active = &status.active;
    let _ = writeln!(
        page,
        "\nsnapshot {} {} for {}\nsaid by {}",
        active.number,
        active.hash,
        since(active.since, now),
        reload.who(),
    );
    for why in status.degraded() {
        let _ = writeln!(page, "degraded: {why}");
    }
    if let Some(refusal) = &status.refusal {
        let at = since(refusal.at, now);
        let _ = writeln!(page, "last refusal, {at} ago: {}", refusal.message);
    }
    serving(&mut page, &plane, now);
    reload.pools().iter().for_each(|one| pool(&mut page, one));
    page
}

fn serving(page: &mut String, plane: &DataPlane, now: SystemTime) {
    let up = since(plane.since, now);
    let (number, workers) = (plane.generation, plane.workers);
    let _ = writeln!(page, "\ngeneration {number} for {up}, {workers} workers");
    for one in &plane.draining {
        let since = since(one.since, now);
        let (number, open) = (one.generation, one.connections);
        let _ = writeln!(
            page,
            "generation {number} drains for {since}, {open} connections"
        );
    }
    for one in &plane.listeners {
        let at: Vec<String> = one.addresses.iter().map(ToString::to_string).collect();
        let tls = if one.tls { ", TLS" } else { "" };
        let (name, at, open) = (&one.name, at.join(" "), one.connections);
        let _ = writeln!(page, "listener {name} at {at}{tls}, {open} connections");
    }
}

fn pool(page: &mut String, pool: &PoolView) {
    let _ = writeln!(page, "\npool {}", pool.name);
    let leaving = pool.leaving.iter().map(|node| (node, "leaving".to_owned()));
    let nodes = pool.nodes.iter().map(|node| (node, way(node)));
    for (node, way) in nodes.chain(leaving) {
        let _ = writeln!(
            page,
            "  {} {} {}, {} in flight, {} requests, {} failures",
            node.name, node.addr, way, node.in_flight, node.requests, node.failures,
        );
    }
}

fn way(node: &NodeHealth) -> String {
    match (node.enabled, &node.why) {
        (true, _) => "in".to_owned(),
        (false, None) => "out".to_owned(),
        (false, Some(why)) => format!("out ({why})"),
    }
}

/// A length of time, in the unit that fits.
fn since(then: SystemTime, now: SystemTime) -> String {
    let length = now.duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match length {
        0..120 => format!("{length} s"),
        120..7200 => format!("{} min", length / 60),
        7200..172_800 => format!("{} h", length / 3600),
        _ => format!("{} d", length / 86_400),
    }
}
