//! Reads where a redirect leads: an address of another host, or a path of the same one.
//!
//! What a captured name will stand for is not known here: in a host it may only be one whole label with
//! a name behind it, so that nobody is sent to a host that is not below that name.
//!
//! Source: RFC 3986 §2.1 (escapes), §3.1 (schemes), §3.2 (authorities).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use crate::value;

/// Where in a text it is wrong, and why.
pub(super) type Wrong = (Range<usize>, &'static str);

/// An absolute URL, or a path of the same host; never one that begins with `//`, which is a host.
pub(super) fn location(text: &str) -> Result<(), Wrong> {
    let all = 0..text.len();
    if text.starts_with('/') && !text.starts_with("//") {
        return escapes(text, 0);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err((all, NEITHER));
    };
    match scheme {
        "http" | "https" => {}
        _ if ["http", "https"].contains(&&*scheme.to_ascii_lowercase()) => {
            return Err((0..scheme.len(), "a scheme is written in lower case"));
        }
        _ => return Err((all, NEITHER)),
    }
    let begin = text.len() - rest.len();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if host.is_empty() {
        return Err((all, NEITHER));
    }
    if let Err(why) = authority(host) {
        return Err((begin..begin + end, why));
    }
    escapes(behind, begin + end)
}

/// A path alone.
pub(super) fn path(text: &str) -> Result<(), Wrong> {
    match text.starts_with('/') && !text.contains(['?', '#']) {
        true => escapes(text, 0),
        false => Err((0..text.len(), "a path begins with `/` and has no query")),
    }
}

const NEITHER: &str = "https://HOST/… or /…";

/// The first `%` that is no escape. `at` is where the text begins.
fn escapes(text: &str, at: usize) -> Result<(), Wrong> {
    for (index, _) in text.match_indices('%') {
        let mut digits = text.get(index + 1..).unwrap_or_default().chars();
        let two = [digits.next(), digits.next()];
        let is_digit = |c: &Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit());
        if !two.iter().all(is_digit) && !two.contains(&Some('{')) {
            return Err((
                at + index..at + index + 1,
                "two hexadecimal digits follow a `%`",
            ));
        }
    }
    Ok(())
}

fn authority(text: &str) -> Result<(), &'static str> {
    let labels = labels(text)?;
    let text = &*labels;
    let (login, place) = match text.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, text),
    };
    if login.is_some_and(|login| login.is_empty() || login.starts_with(':')) {
        return Err("a login without a name");
    }
    let inner = place.strip_prefix('[');
    let (host, port) = match inner {
        Some(inner) => {
            let Some((inner, port)) = inner.split_once(']') else {
                return Err("`]` is missing");
            };
            if inner.parse::<Ipv6Addr>().is_err() {
                return Err("not an IPv6 address between the brackets");
            }
            match port.strip_prefix(':') {
                None if !port.is_empty() => return Err("a port stands behind `:`"),
                port => (None, port),
            }
        }
        None => match place.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(place), None),
        },
    };
    if host.is_some_and(|host| !is_host(host)) {
        return Err("not a host name");
    }
    // A port may be left out behind its `:`, which says the usual one.
    let is_port = |port: &str| {
        let is_digits = port.bytes().all(|byte| byte.is_ascii_digit());
        port.is_empty() || (is_digits && port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    match port.is_none_or(is_port) {
        true => Ok(()),
        false => Err("a port goes from 1 to 65535"),
    }
}

/// The text with a label for each captured name.
fn labels(text: &str) -> Result<String, &'static str> {
    let mut all: Vec<&str> = text.split('.').collect();
    let last = all.len().saturating_sub(1);
    for (at, one) in all
        .iter_mut()
        .enumerate()
        .filter(|(_, one)| one.contains('{'))
    {
        let inner = one.strip_prefix('{').and_then(|one| one.strip_suffix('}'));
        if at == last || inner.is_none_or(|inner| inner.contains(['{', '}'])) {
            return Err("in a host, a captured name is one whole label with a name behind it");
        }
        *one = "captured";
    }
    Ok(all.join("."))
}

fn is_host(text: &str) -> bool {
    let is_digits = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_line = |label: &str| label.bytes().all(|byte| byte == b'-');
    match is_digits {
        true => text.parse::<Ipv4Addr>().is_ok(),
        false => value::is_alias(text) && !text.trim_end_matches('.').split('.').any(is_line),
    }
}
