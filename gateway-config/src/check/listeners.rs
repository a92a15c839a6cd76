//! Checks listeners and the TLS profiles they name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use super::{Context, Names, Parts};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::files::{FileRole, NamedFile};
use crate::model::{HeadLimits, Listener, Tls};
use crate::raw;
use crate::settings as s;
use crate::value;

use toml::Spanned;

/// Adds the listeners of a file.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, names: &Names, parts: &mut Parts) {
    let profiles = profiles(cx, file, parts);
    let mut used = BTreeSet::new();
    for (key, raw) in &file.listeners {
        let from = format!("listener `{}`", key.get_ref());
        let profile = cx.refer((&from, "TLS profile"), &raw.tls, &names.tls);
        let tls = profile.and_then(|name| {
            let found = profiles.get(&name).cloned();
            used.insert(name);
            found
        });
        let bind = bind(cx, key, raw);
        parts.listeners.push(Listener {
            name: key.get_ref().as_str().into(),
            bind,
            http2: http2(cx, key, raw),
            tls,
            head: head(cx, &raw.head),
            idle: cx.duration(&raw.idle, &s::LISTENER_IDLE),
            body_gap: cx.duration(&raw.body_gap, &s::LISTENER_BODY_GAP),
            handshake: cx.duration(&raw.handshake, &s::LISTENER_HANDSHAKE),
            write_gap: cx.duration(&raw.write_gap, &s::LISTENER_WRITE_GAP),
            min_rate: cx.size(&raw.min_rate, &s::LISTENER_MIN_RATE),
        });
    }
    for key in file.tls.keys().filter(|key| !used.contains(key.get_ref())) {
        let place = cx.place(key);
        let title = format!("TLS profile `{}` is not used", key.get_ref());
        cx.findings
            .push(Diagnostic::warning(codes::UNUSED, title).at(&place, "no listener names it"));
    }
    same_address(cx, file, parts);
}

fn head(cx: &mut Context<'_>, raw: &raw::Head) -> HeadLimits {
    HeadLimits {
        line: cx.size(&raw.line, &s::HEAD_LINE),
        fields: cx.size(&raw.fields, &s::HEAD_FIELDS),
        count: cx.integer(&raw.count, &s::HEAD_COUNT),
        timeout: cx.duration(&raw.timeout, &s::HEAD_TIMEOUT),
    }
}

fn http2(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Listener) -> bool {
    if raw.tls.is_some() {
        return cx.flag(&raw.http2, &s::LISTENER_HTTP2);
    }
    if let Some(leaf) = raw.http2.as_ref().filter(|leaf| *leaf.get_ref()) {
        let title = format!("listener `{}` offers HTTP/2 and has no TLS", key.get_ref());
        cx.refuse(
            codes::HTTP2_WITHOUT_TLS,
            title,
            leaf,
            "offered in a handshake that there is not",
        );
    }
    false
}

fn bind(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Listener) -> SocketAddr {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let Some(leaf) = &raw.bind else {
        cx.missing("listener", key, &s::LISTENER_BIND);
        return nowhere;
    };
    match value::listen_address(leaf.get_ref()) {
        Ok(address) => address,
        Err(why) => {
            let title = format!("listener `{}` has no address to bind", key.get_ref());
            cx.refuse(codes::BAD_ADDRESS, title, leaf, &why);
            nowhere
        }
    }
}

fn same_address(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let mut seen: BTreeMap<SocketAddr, &str> = BTreeMap::new();
    for one in parts.listeners.iter().filter(|one| one.bind.port() != 0) {
        let Some(first) = seen.insert(one.bind, &one.name) else {
            continue;
        };
        let place = |name: &str| {
            let listener = file.listeners.get(name).and_then(|raw| raw.bind.as_ref());
            let door = file
                .front_door
                .get(name)
                .and_then(|raw| raw.listen.as_ref());
            listener.or(door).map(|leaf| cx.place(leaf)).or_else(|| {
                let key = file.front_door.keys().find(|key| key.get_ref() == name)?;
                Some(cx.place(key))
            })
        };
        let title = format!("two listeners have the address {}", one.bind);
        let mut found = Diagnostic::error(codes::SAME_ADDRESS, title);
        match (place(&one.name), place(first)) {
            (Some(one), Some(first)) => found = found.at_both(&one, &first),
            (one, first) => {
                for place in one.iter().chain(&first) {
                    found = found.at(place, "one of them");
                }
            }
        }
        cx.findings.push(found);
    }
}

fn profiles(cx: &mut Context<'_>, file: &raw::File, parts: &mut Parts) -> BTreeMap<String, Tls> {
    let mut profiles = BTreeMap::new();
    for (key, raw) in &file.tls {
        let mut path = |leaf: &raw::Leaf<String>, role, setting| match leaf {
            Some(leaf) => {
                let path = cx.sources.resolve(cx.id, leaf.get_ref());
                let place = cx.place(leaf);
                parts.files.push(NamedFile {
                    path: path.clone(),
                    role,
                    place,
                });
                path
            }
            None => {
                cx.missing("TLS profile", key, setting);
                "".into()
            }
        };
        let profile = Tls {
            name: key.get_ref().as_str().into(),
            chain: path(&raw.chain, FileRole::Chain, &s::TLS_CHAIN),
            key: path(&raw.key, FileRole::Key, &s::TLS_KEY),
        };
        profiles.insert(key.get_ref().clone(), profile);
    }
    profiles
}
