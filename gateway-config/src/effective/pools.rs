//! Writes pools.

use super::writer::{Writer, inline, key, quote};
use crate::model::{
    Balance, HashBy, Node, NodeHost, NodeTls, Pool, Probe, ProbeKind, RetryOn, TlsName,
};
use crate::settings as s;
use crate::value;

/// One pool.
pub(super) fn pool(out: &mut Writer, one: &Pool) {
    let name = format!("pools.{}", key(&one.name));
    out.table(&name);
    let nodes: String = one
        .nodes
        .iter()
        .map(|node| format!("  {},\n", long_node(node)))
        .collect();
    out.line(&s::POOL_NODES, format!("[\n{nodes}]"));
    out.line(&s::POOL_BALANCE, balance(&one.balance));
    match &one.host {
        None => {}
        Some(NodeHost::Client) => out.text(&s::POOL_HOST, "client"),
        Some(NodeHost::Literal(host)) => out.text(&s::POOL_HOST, host),
        Some(NodeHost::Node) => out.text(&s::POOL_HOST, "node"),
    }
    out.line(&s::POOL_HTTP2, one.http2);
    if let Some(tls) = tls(one) {
        out.line(&s::POOL_TLS, tls);
    }
    out.line(&s::POOL_IN_FLIGHT, one.in_flight);
    out.maybe(&s::POOL_IN_FLIGHT_TOTAL, one.in_flight_total);
    out.time(&s::POOL_QUEUE_WAIT, one.queue_wait);
    out.line(&s::POOL_QUEUE, one.queue);
    out.time(&s::POOL_KEEP_IDLE, one.keep_idle);
    out.line(&s::POOL_KEEP_REQUESTS, one.keep_requests);
    out.time(&s::POOL_SLOW_START, one.slow_start);
    out.table(&format!("{name}.timeouts"));
    out.time(&s::POOL_CONNECT, one.tcp_timeout);
    if one.tls != NodeTls::Clear {
        out.time(&s::POOL_HANDSHAKE, one.connect_timeout);
    }
    out.time(&s::POOL_ANSWER_GAP, one.answer_gap);
    out.table(&format!("{name}.retry"));
    out.words(&s::POOL_RETRY_ON, &retry_on(one.retry_on));
    out.line(&s::POOL_RETRIES, one.retries);
    let share = one.retry_budget.map(|share| quote(&format!("{share}%")));
    out.maybe(&s::POOL_RETRY_BUDGET, share);
    out.table(&format!("{name}.probe"));
    probe(out, &one.probe);
    out.line(&s::PROBE_RISE, one.health.rise);
    out.line(&s::PROBE_FALL, one.health.fall);
    out.table(&format!("{name}.ejection"));
    out.line(&s::EJECTION_COUNT_TRAFFIC, one.health.count_traffic);
    out.line(&s::EJECTION_FAILURES, one.health.failures);
    let time = |time| quote(&value::write_duration(time));
    let pairs = [
        (s::BACKOFF_MIN.key(), time(one.health.backoff_min)),
        (s::BACKOFF_MAX.key(), time(one.health.backoff_max)),
    ];
    out.line(&s::EJECTION_BACKOFF, inline(&pairs));
    out.time(&s::EJECTION_FLOOR, one.health.floor);
    out.line(&s::EJECTION_KEEP_LAST, one.health.keep_last);
}

/// The words that say what is tried again.
pub(super) fn retry_on(on: RetryOn) -> Vec<&'static str> {
    let mut words = Vec::new();
    words.extend(on.busy.then_some("busy"));
    words.extend((on.connect && !on.unsent).then_some("connect"));
    words.extend(on.repeatable.then_some("repeatable"));
    words.extend(on.unsent.then_some("unsent"));
    words
}

fn balance(balance: &Balance) -> String {
    let by = match balance {
        Balance::LeastInFlight => return quote("least-in-flight"),
        Balance::Random => return quote("random"),
        Balance::RoundRobin => return quote("round-robin"),
        Balance::Hash(by) => by,
    };
    let (by, name) = match by {
        HashBy::Client => ("client", None),
        HashBy::Cookie(name) => ("cookie", Some(name)),
        HashBy::Header(name) => ("header", Some(name)),
        HashBy::Uri => ("uri", None),
    };
    let mut pairs = vec![(s::BALANCE_BY.key(), quote(by))];
    pairs.extend(name.map(|name| (s::BALANCE_NAME.key(), quote(name))));
    inline(&pairs)
}

fn tls(pool: &Pool) -> Option<String> {
    let mut pairs = match &pool.tls {
        NodeTls::Clear => return None,
        NodeTls::System => vec![(s::POOL_TLS_VERIFY.key(), "true".to_owned())],
        NodeTls::Unverified => vec![(s::POOL_TLS_VERIFY.key(), "false".to_owned())],
        NodeTls::Verified(ca) => vec![(s::POOL_TLS_CA.key(), quote(&ca.to_string_lossy()))],
    };
    let name = match &pool.tls_name {
        TlsName::Address => "address",
        TlsName::Literal(name) => name,
        TlsName::Node => "node",
    };
    pairs.push((s::POOL_TLS_NAME.key(), quote(name)));
    Some(inline(&pairs))
}

fn probe(out: &mut Writer, one: &Probe) {
    let kind = match &one.kind {
        ProbeKind::Http(_) => "http",
        ProbeKind::None => "none",
        ProbeKind::Ready => "ready",
        ProbeKind::Tcp => "tcp",
    };
    out.text(&s::PROBE_KIND, kind);
    if let ProbeKind::Http(http) = &one.kind {
        out.target(&s::PROBE_PATH, &http.path);
        out.text(&s::PROBE_METHOD, &http.method);
        out.maybe(&s::PROBE_HOST, http.host.as_ref().map(|host| quote(host)));
        let all: Vec<String> = http.expect.iter().map(ToString::to_string).collect();
        out.line(&s::PROBE_EXPECT, format!("[{}]", all.join(", ")));
    }
    out.time(&s::PROBE_EVERY, one.every);
    out.time(&s::PROBE_TIMEOUT, one.timeout);
    if one.timeout > one.every {
        out.line(&s::PROBE_MAY_OUTLIVE, true);
    }
    out.text(&s::PROBE_JITTER, &format!("{}%", one.jitter));
}

fn long_node(node: &Node) -> String {
    let mut pairs = vec![
        (s::NODE_NAME.key(), quote(&node.name)),
        (s::NODE_ADDR.key(), quote(&node.addr)),
        (s::NODE_WEIGHT.key(), node.weight.to_string()),
        (s::NODE_BACKUP.key(), node.backup.to_string()),
    ];
    let in_flight = node.in_flight;
    pairs.extend(in_flight.map(|most| (s::NODE_IN_FLIGHT.key(), most.to_string())));
    let texts = [
        (&s::NODE_TLS_NAME, &node.tls_name),
        (&s::NODE_SHARDS, &node.shards),
        (&s::NODE_REPLICA, &node.replica),
    ];
    for (setting, text) in texts {
        pairs.extend(text.as_ref().map(|text| (setting.key(), quote(text))));
    }
    inline(&pairs)
}
