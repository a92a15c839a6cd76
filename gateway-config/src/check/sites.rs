//! Checks sites: where they are served, who may come, and what crosses them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use super::tls::Profiles;
use super::{Context, Names, Parts, Sets, literal, routes};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::files::FileRole;
use crate::model::{
    Compression, Edits, ErrorPage, FailureStyle, ForwardedFor, HostSent, Hsts, Name, Rate,
    Segments, Site, Www,
};
use crate::raw::{self, Leaf, Named, Short, each};
use crate::secrets;
use crate::settings::{self as s, Setting};
use crate::value;

/// What sites and routes may refer to.
pub(super) struct Known<'a> {
    pub(super) names: &'a Names,
    pub(super) sets: &'a Sets,
    /// How long the pools give a route that says nothing.
    pub(super) pools: &'a BTreeMap<String, Duration>,
}

/// Adds the sites of a configuration.
pub(super) fn check(
    cx: &mut Context<'_>,
    file: &raw::File,
    known: &Known<'_>,
    profiles: &mut Profiles,
    parts: &mut Parts,
) {
    for (key, raw) in &file.sites {
        let from = format!("site `{}`", key.get_ref());
        let mut listeners = listeners(cx, &from, (key, raw), known.names).into_iter();
        let listener: Name = listeners.next().unwrap_or_default();
        let mut site = Site::new(key.get_ref().as_str().into(), listener);
        site.also_on = listeners.collect();
        let profile = cx.refer((&from, "TLS profile"), &raw.tls, &known.names.tls);
        site.tls = profile.and_then(|name| profiles.take(&name));
        names(cx, raw, &mut site);
        site.https = cx.flag(&raw.https, &s::SITE_HTTPS);
        site.hsts = hsts(cx, &from, &raw.hsts);
        site.allow_from = cx.networks(&raw.allow_from, &s::SITE_ALLOW_FROM, known.sets);
        paths(cx, raw, &mut site);
        site.error_pages = error_pages(cx, &raw.error_pages);
        let endpoints = cx.refer((&from, "pool"), &raw.endpoints, &known.names.pools);
        site.endpoints = endpoints.map(Into::into);
        crossing(cx, raw, &mut site);
        site.compression = compression(cx, &raw.compression);
        site.rate = rate(cx, &from, &raw.rate, SITE_RATE);
        site.routes = routes::check(cx, (key, raw), site.segments, known);
        parts.sites.push(site);
    }
}

/// Every pool that a site or route of the file names, also where that is refused.
pub(super) fn pools_named(file: &raw::File) -> impl Iterator<Item = &str> {
    file.sites.values().flat_map(|site| {
        let own = site.pool.iter().chain(&site.endpoints);
        own.chain(site.routes.values().filter_map(|route| route.pool.as_ref()))
            .map(|leaf| leaf.get_ref().as_str())
    })
}

/// The listeners that are defined, sorted; the first one stands for the site.
fn listeners(
    cx: &mut Context<'_>,
    from: &str,
    (key, raw): (&Spanned<String>, &raw::Site),
    names: &Names,
) -> Vec<Name> {
    match &raw.listener {
        None => cx.missing(from, key, &s::SITE_LISTENER),
        Some(leaf) if each(&raw.listener).is_empty() => {
            let title = "`listener` is empty".to_owned();
            cx.refuse(codes::EMPTY_LIST, title, leaf, "a site is served somewhere");
        }
        Some(_) => {}
    }
    let mut found: Vec<Name> = Vec::new();
    let written = each(&raw.listener);
    cx.once(written.iter(), |name| name);
    for leaf in &written {
        let name = cx.refer_to((from, "listener"), leaf, &names.listeners);
        found.extend(name.map(Name::from));
    }
    found.sort();
    found.dedup();
    found
}

