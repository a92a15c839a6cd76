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

use std::sync::Arc;

use crate::model::{Pattern, Route, Segments, Site};
use crate::segment;
use crate::template::MAX_SEGMENTS;

/// A request that a route takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched<'a> {
    /// The route.
    pub route: &'a Route,
    /// What the node sees as the request target, in origin form. Visible ASCII only.
    pub path_and_query: String,
}

/// Why no route takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrouted<'a> {
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
    /// The route that takes this method and this raw request target, and the target rebuilt.
    ///
    /// The target is in origin or absolute form; of the latter the authority is dropped here,
    /// because the site has been chosen by it. `*` and the authority form match no route.
    ///
    /// # Errors
    /// [`Unrouted`]: nothing here ever panics or repairs a target.
    ///
    /// Source: RFC 9112 §3.2.1, §3.2.2.
    pub fn route(&self, method: &str, target: &[u8]) -> Result<Matched<'_>, Unrouted<'_>> {
        let origin = origin_form(target).ok_or(Unrouted::NoSuchRoute)?;
        let (path, query) = split_query(origin);
        let (route, mut sent) = match self.segments {
            Segments::Decoded => self.route_path(method, path, rebuilt_path),
            Segments::Normalised => {
                let normal = normalise(path);
                self.route_path(method, normal.as_bytes(), |_, path| {
                    String::from_utf8_lossy(path).into_owned()
                })
            }
        }
        .ok_or(Unrouted::NoSuchRoute)?;
        refuse_query(route, query)?;
        push_query(&mut sent, route.query.as_deref(), query);
        Ok(Matched {
            route,
            path_and_query: sent,
        })
    }

    fn route_path(
        &self,
        method: &str,
        path: &[u8],
        spell: impl FnOnce(&[&[u8]], &[u8]) -> String,
    ) -> Option<(&Route, String)> {
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
        let route = self.routes.iter().find(|route| route.takes(method, raw))?;
        Some((route, spell(raw, path)))
    }
}

impl Route {
    fn takes(&self, method: &str, raw: &[&[u8]]) -> bool {
        let method_fits =
            self.methods.is_empty() || self.methods.iter().any(|one| **one == *method);
        method_fits
            && match &self.pattern {
                Pattern::Prefix(prefix) => takes_prefix(prefix, raw),
                Pattern::Template(template) => template.takes(raw),
            }
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

/// RFC 3986 §6.2.2: unreserved escapes decoded, other escapes upper case, dot segments removed;
/// and repeated slashes merged first, so that a dot segment means the same to every reader.
fn normalise(path: &[u8]) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut is_open = true;
    for piece in path.split(|byte| *byte == b'/') {
        let text = normal_segment(piece);
        is_open = match text.as_str() {
            "" | "." => true,
            ".." => {
                kept.pop();
                true
            }
            _ => {
                kept.push(text);
                false
            }
        };
    }
    let mut normal = String::with_capacity(path.len() + 8);
    for one in &kept {
        normal.push('/');
        normal.push_str(one);
    }
    if is_open {
        normal.push('/');
    }
    normal
}

fn normal_segment(piece: &[u8]) -> String {
    let mut text = String::with_capacity(piece.len());
    let mut rest = piece;
    while let Some((byte, width)) = segment::next(rest) {
        let stays = segment::is_unreserved(byte) || (width == 1 && is_path_delimiter(byte));
        if stays {
            text.push(char::from(byte));
        } else {
            segment::push_escape(&mut text, byte);
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    text
}

/// `pchar` without the unreserved ones and without escapes (RFC 3986 §3.3).
fn is_path_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@'
    )
}

/// A path as [`Segments::Normalised`] would spell it; the form in which a prefix is written.
#[must_use]
pub(crate) fn normal_path(path: &str) -> String {
    normalise(path.as_bytes())
}

fn pairs(query: Option<&[u8]>) -> impl Iterator<Item = (&[u8], &[u8])> {
    query
        .unwrap_or_default()
        .split(|byte| *byte == b'&')
        .filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            Some((pair.get(..at)?, pair.get(at + 1..)?))
        })
}

fn refuse_query<'a>(route: &'a Route, query: Option<&[u8]>) -> Result<(), Unrouted<'a>> {
    if route.refuse_query.is_empty() || query.is_none() {
        return Ok(());
    }
    let refused = route
        .refuse_query
        .iter()
        .find(|one| pairs(query).any(|(key, _)| key == one.key.as_bytes()));
    match refused {
        Some(one) => Err(Unrouted::RefusedQuery {
            route: &route.name,
            because: &one.because,
        }),
        None => Ok(()),
    }
}

fn push_query(sent: &mut String, keys: Option<&[Arc<str>]>, query: Option<&[u8]>) {
    let Some(query) = query else { return };
    let Some(keys) = keys else {
        sent.push('?');
        segment::push_raw(sent, query);
        return;
    };
    let mut before = '?';
    for key in keys {
        let first = pairs(Some(query)).find(|(name, _)| *name == key.as_bytes());
        if let Some((_, value)) = first {
            sent.push(before);
            sent.push_str(key);
            sent.push('=');
            segment::push_value(sent, value);
            before = '&';
        }
    }
}

#[cfg(test)]
mod tests;
