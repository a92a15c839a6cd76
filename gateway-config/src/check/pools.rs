//! Checks pools: their nodes, how nodes are reached, probed and taken out.

use std::collections::BTreeMap;

use toml::Spanned;

use super::{Context, Parts, default_time};
use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::{FileRole, NamedFile};
use crate::model::{Health, Node, NodeTls, Pool, Probe};
use crate::raw;
use crate::settings as s;
use crate::source::{Place, Placed};
use crate::value;

/// Adds the pools of a file.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, parts: &mut Parts) {
    for (key, raw) in &file.pools {
        let nodes = nodes(cx, key, raw);
        let in_flight = cx.integer(&raw.in_flight, &s::POOL_IN_FLIGHT);
        let queue = cx.number(&raw.queue, &s::POOL_QUEUE).map_or_else(
            || default_queue(in_flight, nodes.len()),
            |placed| u32::try_from(placed.value).unwrap_or(u32::MAX),
        );
        let pool = Pool {
            name: key.get_ref().as_str().into(),
            tls: node_tls(cx, key, raw, parts),
            in_flight,
            queue_wait: cx.duration(&raw.queue_wait, &s::POOL_QUEUE_WAIT),
            queue,
            connect_timeout: cx.duration(&raw.connect_timeout, &s::POOL_CONNECT_TIMEOUT),
            answer_gap: cx.duration(&raw.answer_gap, &s::POOL_ANSWER_GAP),
            keep_idle: cx.duration(&raw.keep_idle, &s::POOL_KEEP_IDLE),
            keep_requests: cx.integer(&raw.keep_requests, &s::POOL_KEEP_REQUESTS),
            retries: cx.integer(&raw.retries, &s::POOL_RETRIES),
            retry_busy: cx.flag(&raw.retry_busy, &s::POOL_RETRY_BUSY),
            probe: probe(cx, key, &raw.probe),
            health: health(cx, &raw.health),
            nodes,
        };
        parts.pools.push(pool);
    }
}

/// Requests that may wait when nothing is said: four for each one that may be in flight.
pub(crate) fn default_queue(in_flight: u32, nodes: usize) -> u32 {
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
    in_flight.saturating_mul(nodes).saturating_mul(4)
}

fn nodes(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Pool) -> Vec<Node> {
    let Some(leaf) = &raw.nodes else {
        cx.missing("pool", key, &s::POOL_NODES);
        return Vec::new();
    };
    if leaf.get_ref().is_empty() {
        let title = format!("pool `{}` has no node", key.get_ref());
        cx.refuse(codes::NO_NODE, title, leaf, "nobody to send a request to");
    }
    let mut seen = Seen::default();
    leaf.get_ref()
        .iter()
        .filter_map(|one| node(cx, one, &mut seen))
        .collect()
}

fn node(cx: &mut Context<'_>, one: &Spanned<raw::Node>, seen: &mut Seen) -> Option<Node> {
    let whole = cx.place(one);
    let long = match one.get_ref() {
        raw::Node::Short(addr) => {
            let addr = Placed::new(addr.clone(), whole.clone());
            let name = Placed::new(name_of(&addr.value), whole);
            return seen.node(cx.findings, name, addr);
        }
        raw::Node::Long(long) => long,
    };
    let Some(addr) = &long.addr else {
        let title = "a node has no `addr`";
        cx.findings.push(
            Diagnostic::error(codes::MISSING_SETTING, title)
                .at(&whole, "this one")
                .help(s::NODE_ADDR.sentence),
        );
        return None;
    };
    let placed = |leaf: &Spanned<String>| {
        Placed::new(
            leaf.get_ref().clone(),
            cx.inside(leaf, 0..leaf.get_ref().len()),
        )
    };
    let addr = placed(addr);
    let name = match &long.name {
        Some(leaf) => placed(leaf),
        None => Placed::new(name_of(&addr.value), addr.place.clone()),
    };
    let mut node = seen.node(cx.findings, name, addr)?;
    node.shards = long
        .shards
        .as_ref()
        .map(|leaf| leaf.get_ref().as_str().into());
    node.replica = long
        .replica
        .as_ref()
        .map(|leaf| leaf.get_ref().as_str().into());
    Some(node)
}

/// The name of a node that was given none.
fn name_of(addr: &str) -> String {
    addr.chars()
        .filter(|c| !matches!(c, '[' | ']'))
        .map(|c| if c == ':' { '-' } else { c })
        .collect()
}

/// The nodes of one pool so far: names are unique, addresses should be.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    names: BTreeMap<String, Place>,
    addrs: BTreeMap<String, Place>,
}

