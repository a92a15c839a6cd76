//! Decides which route of a site takes a request, and spells the target that a node will see.
//!
//! The node's target is rebuilt from what matched and never copied from the request, so a rule
//! and a node cannot see two different paths. Leaves the host to the look-up of the site, and
//! conditions on headers to the steps after it. Called once per request; allocates the target it
//! returns and, for a prefix, the normalised path.
//!
//! Invariant: the path returned has the shape of the route's pattern.
//!
//! Source: RFC 9112 §3.2, RFC 3986 §6.2.2, adr/0013.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::model::{Action, Condition, ForwardPath, Pattern, Rewrite, Route, Segments, Site, When};
use crate::networks::Networks;
use crate::segment;
use crate::template::MAX_SEGMENTS;

mod explain;
mod forward;
mod known;
mod normal;
mod query;

pub use explain::{Explained, NoPath, Passed, WhyNot};
pub use known::{Known, cookies, has_cookie};
pub(crate) use normal::normal_path;

/// A request that a route takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched<'a> {
    /// The route.
    pub route: &'a Route,
    /// What the node sees as the request target, in origin form. Visible ASCII only. For a route
    /// that sends nothing to a node: the path that matched, and the query.
    pub path_and_query: String,
}

/// What is known of a request besides its method and target.
pub trait Facts {
    /// Whether a field of this name, in lower case, is there, with this value if one is given.
    fn has_header(&self, name: &str, value: Option<&str>) -> bool;

    /// Whether a cookie of this name is there, with this value if one is given.
    fn has_cookie(&self, name: &str, value: Option<&str>) -> bool;

    /// Where the client is; `None` when that is not known.
    fn client(&self) -> Option<IpAddr>;
}

/// Nothing is known, so no condition holds.
impl Facts for () {
    fn has_header(&self, _: &str, _: Option<&str>) -> bool {
        false
    }

    fn has_cookie(&self, _: &str, _: Option<&str>) -> bool {
        false
    }

    fn client(&self) -> Option<IpAddr> {
        None
    }
}

/// Why no route takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrouted<'a> {
    /// The path names no file, and the first route that would have it shows files (GATEWAY §4).
    NoFile,
    /// No route has this method and path; also for a target without a path and an illegal name.
    NoSuchRoute,
    /// A route has them, and its query holds a key that the route refuses.
    RefusedQuery {
        /// Name of the route.
        route: &'a str,
        /// The sentence of the 400.
        because: &'a str,
    },
}

impl Site {
    /// The route that takes this method and this raw request target, and the target rebuilt, where
    /// nothing else is known of the request.
    ///
    /// # Errors
    /// As [`route_with`](Self::route_with).
    pub fn route(&self, method: &str, target: &[u8]) -> Result<Matched<'_>, Unrouted<'_>> {
        self.route_with(method, target, &())
    }

    /// The route that takes this method and this raw request target, and the target rebuilt.
    ///
    /// The target is in origin or absolute form; of the latter the authority is dropped here,
    /// because the site has been chosen by it. `*` and the authority form match no route.
    ///
    /// # Errors
    /// [`Unrouted`]: nothing here ever panics or repairs a target.
    ///
    /// Source: RFC 9112 §3.2.1, §3.2.2.
    pub fn route_with(
        &self,
        method: &str,
        target: &[u8],
        facts: &dyn Facts,
    ) -> Result<Matched<'_>, Unrouted<'_>> {
        let origin = origin_form(target).ok_or(Unrouted::NoSuchRoute)?;
        let (path, query) = split_query(origin);
        let holds = |route: &Route| {
            route.has_method(method) && (route.when.is_empty() || route.when.holds(query, facts))
        };
        let (route, mut sent) = match self.segments {
            Segments::Decoded => self.route_path(&holds, path),
            Segments::Normalised => self.route_normal(&holds, path),
        }
        .ok_or_else(|| self.unrouted(&holds, path))?;
        if !forward::leads_to_its_host(route, &sent) {
            return Err(Unrouted::NoSuchRoute);
        }
        query::refuse(route, self.segments, query)?;
        query::push(&mut sent, route.query.as_deref(), query);
        Ok(Matched {
            route,
            path_and_query: sent,
        })
    }

