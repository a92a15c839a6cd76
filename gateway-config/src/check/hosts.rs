//! Checks what several sites have to agree on: who takes which name, and where HTTPS is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Context, Parts};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Listener, Name, Site};
use crate::raw::{self, each};
use crate::settings as s;
use crate::source::Place;
use crate::value;

/// Finds names that two sites take, and redirects to HTTPS that lead nowhere.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let mut taken = Taken::default();
    for site in &parts.sites {
        let Some((key, raw)) = file.sites.get_key_value(&*site.name) else {
            continue;
        };
        let of_key = cx.place(key);
        let written = raw.hosts.iter().chain(&raw.aliases);
        let places: HashMap<String, Place> = written
            .flat_map(|list| list.get_ref())
            .map(|one| (value::folded_host(one.get_ref()), cx.place(one)))
            .collect();
        for host in site.hosts.iter().chain(&site.aliases) {
            let place = places.get(&**host);
            taken.by(cx, site, host, place.unwrap_or(&of_key));
        }
        // An empty list of hosts is told of alone: nobody means every host by it.
        let is_empty = raw
            .hosts
            .as_ref()
            .is_some_and(|all| all.get_ref().is_empty());
        if site.is_default && !is_empty {
            let place = raw.default.as_ref().map(|leaf| cx.place(leaf));
            taken.by(cx, site, &"".into(), place.as_ref().unwrap_or(&of_key));
        }
        unsent(cx, raw, site, (file, parts));
        let is_all = each(&raw.listener).len() == site.listeners().count();
        if site.tls.is_some() && is_all && is_clear(site, file, parts) {
            let why = "none of its listeners has `tls`";
            cx.no_effect(&raw.tls, &s::SITE_TLS, why);
        }
        if let Some(leaf) = raw.https.as_ref().filter(|_| site.https)
            && is_clear(site, file, parts)
        {
            let title = format!(
                "site `{}` redirects to HTTPS and is not served there",
                site.name
            );
            let place = cx.place(leaf);
            cx.push(
                Diagnostic::error(codes::NO_HTTPS, title)
                    .at(&place, "none of its listeners has TLS")
                    .help("add a listener with `tls` to its `listener`"),
            );
        }
    }
}

/// Whether none of a site's listeners has TLS, or was meant to.
fn is_clear(site: &Site, file: &raw::File, parts: &Parts) -> bool {
    let has_tls = |one: &Listener| one.tls.is_some() && site.listeners().any(|it| *it == one.name);
    let is_written = |name: &Name| {
        let written = file.listeners.get(&**name);
        written.is_some_and(|raw| raw.tls.is_some())
    };
    !parts.listeners.iter().any(has_tls) && !site.listeners().any(is_written)
}

/// Warns of `hsts` where it is never sent: over HTTPS alone (RFC 6797 §7.2), which may end before us at
/// a proxy that is trusted. Of a listener that is not defined nothing is known.
fn unsent(cx: &mut Context<'_>, raw: &raw::Site, site: &Site, (file, parts): (&raw::File, &Parts)) {
    let Some(leaf) = raw.hsts.as_ref().filter(|_| site.hsts.is_some()) else {
        return;
    };
    let is_certain = |name: &Name| {
        let written = file.listeners.get(&**name);
        written.is_some_and(|raw| raw.trusted_proxies.is_none())
    };
    let is_all = each(&raw.listener).len() == site.listeners().count();
    if is_all && site.listeners().all(is_certain) && is_clear(site, file, parts) {
        let title = format!("`hsts` of site `{}` is never sent", site.name);
        let place = cx.place(leaf);
        cx.push(
            Diagnostic::warning(codes::NO_EFFECT, title)
                .at(&place, "none of its listeners has TLS, over which it is sent")
                .help("add a listener with `tls` to its `listener`, or say whose word for HTTPS is taken with `trusted_proxies`"),
        );
    }
}

/// Refuses listeners that show nothing to names that no site has, where no site has any. A site of a
/// listener that is not defined may be meant for it.
pub(super) fn nameless(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let is_defined = |name: &str| parts.listeners.iter().any(|one| *one.name == *name);
    for one in parts.listeners.iter().filter(|one| one.strict_sni) {
        let may_be_here = |site: &&raw::Site| {
            let mut named = each(&site.listener).into_iter();
            let is_it = |name: &str| *name == *one.name || !is_defined(name);
            site.listener.is_none() || named.any(|name| is_it(name.get_ref()))
        };
        let mut sites = file.sites.values().filter(may_be_here);
        let has_name = |site: &raw::Site| site.hosts.is_some() || site.aliases.is_some();
        let is_served = parts
            .sites
            .iter()
            .flat_map(Site::listeners)
            .any(|name| *name == one.name);
        if let Some(raw) = file.listeners.get(&*one.name)
            && is_served
            && !sites.any(has_name)
        {
            let why = "no site here has `hosts`, so every handshake would be refused";
            cx.no_effect(&raw.strict_sni, &s::LISTENER_STRICT_SNI, why);
        }
    }
}

/// Refuses listeners that send everybody on to HTTPS, where no site is. What is not known for certain
/// may be: a site of a listener that is not defined, or TLS that ends at a proxy before us.
pub(super) fn sent_on(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let own = parts.listeners.iter();
    let known: HashMap<&str, bool> = own
        .map(|one| {
            let written = file.listeners.get(&*one.name);
            let has_tls = one.tls.is_some() || written.is_some_and(|raw| raw.tls.is_some());
            (&*one.name, has_tls)
        })
        .collect();
    let may_be_there = |name: &str| known.get(name).copied().unwrap_or(true);
    let is_written = |site: &raw::Site| {
        site.listener.is_none()
            || each(&site.listener)
                .iter()
                .any(|one| may_be_there(one.get_ref()))
    };
    let of_doors = parts.sites.iter();
    let is_served = file.sites.values().any(is_written)
        || of_doors
            .flat_map(Site::listeners)
            .any(|name| may_be_there(name));
    if is_served {
        return;
    }
    for one in parts.listeners.iter().filter(|one| one.redirect_to_https) {
        let Some(raw) = file.listeners.get(&*one.name) else {
            continue;
        };
        let Some(leaf) = raw
            .redirect
            .as_ref()
            .filter(|_| raw.trusted_proxies.is_none())
        else {
            continue;
        };
        let title = format!(
            "listener `{}` redirects to HTTPS, and no site is served there",
            one.name
        );
        let place = cx.place(leaf);
        cx.push(
            Diagnostic::error(codes::NO_HTTPS, title)
                .at(&place, "no site has a listener with TLS")
                .help("add a listener with `tls`, and name it in the `listener` of a site"),
        );
    }
}

/// Who takes a name on a listener, and where that is said.
#[derive(Default)]
struct Taken(BTreeMap<(Name, Arc<str>), Place>);

impl Taken {
    fn by(&mut self, cx: &mut Context<'_>, site: &Site, host: &Arc<str>, place: &Place) {
        for listener in site.listeners().filter(|name| !name.is_empty()) {
            let key = (listener.clone(), host.clone());
            let Some(first) = self.0.insert(key, place.clone()) else {
                continue;
            };
            let what = if host.is_empty() {
                "every other host"
            } else {
                host
            };
            let title = format!("two sites of `{listener}` take {what}");
            cx.push(Diagnostic::error(codes::SAME_HOST, title).at_both(place, &first));
            return;
        }
    }
}