/// The names it takes, and those it redirects.
fn names(cx: &mut Context<'_>, raw: &raw::Site, site: &mut Site) {
    cx.not_empty(&raw.hosts, &s::SITE_HOSTS);
    cx.not_empty(&raw.aliases, &s::SITE_ALIASES);
    let written = cx.texts(&raw.hosts, &s::SITE_HOSTS, value::is_site_host);
    site.hosts = written.unwrap_or_default();
    for host in &mut site.hosts {
        *host = value::folded_host(host).into();
    }
    site.www = match cx.word(&raw.www, &s::SITE_WWW) {
        "add" => Www::Add,
        "remove" => Www::Remove,
        _ => Www::Keep,
    };
    let mut named = site.hosts.iter();
    if site.www != Www::Keep && !site.hosts.is_empty() && named.all(|host| host.starts_with("*.")) {
        let why = "of names that a wildcard stands for, `www` stays as it is";
        cx.no_effect(&raw.www, &s::SITE_WWW, why);
    }
    let aliases = cx.texts(&raw.aliases, &s::SITE_ALIASES, value::is_alias);
    site.aliases = aliases.unwrap_or_default();
    for alias in &mut site.aliases {
        *alias = value::folded_host(alias).into();
    }
    site.aliases.sort();
    site.aliases.dedup();
    if !site.aliases.is_empty() {
        site.primary = site
            .hosts
            .first()
            .filter(|host| !host.starts_with("*."))
            .cloned();
        if let (None, Some(leaf)) = (&site.primary, &raw.aliases) {
            let title = format!("site `{}` has aliases of nothing", site.name);
            let label = "there is no host that they could lead to";
            let place = cx.place(leaf);
            let found = Diagnostic::error(codes::NO_PRIMARY, title).at(&place, label);
            cx.push(found.help("put the name they lead to first in `hosts`"));
        }
    }
    let written = raw.hosts.iter().chain(&raw.aliases);
    cx.once(written.flat_map(|list| list.get_ref()), value::folded_host);
    site.hosts.sort();
    site.hosts.dedup();
    let hosts = &site.hosts;
    site.aliases
        .retain(|alias| hosts.binary_search(alias).is_err());
    site.is_default = site.hosts.is_empty() || cx.flag(&raw.default, &s::SITE_DEFAULT);
}

fn hsts(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Leaf<Short<raw::Quantity, raw::Hsts>>,
) -> Option<Hsts> {
    let leaf = leaf.as_ref()?;
    match leaf.get_ref() {
        Short::Short(age) => Some(Hsts {
            max_age: cx.time_of(leaf, age, &s::SITE_HSTS)?.value,
            subdomains: s::HSTS_SUBDOMAINS.is_on(),
            preload: s::HSTS_PRELOAD.is_on(),
        }),
        Short::Long(long) => {
            if long.max_age.is_none() {
                cx.missing(&format!("`hsts` of {from}"), leaf, &s::HSTS_MAX_AGE);
            }
            Some(Hsts {
                max_age: cx.time(&long.max_age, &s::HSTS_MAX_AGE)?.value,
                subdomains: cx.flag(&long.subdomains, &s::HSTS_SUBDOMAINS),
                preload: cx.flag(&long.preload, &s::HSTS_PRELOAD),
            })
        }
    }
}

fn paths(cx: &mut Context<'_>, raw: &raw::Site, site: &mut Site) {
    site.segments = match cx.word(&raw.segments, &s::SITE_SEGMENTS) {
        "decoded" => Segments::Decoded,
        _ => Segments::Normalised,
    };
    site.merge_slashes = cx.flag(&raw.merge_slashes, &s::SITE_MERGE_SLASHES);
    if site.segments == Segments::Decoded && !site.merge_slashes {
        let why = "decoded segments are never empty";
        cx.no_effect(&raw.merge_slashes, &s::SITE_MERGE_SLASHES, why);
        site.merge_slashes = true;
    }
}

fn error_pages(cx: &mut Context<'_>, raw: &Named<Spanned<String>>) -> Vec<ErrorPage> {
    let mut pages = Vec::new();
    for (key, leaf) in raw {
        let file = cx.file(leaf, FileRole::Page);
        let digits = key.get_ref();
        let is_plain = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse::<u16>() {
            Ok(status @ 400..=599) if is_plain => pages.push(ErrorPage { status, file }),
            _ => {
                let title = format!(
                    "`{}` is not a status of a failure",
                    key.get_ref().escape_debug()
                );
                cx.refuse(codes::OUT_OF_RANGE, title, key, "three digits, 400 to 599");
            }
        }
    }
    pages.sort_by_key(|page| page.status);
    pages
}

/// What crosses the site, in both directions.
fn crossing(cx: &mut Context<'_>, raw: &raw::Site, site: &mut Site) {
    site.failures = match cx.word(&raw.failures, &s::SITE_FAILURES) {
        "json" => FailureStyle::Json,
        _ => FailureStyle::Text,
    };
    site.forwarded_for = match cx.word(&raw.forwarded_for, &s::SITE_FORWARDED_FOR) {
        "append" => ForwardedFor::Append,
        _ => ForwardedFor::Replace,
    };
    site.host = match cx.word(&raw.host, &s::SITE_HOST) {
        "node" => HostSent::Node,
        _ => HostSent::Client,
    };
    let fields = (&s::SITE_REQUEST_FIELDS, &s::SITE_RESPONSE_FIELDS);
    for list in [&raw.request_fields, &raw.response_fields] {
        let names = list.iter().flat_map(|list| list.get_ref());
        cx.each_once(names.filter(|name| value::is_token(name.get_ref())));
    }
    site.request_fields = cx.folded(&raw.request_fields, fields.0, value::is_token);
    site.response_fields = cx.folded(&raw.response_fields, fields.1, value::is_token);
    site.request_edits = edits(
        cx,
        &raw.request_edits,
        [&s::REQUEST_SET, &s::REQUEST_REMOVE],
    );
    site.response_edits = edits(
        cx,
        &raw.response_edits,
        [&s::RESPONSE_SET, &s::RESPONSE_REMOVE],
    );
}

