//! What the process knows, as messages.

use std::time::{Duration, SystemTime};

use gateway_config::{Diagnostic, Label, Severity};
use gateway_pingora::{ListenerView, NodeHealth, PoolView};

use crate::proto::{config, runtime};
use crate::reload::{Active, Change, Ending, Event, Findings, Refusal, Who};
use crate::state::{Kept, Overrides};

pub(super) fn time(at: SystemTime) -> prost_types::Timestamp {
    at.into()
}

/// A duration; one that is longer than messages can say has no end.
pub(super) fn duration(length: Duration) -> Option<prost_types::Duration> {
    length.try_into().ok()
}

/// A count, as large as messages can say.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn active(active: &Active) -> runtime::ActiveSnapshot {
    runtime::ActiveSnapshot {
        number: active.number,
        hash: active.hash.clone(),
        applied: Some(time(active.since)),
        differs_from_files: active.differs,
    }
}

pub(super) fn change(change: &Change) -> runtime::Change {
    let applied = &change.applied;
    let names =
        |names: &[gateway_config::model::Name]| names.iter().map(|name| name.to_string()).collect();
    let warnings = change.warnings.found.iter();
    runtime::Change {
        snapshot: Some(active(&change.active)),
        unchanged: change.is_unchanged,
        generation: applied.generation,
        is_new_generation: applied.is_new_generation,
        pools_changed: count(applied.pools_changed),
        listeners_added: names(&applied.listeners_added),
        listeners_removed: names(&applied.listeners_removed),
        warnings: warnings.map(|one| change.warnings.line(one)).collect(),
        degraded: change.degraded.clone(),
    }
}

pub(super) fn owner(who: &Who) -> runtime::Owner {
    use runtime::owner::Kind;
    let (kind, files) = match who {
        Who::Api => (Kind::Api, Vec::new()),
        Who::Files(files) => (
            Kind::Files,
            files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
        ),
        Who::Flags => (Kind::Flags, Vec::new()),
    };
    runtime::Owner {
        kind: kind.into(),
        files,
    }
}

pub(super) fn overrides(overrides: &Overrides) -> runtime::Overrides {
    let endpoint = |(pool, node): &(String, String)| runtime::Endpoint {
        pool: pool.clone(),
        node: node.clone(),
    };
    runtime::Overrides {
        workers: overrides.workers.map(u32::from),
        drained: overrides.drained.iter().map(endpoint).collect(),
    }
}

pub(super) fn last_error(refusal: &Refusal) -> runtime::LastError {
    runtime::LastError {
        number: refusal.number,
        at: Some(time(refusal.at)),
        message: refusal.message.clone(),
        drawn: refusal.drawn.clone(),
        is_past: refusal.is_past,
    }
}

pub(super) fn ending(ending: &Ending) -> runtime::Ending {
    runtime::Ending {
        deadline: Some(time(ending.deadline)),
        connections: ending.connections,
        in_flight: ending.in_flight,
    }
}

pub(super) fn listener(view: ListenerView) -> runtime::Listener {
    runtime::Listener {
        id: view.name.to_string(),
        addresses: view.addresses.iter().map(ToString::to_string).collect(),
        tls: view.tls,
        http1: view.http1,
        http2: view.http2,
        connections: view.connections,
    }
}

pub(super) fn pool(view: PoolView) -> runtime::Pool {
    runtime::Pool {
        name: view.name.to_string(),
        nodes: view.nodes.into_iter().map(node).collect(),
        leaving: view.leaving.into_iter().map(node).collect(),
    }
}

pub(super) fn node(view: NodeHealth) -> runtime::UpstreamHealth {
    runtime::UpstreamHealth {
        name: view.name.to_string(),
        address: view.addr.to_string(),
        weight: view.weight,
        enabled: view.enabled,
        backup: view.backup,
        healthy: view.healthy,
        drained: view.drained,
        ejected_until: view.ejected_until.map(time),
        in_flight: view.in_flight,
        requests: view.requests,
        failures: view.failures,
        latency: view.latency.and_then(duration),
        last_probe: view.last_probe.map(time),
        why: view.why.unwrap_or_default(),
    }
}

pub(super) fn kept(kept: &Kept, active: u64) -> config::KeptSnapshot {
    config::KeptSnapshot {
        number: kept.number,
        hash: kept.hash.clone(),
        applied: Some(time(kept.at)),
        is_active: kept.number == active,
    }
}

pub(super) fn diagnostics(findings: &Findings) -> Vec<config::Diagnostic> {
    let all = findings.found.iter();
    all.map(|one| diagnostic(one, findings)).collect()
}

fn diagnostic(one: &Diagnostic, findings: &Findings) -> config::Diagnostic {
    use config::diagnostic::Severity as Told;
    let severity = match one.severity {
        Severity::Error => Told::Error,
        Severity::Warning => Told::Warning,
    };
    config::Diagnostic {
        code: one.code.to_string(),
        severity: severity.into(),
        title: one.title.clone(),
        labels: one.labels.iter().map(|one| label(one, findings)).collect(),
        help: one.cured_by().unwrap_or_default().to_owned(),
    }
}

fn label(label: &Label, findings: &Findings) -> config::Label {
    let (source, start) = (label.place.source, label.place.span.start);
    let (line, column) = findings.sources.line_column(source, start);
    config::Label {
        document: findings.sources.name(source).to_owned(),
        line: count(line),
        column: count(column),
        text: label.text.clone(),
    }
}

/// Something that changed, without the time.
pub(super) fn event(event: &Event) -> config::event::What {
    use config::event::What;
    match event {
        Event::Applied(applied) => What::Applied(change(applied)),
        Event::Ending(end) => What::Ending(ending(end)),
        Event::Overrides(told) => What::Overrides(overrides(told)),
        Event::Refused(refusal) => What::Refused(config::Refusal {
            number: refusal.number,
            message: refusal.message.clone(),
        }),
    }
}
