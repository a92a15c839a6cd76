//! Checks the routes of a site and puts them into the order in which they are tried.
//!
//! Source: adr/0013 (why the order does not depend on the file), RFC 6265 §4.1.1.

use std::sync::Arc;

use toml::Spanned;

use super::sites::{Known, rate};
use super::{Context, actions, circles, literal, patterns, pools};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{
    Action, Body, Condition, Name, Pattern, RefusedKey, Route, RouteRetry, Segments, When,
};
use crate::raw::{self, Named, Presence};
use crate::secrets;
use crate::segment;
use crate::settings::{self as s, Setting};
use crate::value;

/// Name of the route that a site's own `pool` makes.
const OWN: &str = "default";

/// The routes of a site, in the order in which they are tried; a route without a pattern that can
/// match has been refused and is left out.
pub(super) fn check(
    cx: &mut Context<'_>,
    (key, site): (&Spanned<String>, &raw::Site),
    segments: Segments,
    known: &Known<'_>,
) -> Vec<Route> {
    let from = format!("site `{}`", key.get_ref());
    let own = cx.refer((&from, "pool"), &site.pool, &known.names.pools);
    if site.pool.is_none() && site.routes.is_empty() {
        let title = format!("{from} has neither a pool nor a route");
        cx.refuse(
            codes::NO_ACTION,
            title,
            key,
            "every request would be answered 404",
        );
    }
    let around = Around {
        site,
        site_name: key.get_ref(),
        own: own.as_deref(),
        segments,
        known,
    };
    let mut routes: Vec<Route> = site
        .routes
        .iter()
        .filter_map(|(name, raw)| route(cx, &around, name, raw))
        .collect();
    if let (Some(leaf), Some(pool)) = (&site.pool, &own) {
        if let Some((taken, _)) = site.routes.get_key_value(OWN) {
            let place = cx.place(taken);
            let title = format!("{from} has a route `{OWN}` and a pool of its own");
            cx.findings.push(
                Diagnostic::error(codes::DEFINED_TWICE, title)
                    .at(&place, "this name is the site's own route's")
                    .at(&cx.place(leaf), "which this makes"),
            );
        }
        let mut route = Route::new(
            OWN.into(),
            Pattern::Prefix("/".into()),
            pool.as_str().into(),
        );
        route.priority = LAST;
        route.budget = around.budget(pool);
        routes.push(route);
    }
    sort(&mut routes);
    patterns::shadowed(cx, site, &routes);
    circles::routes(cx, site, &routes);
    routes
}

/// What a route is checked against.
pub(super) struct Around<'a> {
    site: &'a raw::Site,
    site_name: &'a str,
    /// The site's own pool, where it is defined.
    own: Option<&'a str>,
    segments: Segments,
    known: &'a Known<'a>,
}

impl Around<'_> {
    /// How paths are compared: as what segments, and whether slashes in a row are one.
    fn compared(&self, cx: &Context<'_>) -> (Segments, bool) {
        let merge_slashes = cx.flag(&self.site.merge_slashes, &s::SITE_MERGE_SLASHES);
        (self.segments, merge_slashes)
    }

    fn budget(&self, pool: &str) -> std::time::Duration {
        let known = self.known.pools.get(pool).copied();
        known.unwrap_or_else(|| s::POOL_RESPONSE.time())
    }
}

/// The priority of what a site does itself: the last one there is.
const LAST: u16 = 1_000;

/// Sorts routes into the order in which they are tried: by priority, then exact before template
/// before glob before regex before prefix, the longer before the shorter, then by name.
pub(crate) fn sort(routes: &mut [Route]) {
    let kind = |route: &Route| match &route.pattern {
        Pattern::Exact(_) => 0,
        Pattern::Template(_) => 1,
        Pattern::Glob(_) => 2,
        Pattern::Regex(_) => 3,
        Pattern::Prefix(_) => 4,
    };
    let length = |route: &Route| match &route.pattern {
        Pattern::Exact(text)
        | Pattern::Glob(text)
        | Pattern::Regex(text)
        | Pattern::Prefix(text) => text.len(),
        Pattern::Template(_) => 0,
    };
    routes.sort_by(|a, b| {
        let is_last = |route: &Route| route.priority == LAST && *route.name == *OWN;
        (a.priority, is_last(a), kind(a))
            .cmp(&(b.priority, is_last(b), kind(b)))
            .then_with(|| match (&a.pattern, &b.pattern) {
                (Pattern::Template(a), Pattern::Template(b)) => a.order(b),
                _ => length(b).cmp(&length(a)),
            })
            .then_with(|| a.name.cmp(&b.name))
    });
}

