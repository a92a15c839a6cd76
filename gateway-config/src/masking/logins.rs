//! Tells logins in words, by their form alone: where an authority is, whose it is, and what stands
//! behind a name under which secrets are sent.
//!
//! Source: RFC 3986 §3.2 (an authority ends at the first `/`), RFC 9110 §5, adr/0031.

use std::ops::Range;

use super::{codes, is_secret_key, is_secret_name, merged};

/// What may stand before a word.
const OPENING: [char; 5] = ['`', '"', '\'', '(', '['];
/// What may stand behind one.
const CLOSING: [char; 8] = ['`', '"', '\'', ')', ']', '}', ',', '\\'];

/// Where words name somebody with what he proves it by: `NAME:PASSWORD@HOST`, `SCHEME://…@HOST`,
/// `TOKEN@HOST:PORT`, `password=…`, `Authorization: …`; and where they are the code of a key.
pub(crate) fn logins(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let shift = |one: Range<usize>| start + one.start..start + one.end;
        found.extend(login(word).map(shift));
        found.extend(codes(word).map(shift));
        found.extend(named(word).into_iter().map(shift));
        start += word.len();
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let shift = |one: Range<usize>| start + one.start..start + one.end;
        found.extend(login_with_gaps(line).map(shift));
        found.extend(field(line).map(shift));
        start += line.len();
    }
    merged(found)
}

/// From the first login of a word to the `@` of the last.
fn login(word: &str) -> Option<Range<usize>> {
    let last = word.rfind('@')?;
    let begin = word.len() - word.trim_start_matches(OPENING).len();
    let mut all: Option<Range<usize>> = None;
    let mut add = |start: usize, end: Option<usize>| {
        if let Some(end) = end.filter(|end| *end > start) {
            let first = all.clone().unwrap_or(start..end);
            all = Some(first.start..end.max(first.end));
        }
    };
    add(
        begin,
        without_scheme(word.get(begin..)?).map(|end| begin + end),
    );
    for (at, _) in word.match_indices('/') {
        // A URL that was made a path has lost one of its two slashes.
        let is_behind = word
            .get(..at)
            .is_some_and(|before| before.ends_with([':', '/']));
        let rest = word
            .get(at + 1..)
            .filter(|rest| is_behind && !rest.starts_with('/'));
        if let Some(rest) = rest {
            let start = at + 1;
            let host = authority(rest);
            match host.rfind('@') {
                Some(at) => add(start, Some(start + at)),
                None if has_no_port(host) => add(start, Some(last)),
                None => {}
            }
        }
    }
    let query = word.find(['?', '#']).unwrap_or(word.len());
    let mut start = query;
    for value in word.get(query..)?.split_inclusive(['?', '#', '&', '=']) {
        let end = authority(value).rfind('@');
        let end = end.filter(|_| without_scheme(value) == end);
        add(start, end.map(|end| start + end));
        start += value.len();
    }
    all
}

/// What stands before the first `/`, `?` or `#`.
fn authority(text: &str) -> &str {
    text.split(['/', '?', '#']).next().unwrap_or(text)
}

/// Where the login ends that a text without a scheme begins with.
fn without_scheme(text: &str) -> Option<usize> {
    let host = authority(text);
    if let Some((login, behind)) = host.rsplit_once('@') {
        let is_login = login.contains(':') || !login.is_empty() && has_port(behind);
        return is_login.then_some(login.len());
    }
    let (name, port) = host.rsplit_once(':')?;
    let last = text.rfind('@')?;
    // What seems to be a port is the start of a password with a slash in it, where another one ends.
    let is_begun = has_no_port(host) || has_port(text.get(last + 1..)?);
    (is_begun && !name.is_empty() && !port.is_empty()).then_some(last)
}