    /// Decoded segments: the path is rebuilt from what matched.
    fn route_path(&self, holds: &dyn Fn(&Route) -> bool, path: &[u8]) -> Option<(&Route, String)> {
        let mut slots: [&[u8]; MAX_SEGMENTS] = [&[]; MAX_SEGMENTS];
        let mut pieces = split_path(path);
        let count = slots
            .iter_mut()
            .zip(&mut pieces)
            .map(|(slot, piece)| *slot = piece)
            .count();
        let long: Vec<&[u8]>;
        let raw = if pieces.next().is_some() {
            long = split_path(path).collect();
            long.as_slice()
        } else {
            slots.get(..count)?
        };
        let takes = |route: &&Route| holds(route) && route.takes_segments(raw);
        let route = self.routes.iter().find(takes)?;
        Some((route, rebuilt_path(raw, path)))
    }

    /// The normalised path, all of whose segments have to be legal names that no node can take for
    /// dot segments.
    fn route_normal(
        &self,
        holds: &dyn Fn(&Route) -> bool,
        received: &[u8],
    ) -> Option<(&Route, String)> {
        let path = self.normal(received)?;
        let seen = segment::compared(&path);
        let route = self.first(holds, &seen)?;
        let sent = match (&route.action, route.forward_path) {
            (Action::Pool, ForwardPath::AsReceived) => {
                let mut sent = String::with_capacity(received.len() + 32);
                segment::push_raw(&mut sent, received);
                sent
            }
            (Action::Pool, ForwardPath::Normalised) => match route.rewrite {
                Rewrite::Keep => path.into_owned(),
                Rewrite::Prefix { .. } => self.whole(forward::rewritten(route, &path))?,
                Rewrite::Template(_) => self.whole(forward::rewritten(route, &seen))?,
            },
            (Action::Redirect(_), _) => seen.into_owned(),
            (Action::Answer(_) | Action::Files(_), _) => path.into_owned(),
        };
        Some((route, sent))
    }
}

impl Site {
    /// The first route that takes a path as routes see it.
    fn first(&self, holds: &dyn Fn(&Route) -> bool, seen: &str) -> Option<&Route> {
        let mut accepts = |at: usize| self.routes.get(at).is_some_and(holds);
        match self.routing.find(seen, &mut accepts) {
            Some(found) => self.routes.get(found?),
            None => self
                .routes
                .iter()
                .find(|route| holds(route) && route.takes_path(seen)),
        }
    }

    /// Why a path is none of a site's: what names no file is told so where files are shown, and is one of
    /// many that nobody has elsewhere.
    fn unrouted(&self, holds: &dyn Fn(&Route) -> bool, received: &[u8]) -> Unrouted<'_> {
        let path = normal::normalise(received, self.merge_slashes);
        let mut segments = path.as_bytes().split(|byte| *byte == b'/');
        if self.segments == Segments::Decoded || segments.all(segment::is_file_name) {
            return Unrouted::NoSuchRoute;
        }
        let route = self.first(holds, &segment::compared(&path));
        match route.map(|route| &route.action) {
            Some(Action::Files(_)) => Unrouted::NoFile,
            _ => Unrouted::NoSuchRoute,
        }
    }

    /// A path that was made for a node, unless it says something else than it shows: what was captured
    /// may make dot segments where it is put.
    fn whole(&self, made: String) -> Option<String> {
        let is_normal = self
            .normal(made.as_bytes())
            .is_some_and(|path| *path == made);
        is_normal.then_some(made)
    }

    /// A path as the routes see it, unless it holds what is no legal name.
    fn normal<'a>(&self, received: &'a [u8]) -> Option<Cow<'a, str>> {
        let path = normal::normalise(received, self.merge_slashes);
        let is_legal = |one: &[u8]| {
            one.is_empty() || (segment::is_legal_name(one) && !segment::is_misread(one))
        };
        let is_plain = !path.contains(['%', ';']);
        let is_whole = is_plain || path.as_bytes().split(|byte| *byte == b'/').all(is_legal);
        is_whole.then_some(path)
    }
}

impl Matched<'_> {
    /// Where the client is sent, for a route that redirects. A path never leads to another host.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match &self.route.action {
            Action::Redirect(redirect) => Some(forward::location(
                self.route,
                redirect,
                &self.path_and_query,
            )),
            Action::Answer(_) | Action::Files(_) | Action::Pool => None,
        }
    }
}

