//! Checks the routes of a site and puts them into the order in which they are tried.
//!
//! Source: adr/0013 (why the order does not depend on the file).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;

use super::sites::{name, not_empty, texts};
use super::{Context, Names, default_number};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Body, Pattern, RefusedKey, Route};
use crate::raw;
use crate::segment;
use crate::settings as s;
use crate::target::normal_path;
use crate::template::Template;
use crate::value;

/// Name of the route that a site's own `pool` makes.
const OWN: &str = "default";

/// The routes of a site, in the order in which they are tried; a route without a pattern that can
/// match has been refused and is left out.
pub(super) fn check(
    cx: &mut Context<'_>,
    key: &Spanned<String>,
    site: &raw::Site,
    names: &Names,
) -> Vec<Route> {
    let from = format!("site `{}`", key.get_ref());
    let own = cx.refer((&from, "pool"), &site.pool, &names.pools);
    if site.pool.is_none() && site.routes.is_empty() {
        let title = format!("{from} has neither a pool nor a route");
        cx.refuse(
            codes::NO_ACTION,
            title,
            key,
            "every request would be answered 404",
        );
    }
    let mut routes: Vec<Route> = site
        .routes
        .iter()
        .filter_map(|(name, raw)| route(cx, (key, site), (name, raw), own.as_deref(), names))
        .collect();
    if let (Some(leaf), Some(pool)) = (&site.pool, own) {
        if let Some((taken, _)) = site.routes.get_key_value(OWN) {
            let place = cx.place(taken);
            let title = format!("{from} has a route `{OWN}` and a pool of its own");
            cx.findings.push(
                Diagnostic::error(codes::DEFINED_TWICE, title)
                    .at(&place, "this name is the site's own route's")
                    .at(&cx.place(leaf), "which this makes"),
            );
        }
        routes.push(own_route(&pool));
    }
    sort(&mut routes);
    shadowed(cx, site, &routes);
    routes
}

/// Sorts routes into the order in which they are tried: templates before prefixes, the longer
/// before the shorter, a literal before a capture, then by name.
pub(crate) fn sort(routes: &mut [Route]) {
    routes.sort_by(|a, b| {
        let by_pattern = match (&a.pattern, &b.pattern) {
            (Pattern::Template(a), Pattern::Template(b)) => a.order(b),
            (Pattern::Template(_), Pattern::Prefix(_)) => Ordering::Less,
            (Pattern::Prefix(_), Pattern::Template(_)) => Ordering::Greater,
            (Pattern::Prefix(a), Pattern::Prefix(b)) => b.len().cmp(&a.len()),
        };
        by_pattern.then_with(|| a.name.cmp(&b.name))
    });
}

fn own_route(pool: &str) -> Route {
    Route {
        name: OWN.into(),
        methods: Vec::new(),
        pattern: Pattern::Prefix("/".into()),
        query: None,
        refuse_query: Vec::new(),
        repeatable: false,
        budget: super::default_time(&s::ROUTE_BUDGET),
        body: Body::Stream(default_number(&s::BODY_STREAM)),
        upgrade: false,
        pool: pool.into(),
    }
}

fn route(
    cx: &mut Context<'_>,
    (site_key, site): (&Spanned<String>, &raw::Site),
    (key, raw): (&Spanned<String>, &raw::Route),
    own: Option<&str>,
    names: &Names,
) -> Option<Route> {
    cx.name("route", key);
    let from = format!("route `{}` of site `{}`", key.get_ref(), site_key.get_ref());
    let pool = match (&raw.pool, own) {
        (Some(_), _) => name(cx.refer((&from, "pool"), &raw.pool, &names.pools)),
        (None, Some(own)) => own.into(),
        (None, None) => {
            if site.pool.is_none() {
                cx.missing("route", key, &s::ROUTE_POOL);
            }
            "".into()
        }
    };
    not_empty(cx, &raw.methods, &s::ROUTE_METHODS);
    let mut methods =
        texts(cx, &raw.methods, &s::ROUTE_METHODS, value::is_token).unwrap_or_default();
    methods.sort();
    methods.dedup();
    let query = query(cx, raw);
    let refuse_query = refuse_query(cx, raw);
    let body = body(cx, &from, raw);
    let budget = cx.duration(&raw.budget, &s::ROUTE_BUDGET);
    Some(Route {
        name: key.get_ref().as_str().into(),
        methods,
        pattern: pattern(cx, &from, key, raw)?,
        query,
        refuse_query,
        repeatable: cx.flag(&raw.repeatable, &s::ROUTE_REPEATABLE),
        budget,
        body,
        upgrade: cx.flag(&raw.upgrade, &s::ROUTE_UPGRADE),
        pool,
    })
}

