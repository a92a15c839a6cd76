//! Checks what holds for the whole process, and puts the model together.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use toml::Spanned;

use super::paths::access_log as access_log_of;
use super::{Context, Parts, Sets};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::files::{FileRole, NamedFile};
use crate::model::{AccessLog, Admin, Body, LogFormat, LogLevel, Logs, Model};
use crate::raw;
use crate::segment;
use crate::settings as s;
use crate::source::Placed;
use crate::value;

/// The model, with its tables sorted by name.
pub(super) fn check(
    cx: &mut Context<'_>,
    file: &raw::File,
    sets: &Sets,
    parts: &mut Parts,
) -> Model {
    let mut model = Model::new();
    model.workers = cx.maybe(&file.workers, &s::WORKERS);
    model.limits.body_memory = cx.size(&file.limits.body_memory, &s::LIMIT_BODY_MEMORY);
    buffers(cx, file, model.limits.body_memory, parts);
    model.limits.certificate_poll =
        cx.duration(&file.limits.certificate_poll, &s::LIMIT_CERTIFICATE_POLL);
    model.limits.connections = cx.integer(&file.limits.connections, &s::LIMIT_CONNECTIONS);
    let per_client = cx.integer(&file.limits.connections_per_client, &s::LIMIT_PER_CLIENT);
    model.limits.connections_per_client = per_client;
    model.limits.handshakes = cx.integer(&file.limits.handshakes, &s::LIMIT_HANDSHAKES);
    model.resolver = name_servers(cx, file);
    model.drain = cx.duration(&file.drain.deadline, &s::DRAIN_DEADLINE);
    model.access_log = access_log(cx, file);
    model.logs = logs(cx, file);
    model.admin = admin(cx, file, sets);
    if parts.listeners.is_empty() {
        let first = cx.origin.texts().next();
        let title = "this configuration listens nowhere";
        let mut found = Diagnostic::error(codes::NOTHING_SERVED, title)
            .help("define [listeners.NAME] with `bind`, or [front_door.NAME]");
        if let Some(id) = first {
            let place = cx.sources.place(id, 0..0);
            found = found.at(&place, "neither a listener nor a front door in this file");
        }
        cx.push(found);
    }
    parts.listeners.sort_by(|a, b| a.name.cmp(&b.name));
    parts.sites.sort_by(|a, b| a.name.cmp(&b.name));
    parts.pools.sort_by(|a, b| a.name.cmp(&b.name));
    model.listeners = std::mem::take(&mut parts.listeners);
    model.sites = std::mem::take(&mut parts.sites);
    model.pools = std::mem::take(&mut parts.pools);
    model
}

/// Refuses bodies that may be read whole and do not fit into the memory for all of them.
fn buffers(cx: &mut Context<'_>, file: &raw::File, memory: u64, parts: &Parts) {
    for site in &parts.sites {
        let Some(raw) = file.sites.get(&*site.name) else {
            continue;
        };
        for route in &site.routes {
            let more = matches!(route.body, Body::Buffer(bytes) if bytes > memory);
            let written = raw.routes.get(&*route.name).filter(|_| more);
            let body = written.and_then(|raw| raw.body.as_ref());
            let Some(leaf) = body.and_then(|body| body.get_ref().buffer.as_ref()) else {
                continue;
            };
            let title = format!(
                "a body that route `{}` of site `{}` reads whole does not fit into memory",
                route.name, site.name
            );
            let label = format!("`body_memory` is {}", value::write_size(memory));
            let mut found = Diagnostic::error(codes::NO_EFFECT, title).at(&cx.place(leaf), label);
            if let Some(limit) = &file.limits.body_memory {
                found = found.at(&cx.place(limit), "for all bodies at once");
            }
            cx.push(found);
        }
    }
}

