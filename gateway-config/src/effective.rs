//! Writes a model as the `gateway.toml` that says all of it, every default spelled out.
//!
//! The text is also the canonical form from which a snapshot's hash is made, so it depends on the
//! model alone. Keys come from the rows of [`settings`](crate::settings).
//!
//! Invariant: loading what is written gives an equal model, unless secrets were left out of it.

use std::collections::BTreeMap;

use crate::masking;
use crate::model::{LogFormat, LogLevel, Model, Tls};
use crate::settings as s;

mod listeners;
mod pools;
mod routes;
mod sites;
mod writer;

pub(crate) use writer::{Writer, key, quote};

/// The whole model as TOML.
#[must_use]
pub fn to_toml(model: &Model) -> String {
    written(model, Writer::default())
}

/// The same for people: [`HIDDEN`](crate::HIDDEN) stands for each value of a secret setting and for
/// each login in an address, so it does not load.
#[must_use]
pub fn to_shown_toml(model: &Model) -> String {
    masking::toml_without_logins(&written(model, Writer::hiding())).into_owned()
}

fn written(model: &Model, mut out: Writer) -> String {
    out.maybe(&s::WORKERS, model.workers);
    for one in &model.listeners {
        listeners::listener(&mut out, one);
    }
    let of_listeners = model.listeners.iter().filter_map(|one| one.tls.as_ref());
    let of_sites = model.sites.iter().filter_map(|one| one.tls.as_deref());
    let profiles: BTreeMap<&str, &Tls> = of_listeners
        .chain(of_sites)
        .map(|tls| (&*tls.name, tls))
        .collect();
    for one in profiles.values() {
        listeners::profile(&mut out, one);
    }
    for one in &model.sites {
        sites::site(&mut out, one);
    }
    for one in &model.pools {
        pools::pool(&mut out, one);
    }
    process(&mut out, model);
    out.sets();
    out.into_text()
}

fn process(out: &mut Writer, model: &Model) {
    out.table("limits");
    out.size(&s::LIMIT_BODY_MEMORY, model.limits.body_memory);
    out.time(&s::LIMIT_CERTIFICATE_POLL, model.limits.certificate_poll);
    out.line(&s::LIMIT_CONNECTIONS, model.limits.connections);
    out.line(&s::LIMIT_PER_CLIENT, model.limits.connections_per_client);
    out.line(&s::LIMIT_HANDSHAKES, model.limits.handshakes);
    if !model.resolver.is_empty() {
        out.table("resolver");
        let servers = model.resolver.iter().map(ToString::to_string);
        let servers: Vec<_> = servers.map(Into::into).collect();
        out.texts(&s::RESOLVER_SERVERS, &servers);
    }
    out.access_log(&model.access_log);
    let format = match model.logs.format {
        LogFormat::Combined => "combined",
        LogFormat::Json => "json",
    };
    out.text(&s::LOG_FORMAT, format);
    out.texts(&s::LOG_REDACT, &model.logs.redact);
    let level = match model.logs.level {
        LogLevel::Debug => "debug",
        LogLevel::Error => "error",
        LogLevel::Info => "info",
        LogLevel::Trace => "trace",
        LogLevel::Warn => "warn",
    };
    out.text(&s::LOG_LEVEL, level);
    if let Some(admin) = &model.admin {
        out.table("admin");
        out.text(&s::ADMIN_BIND, &admin.bind.to_string());
        if let Some(networks) = &admin.allow_from {
            out.networks(&s::ADMIN_ALLOW_FROM, networks);
        }
    }
    out.table("drain");
    out.time(&s::DRAIN_DEADLINE, model.drain);
}

#[cfg(test)]
mod tests;
