//! Checks the nodes of a pool: their names and addresses, and TLS to them.

use std::collections::BTreeMap;

use toml::Spanned;

use super::Context;
use super::addresses::meaning;
use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::FileRole;
use crate::model::{Node, NodeTls, Pool, TlsName};
use crate::raw::{self, Leaf, Short};
use crate::settings as s;
use crate::source::{Place, Placed};
use crate::value;

/// The nodes of a pool; those that are refused are left out.
pub(super) fn check(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Pool) -> Vec<Node> {
    let table = format!("pool `{}`", key.get_ref());
    let Some(leaf) = &raw.nodes else {
        cx.missing(&table, key, &s::POOL_NODES);
        return Vec::new();
    };
    if leaf.get_ref().is_empty() {
        let title = format!("{table} has no node");
        cx.refuse(codes::NO_NODE, title, leaf, "nobody to send a request to");
    }
    let mut seen = Seen::default();
    let nodes = leaf
        .get_ref()
        .iter()
        .filter_map(|one| node(cx, one, &mut seen))
        .collect();
    for one in leaf.get_ref() {
        if let Short::Long(long) = one.get_ref() {
            replica(cx, (&long.name, &long.replica), &seen);
            shards(cx, &long.shards);
        }
    }
    nodes
}

/// Warns of a copy of a node that is not there. It is no more, since the lists of clusters are not
/// refused for it either.
fn replica(cx: &mut Context<'_>, (name, leaf): (&Leaf<String>, &Leaf<String>), seen: &Seen) {
    let Some(leaf) = leaf else { return };
    let original = leaf.get_ref();
    let own = name.as_ref().map(Spanned::get_ref);
    let shown = original.escape_debug();
    let (title, label) = match seen.names.contains_key(original) {
        true if own != Some(original) => return,
        true => (
            format!("node `{shown}` is a replica of itself"),
            "its own name",
        ),
        false => (
            format!("a node is a replica of `{shown}`, which is no node of this pool"),
            "no such node",
        ),
    };
    let place = cx.within(leaf);
    let mut found = Diagnostic::warning(codes::BAD_REPLICA, title).at(&place, label);
    if own != Some(original) {
        let legal = seen.names.keys().map(String::as_str);
        let (_, help) = cx.findings.budget.search(original, legal);
        found.cure(help);
    }
    cx.push(found);
}

/// Warns of shards that are no text of one line.
fn shards(cx: &mut Context<'_>, leaf: &Leaf<String>) {
    let is_odd = |leaf: &&Spanned<String>| leaf.get_ref().chars().any(char::is_control);
    if let Some(leaf) = leaf.as_ref().filter(is_odd) {
        let title = format!("`{}` is no range of shards", leaf.get_ref().escape_debug());
        let place = cx.place(leaf);
        let label = "like \"0..64\" or \"64..\"";
        cx.push(Diagnostic::warning(codes::BAD_SHARDS, title).at(&place, label));
    }
}

fn node(cx: &mut Context<'_>, one: &Spanned<raw::Node>, seen: &mut Seen) -> Option<Node> {
    let whole = cx.place(one);
    let long = match one.get_ref() {
        Short::Short(addr) => {
            let addr = Placed::new(addr.clone(), whole);
            return seen.node(cx.findings, None, addr);
        }
        Short::Long(long) => long,
    };
    let Some(addr) = &long.addr else {
        let title = "a node has no `addr`";
        cx.push(
            Diagnostic::error(codes::MISSING_SETTING, title)
                .at(&whole, "this one")
                .help(s::NODE_ADDR.sentence),
        );
        return None;
    };
    let placed = |leaf: &Spanned<String>| Placed::new(leaf.get_ref().clone(), cx.within(leaf));
    let addr = placed(addr);
    let name = long.name.as_ref().map(placed);
    let text = |leaf: &Leaf<String>| leaf.as_ref().map(|leaf| leaf.get_ref().as_str().into());
    let (shards, replica) = (text(&long.shards), text(&long.replica));
    let weight = cx.integer(&long.weight, &s::NODE_WEIGHT);
    let in_flight = cx.maybe(&long.in_flight, &s::NODE_IN_FLIGHT);
    let tls_name = long.tls_name.as_ref();
    let tls_name = tls_name.map(|leaf| cx.token(leaf, &s::NODE_TLS_NAME, is_tls_name));
    let node = seen.node(cx.findings, name, addr)?;
    Some(Node {
        weight,
        backup: cx.flag(&long.backup, &s::NODE_BACKUP),
        in_flight,
        tls_name,
        shards,
        replica,
        ..node
    })
}

/// The name of a node that was given none: its address, of which so much is left as a name may be
/// long, with a number made of all of it.
fn called(addr: &Placed<String>) -> Placed<String> {
    let plain = addr.value.chars().filter(|c| !matches!(c, '[' | ']'));
    let mut name: String = plain.map(|c| if c == ':' { '-' } else { c }).collect();
    if name.len() > value::LONGEST_NAME && name.is_ascii() {
        let number = number_of(&name);
        name.truncate(value::LONGEST_NAME - 9);
        name.push_str(&format!("-{number:08x}"));
    }
    Placed::new(name, addr.place.clone())
}