fn edits(cx: &mut Context<'_>, raw: &raw::Edits, settings: [&Setting; 2]) -> Edits {
    let [set, remove] = settings;
    let mut all: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for (key, value) in &raw.set {
        let name: Arc<str> = cx.token(key, set, is_own_field).to_ascii_lowercase().into();
        if !value::is_field_value(value.get_ref()) {
            let title = format!(
                "the value of `{}` cannot be sent",
                secrets::name_alone(&name)
            );
            cx.refuse(
                codes::BAD_TOKEN,
                title,
                value,
                secrets::unsendable(value.get_ref()),
            );
        }
        literal::value(cx, &name, value);
        if all
            .insert(name.clone(), value.get_ref().as_str().into())
            .is_some()
        {
            let title = format!("`{}` is set twice", secrets::name_alone(&name));
            cx.refuse(codes::DEFINED_TWICE, title, key, "field names know no case");
        }
    }
    cx.not_empty(&raw.remove, remove);
    let names = raw.remove.iter().flat_map(|list| list.get_ref());
    cx.each_once(names.filter(|name| value::is_token(name.get_ref())));
    set_and_removed(cx, raw);
    Edits {
        set: all.into_iter().collect(),
        remove: cx
            .folded(&raw.remove, remove, is_own_field)
            .unwrap_or_default(),
    }
}

/// Refuses fields that the same edits set and remove: either could be meant.
fn set_and_removed(cx: &mut Context<'_>, raw: &raw::Edits) {
    let set: BTreeMap<String, &Spanned<String>> = raw
        .set
        .keys()
        .map(|key| (key.get_ref().to_ascii_lowercase(), key))
        .collect();
    for name in raw.remove.iter().flat_map(|list| list.get_ref()) {
        let same = set.get(&name.get_ref().to_ascii_lowercase());
        if let Some(key) = same.filter(|_| is_own_field(name.get_ref())) {
            let title = format!("`{}` is both set and removed", name.get_ref());
            let found = Diagnostic::error(codes::NO_EFFECT, title)
                .at(&cx.place(name), "removed here")
                .at(&cx.place(key), "set here")
                .help("a field that is set replaces what was there; leave it out of `remove`");
            cx.push(found);
        }
    }
}

/// Whether a field may be changed: not those by which a message is framed or led.
fn is_own_field(text: &str) -> bool {
    value::is_token(text) && !value::is_framing(text)
}

fn compression(
    cx: &mut Context<'_>,
    leaf: &Leaf<Short<Vec<Spanned<String>>, raw::Compression>>,
) -> Option<Compression> {
    let leaf = leaf.as_ref()?;
    let usual = s::COMPRESSION_MIN.number();
    let (codings, min_size) = match leaf.get_ref() {
        Short::Short(list) => {
            let list = Some(Spanned::new(leaf.span(), list.clone()));
            (cx.words(&list, &s::SITE_COMPRESSION)?, usual)
        }
        Short::Long(long) => {
            let listed = cx.words(&long.codings, &s::COMPRESSION_CODINGS);
            let codings = listed.unwrap_or_else(|| s::COMPRESSION_CODINGS.usual_words().to_vec());
            (codings, cx.size(&long.min_size, &s::COMPRESSION_MIN))
        }
    };
    Some(Compression { codings, min_size })
}

/// The settings of a site's `rate`.
const SITE_RATE: [&Setting; 3] = [
    &s::SITE_RATE_REQUESTS,
    &s::SITE_RATE_PER,
    &s::SITE_RATE_BURST,
];

/// How many requests one client may send.
pub(super) fn rate(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Leaf<raw::Rate>,
    [requests, per, burst]: [&Setting; 3],
) -> Option<Rate> {
    let leaf = leaf.as_ref()?;
    let raw = leaf.get_ref();
    if raw.requests.is_none() {
        cx.missing(&format!("`rate` of {from}"), leaf, requests);
    }
    let per = cx.duration(&raw.per, per);
    let burst = cx.maybe(&raw.burst, burst);
    let requests = cx.maybe(&raw.requests, requests)?;
    Some(Rate {
        requests,
        per,
        burst: burst.unwrap_or(requests),
    })
}
