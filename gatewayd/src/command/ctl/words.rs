//! Answers in a line or a few.

use crate::proto::config::{Event, event::What};
use crate::proto::runtime;

/// What a change came to.
pub(super) fn change(change: &runtime::Change) -> String {
    format!("{}\n", of_change(change))
}

/// What was done to a node.
pub(super) fn drained(pool: &str, node: &str, is_drained: bool) -> String {
    match is_drained {
        true => format!("{pool}/{node} is drained: it gets no new requests until `undrain`\n"),
        false => format!("{pool}/{node} is no longer drained\n"),
    }
}

/// Something that changed.
pub(super) fn event(event: &Event) -> String {
    let at = event.at.map(|at| at.to_string()).unwrap_or_default();
    let what = match &event.what {
        Some(What::Applied(change)) => match change.degraded.as_slice() {
            [] => of_change(change),
            whys => format!("{}, DEGRADED: {}", of_change(change), whys.join("; ")),
        },
        Some(What::Refused(refusal)) => format!("refused: {}", refusal.message),
        Some(What::Ending(end)) => ending(end),
        Some(What::GenerationEnded(ended)) => format!("generation {} has ended", ended.generation),
        Some(What::Rotation(turn)) => {
            let way = if turn.is_in { "in" } else { "out" };
            let why = Some(&turn.why).filter(|why| !why.is_empty());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("{}/{} is {way}{why}", turn.pool, turn.node)
        }
        Some(What::Overrides(told)) => match overrides(told).as_slice() {
            [] => "as the configuration says".to_owned(),
            told => told.join("; "),
        },
        Some(What::Missed(missed)) => format!("{missed} events were missed"),
        None => "something that this version does not know".to_owned(),
    };
    format!("{at}  {what}\n")
}

/// What is left of a process that ends.
pub(super) fn ending(end: &runtime::Ending) -> String {
    let by = end
        .deadline
        .map(|at| prost_types::Timestamp { nanos: 0, ..at });
    let by = by.map(|at| at.to_string()).unwrap_or_default();
    let (connections, in_flight) = (end.connections, end.in_flight);
    format!("draining, ends by {by}: {connections} connections, {in_flight} requests in flight")
}

/// What was told to the process and goes before its configuration.
pub(super) fn overrides(told: &runtime::Overrides) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(workers) = told.workers {
        all.push(format!("{workers} workers, until `gatewayd workers reset`"));
    }
    for one in &told.drained {
        let node = format!("{}/{}", one.pool, one.node);
        all.push(format!("{node} drained, until `gatewayd undrain {node}`"));
    }
    all
}

fn of_change(change: &runtime::Change) -> String {
    let number = change
        .snapshot
        .as_ref()
        .map_or(0, |snapshot| snapshot.number);
    let mut parts = vec![match change.unchanged {
        true => format!("snapshot {number} unchanged, its files read again"),
        false => format!("snapshot {number} applied"),
    }];
    match change.pools_changed {
        0 => {}
        1 => parts.push("1 pool changed".to_owned()),
        many => parts.push(format!("{many} pools changed")),
    }
    for (what, names) in [
        ("added", &change.listeners_added),
        ("removed", &change.listeners_removed),
    ] {
        if !names.is_empty() {
            parts.push(format!("listeners {what}: {}", names.join(" ")));
        }
    }
    if change.is_new_generation {
        parts.push(format!("generation {}", change.generation));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_in_a_line() {
        let all = runtime::Change {
            snapshot: Some(runtime::ActiveSnapshot {
                number: 42,
                ..runtime::ActiveSnapshot::default()
            }),
            pools_changed: 2,
            ..runtime::Change::default()
        };
        assert_eq!(change(&all), "snapshot 42 applied, 2 pools changed\n");
    }
}