fn pattern(
    cx: &mut Context<'_>,
    from: &str,
    key: &Spanned<String>,
    raw: &raw::Route,
) -> Option<Pattern> {
    match (&raw.path, &raw.template) {
        (Some(path), None) => prefix(cx, from, path),
        (None, Some(text)) => match Template::parse(text.get_ref()) {
            Ok(template) => Some(Pattern::Template(template)),
            Err(found) => {
                let place = cx.inside(text, found.at..found.at + found.len);
                let title = format!("{from} has no template that can match");
                cx.findings
                    .push(Diagnostic::error(codes::BAD_PATTERN, title).at(&place, found.why));
                None
            }
        },
        (None, None) => {
            let title = format!("{from} has no pattern");
            cx.refuse(codes::ONE_PATTERN, title, key, "needs `path` or `template`");
            None
        }
        (Some(path), Some(template)) => {
            let title = format!("{from} has two patterns");
            let other = cx.place(template);
            let place = cx.place(path);
            cx.findings.push(
                Diagnostic::error(codes::ONE_PATTERN, title)
                    .at(&other, "a route has one")
                    .at(&place, "this is the other"),
            );
            None
        }
    }
}

fn prefix(cx: &mut Context<'_>, from: &str, path: &Spanned<String>) -> Option<Pattern> {
    let text = path.get_ref();
    let normal = normal_path(text);
    if !text.starts_with('/') || *text != normal {
        let place = cx.inside(path, 0..text.len());
        cx.findings.push(
            Diagnostic::error(
                codes::BAD_PATTERN,
                format!("{from} has a path that cannot match"),
            )
            .at(&place, "not in the form in which requests are compared")
            .help(format!("write \"{normal}\"")),
        );
        return None;
    }
    Some(Pattern::Prefix(text.as_str().into()))
}

/// Whether a text is a query key that may be sent without escapes.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(segment::is_unreserved)
}

fn query(cx: &mut Context<'_>, raw: &raw::Route) -> Option<Vec<Arc<str>>> {
    let keys = texts(cx, &raw.query, &s::ROUTE_QUERY, is_key)?;
    let written = raw.query.iter().flat_map(|list| list.get_ref());
    for (index, (key, leaf)) in keys.iter().zip(written).enumerate() {
        if keys.iter().take(index).any(|earlier| earlier == key) {
            let title = format!("the query key `{key}` is listed twice");
            cx.refuse(codes::DEFINED_TWICE, title, leaf, "again here");
        }
    }
    Some(keys)
}

fn refuse_query(cx: &mut Context<'_>, raw: &raw::Route) -> Vec<RefusedKey> {
    let mut refused = Vec::new();
    for (key, because) in &raw.refuse_query {
        if !is_key(key.get_ref()) {
            let title = format!("`{}` is not a query key", key.get_ref().escape_debug());
            cx.refuse(
                codes::BAD_TOKEN,
                title,
                key,
                "characters that are not allowed there",
            );
        }
        if because.get_ref().is_empty() || because.get_ref().chars().any(char::is_control) {
            let title = format!(
                "the sentence for `{}` cannot be sent",
                key.get_ref().escape_debug()
            );
            cx.refuse(
                codes::BAD_TOKEN,
                title,
                because,
                "one line of text, not empty",
            );
        }
        refused.push(RefusedKey {
            key: key.get_ref().as_str().into(),
            because: because.get_ref().as_str().into(),
        });
    }
    refused
}

fn body(cx: &mut Context<'_>, from: &str, raw: &raw::Route) -> Body {
    let usual = Body::Stream(default_number(&s::BODY_STREAM));
    let Some(leaf) = &raw.body else { return usual };
    let written = leaf.get_ref();
    if written.buffer.is_some() && written.stream.is_some() {
        let title = format!("{from} both buffers and streams the body");
        cx.refuse(codes::BODY_TWICE, title, leaf, "keep one of the two");
        return usual;
    }
    let buffer = cx.bytes(&written.buffer, &s::BODY_BUFFER).map(Body::Buffer);
    let stream = cx.bytes(&written.stream, &s::BODY_STREAM).map(Body::Stream);
    buffer.or(stream).unwrap_or(usual)
}

/// Refuses a route whose every request an earlier one of the same pattern takes.
fn shadowed(cx: &mut Context<'_>, site: &raw::Site, routes: &[Route]) {
    let mut groups: BTreeMap<String, Vec<&Route>> = BTreeMap::new();
    for route in routes {
        let shape = match &route.pattern {
            Pattern::Prefix(path) => format!("prefix {}", path.trim_end_matches('/')),
            Pattern::Template(template) => template.shape(),
        };
        groups.entry(shape).or_default().push(route);
    }
    for group in groups.values() {
        for (index, later) in group.iter().enumerate() {
            let first = group
                .iter()
                .take(index)
                .find(|earlier| takes_all_of(earlier, later));
            let Some(first) = first else {
                continue;
            };
            let title = format!("route `{}` is never reached", later.name);
            let place = |cx: &Context<'_>, name: &str| match site.routes.get_key_value(name) {
                Some((key, _)) => Some(cx.place(key)),
                None => site.pool.as_ref().map(|leaf| cx.place(leaf)),
            };
            let mut found = Diagnostic::error(codes::SHADOWED_ROUTE, title);
            if let Some(place) = place(cx, &later.name) {
                found = found.at(&place, "same paths and methods …");
            }
            if let Some(place) = place(cx, &first.name) {
                found = found.at(&place, "… as this one, which is tried first");
            }
            cx.findings.push(found);
        }
    }
}

fn takes_all_of(earlier: &Route, later: &Route) -> bool {
    earlier.methods.is_empty()
        || (!later.methods.is_empty()
            && later
                .methods
                .iter()
                .all(|method| earlier.methods.contains(method)))
}
