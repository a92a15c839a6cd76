//! Tells what is not TOML, once for each mistake, and what is written twice.
//!
//! The parser goes on behind a mistake and finds what follows from it: only the first finding of a
//! line is told, and of a table that is written twice only its header. Such a table can still be
//! read, so the rest of the file is looked at.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::layout::Layout;
use crate::secrets;
use crate::source::{Place, SourceId, Sources};

mod cures;
mod foreign;

/// What the parser says of something that is written twice.
const TWICE: &str = "duplicate key";
/// Most findings of one text; nobody reads so many, and each takes memory.
const MOST: usize = 1_000;
/// What it says of something that is nested too deep.
const TOO_DEEP: [&str; 2] = ["recursion limit", "cannot recurse further"];

/// Whether a text can be read all the same.
pub(crate) fn is_tree(wrong: &[Error]) -> bool {
    wrong.iter().all(|one| one.message() == TWICE)
}

/// Adds what the parser found wrong.
pub(crate) fn report(
    sources: &Sources,
    id: SourceId,
    tree: &DeTable<'_>,
    (wrong, layout): (&[Error], &Layout),
    findings: &mut Findings,
) {
    let text = sources.written(id);
    if let Some(found) = foreign::told(sources, id).filter(|_| !wrong.is_empty()) {
        findings.push(found);
        return;
    }
    let mut told_line = None;
    let mut told_header = None;
    let mut headers = Headers::new(text);
    let mut wrong: Vec<(Range<usize>, &Error)> =
        wrong.iter().map(|one| (span(one, layout), one)).collect();
    wrong.sort_by_key(|(span, _)| span.start);
    let mut told = 0;
    // A line may be long, and hold many of them.
    let mut line = line_at(text, 0);
    for (span, one) in wrong {
        if told == MOST {
            return;
        }
        let place = sources.place(id, span.clone());
        if !(line.start..=line.end).contains(&place.span.start) {
            line = line_at(text, place.span.start);
        }
        let is_behind = |open: &&Range<usize>| open.start < span.start;
        if let Some(open) = layout.unclosed.as_ref().filter(is_behind) {
            // All that stands behind it is taken for its inside; also a quote that was left out.
            findings.push(match text.get(line.clone()).and_then(cures::unended) {
                Some(_) => unreadable(sources, one.message(), &place, line),
                None => unclosed(sources, &sources.place(id, open.clone())),
            });
            return;
        }
        if one.message() == TWICE {
            let (header, first) = headers.of(&line);
            let first = if header == line {
                told_header = Some(line.start);
                first.map(|first| first.start + place.span.start - line.start)
            } else if told_header == Some(header.start) {
                continue;
            } else {
                first_key(text, tree, &header, &place)
            };
            findings.push(twice(sources, &header, &place, first));
            told += 1;
        } else if told_line.replace(line.start) != Some(line.start) {
            findings.push(unreadable(sources, one.message(), &place, line.clone()));
            told += 1;
        }
    }
}

/// Where a finding of the parser is; it does not say how deep is too deep.
fn span(one: &Error, layout: &Layout) -> Range<usize> {
    let is_too_deep = TOO_DEEP.iter().any(|words| one.message().contains(words));
    let deep = layout.too_deep.clone().filter(|_| is_too_deep);
    deep.or_else(|| one.span()).unwrap_or(0..0)
}

fn unclosed(sources: &Sources, place: &Place) -> Diagnostic {
    let is_table = sources.written(place.source).get(place.span.clone()) == Some("{");
    let (open, close, what) = match is_table {
        true => ('{', '}', "a table in braces"),
        false => ('[', ']', "a list"),
    };
    Diagnostic::error(
        codes::SYNTAX,
        format!("this is not TOML: `{open}` is never closed"),
    )
    .at(place, "all that follows is taken for its inside")
    .help(format!("{what} ends with `{close}`"))
}

fn unreadable(sources: &Sources, message: &str, place: &Place, line: Range<usize>) -> Diagnostic {
    let shown = sources.text(place.source).get(line.clone());
    let written = sources.written(place.source).get(line.clone());
    let unseen = cures::unseen(written.unwrap_or_default(), line.start);
    let shown = shown.unwrap_or_default();
    let at = place.span.start - line.start;
    let cure = unseen
        .or_else(|| cures::escape(shown, at).filter(|_| message.starts_with("missing escaped")))
        .or_else(|| cures::cure(shown));
    let message = message.lines().next().unwrap_or("nothing that could be");
    let title = format!("this is not TOML: {message}");
    let found = Diagnostic::error(codes::SYNTAX, title);
    match cure {
        None => found.at(place, "reading stopped here"),
        Some((help, None)) => found.at(place, "reading stopped here").help(help),
        Some((help, Some(piece))) => {
            let piece = line.start + piece.start..line.start + piece.end;
            let place = sources.place(place.source, piece);
            found.at(&place, "this cannot be read").help(help)
        }
    }
}

