//! Checks what holds for the whole process, and puts the model together.

use std::path::PathBuf;

use super::{Context, Parts};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{AccessLog, Limits, Model};
use crate::raw;
use crate::settings as s;

/// The model, with its tables sorted by name.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, parts: &mut Parts) -> Model {
    let workers = cx
        .number(&file.workers, &s::WORKERS)
        .and_then(|placed| u16::try_from(placed.value).ok());
    let limits = Limits {
        body_memory: cx.size(&file.limits.body_memory, &s::LIMIT_BODY_MEMORY),
        connections: cx.integer(&file.limits.connections, &s::LIMIT_CONNECTIONS),
        handshakes: cx.integer(&file.limits.handshakes, &s::LIMIT_HANDSHAKES),
    };
    let drain = cx.duration(&file.drain.deadline, &s::DRAIN_DEADLINE);
    let access_log = access_log(cx, file);
    if parts.listeners.is_empty() {
        let place = cx.sources.place(cx.id, 0..0);
        let title = "this configuration listens nowhere";
        cx.findings.push(
            Diagnostic::error(codes::NOTHING_SERVED, title)
                .at(&place, "neither a listener nor a front door in this file")
                .help("define [listeners.NAME] with `bind`, or [front_door.NAME]"),
        );
    }
    parts.listeners.sort_by(|a, b| a.name.cmp(&b.name));
    parts.sites.sort_by(|a, b| a.name.cmp(&b.name));
    parts.pools.sort_by(|a, b| a.name.cmp(&b.name));
    Model {
        listeners: std::mem::take(&mut parts.listeners),
        sites: std::mem::take(&mut parts.sites),
        pools: std::mem::take(&mut parts.pools),
        limits,
        workers,
        drain,
        access_log,
    }
}

fn access_log(cx: &Context<'_>, file: &raw::File) -> AccessLog {
    match &file.logs.access {
        None => AccessLog::Stdout,
        Some(leaf) => match AccessLog::from_word(leaf.get_ref()) {
            AccessLog::File(path) => {
                let written = path.to_string_lossy();
                AccessLog::File(cx.sources.resolve(cx.id, &written))
            }
            word => word,
        },
    }
}

impl AccessLog {
    /// Reads `off`, `stdout` or the path of a file.
    #[must_use]
    pub fn from_word(text: &str) -> Self {
        match text {
            "off" => Self::Off,
            "stdout" => Self::Stdout,
            path => Self::File(PathBuf::from(path)),
        }
    }
}