impl Seen {
    /// Checks the name and address of one more node; what is wrong with them is in the findings.
    pub(crate) fn node(
        &mut self,
        findings: &mut Findings,
        name: Placed<String>,
        addr: Placed<String>,
    ) -> Option<Node> {
        let mut sound = true;
        if let Err(why) = value::node_address(&addr.value) {
            let title = format!(
                "`{}` is not the address of a node",
                addr.value.escape_debug()
            );
            findings.push(
                Diagnostic::error(codes::BAD_ADDRESS, title)
                    .at(&addr.place, why)
                    .help("an address is HOST:PORT, for example 10.0.0.11:7654"),
            );
            sound = false;
        } else if let Err((_, why)) = value::name(&name.value) {
            let title = format!("`{}` is not the name of a node", name.value.escape_debug());
            findings.push(Diagnostic::error(codes::BAD_NAME, title).at(&name.place, why));
            sound = false;
        }
        if let Some(first) = self.names.get(&name.value) {
            let title = format!("two nodes are called `{}`", name.value.escape_debug());
            findings
                .push(Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&name.place, first));
            return None;
        }
        if let Some(first) = self.addrs.get(&addr.value) {
            let title = format!("two nodes have the address {}", addr.value.escape_debug());
            findings.push(
                Diagnostic::warning(codes::SHARED_ADDRESS, title).at_both(&addr.place, first),
            );
        }
        self.names.insert(name.value.clone(), name.place);
        self.addrs.insert(addr.value.clone(), addr.place);
        sound.then(|| Node {
            name: name.value.into(),
            addr: addr.value.into(),
            shards: None,
            replica: None,
        })
    }
}

fn node_tls(
    cx: &mut Context<'_>,
    key: &Spanned<String>,
    raw: &raw::Pool,
    parts: &mut Parts,
) -> NodeTls {
    let Some(leaf) = &raw.tls else {
        return NodeTls::Clear;
    };
    let tls = leaf.get_ref();
    let verify = cx.flag(&tls.verify, &s::POOL_TLS_VERIFY);
    match (&tls.ca, verify) {
        (Some(ca), true) => {
            let path = cx.sources.resolve(cx.id, ca.get_ref());
            let place = cx.place(ca);
            parts.files.push(NamedFile {
                path: path.clone(),
                role: FileRole::Ca,
                place,
            });
            NodeTls::Verified(path)
        }
        (None, false) => {
            let place = cx.place(leaf);
            cx.findings.push(unverified(key.get_ref(), &place));
            NodeTls::Unverified
        }
        (Some(ca), false) => {
            let title = format!("pool `{}` names a CA and checks nobody", key.get_ref());
            cx.refuse(
                codes::TRUST_CONTRADICTS,
                title,
                ca,
                "not used while `verify` is false",
            );
            NodeTls::Unverified
        }
        (None, true) => {
            let place = cx.place(leaf);
            let title = format!("pool `{}` has TLS and trusts nobody", key.get_ref());
            cx.findings.push(
                Diagnostic::error(codes::MISSING_SETTING, title)
                    .at(&place, "`ca` is missing")
                    .help(s::POOL_TLS_CA.sentence),
            );
            NodeTls::Clear
        }
    }
}

/// The warning about nodes that nobody verifies.
pub(crate) fn unverified(pool: &str, place: &Place) -> Diagnostic {
    let title = format!("pool `{pool}` accepts any certificate: its nodes are not verified");
    Diagnostic::warning(codes::UNVERIFIED_NODES, title).at(place, "this turns it off")
}

/// A timeout that nobody wrote is never longer than the interval.
fn probe(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Probe) -> Probe {
    let every = cx.time(&raw.every, &s::PROBE_EVERY);
    let timeout = cx.time(&raw.timeout, &s::PROBE_TIMEOUT);
    let interval = every
        .as_ref()
        .map_or(default_time(&s::PROBE_EVERY), |one| one.value);
    let may_outlive = cx.flag(&raw.may_outlive, &s::PROBE_MAY_OUTLIVE);
    let slow = timeout
        .as_ref()
        .filter(|one| one.value > interval && !may_outlive);
    if let Some(slow) = slow {
        let title = format!(
            "pool `{}`: a probe may not outlive its interval",
            key.get_ref()
        );
        let mut found = Diagnostic::error(codes::PROBE_OUTLIVES_INTERVAL, title)
            .at(&slow.place, "a probe may take this long …");
        if let Some(every) = &every {
            found = found.at(&every.place, "… but the next one starts after this");
        }
        let longest = value::write_duration(interval);
        cx.findings
            .push(found.help(format!("a timeout of at most the interval, {longest}")));
    }
    let usual = default_time(&s::PROBE_TIMEOUT).min(interval);
    Probe {
        every: interval,
        timeout: timeout.map_or(usual, |one| one.value),
    }
}

fn health(cx: &mut Context<'_>, raw: &raw::Health) -> Health {
    Health {
        fall: cx.integer(&raw.fall, &s::HEALTH_FALL),
        rise: cx.integer(&raw.rise, &s::HEALTH_RISE),
        floor: cx.duration(&raw.floor, &s::HEALTH_FLOOR),
        keep_last: cx.flag(&raw.keep_last, &s::HEALTH_KEEP_LAST),
        count_traffic: cx.flag(&raw.count_traffic, &s::HEALTH_COUNT_TRAFFIC),
    }
}
