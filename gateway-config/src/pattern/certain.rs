//! Whether an expression is certain to match no path, since all that it matches holds a piece that no
//! path has in the form in which paths are compared.
//!
//! Source: RFC 3986 §6.2.2, §3.3.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::segment;

/// What is known of the paths that are compared.
#[derive(Clone, Copy)]
struct Paths {
    /// Slashes in a row are one.
    merge_slashes: bool,
    /// Whether what is judged is the end of a path.
    is_end: bool,
}

/// Whether nothing that is compared can match, for certain.
pub(super) fn is_unmatched(expression: &Hir, merge_slashes: bool) -> bool {
    let is_end = true;
    none_matches(
        expression,
        Paths {
            merge_slashes,
            is_end,
        },
    )
}

fn none_matches(hir: &Hir, paths: Paths) -> bool {
    let inside = Paths {
        is_end: false,
        ..paths
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => is_in_no_path(&literal.0, paths),
        HirKind::Class(Class::Bytes(all)) => !all
            .iter()
            .any(|one| (one.start()..=one.end()).any(is_of_paths)),
        HirKind::Class(Class::Unicode(all)) => !all.iter().any(|one| {
            let ascii = (0..=127_u8).filter(|byte| is_of_paths(*byte));
            ascii
                .map(char::from)
                .any(|c| (one.start()..=one.end()).contains(&c))
        }),
        HirKind::Capture(capture) => none_matches(&capture.sub, paths),
        HirKind::Repetition(one) => one.min > 0 && none_matches(&one.sub, inside),
        HirKind::Alternation(all) => all.iter().all(|one| none_matches(one, paths)),
        HirKind::Concat(all) => {
            let last = all
                .iter()
                .rposition(|one| !matches!(one.kind(), HirKind::Look(_)));
            let mut all = all.iter().enumerate();
            all.any(|(at, one)| none_matches(one, if Some(at) == last { paths } else { inside }))
        }
    }
}

/// Whether a byte stands in paths at all.
fn is_of_paths(byte: u8) -> bool {
    segment::is_unreserved(byte) || segment::is_delimiter(byte) || matches!(byte, b'/' | b'%')
}

/// Whether no path has a text in it.
fn is_in_no_path(text: &[u8], paths: Paths) -> bool {
    let holds = |piece: &[u8]| text.windows(piece.len()).any(|one| one == piece);
    let ends = |piece: &[u8]| paths.is_end && text.ends_with(piece);
    !text.iter().copied().all(is_of_paths)
        || (paths.merge_slashes && holds(b"//"))
        || holds(b"/./")
        || holds(b"/../")
        || ends(b"/.")
        || ends(b"/..")
        || text
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'%')
            .any(|(at, _)| is_no_escape(text.get(at + 1..).unwrap_or_default(), paths.is_end))
}

/// Whether what follows a `%` makes no escape, or one of a byte that is written as it is.
fn is_no_escape(behind: &[u8], is_end: bool) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    let digits = behind.get(..2).unwrap_or(behind);
    if !digits.iter().all(is_digit) {
        return true;
    }
    let value = std::str::from_utf8(digits).ok();
    match value.and_then(|text| u8::from_str_radix(text, 16).ok()) {
        Some(byte) if digits.len() == 2 => segment::is_unreserved(byte),
        _ => is_end,
    }
}
