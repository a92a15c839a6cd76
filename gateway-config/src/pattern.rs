//! Reads globs and regular expressions over a whole path, as one kind of expression.
//!
//! A glob becomes a regular expression, so that all patterns of a site can be tried at once; which
//! route wins is left to [`routing`](crate::routing). Expressions are over bytes and anchored at
//! both ends.

use std::ops::Range;

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, ClassBytesRange, ClassUnicodeRange, Hir, HirKind};
use regex_syntax::{Error, ParserBuilder};

mod certain;

/// Where in a text it is wrong, and why.
pub(crate) type Wrong = (Range<usize>, String);

/// Largest expression that is taken, in bytes of its text.
pub(crate) const MAX_BYTES: usize = 1_024;

/// Why an expression matches no path.
const NO_SLASH: &str = "a path begins with `/`, and nothing that matches does";

/// Steps of an expression beyond which it is tried whether it can be compiled.
const HEAVY: u64 = 2_000;

/// The expression of a glob.
///
/// # Errors
/// The smallest wrong piece that is known.
pub(crate) fn glob(text: &str) -> Result<String, Wrong> {
    check_length(text)?;
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|wrong| (0..text.len(), wrong.kind().to_string()))?;
    match hir(glob.regex()).is_ok_and(|hir| !beginning(&hir).is_slash) {
        true if text.starts_with('*') => Err((
            0..1,
            "a path begins with `/`, and this stays within a segment; `/**` is every path"
                .to_owned(),
        )),
        true => Err((0..text.len(), NO_SLASH.to_owned())),
        false => Ok(glob.regex().to_owned()),
    }
}

/// The expression of a regular expression, anchored.
///
/// # Errors
/// The smallest wrong piece, as the parser sees it.
pub(crate) fn regex(text: &str) -> Result<String, Wrong> {
    let parsed = parse(text)?;
    if !beginning(&parsed).is_slash {
        return Err((0..text.len(), NO_SLASH.to_owned()));
    }
    let anchored = anchored(text);
    // Few are worth the time: most are as short as what they match.
    if weight(&parsed) > HEAVY && compiled(&anchored).is_none() {
        let why = "too large: repetitions of repetitions multiply".to_owned();
        return Err((0..text.len(), why));
    }
    Ok(anchored)
}

/// Whether no path in the form in which they are compared can match an expression of
/// [`glob`] or [`regex()`], for certain.
pub(crate) fn is_unmatched(expression: &str, merge_slashes: bool) -> bool {
    hir(expression).is_ok_and(|hir| certain::is_unmatched(&hir, merge_slashes))
}

/// What a glob or regular expression that stands for one text alone would be as a path.
pub(crate) fn as_normal(text: &str, is_glob: bool) -> Option<String> {
    let is_special = |c: char| match is_glob {
        true => matches!(c, '[' | ']' | '{' | '}' | '?' | '\\'),
        false => regex_syntax::is_meta_character(c),
    };
    (text.starts_with('/') && !text.contains(is_special)).then(|| text.to_owned())
}

/// With what the texts begin that an expression matches.
struct Beginning {
    /// Some may begin with `/`, as every path does.
    is_slash: bool,
    /// Some may be empty, so that what follows may be the beginning.
    is_empty: bool,
}

/// What is not known for certain may be.
fn beginning(hir: &Hir) -> Beginning {
    let (is_slash, is_empty) = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (false, true),
        HirKind::Literal(literal) => (literal.0.starts_with(b"/"), false),
        HirKind::Class(Class::Bytes(all)) => {
            let holds = |one: &ClassBytesRange| (one.start()..=one.end()).contains(&b'/');
            (all.iter().any(holds), false)
        }
        HirKind::Class(Class::Unicode(all)) => {
            let holds = |one: &ClassUnicodeRange| (one.start()..=one.end()).contains(&'/');
            (all.iter().any(holds), false)
        }
        HirKind::Capture(capture) => return beginning(&capture.sub),
        HirKind::Repetition(one) => {
            let inner = beginning(&one.sub);
            (inner.is_slash, inner.is_empty || one.min == 0)
        }
        HirKind::Alternation(all) => all.iter().map(beginning).fold((false, false), |so, one| {
            (so.0 || one.is_slash, so.1 || one.is_empty)
        }),
        HirKind::Concat(all) => {
            let (mut is_slash, mut is_empty) = (false, true);
            for one in all.iter().map(beginning) {
                is_slash |= is_empty && one.is_slash;
                is_empty &= one.is_empty;
            }
            (is_slash, is_empty)
        }
    };
    Beginning { is_slash, is_empty }
}