impl Route {
    fn has_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|one| **one == *method)
    }

    /// Whether decoded segments are those of a route; only such patterns stand in such a site.
    fn takes_segments(&self, raw: &[&[u8]]) -> bool {
        match &self.pattern {
            Pattern::Prefix(prefix) => takes_prefix(prefix, raw),
            Pattern::Template(template) => template.takes(raw),
            Pattern::Exact(_) | Pattern::Glob(_) | Pattern::Regex(_) => false,
        }
    }

    /// Whether a normalised path is one of a route's: the long way, of which
    /// [`routing`](crate::routing) is the short one.
    pub(crate) fn takes_path(&self, path: &str) -> bool {
        let matches = |expression: &str| {
            let compiled = crate::pattern::compiled(expression);
            compiled.is_some_and(|one| one.is_match(path.as_bytes()))
        };
        let segments = || -> Vec<&[u8]> { segment::of_path(path).map(str::as_bytes).collect() };
        match &self.pattern {
            Pattern::Exact(exact) => *segment::compared(exact) == *path,
            Pattern::Glob(text) => crate::pattern::glob(text).is_ok_and(|text| matches(&text)),
            Pattern::Prefix(prefix) => begins_with(prefix, &segments()),
            Pattern::Regex(text) => matches(&crate::pattern::anchored(text)),
            Pattern::Template(template) => template.takes(&segments()),
        }
    }
}

impl When {
    /// Whether a request has all that is asked for.
    fn holds(&self, query: Option<&[u8]>, facts: &dyn Facts) -> bool {
        self.lacks(query, facts).is_none()
    }

    /// What a request lacks of all that is asked for: the first of it.
    fn lacks(&self, query: Option<&[u8]>, facts: &dyn Facts) -> Option<WhyNot<'_>> {
        let no_key = |one: &&Condition| !query::has(query, &one.name, one.value.as_deref());
        let no_header = |one: &&Condition| !facts.has_header(&one.name, one.value.as_deref());
        let no_cookie = |one: &&Condition| !facts.has_cookie(&one.name, one.value.as_deref());
        let is_elsewhere = |networks: &&Networks| {
            let client = facts.client();
            !client.is_some_and(|client| networks.contains(client))
        };
        let query = self.query.iter().find(no_key).map(WhyNot::Query);
        query
            .or_else(|| self.headers.iter().find(no_header).map(WhyNot::Header))
            .or_else(|| self.cookies.iter().find(no_cookie).map(WhyNot::Cookie))
            .or_else(|| {
                self.client
                    .as_ref()
                    .filter(is_elsewhere)
                    .map(WhyNot::Client)
            })
    }
}

/// Prefixes match whole segments, and every segment below them has to be a legal name.
fn takes_prefix(prefix: &str, raw: &[&[u8]]) -> bool {
    let mut rest = raw.iter();
    let fits = prefix.split('/').filter(|one| !one.is_empty()).all(|mine| {
        rest.next()
            .is_some_and(|theirs| *theirs == mine.as_bytes() || segment::decodes_to(theirs, mine))
    });
    fits && raw.iter().all(|one| segment::is_legal_name(one))
}

/// Whether the segments of a normalised path begin with those of a prefix.
fn begins_with(prefix: &str, segments: &[&[u8]]) -> bool {
    let mut rest = segments.iter();
    segment::of_path(prefix).all(|mine| {
        rest.next()
            .is_some_and(|theirs| segment::decode(theirs) == segment::decode(mine.as_bytes()))
    })
}

/// The path and query of a target, or nothing when it has no path of ours.
fn origin_form(target: &[u8]) -> Option<&[u8]> {
    if target.first() == Some(&b'/') {
        return Some(target);
    }
    let after_scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find_map(|scheme| {
            let (head, rest) = target.split_at_checked(scheme.len())?;
            head.eq_ignore_ascii_case(scheme).then_some(rest)
        })?;
    let end = after_scheme
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
        .unwrap_or(after_scheme.len());
    after_scheme.get(end..)
}

fn split_query(origin: &[u8]) -> (&[u8], Option<&[u8]>) {
    match origin.iter().position(|byte| *byte == b'?') {
        Some(at) => (origin.get(..at).unwrap_or_default(), origin.get(at + 1..)),
        None => (origin, None),
    }
}

fn split_path(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|one| !one.is_empty())
}

fn rebuilt_path(raw: &[&[u8]], path: &[u8]) -> String {
    let mut sent = String::with_capacity(path.len() + 32);
    for one in raw {
        sent.push('/');
        segment::push_name(&mut sent, one);
    }
    if sent.is_empty() {
        sent.push('/');
    }
    sent
}

#[cfg(test)]
mod tests;
