//! Checks pools: how nodes are reached, chosen, tried again and waited for.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::Spanned;

use super::{Context, Parts, nodes, probes};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Balance, HashBy, NodeHost, NodeTls, Pool, RetryOn};
use crate::raw::{self, Short};
use crate::settings as s;
use crate::value;

/// Adds the pools of a configuration; how long each gives a route that says nothing.
pub(super) fn check(
    cx: &mut Context<'_>,
    file: &raw::File,
    parts: &mut Parts,
) -> BTreeMap<String, Duration> {
    let mut budgets = BTreeMap::new();
    for (key, raw) in &file.pools {
        let nodes = nodes::check(cx, key, raw);
        let mut pool = Pool::new(key.get_ref().as_str().into(), nodes);
        pool.balance = balance(cx, raw);
        nodes::tls(cx, key, raw, &mut pool);
        pool.http2 = cx.flag(&raw.http2, &s::POOL_HTTP2);
        pool.host = host(cx, raw);
        slots(cx, raw, &mut pool);
        timeouts(cx, raw, &mut pool);
        pool.keep_idle = cx.duration(&raw.keep_idle, &s::POOL_KEEP_IDLE);
        pool.keep_requests = cx.integer(&raw.keep_requests, &s::POOL_KEEP_REQUESTS);
        pool.retries = cx.integer(&raw.retry.attempts, &s::POOL_RETRIES);
        let on = cx.words(&raw.retry.on, &s::POOL_RETRY_ON);
        pool.retry_on = on.as_deref().map(retry_on).unwrap_or_default();
        pool.retry_busy = pool.retry_on.busy;
        pool.retry_budget = cx.share(&raw.retry.budget, &s::POOL_RETRY_BUDGET);
        probes::check(cx, key, raw, &mut pool);
        pool.slow_start = slow_start(cx, raw, &pool.balance);
        let budget = cx.duration(&raw.timeouts.response, &s::POOL_RESPONSE);
        budgets.insert(key.get_ref().clone(), budget);
        parts.pools.push(pool);
    }
    budgets
}

/// What the words of `on` say.
pub(super) fn retry_on(words: &[&'static str]) -> RetryOn {
    let unsent = words.contains(&"unsent");
    RetryOn {
        connect: unsent || words.contains(&"connect"),
        unsent,
        repeatable: words.contains(&"repeatable"),
        busy: words.contains(&"busy"),
    }
}

fn balance(cx: &mut Context<'_>, raw: &raw::Pool) -> Balance {
    let Some(leaf) = &raw.balance else {
        return Balance::LeastInFlight;
    };
    let long = match leaf.get_ref() {
        Short::Short(word) => {
            let word = Some(Spanned::new(leaf.span(), word.clone()));
            return match cx.word(&word, &s::POOL_BALANCE) {
                "random" => Balance::Random,
                "round-robin" => Balance::RoundRobin,
                _ => Balance::LeastInFlight,
            };
        }
        Short::Long(long) => long,
    };
    let by = cx.word(&long.by, &s::BALANCE_BY);
    let needs_name = matches!(by, "cookie" | "header");
    let name = match &long.name {
        Some(name) if needs_name => cx.token(name, &s::BALANCE_NAME, value::is_token),
        Some(_) => {
            let why = "only a header or cookie has a name";
            cx.no_effect(&long.name, &s::BALANCE_NAME, why);
            "".into()
        }
        None => {
            if needs_name {
                cx.missing(&format!("`balance` by {by}"), leaf, &s::BALANCE_NAME);
            }
            "".into()
        }
    };
    Balance::Hash(match by {
        "cookie" => HashBy::Cookie(name),
        "header" => HashBy::Header(name.to_ascii_lowercase().into()),
        "uri" => HashBy::Uri,
        _ => HashBy::Client,
    })
}

/// A key belongs to its node from the first request on, so a hash grows nothing (adr/0049).
fn slow_start(cx: &mut Context<'_>, raw: &raw::Pool, balance: &Balance) -> Duration {
    let time = cx.duration(&raw.slow_start, &s::POOL_SLOW_START);
    if !time.is_zero() && matches!(balance, Balance::Hash(_)) {
        let why = "`balance` by a key gives a node all of its keys at once";
        cx.no_effect(&raw.slow_start, &s::POOL_SLOW_START, why);
    }
    time
}

fn host(cx: &mut Context<'_>, raw: &raw::Pool) -> Option<NodeHost> {
    let leaf = raw.host.as_ref()?;
    Some(match leaf.get_ref().as_str() {
        "client" => NodeHost::Client,
        "node" => NodeHost::Node,
        _ => NodeHost::Literal(cx.token(leaf, &s::POOL_HOST, value::is_authority)),
    })
}

fn slots(cx: &mut Context<'_>, raw: &raw::Pool, pool: &mut Pool) {
    pool.in_flight = cx.integer(&raw.in_flight, &s::POOL_IN_FLIGHT);
    pool.in_flight_total = cx.maybe(&raw.in_flight_total, &s::POOL_IN_FLIGHT_TOTAL);
    pool.queue_wait = cx.duration(&raw.queue_wait, &s::POOL_QUEUE_WAIT);
    let usual = Pool::usual_queue(pool.in_flight, pool.nodes.len());
    pool.queue = cx.maybe(&raw.queue, &s::POOL_QUEUE).unwrap_or(usual);
}

/// To connect in clear text is all there is to do; with TLS the handshake comes on top.
fn timeouts(cx: &mut Context<'_>, raw: &raw::Pool, pool: &mut Pool) {
    pool.answer_gap = cx.duration(&raw.timeouts.idle, &s::POOL_ANSWER_GAP);
    let connect = cx.time(&raw.timeouts.connect, &s::POOL_CONNECT);
    pool.tcp_timeout = connect
        .as_ref()
        .map_or_else(|| s::POOL_CONNECT.time(), |one| one.value);
    pool.connect_timeout = pool.tcp_timeout;
    if pool.tls == NodeTls::Clear {
        if raw.tls.is_none() {
            let why = "nodes are reached in clear text";
            cx.no_effect(&raw.timeouts.tls, &s::POOL_HANDSHAKE, why);
        }
        return;
    }
    let whole = cx.time(&raw.timeouts.tls, &s::POOL_HANDSHAKE);
    let usual = s::POOL_HANDSHAKE.time().max(pool.tcp_timeout);
    pool.connect_timeout = whole.as_ref().map_or(usual, |one| one.value);
    if pool.connect_timeout < pool.tcp_timeout {
        match (&whole, &connect) {
            (Some(whole), Some(connect)) => {
                let title = format!(
                    "pool `{}`: TLS may take less than to connect does",
                    pool.name
                );
                cx.push(
                    Diagnostic::error(codes::OUT_OF_RANGE, title)
                        .at(&whole.place, "to connect and end the handshake …")
                        .at(&connect.place, "… and to connect alone"),
                );
            }
            _ => pool.tcp_timeout = pool.connect_timeout,
        }
    }
}
