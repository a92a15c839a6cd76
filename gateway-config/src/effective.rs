//! Writes a model as the `gateway.toml` that says all of it, every default spelled out.
//!
//! The text is also the canonical form from which a snapshot's hash is made, so it depends on the
//! model alone. Keys come from the rows of [`settings`](crate::settings).
//!
//! Invariant: loading what is written gives an equal model.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{
    AccessLog, Body, FailureStyle, ForwardedFor, HostSent, Listener, Model, Node, NodeTls, Pattern,
    Pool, Route, Segments, Site, Tls,
};
use crate::settings::{self as s, Setting};
use crate::value;

/// The whole model as TOML.
#[must_use]
pub fn to_toml(model: &Model) -> String {
    let mut out = Writer::default();
    if let Some(workers) = model.workers {
        out.line(&s::WORKERS, workers);
    }
    for one in &model.listeners {
        listener(&mut out, one);
    }
    let profiles: BTreeMap<&str, &Tls> = model
        .listeners
        .iter()
        .filter_map(|one| one.tls.as_ref())
        .map(|tls| (&*tls.name, tls))
        .collect();
    for (name, tls) in profiles {
        out.table(&format!("tls.{}", key(name)));
        out.path(&s::TLS_CHAIN, &tls.chain);
        out.path(&s::TLS_KEY, &tls.key);
    }
    for one in &model.sites {
        site(&mut out, one);
    }
    for one in &model.pools {
        pool(&mut out, one);
    }
    out.table("limits");
    out.size(&s::LIMIT_BODY_MEMORY, model.limits.body_memory);
    out.line(&s::LIMIT_CONNECTIONS, model.limits.connections);
    out.line(&s::LIMIT_HANDSHAKES, model.limits.handshakes);
    out.access_log(&model.access_log);
    out.table("drain");
    out.time(&s::DRAIN_DEADLINE, model.drain);
    out.into_text()
}

fn listener(out: &mut Writer, one: &Listener) {
    let name = format!("listeners.{}", key(&one.name));
    out.table(&name);
    out.line(&s::LISTENER_BIND, quote(&one.bind.to_string()));
    if let Some(tls) = &one.tls {
        out.line(&s::LISTENER_TLS, quote(&tls.name));
        out.line(&s::LISTENER_HTTP2, one.http2);
    }
    out.time(&s::LISTENER_IDLE, one.idle);
    out.time(&s::LISTENER_BODY_GAP, one.body_gap);
    out.time(&s::LISTENER_HANDSHAKE, one.handshake);
    out.time(&s::LISTENER_WRITE_GAP, one.write_gap);
    out.size(&s::LISTENER_MIN_RATE, u64::from(one.min_rate));
    out.table(&format!("{name}.head"));
    out.size(&s::HEAD_LINE, u64::from(one.head.line));
    out.size(&s::HEAD_FIELDS, u64::from(one.head.fields));
    out.line(&s::HEAD_COUNT, one.head.count);
    out.time(&s::HEAD_TIMEOUT, one.head.timeout);
}

fn site(out: &mut Writer, one: &Site) {
    let name = format!("sites.{}", key(&one.name));
    out.table(&name);
    out.line(&s::SITE_LISTENER, quote(&one.listener));
    if !one.hosts.is_empty() {
        out.line(&s::SITE_HOSTS, list(&one.hosts));
    }
    let segments = match one.segments {
        Segments::Decoded => "decoded",
        Segments::Normalised => "normalised",
    };
    out.line(&s::SITE_SEGMENTS, quote(segments));
    let failures = match one.failures {
        FailureStyle::Json => "json",
        FailureStyle::Text => "text",
    };
    out.line(&s::SITE_FAILURES, quote(failures));
    if let Some(pool) = &one.endpoints {
        out.line(&s::SITE_ENDPOINTS, quote(pool));
    }
    let forwarded_for = match one.forwarded_for {
        ForwardedFor::Append => "append",
        ForwardedFor::Replace => "replace",
    };
    out.line(&s::SITE_FORWARDED_FOR, quote(forwarded_for));
    if let Some(fields) = &one.request_fields {
        out.line(&s::SITE_REQUEST_FIELDS, list(fields));
    }
    if let Some(fields) = &one.response_fields {
        out.line(&s::SITE_RESPONSE_FIELDS, list(fields));
    }
    let host = match one.host {
        HostSent::Client => "client",
        HostSent::Node => "node",
    };
    out.line(&s::SITE_HOST, quote(host));
    for each in &one.routes {
        route(out, &name, each);
    }
}