fn access_log(cx: &mut Context<'_>, file: &raw::File) -> AccessLog {
    match &file.logs.access {
        None => AccessLog::Stdout,
        Some(leaf) if cx.is_content(leaf) => AccessLog::Off,
        Some(leaf) => {
            let text = Placed::new(leaf.get_ref().clone(), cx.within(leaf));
            match access_log_of(&text) {
                Ok(AccessLog::File(_)) => {
                    let path = cx.file(leaf, FileRole::Log);
                    apart(cx, leaf, &path);
                    AccessLog::File(path)
                }
                Ok(word) => word,
                Err(found) => {
                    cx.push(found);
                    AccessLog::Off
                }
            }
        }
    }
}

/// Refuses a log that is another file of the configuration, into which lines would be written.
fn apart(cx: &mut Context<'_>, leaf: &Spanned<String>, log: &Path) {
    let real = fs::canonicalize(log).ok();
    let whole = |path: &Path| std::path::absolute(path).ok();
    let is_log = |other: &Path| {
        whole(other) == whole(log) || real.is_some() && fs::canonicalize(other).ok() == real
    };
    let is_text = cx.origin.texts().any(|id| is_log(cx.sources.path(id)));
    let is_named = |one: &NamedFile| one.role != FileRole::Log && is_log(&one.path);
    let why = match (is_text, cx.files.iter().find(|one| is_named(one))) {
        (true, _) => "this is the configuration itself",
        (false, Some(_)) => "the configuration names this file for something else",
        (false, None) => return,
    };
    let place = cx.within(leaf);
    let title = "this is no place for the access log";
    cx.push(
        Diagnostic::error(codes::BAD_PATH, title)
            .at(&place, why)
            .help("name a file of its own"),
    );
}

fn logs(cx: &mut Context<'_>, file: &raw::File) -> Logs {
    let is_key = |text: &str| !text.is_empty() && text.bytes().all(segment::is_unreserved);
    cx.not_empty(&file.logs.redact, &s::LOG_REDACT);
    let keys = file.logs.redact.iter().flat_map(|list| list.get_ref());
    cx.once(keys.filter(|key| is_key(key.get_ref())), |one| one);
    let mut redact = cx
        .texts(&file.logs.redact, &s::LOG_REDACT, is_key)
        .unwrap_or_default();
    redact.sort();
    redact.dedup();
    Logs {
        format: match cx.word(&file.logs.format, &s::LOG_FORMAT) {
            "combined" => LogFormat::Combined,
            _ => LogFormat::Json,
        },
        redact,
        level: match cx.word(&file.logs.level, &s::LOG_LEVEL) {
            "debug" => LogLevel::Debug,
            "error" => LogLevel::Error,
            "trace" => LogLevel::Trace,
            "warn" => LogLevel::Warn,
            _ => LogLevel::Info,
        },
    }
}

fn name_servers(cx: &mut Context<'_>, file: &raw::File) -> Vec<SocketAddr> {
    let list = &file.resolver.servers;
    cx.not_empty(list, &s::RESOLVER_SERVERS);
    let all = list.iter().flat_map(|list| list.get_ref());
    cx.once(all, |text| value::name_server(text).map_err(|_| text));
    let mut servers = Vec::new();
    for leaf in list.iter().flat_map(|list| list.get_ref()) {
        match value::name_server(leaf.get_ref()) {
            Ok(address) => servers.push(address),
            Err(why) => {
                let shown = leaf.get_ref().escape_debug();
                let title = format!("`{shown}` is not the address of a name server");
                cx.refuse(codes::BAD_ADDRESS, title, leaf, &why);
            }
        }
    }
    servers
}

fn admin(cx: &mut Context<'_>, file: &raw::File, sets: &Sets) -> Option<Admin> {
    let table = file.admin.as_ref()?;
    let raw = table.get_ref();
    let allow_from = cx.networks(&raw.allow_from, &s::ADMIN_ALLOW_FROM, sets);
    let Some(leaf) = &raw.bind else {
        cx.missing("`admin`", table, &s::ADMIN_BIND);
        return None;
    };
    let bind = cx.listen(leaf, true)?;
    Some(Admin { bind, allow_from })
}