/// How many steps a text of the longest kind that an expression spells out would have.
fn weight(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Repetition(one) => {
            let times = one.max.unwrap_or(one.min).max(1);
            weight(&one.sub).saturating_mul(times.into())
        }
        HirKind::Alternation(all) | HirKind::Concat(all) => {
            all.iter().map(weight).fold(0, u64::saturating_add)
        }
        HirKind::Literal(literal) => u64::try_from(literal.0.len()).unwrap_or(u64::MAX),
        HirKind::Class(_) | HirKind::Empty | HirKind::Look(_) => 1,
    }
}

/// An expression as a program of its own. Compared paths are ASCII, so it is one over bytes.
pub(crate) fn compiled(expression: &str) -> Option<Regex> {
    RegexBuilder::new(expression).unicode(false).build().ok()
}

/// A regular expression that has to match all there is.
pub(crate) fn anchored(text: &str) -> String {
    format!("^(?:{text})$")
}

/// The names that a regular expression captures.
pub(crate) fn captured(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(hir) = parse(text) {
        collect(&hir, &mut names);
    }
    names
}

fn parse(text: &str) -> Result<Hir, Wrong> {
    check_length(text)?;
    hir(text)
}

fn hir(text: &str) -> Result<Hir, Wrong> {
    ParserBuilder::new()
        .nest_limit(50)
        .unicode(false)
        .utf8(false)
        .build()
        .parse(text)
        .map_err(|error| {
            let (span, why) = match &error {
                Error::Parse(wrong) => (wrong.span(), wrong.kind().to_string()),
                Error::Translate(wrong) => (wrong.span(), wrong.kind().to_string()),
                _ => return (0..text.len(), "not a regular expression".to_owned()),
            };
            (span.start.offset..span.end.offset, why)
        })
}

fn check_length(text: &str) -> Result<(), Wrong> {
    if text.len() > MAX_BYTES {
        return Err((MAX_BYTES..text.len(), "longer than 1024 bytes".to_owned()));
    }
    Ok(())
}

fn collect(hir: &Hir, names: &mut Vec<String>) {
    match hir.kind() {
        HirKind::Capture(capture) => {
            names.extend(capture.name.as_deref().map(str::to_owned));
            collect(&capture.sub, names);
        }
        HirKind::Repetition(repetition) => collect(&repetition.sub, names),
        HirKind::Alternation(all) | HirKind::Concat(all) => {
            all.iter().for_each(|one| collect(one, names));
        }
        HirKind::Class(_) | HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_wrong_piece_is_named() {
        let piece = |text: &str| text[regex(text).unwrap_err().0].to_owned();
        assert_eq!(piece("/a(b"), "(");
        assert_eq!(piece("/a{3,2}"), "{3,2}");
        assert_eq!(piece("/[z-a]"), "z-a");
        assert!(glob("/a[").is_err());
        assert!(glob("a").is_err());
        assert!(regex(&"a".repeat(2_000)).is_err());
        assert!(regex("/[0-9]{1,1000}").is_ok());
        assert_eq!(piece("(a{1000}){1000}"), "(a{1000}){1000}");
    }

    #[test]
    fn captured_names_are_those_of_groups() {
        assert_eq!(captured("/(?<a>x)/(?:(?P<b>y)|z)*/(w)"), ["a", "b"]);
    }
}