/// A number of a text that stays the same from release to release, since names of nodes stand in
/// logs and metrics: FNV-1a of 32 bits.
fn number_of(text: &str) -> u32 {
    let step = |so_far: u32, byte: u8| (so_far ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

/// The nodes of one pool so far: names are unique, addresses should be.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    names: BTreeMap<String, Place>,
    addrs: BTreeMap<String, Place>,
}

impl Seen {
    /// Checks the name and address of one more node; what is wrong with them is in the findings.
    /// Without a name it is called by its address.
    pub(crate) fn node(
        &mut self,
        findings: &mut Findings,
        given: Option<Placed<String>>,
        addr: Placed<String>,
    ) -> Option<Node> {
        let is_address = is_address(findings, &addr);
        // A name made of what is no address would be refused for the same reason.
        let is_named = match &given {
            Some(name) => is_name(findings, name),
            None => !is_address || is_name(findings, &called(&addr)),
        };
        let name = given.unwrap_or_else(|| called(&addr));
        if let Some(first) = self.names.get(&name.value) {
            let title = format!("two nodes are called `{}`", name.value.escape_debug());
            findings
                .push(Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&name.place, first));
            return None;
        }
        let leads_to = meaning(&addr.value);
        if let Some(first) = self.addrs.get(&leads_to) {
            let title = format!("two nodes have the address {}", leads_to.escape_debug());
            findings.push(
                Diagnostic::warning(codes::SHARED_ADDRESS, title).at_both(&addr.place, first),
            );
        }
        self.names.insert(name.value.clone(), name.place);
        self.addrs.insert(leads_to, addr.place);
        (is_address && is_named).then(|| Node::new(name.value.into(), addr.value.into()))
    }
}

fn is_address(findings: &mut Findings, addr: &Placed<String>) -> bool {
    let Err(why) = value::node_address(&addr.value) else {
        return true;
    };
    let shown = addr.value.escape_debug();
    let title = format!("`{shown}` is not the address of a node");
    let found = Diagnostic::error(codes::BAD_ADDRESS, title).at(&addr.place, why);
    findings.push(found.help("an address is HOST:PORT, for example 10.0.0.11:7654"));
    false
}

fn is_name(findings: &mut Findings, name: &Placed<String>) -> bool {
    let Err((_, why)) = value::name(&name.value) else {
        return true;
    };
    let title = format!("`{}` is not the name of a node", name.value.escape_debug());
    findings.push(Diagnostic::error(codes::BAD_NAME, title).at(&name.place, why));
    false
}

/// Fills in how the nodes of a pool are reached.
pub(super) fn tls(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Pool, pool: &mut Pool) {
    let none = raw::NodeTls::default();
    let Some(leaf) = &raw.tls else {
        return named(cx, raw, "nodes are reached in clear text");
    };
    let long = match leaf.get_ref() {
        Short::Short(true) => &none,
        Short::Short(false) => return named(cx, raw, "nodes are reached in clear text"),
        Short::Long(long) => &**long,
    };
    if let Some(name) = &long.name {
        pool.tls_name = match name.get_ref().as_str() {
            "address" => TlsName::Address,
            "node" => TlsName::Node,
            _ => TlsName::Literal(cx.token(name, &s::POOL_TLS_NAME, is_tls_name)),
        };
    }
    let verify = cx.flag(&long.verify, &s::POOL_TLS_VERIFY);
    pool.tls = match (&long.ca, verify) {
        (Some(ca), true) => NodeTls::Verified(cx.file(ca, FileRole::Ca)),
        (None, true) => NodeTls::System,
        (None, false) => {
            let place = long
                .verify
                .as_ref()
                .map_or_else(|| cx.place(leaf), |one| cx.place(one));
            cx.push(unverified(key.get_ref(), &place));
            NodeTls::Unverified
        }
        (Some(ca), false) => {
            let title = format!("pool `{}` names a CA and checks nobody", key.get_ref());
            let place = cx.place(ca);
            let mut found = Diagnostic::error(codes::TRUST_CONTRADICTS, title)
                .at(&place, "not used while `verify` is false");
            if let Some(verify) = &long.verify {
                found = found.at(&cx.place(verify), "checks nobody");
            }
            cx.push(found);
            NodeTls::Unverified
        }
    };
}

/// Refuses names to check of nodes that show no certificate.
fn named(cx: &mut Context<'_>, raw: &raw::Pool, why: &str) {
    for one in raw.nodes.iter().flat_map(|nodes| nodes.get_ref()) {
        if let Short::Long(long) = one.get_ref() {
            cx.no_effect(&long.tls_name, &s::NODE_TLS_NAME, why);
        }
    }
}

/// Whether a text can be the name in a certificate: a host name without `_`, which verifiers take
/// for `-`, or an IP address.
fn is_tls_name(text: &str) -> bool {
    let is_address = text.parse::<std::net::IpAddr>().is_ok();
    is_address || (value::is_host(text) && !text.contains('_'))
}

/// The warning about nodes that nobody verifies.
pub(crate) fn unverified(pool: &str, place: &Place) -> Diagnostic {
    let title = format!("pool `{pool}` accepts any certificate: its nodes are not verified");
    Diagnostic::warning(codes::UNVERIFIED_NODES, title).at(place, "this turns it off")
}