fn route(
    cx: &mut Context<'_>,
    around: &Around<'_>,
    key: &Spanned<String>,
    raw: &raw::Route,
) -> Option<Route> {
    cx.name("route", key);
    let from = format!("route `{}` of site `{}`", key.get_ref(), around.site_name);
    let action = actions::action(cx, &from, raw);
    let pool = match action {
        Action::Pool => pool(cx, &from, around, key, raw),
        _ => "".into(),
    };
    let budget = cx.time(&raw.timeouts.response, &s::ROUTE_RESPONSE);
    let budget = budget.map_or_else(|| around.budget(&pool), |placed| placed.value);
    let pattern = patterns::pattern(cx, &from, (key, raw), around.compared(cx));
    let is_sound = pattern.is_some();
    let found = pattern.unwrap_or_else(|| Pattern::Prefix("/".into()));
    let mut route = Route::new(key.get_ref().as_str().into(), found, pool);
    route.priority = cx.integer(&raw.priority, &s::ROUTE_PRIORITY);
    cx.not_empty(&raw.methods, &s::ROUTE_METHODS);
    cx.once(raw.methods.iter().flat_map(|list| list.get_ref()), |one| {
        one
    });
    if around.segments == Segments::Normalised {
        unanswered(cx, raw);
    }
    for one in raw.methods.iter().flat_map(|list| list.get_ref()) {
        literal::method(cx, &from, one);
    }
    let methods = cx.texts(&raw.methods, &s::ROUTE_METHODS, value::is_token);
    route.methods = methods.unwrap_or_default();
    route.methods.sort();
    route.methods.dedup();
    route.when = when(cx, &raw.when, around.known);
    route.query = query(cx, raw);
    route.refuse_query = refuse_query(cx, raw);
    asked_and_refused(cx, &from, raw);
    route.repeatable = cx.flag(&raw.repeatable, &s::ROUTE_REPEATABLE);
    route.budget = budget;
    let gap = cx.time(&raw.timeouts.idle, &s::ROUTE_IDLE);
    route.answer_gap = gap.map(|placed| placed.value);
    let total = cx.time(&raw.timeouts.total, &s::ROUTE_TOTAL);
    route.total = total.map(|placed| placed.value);
    route.retry = retry(cx, raw);
    route.body = body(cx, &from, raw);
    route.upgrade = cx.flag(&raw.upgrade, &s::ROUTE_UPGRADE);
    route.rate = rate(cx, &from, &raw.rate, ROUTE_RATE);
    actions::forwarding(cx, &from, raw, around.segments, &mut route);
    route.action = action;
    if is_sound {
        actions::captures(cx, &from, raw, &route);
    }
    is_sound.then_some(route)
}

/// Refuses methods that a site with normalised paths never asks a route for (RFC 9110 §9.3.6, §9.3.8).
fn unanswered(cx: &mut Context<'_>, raw: &raw::Route) {
    for leaf in raw.methods.iter().flat_map(|list| list.get_ref()) {
        let method = leaf.get_ref().as_str();
        if matches!(method, "CONNECT" | "TRACE") {
            let title = format!("`{method}` has no effect here");
            let label = "answered 405 before any route is asked";
            cx.refuse(codes::NO_EFFECT, title, leaf, label);
        }
    }
}

/// The settings of a route's `rate`.
const ROUTE_RATE: [&Setting; 3] = [
    &s::ROUTE_RATE_REQUESTS,
    &s::ROUTE_RATE_PER,
    &s::ROUTE_RATE_BURST,
];

/// The pool of a route, or the site's; empty where a finding has been made about it.
fn pool(
    cx: &mut Context<'_>,
    from: &str,
    around: &Around<'_>,
    key: &Spanned<String>,
    raw: &raw::Route,
) -> Name {
    let pools = &around.known.names.pools;
    let found = match (&raw.pool, around.own) {
        (Some(_), _) => cx.refer((from, "pool"), &raw.pool, pools),
        (None, Some(own)) => Some(own.to_owned()),
        (None, None) => {
            if around.site.pool.is_none() {
                cx.missing(from, key, &s::ROUTE_POOL);
            }
            None
        }
    };
    found.unwrap_or_default().into()
}