fn route(out: &mut Writer, site: &str, one: &Route) {
    out.table(&format!("{site}.routes.{}", key(&one.name)));
    match &one.pattern {
        Pattern::Prefix(path) => out.line(&s::ROUTE_PATH, quote(path)),
        Pattern::Template(template) => out.line(&s::ROUTE_TEMPLATE, quote(&template.to_string())),
    }
    if !one.methods.is_empty() {
        out.line(&s::ROUTE_METHODS, list(&one.methods));
    }
    if let Some(keys) = &one.query {
        out.line(&s::ROUTE_QUERY, list(keys));
    }
    if !one.refuse_query.is_empty() {
        let pairs: Vec<String> = one
            .refuse_query
            .iter()
            .map(|refused| format!("{} = {}", key(&refused.key), quote(&refused.because)))
            .collect();
        out.line(
            &s::ROUTE_REFUSE_QUERY,
            format!("{{ {} }}", pairs.join(", ")),
        );
    }
    out.line(&s::ROUTE_REPEATABLE, one.repeatable);
    out.time(&s::ROUTE_BUDGET, one.budget);
    let (how, bytes) = match one.body {
        Body::Buffer(bytes) => (&s::BODY_BUFFER, bytes),
        Body::Stream(bytes) => (&s::BODY_STREAM, bytes),
    };
    let bytes = quote(&value::write_size(bytes));
    out.line(&s::ROUTE_BODY, format!("{{ {} = {bytes} }}", how.key()));
    out.line(&s::ROUTE_UPGRADE, one.upgrade);
    out.line(&s::ROUTE_POOL, quote(&one.pool));
}

fn pool(out: &mut Writer, one: &Pool) {
    let name = format!("pools.{}", key(&one.name));
    out.table(&name);
    let nodes: String = one
        .nodes
        .iter()
        .map(|node| format!("  {},\n", long_node(node)))
        .collect();
    out.line(&s::POOL_NODES, format!("[\n{nodes}]"));
    match &one.tls {
        NodeTls::Clear => {}
        NodeTls::Unverified => {
            out.line(
                &s::POOL_TLS,
                format!("{{ {} = false }}", s::POOL_TLS_VERIFY.key()),
            );
        }
        NodeTls::Verified(ca) => {
            let ca = quote(&ca.to_string_lossy());
            out.line(
                &s::POOL_TLS,
                format!("{{ {} = {ca} }}", s::POOL_TLS_CA.key()),
            );
        }
    }
    out.line(&s::POOL_IN_FLIGHT, one.in_flight);
    out.time(&s::POOL_QUEUE_WAIT, one.queue_wait);
    out.line(&s::POOL_QUEUE, one.queue);
    out.time(&s::POOL_CONNECT_TIMEOUT, one.connect_timeout);
    out.time(&s::POOL_ANSWER_GAP, one.answer_gap);
    out.time(&s::POOL_KEEP_IDLE, one.keep_idle);
    out.line(&s::POOL_KEEP_REQUESTS, one.keep_requests);
    out.line(&s::POOL_RETRIES, one.retries);
    out.line(&s::POOL_RETRY_BUSY, one.retry_busy);
    out.table(&format!("{name}.probe"));
    out.time(&s::PROBE_EVERY, one.probe.every);
    out.time(&s::PROBE_TIMEOUT, one.probe.timeout);
    if one.probe.timeout > one.probe.every {
        out.line(&s::PROBE_MAY_OUTLIVE, true);
    }
    out.table(&format!("{name}.health"));
    out.line(&s::HEALTH_FALL, one.health.fall);
    out.line(&s::HEALTH_RISE, one.health.rise);
    out.time(&s::HEALTH_FLOOR, one.health.floor);
    out.line(&s::HEALTH_KEEP_LAST, one.health.keep_last);
    out.line(&s::HEALTH_COUNT_TRAFFIC, one.health.count_traffic);
}

fn long_node(node: &Node) -> String {
    let mut pairs = vec![(&s::NODE_NAME, &node.name), (&s::NODE_ADDR, &node.addr)];
    pairs.extend(node.shards.as_ref().map(|shards| (&s::NODE_SHARDS, shards)));
    pairs.extend(
        node.replica
            .as_ref()
            .map(|replica| (&s::NODE_REPLICA, replica)),
    );
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(setting, text)| format!("{} = {}", setting.key(), quote(text)))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A TOML text under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
}

impl Writer {
    /// Begins a table; its path is written as it is.
    pub(crate) fn table(&mut self, path: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.push(format_args!("[{path}]\n"));
    }

    /// Writes one setting.
    pub(crate) fn line(&mut self, setting: &Setting, value: impl Display) {
        self.pair(setting.key(), value);
    }

    /// Writes one key, already quoted where it needs to be.
    pub(crate) fn pair(&mut self, key: &str, value: impl Display) {
        self.push(format_args!("{key} = {value}\n"));
    }

    /// Writes `[logs]`.
    pub(crate) fn access_log(&mut self, log: &AccessLog) {
        self.table("logs");
        match log {
            AccessLog::File(path) => self.path(&s::LOG_ACCESS, path),
            AccessLog::Off => self.line(&s::LOG_ACCESS, quote("off")),
            AccessLog::Stdout => self.line(&s::LOG_ACCESS, quote("stdout")),
        }
    }

    /// The text written.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn path(&mut self, setting: &Setting, path: &Path) {
        self.line(setting, quote(&path.to_string_lossy()));
    }

    fn size(&mut self, setting: &Setting, bytes: u64) {
        self.line(setting, quote(&value::write_size(bytes)));
    }

    fn time(&mut self, setting: &Setting, time: Duration) {
        self.line(setting, quote(&value::write_duration(time)));
    }

    fn push(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(args);
    }
}

/// A text as a basic TOML string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name as a TOML key, quoted when it has to be.
pub(crate) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quote(name)
    }
}

fn list(texts: &[Arc<str>]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", all.join(", "))
}
