//! Spells the path that a node sees, or the address that a client is sent to.
//!
//! Works on the path that matched, so that what is captured is what was compared. Captured text is
//! visible ASCII with its escapes, and is put in as it is.

use crate::model::{Action, Pattern, Redirect, Rewrite, Route};
use crate::segment;
use crate::spelling::{Piece, Spelling};

/// The path of a request to a node.
pub(super) fn rewritten(route: &Route, path: &str) -> String {
    match &route.rewrite {
        Rewrite::Keep => path.to_owned(),
        Rewrite::Prefix { strip, add } => {
            let rest = stripped(path, strip).unwrap_or(path);
            let slash = if rest.is_empty() { "/" } else { "" };
            one_slash(format!("{add}{slash}{rest}"))
        }
        Rewrite::Template(template) => one_slash(expanded(route, template, path)),
    }
}

/// What is left of a path without the segments of a prefix, compared as routes compare them.
fn stripped<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let mut rest = path;
    for mine in prefix.split('/').filter(|one| !one.is_empty()) {
        let inner = rest.strip_prefix('/')?;
        let (theirs, _) = inner.split_once('/').unwrap_or((inner, ""));
        if segment::decode(theirs.as_bytes()) != segment::decode(mine.as_bytes()) {
            return None;
        }
        rest = inner.get(theirs.len()..)?;
    }
    Some(rest)
}

/// Where a client is sent.
pub(super) fn location(route: &Route, redirect: &Redirect, path_and_query: &str) -> String {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let mut to = expanded(route, &redirect.to, path);
    if redirect.keep_path {
        to.truncate(to.trim_end_matches('/').len());
        to.push_str(path);
        if let Some(query) = query {
            to.push('?');
            to.push_str(query);
        }
    }
    match to.starts_with('/') {
        true => one_slash(to),
        false => to,
    }
}

/// Whether what was captured for the host of a redirect is one label there, so that the host is still
/// one below the name that stands behind it (RFC 3986 §3.2, RFC 5890 §2.3.1).
pub(super) fn leads_to_its_host(route: &Route, path: &str) -> bool {
    let Action::Redirect(redirect) = &route.action else {
        return true;
    };
    let mut in_host = redirect.to.captures_in_host().peekable();
    if in_host.peek().is_none() {
        return true;
    }
    let captured = Captured::of(route, &redirect.to, path);
    in_host.all(|name| is_label(captured.get(name)))
}

fn is_label(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_whole = !text.starts_with('-') && !text.ends_with('-');
    (1..=63).contains(&text.len()) && is_whole && text.bytes().all(is_known)
}

/// A path that begins with one slash: two of them would begin with a host.
fn one_slash(path: String) -> String {
    match path.starts_with("//") {
        true => format!("/{}", path.trim_start_matches('/')),
        false => path,
    }
}

fn expanded(route: &Route, spelling: &Spelling, path: &str) -> String {
    let captured = Captured::of(route, spelling, path);
    let mut text = String::with_capacity(path.len() + 32);
    for piece in spelling.pieces() {
        match piece {
            Piece::Capture(name) => text.push_str(captured.get(name)),
            Piece::Literal(literal) => text.push_str(literal),
        }
    }
    text
}

/// What the pattern of a route captured of a path.
struct Captured<'a>(Vec<(String, &'a str)>);

impl<'a> Captured<'a> {
    fn of(route: &Route, spelling: &Spelling, path: &'a str) -> Self {
        if spelling.names().next().is_none() {
            return Self(Vec::new());
        }
        let all = match &route.pattern {
            Pattern::Template(template) => {
                let segments = path.split('/').filter(|one| !one.is_empty());
                let mut names = template.names();
                let named = template
                    .literals()
                    .zip(segments)
                    .filter_map(|(literal, segment)| {
                        let name = literal.is_none().then(|| names.next())??;
                        Some((name.to_owned(), segment))
                    });
                named.collect()
            }
            Pattern::Regex(_) => Self::groups(route, path),
            Pattern::Exact(_) | Pattern::Glob(_) | Pattern::Prefix(_) => Vec::new(),
        };
        Self(all)
    }

    /// The groups of an expression; a snapshot has it ready.
    fn groups(route: &Route, path: &'a str) -> Vec<(String, &'a str)> {
        let Some(regex) = route.capturing.regex() else {
            return Vec::new();
        };
        let Some(captures) = regex.captures(path.as_bytes()) else {
            return Vec::new();
        };
        regex
            .capture_names()
            .flatten()
            .filter_map(|name| {
                let range = captures.name(name)?.range();
                Some((name.to_owned(), path.get(range)?))
            })
            .collect()
    }

    fn get(&self, name: &str) -> &'a str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, text)| *text)
    }
}
