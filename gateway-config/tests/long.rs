//! A long text that is refused takes a time in proportion to its length, whatever is wrong with it.
//!
//! Nothing here looks at a clock: where a piece cost the length of the whole, a test would not end.

use gateway_config::{Sources, load_source};

const LENGTH: usize = 400_000;

/// What stands first, what is repeated behind it, and what stands last.
const SHAPES: &[(&str, &str, &str)] = &[
    ("", "unknown = 1\n", "[\n"),
    ("", "password = 1\n", "[\n"),
    ("", "[pools.p]\npassword = 1\n", "[\n"),
    ("", "\" \" ", ""),
    ("", " ", "x"),
    ("x = ", " ", ""),
    ("", "\t", "["),
    ("", "\r", ""),
    ("a = [", "1 2, ", "]"),
    ("a = [", "\u{202e}, ", "]"),
    ("a = [", "true false, ", "]"),
    ("[", "a. .", "]"),
    ("", "auth ", ""),
];

#[test]
fn a_long_text_that_is_refused_is_looked_at_once() {
    for (first, piece, last) in SHAPES {
        let middle = piece.repeat(LENGTH / piece.len());
        refused(format!("{first}{middle}{last}"));
    }
}

fn refused(text: String) {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text);
    assert!(load_source(id, &mut sources).is_err());
}
