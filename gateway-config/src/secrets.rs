//! Which settings hold values that are shown to nobody, and where such values stand in a text.
//!
//! Values that become header fields, or that fields, cookies and query keys of requests are
//! compared with, may be credentials, and their names do not say which. So all of them are marked
//! in [`settings`](crate::settings): names are shown, values are not.
//!
//! Source: adr/0031.

use std::ops::Range;

use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, parse_document};

use crate::masking::{HIDDEN, is_secret_name, sounds_secret_alone};
use crate::settings::{self as s, SETTINGS, Setting};
use crate::source::{SourceId, Sources};
use crate::value;

/// Whether secret settings lie below a path of the table.
pub(crate) fn is_around(path: &str) -> bool {
    secret().any(|one| {
        one.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Whether secret settings are the very next below a path: all that stands there may have been meant
/// for one of them, whatever it is called.
pub(crate) fn is_home(path: &str) -> bool {
    secret().any(|one| one.parent() == path)
}

/// Whether an unknown setting of a table may have been meant to hold a secret.
pub(crate) fn may_be_unknown(table: &str, name: &str) -> bool {
    let is_key = table.starts_with("tls") && name.to_ascii_lowercase().contains("key");
    is_unknown_secret(name) || is_home(table) || is_key
}

/// Whether a setting takes names beside which secrets are written: in place of such a name, somebody
/// may have written both.
pub(crate) fn takes_names(setting: &Setting) -> bool {
    let is_of_names = |one: &&Setting| std::ptr::eq(*one, setting);
    setting.is_secret || NAMES.iter().any(is_of_names)
}

/// Settings that take the names of fields, cookies and query keys.
const NAMES: &[&Setting] = &[
    &s::BALANCE_NAME,
    &s::LISTENER_CLIENT_IP,
    &s::LOG_REDACT,
    &s::REQUEST_REMOVE,
    &s::RESPONSE_REMOVE,
    &s::ROUTE_QUERY,
    &s::ROUTE_REFUSE_QUERY,
    &s::SITE_REQUEST_FIELDS,
    &s::SITE_RESPONSE_FIELDS,
];

/// Whether a setting takes networks beside settings that hold secrets, one of which may have been
/// written there.
pub(crate) fn takes_networks(setting: &Setting) -> bool {
    std::ptr::eq(setting, &s::WHEN_CLIENT)
}

/// Whether a text is meant as a network or a set of them, whatever is wrong with it.
pub(crate) fn is_like_network(text: &str) -> bool {
    let is_bits = |bits: &str| {
        bits.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let (host, bits) = text.split_once('/').unwrap_or((text, ""));
    match text.strip_prefix('@') {
        Some(name) => value::name(name).is_ok(),
        None if text.contains('.') && is_bits(host) && is_bits(bits) => true,
        None => host.parse::<std::net::IpAddr>().is_ok() && is_bits(bits),
    }
}

/// A name as it is shown: up to the first character that no name has, since a secret may stand
/// behind it.
pub(crate) fn name_alone(name: &str) -> String {
    match name.find(is_no_name) {
        // What stands before it is a login.
        Some(end) if name.get(end..).is_some_and(|rest| rest.starts_with('@')) => HIDDEN.to_owned(),
        Some(end) => name.get(..end).unwrap_or_default().to_owned() + HIDDEN,
        None => name.to_owned(),
    }
}

/// Where a name as it is written, maybe in quotes, goes on behind what is shown of it.
pub(crate) fn behind_name_alone(written: &str) -> Option<Range<usize>> {
    let quotes = ['"', '\''];
    let start = written.len() - written.trim_start_matches(quotes).len();
    let end = written.trim_end_matches(quotes).len();
    let at = start + written.get(start..end)?.find(is_no_name)?;
    Some(at..end)
}

fn is_no_name(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// Whether a name is no setting's and sounds as if a secret stood under it.
pub(crate) fn is_unknown_secret(name: &str) -> bool {
    is_secret_name(name) && !SETTINGS.iter().any(|one| one.key() == name)
}

/// Hides what may be a secret in a text that cannot be read as a tree.
pub(crate) fn hide_in_broken(sources: &mut Sources, id: SourceId, text: &str) {
    for span in in_broken(text) {
        sources.mask(&sources.place(id, span));
    }
}

/// Hides what may be a secret in a text that is TOML, also where something is written twice: of such
/// a thing a tree holds the first only.
pub(crate) fn hide_in_tree(sources: &mut Sources, id: SourceId, text: &str) {
    let tokens = Source::new(text).lex().into_vec();
    let mut walk = Keys::default();
    let mut found = Vec::new();
    let mut look = |event: Event| {
        let span = event.span().start()..event.span().end();
        match event.kind() {
            EventKind::Scalar if walk.lead_to_secret() => found.push(span),
            EventKind::Scalar if walk.lead_to_names() => {
                let behind = text.get(span.clone()).and_then(behind_name_alone);
                found.extend(behind.map(|at| span.start + at.start..span.start + at.end));
            }
            EventKind::SimpleKey => {
                let written = text.get(span.clone()).unwrap_or_default();
                walk.key(written);
                let is_name = walk.lead_to_secret() || walk.lead_to_names();
                let behind = behind_name_alone(written).filter(|_| is_name);
                found.extend(behind.map(|at| span.start + at.start..span.start + at.end));
            }
            kind => walk.pass(kind),
        }
    };
    parse_document(&tokens, &mut look, &mut ());
    for span in found {
        sources.mask(&sources.place(id, span));
    }
}

/// The keys on the way to where a parser is.
#[derive(Default)]
struct Keys {
    /// Those of the table whose header is the last, and of each table in braces that is open.
    all: Vec<Vec<String>>,
    is_in_header: bool,
    /// Whether the next key begins a setting of its own.
    is_next_new: bool,
}

impl Keys {
    fn key(&mut self, written: &str) {
        let name = written.trim_matches(['"', '\'']).to_owned();
        if self.all.len() < 2 {
            self.all.resize_with(2, Vec::new);
        }
        let is_new = std::mem::take(&mut self.is_next_new);
        let place = match self.is_in_header {
            true => self.all.first_mut(),
            false => self.all.last_mut(),
        };
        if let Some(keys) = place {
            if is_new {
                keys.clear();
            }
            keys.push(name);
        }
    }

    fn pass(&mut self, kind: EventKind) {
        match kind {
            EventKind::ArrayTableOpen | EventKind::StdTableOpen => {
                self.all.clear();
                self.is_in_header = true;
            }
            EventKind::ArrayTableClose | EventKind::StdTableClose => self.is_in_header = false,
            EventKind::InlineTableOpen => self.all.push(Vec::new()),
            EventKind::InlineTableClose => {
                self.all.pop();
            }
            EventKind::Newline | EventKind::ValueSep => self.is_next_new = true,
            _ => {}
        }
    }

    fn lead_to_secret(&self) -> bool {
        may_be_secret(&self.all.concat())
    }

    fn lead_to_names(&self) -> bool {
        let way = self.all.concat();
        NAMES.iter().any(|one| agree(one.path, &way, usize::le))
    }
}

/// Whether a value at the end of a way may be a secret, or a table around one.
fn may_be_secret(way: &[String]) -> bool {
    way.iter().any(|name| leads_to_secret(name))
        || secret().any(|one| agree(one.parent(), way, |_, _| true))
}

/// More names than any setting has in its path.
const DEEPEST: usize = 16;

/// Where values may stand that are shown to nobody, in a text that is not TOML.
///
/// Takes too much rather than too little: from a word that may lead to a secret to the next head of a
/// table that there is and that has no such word in it.
fn in_broken(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut is_inside = false;
    // Whether a text of several lines seems to be open.
    let mut is_open = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end().len();
        let head = head(line).filter(|way| !is_inside || !is_open && is_table(way));
        if let Some(way) = head {
            is_inside = way.iter().any(|name| leads_to_secret(name));
            let behind = line.find(']').filter(|_| is_inside);
            found.extend(behind.map(|at| (start + at + 1).min(end)..end));
            is_open = false;
            table = way;
            table.truncate(DEEPEST);
        } else if is_inside {
            found.push(start..end);
        } else if let Some(at) = secret_value(line, &table) {
            is_inside = true;
            found.push((start + at).min(end)..end);
        }
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        is_open ^= is_inside && quotes % 2 == 1;
        start += line.len();
    }
    found.retain(|one| !one.is_empty());
    found
}

/// The keys in a line that is the head of a table and nothing else.
fn head(line: &str) -> Option<Vec<String>> {
    let head = line.split('#').next()?.trim();
    let inside = head.strip_prefix('[')?.strip_suffix(']')?;
    let is_key = |c: char| c.is_alphanumeric() || " \t.-_[]\"'".contains(c);
    inside.chars().all(is_key).then(|| names(inside, ']').0)
}

/// Whether there are settings in a table of this name.
fn is_table(way: &[String]) -> bool {
    SETTINGS.iter().any(|one| agree(one.path, way, usize::gt))
}

/// Whether a name is that of a table with secrets, or close to it, or sounds like a secret.
fn leads_to_secret(name: &str) -> bool {
    is_unknown_secret(name) || is_like_row(name) || is_like_word(name)
}

/// Whether a name is like one that nothing but a secret stands under.
fn is_like_row(name: &str) -> bool {
    let name = bare(name);
    let near = |row| strsim::osa_distance(&name, row) <= 2;
    name.contains("cookie")
        || name.len() < 20
            && ["requestedits", "responseedits"]
                .iter()
                .any(|row| near(row))
}

/// Whether a name is like one that leads to secrets and is a word of the language as well.
fn is_like_word(name: &str) -> bool {
    let name = bare(name);
    let near = |row, most| strsim::osa_distance(&name, row) <= most;
    let is_short = name.len() < 10;
    is_short
        && (name == "set"
            || name == "sets"
            || near("when", 1)
            || near("query", 1)
            || near("headers", 2))
}

fn bare(name: &str) -> String {
    name.replace(['-', '_'], "").to_ascii_lowercase()
}

/// Where in a line something stands that may be a secret.
fn secret_value(line: &str, table: &[String]) -> Option<usize> {
    let of_row = || {
        let (keys, length) = names(line, '=');
        let way = [table, &keys].concat();
        let is_secret = secret().any(|one| agree(one.path, &way, |_, _| true));
        is_secret.then_some(length)
    };
    let of_row = line.contains('=').then(of_row).flatten();
    // What is escaped may be any name.
    let escape = ["\\u", "\\U", "\\x"]
        .iter()
        .filter_map(|one| line.find(one))
        .min();
    let all = of_row.into_iter().chain(escape);
    all.chain(behind_name(line)).chain(behind_word(line)).min()
}

/// Where something stands behind a word that leads to a secret; in a comment most words are no names.
fn behind_word(line: &str) -> Option<usize> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let comment = line.find('#').unwrap_or(line.len());
    let mut at = 0;
    line.split_inclusive(|c| !is_name(c)).find_map(|word| {
        let name = word.trim_end_matches(|c| !is_name(c));
        let end = at + name.len();
        at += word.len();
        let is_it = is_like_row(name) || end <= comment && is_like_word(name);
        let rest = line.get(end..).filter(|_| is_it)?;
        let sign = rest.trim_start_matches(['"', '\'', ' ', '\t']);
        let is_set = sign.starts_with(['=', ':']);
        Some(match is_set {
            true => line.len() - sign.len() + 1,
            false => end,
        })
    })
}

/// Where something stands behind a name that sounds like a secret: behind the sign between them,
/// which may be missing.
fn behind_name(line: &str) -> Option<usize> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut at = 0;
    line.split_inclusive(|c| !is_name(c)).find_map(|word| {
        let name = word.trim_end_matches(|c| !is_name(c));
        let end = at + name.len();
        at += word.len();
        // Only then, since what follows may be long.
        let rest = line.get(end..).filter(|_| is_unknown_secret(name))?;
        let sign = rest.trim_start_matches(['"', '\'', ' ', '\t']);
        let is_set = sign.starts_with(['=', ':']);
        let is_it = is_set || sounds_secret_alone(name);
        is_it.then_some(line.len() - sign.len() + usize::from(is_set))
    })
}

/// Fields whose values are words of the protocol or names that everybody sees, and no secret. A field
/// that may hold an address, a policy with one, or anything else is not among them.
const HARMLESS: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-expose-headers",
    "access-control-max-age",
    "cache-control",
    "clear-site-data",
    "content-disposition",
    "content-language",
    "content-type",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "expires",
    "origin-agent-cluster",
    "permissions-policy",
    "pragma",
    "referrer-policy",
    "strict-transport-security",
    "vary",
    "x-content-type-options",
    "x-dns-prefetch-control",
    "x-forwarded-proto",
    "x-frame-options",
    "x-permitted-cross-domain-policies",
    "x-robots-tag",
    "x-xss-protection",
];

/// Whether the values of a field can be shown also where those of others are secret.
pub(crate) fn is_harmless_field(name: &str) -> bool {
    HARMLESS.contains(&name.to_ascii_lowercase().as_str())
}

/// Why a text is no value of a field.
pub(crate) fn unsendable(text: &str) -> &'static str {
    match text {
        HIDDEN => "stands for a value that is not shown; write the value itself",
        _ if text.trim_matches([' ', '\t']) != text => {
            "spaces around a value do not arrive; leave them out"
        }
        _ => "one line of visible ASCII",
    }
}

