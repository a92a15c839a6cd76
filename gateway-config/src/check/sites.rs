//! Checks sites: where they are served, for which hosts, and what crosses them.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;

use super::{Context, Names, Parts, routes};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{FailureStyle, ForwardedFor, HostSent, Name, Segments, Site};
use crate::raw::{self, List};
use crate::settings::{self as s, Setting};
use crate::source::Place;
use crate::value;

/// Adds the sites of a file.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, names: &Names, parts: &mut Parts) {
    let mut served: BTreeMap<(String, Arc<str>), Place> = BTreeMap::new();
    for (key, raw) in &file.sites {
        let from = format!("site `{}`", key.get_ref());
        if raw.listener.is_none() {
            cx.missing("site", key, &s::SITE_LISTENER);
        }
        let listener = cx.refer((&from, "listener"), &raw.listener, &names.listeners);
        let hosts = hosts(cx, raw);
        if let Some(listener) = &listener {
            same_host(cx, key, raw, (listener, &hosts), &mut served);
        }
        let site = Site {
            name: key.get_ref().as_str().into(),
            listener: name(listener),
            hosts,
            segments: match cx.word(&raw.segments, &s::SITE_SEGMENTS) {
                "decoded" => Segments::Decoded,
                _ => Segments::Normalised,
            },
            failures: match cx.word(&raw.failures, &s::SITE_FAILURES) {
                "json" => FailureStyle::Json,
                _ => FailureStyle::Text,
            },
            endpoints: cx
                .refer((&from, "pool"), &raw.endpoints, &names.pools)
                .map(Into::into),
            forwarded_for: match cx.word(&raw.forwarded_for, &s::SITE_FORWARDED_FOR) {
                "append" => ForwardedFor::Append,
                _ => ForwardedFor::Replace,
            },
            request_fields: fields(cx, &raw.request_fields),
            response_fields: fields(cx, &raw.response_fields),
            host: match cx.word(&raw.host, &s::SITE_HOST) {
                "node" => HostSent::Node,
                _ => HostSent::Client,
            },
            routes: routes::check(cx, key, raw, names),
        };
        parts.sites.push(site);
    }
}

/// A name, empty where a finding has been made about it.
pub(super) fn name(found: Option<String>) -> Name {
    found.unwrap_or_default().into()
}

/// A list of texts, each of which has to pass; refused when it is there and empty.
pub(super) fn texts(
    cx: &mut Context<'_>,
    list: &List,
    setting: &Setting,
    is_legal: fn(&str) -> bool,
) -> Option<Vec<Arc<str>>> {
    let list = list.as_ref()?;
    let mut all = Vec::new();
    for one in list.get_ref() {
        if !is_legal(one.get_ref()) {
            let title = format!(
                "`{}` cannot stand in `{}`",
                one.get_ref().escape_debug(),
                setting.key()
            );
            cx.refuse(
                codes::BAD_TOKEN,
                title,
                one,
                "characters that are not allowed there",
            );
        }
        all.push(one.get_ref().as_str().into());
    }
    Some(all)
}

/// Refuses a list that is there and empty.
pub(super) fn not_empty(cx: &mut Context<'_>, list: &List, setting: &Setting) {
    if let Some(leaf) = list.as_ref().filter(|leaf| leaf.get_ref().is_empty()) {
        let title = format!("`{}` is empty", setting.key());
        cx.refuse(codes::EMPTY_LIST, title, leaf, "leave it out instead");
    }
}

fn hosts(cx: &mut Context<'_>, raw: &raw::Site) -> Vec<Arc<str>> {
    not_empty(cx, &raw.hosts, &s::SITE_HOSTS);
    let mut hosts = texts(cx, &raw.hosts, &s::SITE_HOSTS, value::is_host).unwrap_or_default();
    for host in &mut hosts {
        *host = host.to_ascii_lowercase().into();
    }
    hosts.sort();
    hosts.dedup();
    hosts
}

fn fields(cx: &mut Context<'_>, list: &List) -> Option<Vec<Arc<str>>> {
    let setting = &s::SITE_REQUEST_FIELDS;
    let mut fields = texts(cx, list, setting, value::is_token)?;
    for field in &mut fields {
        *field = field.to_ascii_lowercase().into();
    }
    fields.sort();
    fields.dedup();
    Some(fields)
}

fn same_host(
    cx: &mut Context<'_>,
    key: &Spanned<String>,
    raw: &raw::Site,
    (listener, hosts): (&str, &[Arc<str>]),
    served: &mut BTreeMap<(String, Arc<str>), Place>,
) {
    let rest: [Arc<str>; 1] = ["".into()];
    let all = if hosts.is_empty() {
        rest.as_slice()
    } else {
        hosts
    };
    for host in all {
        let written = raw.hosts.iter().flat_map(|list| list.get_ref());
        let place = written
            .filter(|one| one.get_ref().eq_ignore_ascii_case(host))
            .map(|one| cx.place(one))
            .next_back()
            .unwrap_or_else(|| cx.place(key));
        let Some(first) = served.insert((listener.to_owned(), host.clone()), place.clone()) else {
            continue;
        };
        let what = if host.is_empty() {
            "every other host"
        } else {
            host
        };
        cx.findings.push(
            Diagnostic::error(
                codes::SAME_HOST,
                format!("two sites of `{listener}` take {what}"),
            )
            .at_both(&place, &first),
        );
    }
}