/// Whether a host ends in a port.
fn has_port(host: &str) -> bool {
    let host = host.trim_end_matches(|c: char| c.is_whitespace() || CLOSING.contains(&c));
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether what stands behind the colon of a host is no port: it is the start of a password with a
/// slash in it.
fn has_no_port(host: &str) -> bool {
    let host = host.trim_end_matches(|c: char| c.is_whitespace() || CLOSING.contains(&c));
    // The last colon of an IPv6 address is none before a port.
    let host = host.rsplit_once('[').map_or(host, |(before, _)| before);
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A login whose password has gaps in it: from the first word with something behind a colon to the
/// last `@`.
fn login_with_gaps(line: &str) -> Option<Range<usize>> {
    let last = line.rfind('@')?;
    let behind = line.get(last + 1..)?.split_whitespace().next();
    let is_host = behind.is_some_and(has_port);
    let mut start = 0;
    for word in line.get(..last)?.split_inclusive(char::is_whitespace) {
        let ends = start + word.len();
        if ends < last && is_begun(word.trim_end(), is_host) {
            let scheme = word.find("//").map(|at| at + 2);
            let quotes = word.len() - word.trim_start_matches(OPENING).len();
            return Some(start + scheme.unwrap_or(quotes)..last);
        }
        start = ends;
    }
    None
}

/// Whether a login may begin with a word. A path is none, and neither is an address, unless another one
/// follows where the login would end.
fn is_begun(word: &str, is_host_behind: bool) -> bool {
    let bare = word.trim_start_matches(OPENING);
    let is_part = word
        .split_once(':')
        .is_some_and(|(name, rest)| !name.is_empty() && !rest.is_empty());
    let host = bare.split_once("://").map_or(bare, |(_, rest)| rest);
    let is_open = has_no_port(authority(host)) || is_host_behind;
    is_part && !bare.starts_with('/') && is_open
}

/// The values of names in a word that sound as if secrets stood under them: `?token=…&`.
fn named(word: &str) -> Vec<Range<usize>> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut found = Vec::new();
    let mut told = 0;
    let query = word.find('?');
    for (at, _) in word.match_indices('=') {
        let before = word.get(..at).unwrap_or_default();
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let around = before.strip_suffix(name).unwrap_or_default();
        let is_key =
            query.is_some_and(|query| query < around.len()) && around.ends_with(['?', '&', ';']);
        let is_told = is_secret_name(name) || is_key && is_secret_key(name);
        if at < told || !is_told {
            continue;
        }
        let value = word.get(at + 1..).unwrap_or_default();
        let end = value.find(|c: char| c.is_whitespace() || "&\"'`;".contains(c));
        told = at + 1 + end.unwrap_or(value.len());
        if told > at + 1 {
            found.push(at + 1..told);
        }
    }
    found
}

/// The value of the first field in a line under whose name secrets are sent, `Authorization: …` or
/// `"token": "…"`, and all behind it.
fn field(line: &str) -> Option<Range<usize>> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let quotes = ['"', '\'', '\\'];
    let at = line.match_indices(':').map(|(at, _)| at).find(|at| {
        let (before, rest) = line.split_at_checked(*at).unwrap_or_default();
        let before = before.trim_end_matches(quotes);
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let around = before.strip_suffix(name).unwrap_or_default();
        let value = rest.get(1..).unwrap_or_default();
        let is_apart = value.starts_with(char::is_whitespace) || value.starts_with(quotes);
        let is_address = around.ends_with('/') || value.starts_with('/') || is_port(value);
        (is_secret_name(name) || has_cookie(name)) && (is_apart || !is_address)
    })?;
    let (before, rest) = line.split_at_checked(at + 1)?;
    let start = at + 1 + rest.len() - rest.trim_start_matches([' ', '\t', '"', '\'', '\\']).len();
    let is_quoted = before.matches('`').count() % 2 == 1;
    let end = line.rfind('`').filter(|end| is_quoted && *end > at);
    let end = end.unwrap_or(line.len());
    let value = line.get(start..end)?;
    let around = |c: char| c.is_whitespace() || CLOSING.contains(&c);
    let end = start + value.trim_end_matches(around).len();
    (end > start).then_some(start..end)
}

/// Whether a text begins with the number of a port.
fn is_port(text: &str) -> bool {
    let digits = text.bytes().take(6).take_while(u8::is_ascii_digit).count();
    let next = text.get(digits..).and_then(|rest| rest.chars().next());
    (1..6).contains(&digits) && !next.is_some_and(char::is_alphanumeric)
}

/// Whether a field's name is that of cookies.
fn has_cookie(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("set-cookie")
}