fn secret() -> impl Iterator<Item = &'static &'static Setting> {
    SETTINGS.iter().filter(|one| one.is_secret)
}

/// Whether a path and a row of the table are the same as far as both go, and how long they are fits.
fn agree(row: &str, path: &[String], fits: impl Fn(&usize, &usize) -> bool) -> bool {
    let row: Vec<&str> = row.split('.').collect();
    let is_same = |(part, name): (&&str, &String)| *part == "*" || part == name;
    fits(&row.len(), &path.len()) && row.iter().zip(path).all(is_same)
}

/// Keys with dots between them up to `end`, and how long that is.
fn names(text: &str, end: char) -> (Vec<String>, usize) {
    let mut all = vec![String::new()];
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '.') => all.push(String::new()),
            (None, c) if c == end => return (all, at + c.len_utf8()),
            (None, '[' | ' ' | '\t') => {}
            (_, c) => all.last_mut().into_iter().for_each(|name| name.push(c)),
        }
    }
    (all, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> String {
        let mut text = text.to_owned();
        for range in in_broken(&text).into_iter().rev() {
            text.replace_range(range, "*");
        }
        text
    }

    #[test]
    fn what_may_be_a_secret_is_found_without_a_parser() {
        for (text, expected) in [
            (
                "[sites.s]\nhosts = [\"a\"]\n",
                "[sites.s]\nhosts = [\"a\"]\n",
            ),
            (
                "[sites.s]\npool = \"p\"\nrequest_edits = { set = { a = \"x\nb = y\n[pools.p]\nz = 1",
                "[sites.s]\npool = \"p\"\nrequest_edits =*\n*\n[pools.p]\nz = 1",
            ),
            (
                "[ sites . \"a.b\" . response_edits.set ]\na = \"x=\ny\n",
                "[ sites . \"a.b\" . response_edits.set ]\n*\n*\n",
            ),
            (
                "[sites.s]\nrequest_edits.set.a = \"x\n",
                "[sites.s]\nrequest_edits*\n",
            ),
            (
                "[sites.s.routes.r]\npath = \"/\"\nwhen = { headers",
                "[sites.s.routes.r]\npath = \"/\"\nwhen =*",
            ),
            ("sites = { s = x", "sites =*"),
            (
                "[sites.s]\nrequest_edits { set\n[x]\na\n[pols.p]\nb\n[pools.p] # c\nz = 1",
                "[sites.s]\nrequest_edits*\n*\n*\n*\n*\n[pools.p] # c\nz = 1",
            ),
            (
                "when = \"\"\"a\n[pools.p]\nb\"\"\"\n[pools.p]\nz # then",
                "when =*\n*\n*\n[pools.p]\nz # then",
            ),
            (
                "[sites.s.request-edits.set] # x\na",
                "[sites.s.request-edits.set]*\n*",
            ),
            (
                "[sites.s.request_edits.set];\na",
                "[sites.s.request_edits*\n*",
            ),
            ("\"passw\\u006frd\" = \"a\"", "\"passw*"),
            ("é = \"\n=", "é = \"\n="),
        ] {
            assert_eq!(left(text), expected);
        }
    }

    #[test]
    fn the_lines_below_a_deep_header_do_not_pay_for_its_depth() {
        let text = format!("[{}a]\n{}", "a.".repeat(100_000), "x = 1\n".repeat(100_000));
        assert!(in_broken(&text).is_empty());
    }

    #[test]
    fn a_table_around_a_secret_is_known_by_its_path() {
        assert!(is_around("sites.*.request_edits"));
        assert!(is_around("sites"));
        assert!(!is_around("sites.*.request_edits.set"));
        assert!(!is_around("pools"));
    }
}
