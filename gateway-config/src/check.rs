//! Decides whether a configuration makes sense, and turns it into the model.
//!
//! Collects every finding and never stops at the first. A definition that is broken still counts
//! as defined, so one mistake is one finding. Reads no file but the cluster lists that front doors
//! name; certificates are left to [`files`](crate::files).
//!
//! Called by [`load`](mod@crate::load) with a file whose [`shape`](crate::shape) is sound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::NamedFile;
use crate::front_door;
use crate::model::{Listener, Model, Pool, Site};
use crate::networks::NetworkSet;
use crate::raw;
use crate::settings as s;
use crate::source::{Origin, Place, Sources};

mod actions;
mod addresses;
mod circles;
mod context;
mod door;
mod hosts;
mod listeners;
mod literal;
mod locations;
mod nodes;
mod paths;
mod patterns;
mod pools;
mod probes;
mod process;
mod retries;
pub(crate) mod routes;
mod sites;
mod tls;
mod values;

pub(crate) use addresses::listen_address;
pub(crate) use context::Context;
pub(crate) use nodes::{Seen, unverified};
pub use paths::{access_log, check_path};
pub(crate) use values::{Sets, in_range, time_in_range};

/// What the tables of a configuration, or a front door, add up to.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) sites: Vec<Site>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) files: Vec<NamedFile>,
}

/// Turns a configuration into the model; what is wrong with it is in the findings.
pub(crate) fn check(
    sources: &mut Sources,
    origin: &Origin,
    file: &raw::File,
    findings: &mut Findings,
) -> (Model, Vec<NamedFile>) {
    let mut files = Vec::new();
    let doors: Vec<_> = {
        let mut cx = context(sources, origin, findings, &mut files);
        file.front_door
            .iter()
            .map(|(name, raw)| door::read(&mut cx, name, raw))
            .collect()
    };
    let mut parts = Parts::default();
    for one in &doors {
        front_door::add(one, sources, findings, &mut parts);
    }
    files.append(&mut parts.files);
    // Two of one name are told by their name, and only one of them is looked at.
    parts
        .listeners
        .retain(|one| !file.listeners.contains_key(&*one.name));
    parts
        .sites
        .retain(|one| !file.sites.contains_key(&*one.name));
    parts
        .pools
        .retain(|one| !file.pools.contains_key(&*one.name));
    let mut cx = context(sources, origin, findings, &mut files);
    let names = Names::collect(&mut cx, file);
    let sets = sets(&mut cx, file);
    let mut profiles = tls::profiles(&mut cx, file);
    listeners::check(&mut cx, file, (&names, &sets), &mut profiles, &mut parts);
    let pools = pools::check(&mut cx, file, &mut parts);
    let known = sites::Known {
        names: &names,
        sets: &sets,
        pools: &pools,
    };
    sites::check(&mut cx, file, &known, &mut profiles, &mut parts);
    hosts::check(&mut cx, file, &parts);
    hosts::sent_on(&mut cx, file, &parts);
    hosts::nameless(&mut cx, file, &parts);
    circles::sites(&mut cx, file, &parts);
    retries::check(&mut cx, file, &parts);
    addresses::check(&mut cx, file, &parts);
    let model = process::check(&mut cx, file, &sets, &mut parts);
    unused(&mut cx, file, &profiles, &model);
    (model, files)
}

fn context<'a>(
    sources: &'a Sources,
    origin: &'a Origin,
    findings: &'a mut Findings,
    files: &'a mut Vec<NamedFile>,
) -> Context<'a> {
    Context {
        sources,
        origin,
        findings,
        files,
        used_sets: BTreeSet::new(),
    }
}

/// Who is defined, and where: what references are looked up in.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) listeners: BTreeMap<String, Place>,
    pub(crate) pools: BTreeMap<String, Place>,
    pub(crate) sites: BTreeMap<String, Place>,
    pub(crate) tls: BTreeMap<String, Place>,
}

impl Names {
    fn collect(cx: &mut Context<'_>, file: &raw::File) -> Self {
        let mut names = Self::default();
        cx.define("listener", file.listeners.keys(), &mut names.listeners);
        cx.define("pool", file.pools.keys(), &mut names.pools);
        cx.define("site", file.sites.keys(), &mut names.sites);
        cx.define("TLS profile", file.tls.keys(), &mut names.tls);
        for (key, door) in &file.front_door {
            cx.name("front door", key);
            let place = cx.place(key);
            let tables = [
                ("listener", &mut names.listeners),
                ("pool", &mut names.pools),
                ("site", &mut names.sites),
            ];
            for (what, known) in tables {
                cx.add_name(what, key.get_ref(), &place, known);
            }
            if door.tls_cert.is_some() || door.tls_key.is_some() {
                cx.add_name("TLS profile", key.get_ref(), &place, &mut names.tls);
            }
        }
        names
    }
}

/// The networks of every address set. One that is broken is a set all the same.
fn sets(cx: &mut Context<'_>, file: &raw::File) -> Sets {
    let mut sets = Sets::new();
    for (key, raw) in &file.address_sets {
        cx.name("address set", key);
        let mut all = Vec::new();
        match &raw.cidrs {
            None => {
                let table = format!("address set `{}`", key.get_ref());
                cx.missing(&table, key, &s::SET_CIDRS);
            }
            Some(list) => {
                if list.get_ref().is_empty() {
                    let title = "`cidrs` is empty".to_owned();
                    cx.refuse(
                        codes::EMPTY_LIST,
                        title,
                        list,
                        "a set holds one network or more",
                    );
                }
                cx.each_network_once(list.get_ref());
                all.extend(
                    list.get_ref()
                        .iter()
                        .filter_map(|one| cx.network(one, &s::SET_CIDRS)),
                );
            }
        }
        let set = NetworkSet::new(key.get_ref(), all);
        sets.insert(key.get_ref().clone(), Arc::new(set));
    }
    sets
}

/// Warns of definitions that nothing refers to.
fn unused(cx: &mut Context<'_>, file: &raw::File, profiles: &tls::Profiles, model: &Model) {
    let mut told = Vec::new();
    for key in file.tls.keys() {
        if !profiles.is_used(key.get_ref()) {
            told.push(("TLS profile", key, "no listener or site names it"));
        }
    }
    for key in file.address_sets.keys() {
        if !cx.used_sets.contains(key.get_ref()) {
            told.push(("address set", key, "no list of networks names it"));
        }
    }
    let used: BTreeSet<&str> = model
        .sites
        .iter()
        .flat_map(|site| {
            let routes = site.routes.iter().map(|route| &*route.pool);
            routes.chain(site.endpoints.as_deref())
        })
        .collect();
    let named: BTreeSet<&str> = sites::pools_named(file).collect();
    for key in file.pools.keys() {
        if !used.contains(key.get_ref().as_str()) && !named.contains(key.get_ref().as_str()) {
            told.push(("pool", key, "no site or route names it"));
        }
    }
    told.extend(listeners::unused(file, model).map(|key| ("listener", key, "no site names it")));
    for (what, key, label) in told {
        let place = cx.place(key);
        let title = format!("{what} `{}` is not used", key.get_ref());
        cx.push(Diagnostic::warning(codes::UNUSED, title).at(&place, label));
    }
}

#[cfg(test)]
mod tests;
