//! Warns of texts that stand for themselves and look as if they were to stand for something else.

use std::ops::Range;

use toml::Spanned;

use super::Context;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::secrets;
use crate::settings::{self as s, Setting};

/// A piece of a text, and what to write instead.
type Literal = (Range<usize>, String);

/// Warns of a path or template in which other languages would have a pattern.
pub(super) fn pattern(cx: &mut Context<'_>, from: &str, setting: &Setting, leaf: &Spanned<String>) {
    let is_template = setting.path == s::ROUTE_TEMPLATE.path;
    let text = leaf.get_ref();
    let star = || star(text, is_template);
    let braces = || braces(text).filter(|_| !is_template);
    warn(cx, from, leaf, named(text).or_else(star).or_else(braces));
}

/// Warns of a redirect or rewriting in which other languages would have what was captured.
pub(super) fn spelling(cx: &mut Context<'_>, from: &str, leaf: &Spanned<String>) {
    let help = "what was captured stands in braces, {name}: a {name} of the `template`, or a group (?<name>…) of the `regex`";
    let found = variable(leaf.get_ref()).map(|piece| (piece, help.to_owned()));
    warn(cx, from, leaf, found);
}

/// Warns of a field's value in which other languages would have a variable; of the value nothing is said.
pub(super) fn value(cx: &mut Context<'_>, name: &str, leaf: &Spanned<String>) {
    if variable(leaf.get_ref()).is_none() {
        return;
    }
    let name = secrets::name_alone(name);
    let title = format!("the value of `{name}` stands for itself, `$` and all");
    cx.push(
        Diagnostic::warning(codes::LITERAL, title)
            .at(&cx.place(leaf), "sent as it is written")
            .help("there are no variables; what a node is told of the client is sent without being asked for"),
    );
}

/// The first piece that begins with `$` and goes on like the name of a variable.
fn variable(text: &str) -> Option<Range<usize>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{');
    text.match_indices('$').find_map(|(at, _)| {
        let behind = text.get(at + 1..).filter(|it| it.starts_with(is_name))?;
        let length = behind.find(|c: char| !(is_name(c) || c == '}'));
        Some(at..at + 1 + length.unwrap_or(behind.len()))
    })
}

/// Warns of a method in another case than that of the standard (RFC 9110 §9.1, §9.3; RFC 5789).
pub(super) fn method(cx: &mut Context<'_>, from: &str, leaf: &Spanned<String>) {
    const STANDARD: [&str; 9] = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ];
    let text = leaf.get_ref();
    let upper = text.to_ascii_uppercase();
    let is_meant = upper != *text && STANDARD.contains(&upper.as_str());
    let found = is_meant.then(|| (0..text.len(), format!("write \"{upper}\"")));
    warn(cx, from, leaf, found);
}

fn warn(cx: &mut Context<'_>, from: &str, leaf: &Spanned<String>, found: Option<Literal>) {
    let Some((piece, help)) = found else { return };
    let written = leaf.get_ref().get(piece.clone()).unwrap_or_default();
    let title = format!("{from}: `{}` stands for itself", written.escape_debug());
    let place = cx.inside(leaf, piece);
    cx.push(
        Diagnostic::warning(codes::LITERAL, title)
            .at(&place, "compared or sent as it is written")
            .help(help),
    );
}

/// A segment that begins with a colon and a letter.
fn named(text: &str) -> Option<Literal> {
    let mut start = 0;
    let segments = text.split('/').map(|segment| {
        let at = start;
        start += segment.len() + 1;
        (at, segment)
    });
    let is_named = |segment: &str| {
        let name = segment.strip_prefix(':')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        (begins && name.chars().all(is_name)).then(|| name.to_owned())
    };
    let mut all = segments.filter_map(|(at, segment)| Some((at, segment, is_named(segment)?)));
    let (at, segment, _) = all.next()?;
    let written: Vec<String> = text
        .split('/')
        .map(|one| is_named(one).map_or(one.to_owned(), |name| format!("{{{name}}}")))
        .collect();
    let help = format!("a template captures: template = \"{}\"", written.join("/"));
    Some((at..at + segment.len(), help))
}

fn star(text: &str, is_template: bool) -> Option<Literal> {
    let at = text.find('*')?;
    let above = text.strip_suffix('*').filter(|_| !is_template);
    let help = match above.filter(|above| above.ends_with('/') && !above.contains('*')) {
        Some(above) => format!("a path takes all below it: path = \"{above}\""),
        None if is_template => "a name takes one segment: {name}".to_owned(),
        None => format!("only a glob has patterns: glob = \"{text}\""),
    };
    Some((at..at + 1, help))
}

fn braces(text: &str) -> Option<Literal> {
    let at = text.find('{')?;
    let end = at + text.get(at..)?.find('}')? + 1;
    Some((
        at..end,
        format!("a template captures: template = \"{text}\""),
    ))
}