fn when(cx: &mut Context<'_>, raw: &raw::When, known: &Known<'_>) -> When {
    cx.each_once(raw.headers.keys());
    let mut headers = conditions(cx, &raw.headers, &s::WHEN_HEADERS, value::is_token);
    for one in &mut headers {
        one.name = one.name.to_ascii_lowercase().into();
    }
    headers.sort_by(|a, b| a.name.cmp(&b.name));
    When {
        headers,
        query: conditions(cx, &raw.query, &s::WHEN_QUERY, is_key),
        cookies: conditions(cx, &raw.cookies, &s::WHEN_COOKIES, value::is_token),
        client: cx.networks(&raw.client, &s::WHEN_CLIENT, known.sets),
    }
}

fn conditions(
    cx: &mut Context<'_>,
    raw: &Named<Spanned<Presence>>,
    setting: &Setting,
    is_legal: fn(&str) -> bool,
) -> Vec<Condition> {
    let condition = |(key, value): (&Spanned<String>, &Spanned<Presence>)| {
        let name = cx.token(key, setting, is_legal);
        let value = match value.get_ref() {
            Presence::Any => None,
            Presence::Text(text) => {
                if !value::is_field_value(text) {
                    let title = format!(
                        "no request has this value of `{}`",
                        secrets::name_alone(&name)
                    );
                    cx.refuse(codes::BAD_TOKEN, title, value, secrets::unsendable(text));
                } else if text.contains(';') && std::ptr::eq(setting, &s::WHEN_COOKIES) {
                    let title = format!("no request has this value of `{name}`");
                    cx.refuse(codes::BAD_TOKEN, title, value, "a `;` ends a cookie");
                }
                Some(text.as_str().into())
            }
        };
        Condition { name, value }
    };
    raw.iter().map(condition).collect()
}

/// Whether a text is a query key that may be sent without escapes.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(segment::is_unreserved)
}

fn query(cx: &mut Context<'_>, raw: &raw::Route) -> Option<Vec<Arc<str>>> {
    let keys = raw.query.iter().flat_map(|list| list.get_ref());
    cx.once(keys.filter(|key| is_key(key.get_ref())), |one| one);
    cx.texts(&raw.query, &s::ROUTE_QUERY, is_key)
}

fn refuse_query(cx: &mut Context<'_>, raw: &raw::Route) -> Vec<RefusedKey> {
    let mut refused = Vec::new();
    for (key, because) in &raw.refuse_query {
        if !is_key(key.get_ref()) {
            let name = secrets::name_alone(key.get_ref());
            let title = format!("`{name}` is not a query key");
            cx.refuse(
                codes::BAD_TOKEN,
                title,
                key,
                "characters that are not allowed there",
            );
        }
        if because.get_ref().is_empty() || because.get_ref().chars().any(char::is_control) {
            let name = secrets::name_alone(key.get_ref());
            let title = format!("the sentence for `{name}` cannot be sent");
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

/// Refuses a query key that the route asks for and answers 400.
fn asked_and_refused(cx: &mut Context<'_>, from: &str, raw: &raw::Route) {
    for asked in raw.when.query.keys() {
        let Some((refused, _)) = raw.refuse_query.get_key_value(asked.get_ref().as_str()) else {
            continue;
        };
        let name = secrets::name_alone(asked.get_ref());
        let title = format!("{from} asks for the query key `{name}` and refuses it");
        let found = Diagnostic::error(codes::NO_EFFECT, title)
            .at(&cx.place(refused), "answered 400")
            .at(&cx.place(asked), "no request is taken without it")
            .help("write `answer` instead of `refuse_query`, or leave one of the two out");
        cx.push(found);
    }
}

fn retry(cx: &mut Context<'_>, raw: &raw::Route) -> RouteRetry {
    let Some(leaf) = &raw.retry else {
        return RouteRetry::default();
    };
    let retry = leaf.get_ref();
    let on = cx.words(&retry.on, &s::ROUTE_RETRY_ON);
    RouteRetry {
        attempts: cx.maybe(&retry.attempts, &s::ROUTE_RETRY_ATTEMPTS),
        on: on.as_deref().map(pools::retry_on),
    }
}

fn body(cx: &mut Context<'_>, from: &str, raw: &raw::Route) -> Body {
    let usual = Body::Stream(s::BODY_STREAM.number());
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
