//! Answers as tables.

use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::words;
use crate::proto::config::KeptSnapshot;
use crate::proto::runtime::{DataPlane, LastError, Listener, Pool, UpstreamHealth, owner::Kind};

/// The snapshots that are kept.
pub(super) fn snapshots(all: &[KeptSnapshot]) -> String {
    let mut table = headed(&["", "NUMBER", "HASH", "APPLIED"]);
    for one in all {
        let mark = if one.is_active { "*" } else { "" };
        table.add_row([
            mark.to_owned(),
            one.number.to_string(),
            one.hash.clone(),
            time(one.applied),
        ]);
    }
    drawn(&table)
}

/// Everything about a running process.
pub(super) fn status(plane: &DataPlane, pools: &[Pool]) -> String {
    let mut listeners = headed(&["LISTENER", "ADDRESS", "SPEAKS", "CONNECTIONS"]);
    for one in &plane.listeners {
        listeners.add_row([
            one.id.clone(),
            one.addresses.join(" "),
            speaks(one),
            one.connections.to_string(),
        ]);
    }
    let mut nodes = headed(&[
        "POOL",
        "NODE",
        "ADDRESS",
        "STATE",
        "IN FLIGHT",
        "REQUESTS",
        "FAILURES",
        "PROBE",
    ]);
    for pool in pools {
        let leaving = pool.leaving.iter().map(|one| (one, "leaving".to_owned()));
        let staying = pool.nodes.iter().map(|one| (one, state(one)));
        for (one, state) in staying.chain(leaving) {
            nodes.add_row([
                pool.name.clone(),
                one.name.clone(),
                one.address.clone(),
                state,
                one.in_flight.to_string(),
                one.requests.to_string(),
                one.failures.to_string(),
                latency(one),
            ]);
        }
    }
    let mut text = head(plane);
    for (rows, table) in [(plane.listeners.len(), listeners), (pools.len(), nodes)] {
        if rows > 0 {
            text.push('\n');
            text.push_str(&drawn(&table));
        }
    }
    text
}

fn head(plane: &DataPlane) -> String {
    let version = plane.versions.as_ref().map_or("", |all| &all.gateway);
    let up = length(plane.uptime.map_or(0, |up| up.seconds));
    let (generation, workers) = (plane.generation, plane.workers);
    let since = time(plane.generation_started);
    let stands = match &plane.ending {
        None => format!("generation {generation} with {workers} workers since {since}"),
        Some(end) => words::ending(end),
    };
    let mut lines = vec![
        format!("gatewayd {version}, up {up}, {stands}"),
        active(plane),
    ];
    for one in &plane.draining {
        let (number, since, by) = (one.generation, time(one.since), time(one.deadline));
        let left = one.connections;
        lines.push(format!(
            "generation {number} drains since {since}, until {by} at most: {left} connections"
        ));
    }
    let told = plane.overrides.iter().flat_map(words::overrides);
    lines.extend(told.map(|told| format!("told: {told}")));
    lines.extend(plane.degraded.iter().map(|why| format!("DEGRADED: {why}")));
    let stays = |last: &&LastError| !last.is_past && plane.ending.is_none();
    if let Some(last) = plane.last_error.as_ref().filter(stays) {
        lines.push(format!("refused at {}: {}", time(last.at), last.message));
    }
    let control = plane
        .control
        .as_ref()
        .filter(|control| control.refused_peers > 0);
    lines.extend(control.map(|control| {
        format!(
            "{} peers were not admitted to this interface",
            control.refused_peers
        )
    }));
    lines.join("\n") + "\n"
}

fn active(plane: &DataPlane) -> String {
    let owner = plane.owner.clone().unwrap_or_default();
    let from = match owner.kind() {
        Kind::Api => "the interface".to_owned(),
        Kind::Files => owner.files.join(" "),
        Kind::Flags | Kind::Unspecified => "the command line".to_owned(),
    };
    let active = plane.snapshot.clone().unwrap_or_default();
    let (number, hash, since) = (active.number, active.hash, time(active.applied));
    match (number, active.differs_from_files) {
        (0, _) => format!("nothing is served yet; it is said by {from}"),
        (_, true) => {
            format!("snapshot {number} ({hash}) since {since}, which differs from {from}")
        }
        (_, false) => format!("snapshot {number} ({hash}) since {since}, said by {from}"),
    }
}

fn speaks(one: &Listener) -> String {
    let all = [
        (one.tls, "tls"),
        (one.http1, "http/1"),
        (one.http2, "http/2"),
    ];
    let spoken: Vec<&str> = all
        .iter()
        .filter(|(is_it, _)| *is_it)
        .map(|(_, word)| *word)
        .collect();
    spoken.join(" ")
}

fn state(one: &UpstreamHealth) -> String {
    let state = match (one.enabled, one.drained) {
        (_, true) => "drained",
        (true, false) => "in",
        (false, false) => "out",
    };
    match one.why.is_empty() || one.drained {
        true => state.to_owned(),
        false => format!("{state}: {}", one.why),
    }
}

fn latency(one: &UpstreamHealth) -> String {
    one.latency.map_or(String::new(), |latency| {
        let micros = latency.seconds * 1_000_000 + i64::from(latency.nanos / 1_000);
        format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
    })
}

fn time(at: Option<prost_types::Timestamp>) -> String {
    let whole = at.map(|at| prost_types::Timestamp { nanos: 0, ..at });
    whole.map(|at| at.to_string()).unwrap_or_default()
}

/// The two largest units of a number of seconds.
fn length(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        (_, _, _) => format!("{days} d {} h", hours % 24),
    }
}

fn headed(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(columns);
    table
}

/// Without the room that every cell has at its sides.
fn drawn(table: &Table) -> String {
    let bare = |line: String| {
        line.strip_prefix(' ')
            .unwrap_or(&line)
            .trim_end()
            .to_owned()
            + "\n"
    };
    table.lines().map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units() {
        assert_eq!(length(59), "59 s");
        assert_eq!(length(61), "1 min 1 s");
        assert_eq!(length(90_061), "1 d 1 h");
    }

    #[test]
    fn what_is_not_as_it_should_be_is_in_the_head() {
        let plane = DataPlane {
            degraded: vec!["no".to_owned()],
            ..DataPlane::default()
        };
        let text = status(&plane, &[]);
        assert!(text.contains("DEGRADED: no\n"), "{text}");
        assert!(text.contains("nothing is served yet"), "{text}");
    }
}
