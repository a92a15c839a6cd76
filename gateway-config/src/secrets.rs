//! Which settings hold values that are shown to nobody, and where such values stand in a text.
//!
//! Values that become header fields, or that fields, cookies and query keys of requests are
//! compared with, may be credentials, and their names do not say which. So all of them are marked
//! in [`settings`](crate::settings): names are shown, values are not.
//!
//! Source: adr/0031.

use std::ops::Range;

use crate::settings::{SETTINGS, Setting};
use crate::source::{SourceId, Sources};

/// What stands for a value that is not shown. It is no value that could be sent, so a text in which
/// it stands is refused rather than served.
pub const HIDDEN: &str = "…";

/// Whether secret settings lie below a path of the table.
pub(crate) fn is_around(path: &str) -> bool {
    secret().any(|one| {
        one.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Hides what may be a secret in a text that cannot be read as a tree.
pub(crate) fn hide_in_broken(sources: &mut Sources, id: SourceId, text: &str) {
    for span in in_broken(text) {
        sources.mask(&sources.place(id, span));
    }
}

/// Where values may stand that are shown to nobody, in a text that is not TOML.
///
/// Takes too much rather than too little: from a key that is a secret, or a table around one, to the
/// next head of a table.
fn in_broken(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut is_inside = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end().len();
        if let Some(head) = line.trim_start().strip_prefix('[') {
            table = names(head, ']').0;
            is_inside = secret().any(|one| agree(one.path, &table, usize::le));
        } else if is_inside {
            found.push(start..end);
        } else if line.contains('=') {
            let (keys, length) = names(line, '=');
            let path = [table.as_slice(), &keys].concat();
            is_inside = secret().any(|one| agree(one.path, &path, |_, _| true));
            if is_inside {
                found.push((start + length).min(end)..end);
            }
        }
        start += line.len();
    }
    found
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
                "[sites.s]\nrequest_edits.set.a =*\n",
            ),
            (
                "[sites.s.routes.r]\npath = \"/\"\nwhen = { headers",
                "[sites.s.routes.r]\npath = \"/\"\nwhen =*",
            ),
            ("sites = { s = x", "sites =*"),
            ("é = \"\n=", "é = \"\n="),
        ] {
            assert_eq!(left(text), expected);
        }
    }

    #[test]
    fn a_table_around_a_secret_is_known_by_its_path() {
        assert!(is_around("sites.*.request_edits"));
        assert!(is_around("sites"));
        assert!(!is_around("sites.*.request_edits.set"));
        assert!(!is_around("pools"));
    }
}