/// Something that is written twice, with the place where the first one begins.
fn twice(
    sources: &Sources,
    header: &Range<usize>,
    place: &Place,
    first: Option<usize>,
) -> Diagnostic {
    let text = sources.written(place.source);
    let name = text.get(place.span.clone()).unwrap_or_default();
    let shown = match header.contains(&place.span.start) {
        true => way(text.get(header.clone()).unwrap_or_default()).join("."),
        // What is in braces has its name only.
        false => way_to(text, header, place).map_or(name.to_owned(), |way| way.join(".")),
    };
    let title = format!("`{}` is written twice", secrets::name_alone(&shown));
    let found = Diagnostic::error(codes::DEFINED_TWICE, title).at(place, "again here");
    match first.map(|first| first..first + name.len()) {
        Some(first) => found.at(&sources.place(place.source, first), "first here"),
        None => found,
    }
}

/// Where the first of two settings below a header begins, unless they stand in braces.
fn first_key(
    text: &str,
    tree: &DeTable<'_>,
    header: &Range<usize>,
    again: &Place,
) -> Option<usize> {
    let first = key(tree, &way_to(text, header, again)?)?;
    (first.start < again.span.start).then_some(first.start)
}

/// The keys down to a setting below a header, unless it stands in braces.
fn way_to<'t>(text: &'t str, header: &Range<usize>, setting: &Place) -> Option<Vec<&'t str>> {
    let line = line_at(text, setting.span.start);
    let before = text.get(line.start..setting.span.start)?;
    if before.contains(['{', ',', '=']) {
        return None;
    }
    let name = text.get(setting.span.clone())?;
    let header = way(text.get(header.clone())?);
    Some([header, way(before), vec![name.trim_matches(['"', '\''])]].concat())
}

/// The keys in a header, or before a key.
fn way(header: &str) -> Vec<&str> {
    let inside = header.split(']').next().unwrap_or_default();
    let keys = inside.trim().trim_start_matches('[').split('.');
    keys.map(|key| key.trim().trim_matches(['"', '\'']))
        .filter(|key| !key.is_empty())
        .collect()
}

/// Where the key at the end of a way stands.
fn key(tree: &DeTable<'_>, way: &[&str]) -> Option<Range<usize>> {
    let (first, rest) = way.split_first()?;
    let (key, value) = tree.get_key_value(*first)?;
    match value.get_ref() {
        _ if rest.is_empty() => Some(key.span()),
        DeValue::Table(table) => self::key(table, rest),
        _ => None,
    }
}

/// The line in which a byte stands, without its end.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = behind.find('\n').map_or(text.len(), |end| at + end);
    start..end
}

/// Finds headers, each line looked at once as long as what is asked for lies further on.
struct Headers<'t> {
    text: &'t str,
    /// Each header where it first stands.
    first: BTreeMap<&'t str, Range<usize>>,
    /// The last one.
    last: Range<usize>,
    /// The end of what has been looked at.
    end: usize,
}

impl<'t> Headers<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            first: BTreeMap::new(),
            last: 0..0,
            end: 0,
        }
    }

    /// The header below which a line stands, or the line itself where it is one, and where the
    /// same header stood before.
    fn of(&mut self, line: &Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
        while self.end <= line.start && self.end <= self.text.len() {
            let next = line_at(self.text, self.end);
            let written = self.text.get(next.clone()).unwrap_or_default();
            self.end = next.end + 1;
            if written.trim_start().starts_with('[') {
                self.first.entry(written).or_insert(next.clone());
                self.last = next;
            }
        }
        let written = self.text.get(self.last.clone()).unwrap_or_default();
        let first = self.first.get(written).filter(|first| **first != self.last);
        (self.last.clone(), first.cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_source;

    fn said(text: &str) -> Vec<String> {
        let mut sources = Sources::default();
        let id = sources.add("x", text.to_owned());
        let found = load_source(id, &mut sources).unwrap_err();
        let line = |one: &Diagnostic| one.first_line(&sources).to_string();
        found.iter().map(line).collect()
    }

    #[test]
    fn a_table_written_twice_is_told_once_and_the_rest_is_looked_at() {
        let text = "[limits]\nconnections = 1\nhandshakes = 1\n[limits]\nconnections = 2\n\
                    handshakes = 2\n[drian]\n";
        assert_eq!(
            said(text),
            [
                "x:4:2: error[G0102]: `limits` is written twice",
                "x:7:2: error[G0002]: unknown setting `drian` at the top level",
            ]
        );
    }

    #[test]
    fn what_is_in_braces_is_not_looked_for_elsewhere() {
        let text = "[limits]\na = 1\nconnections = { a = 1, a = 2 }\n";
        let mut sources = Sources::default();
        let id = sources.add("x", text.to_owned());
        let found = load_source(id, &mut sources).unwrap_err();
        let twice = found.iter().find(|one| one.code == codes::DEFINED_TWICE);
        assert_eq!(twice.unwrap().labels.len(), 1);
    }
}
