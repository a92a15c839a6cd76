//! A text with captured names in it: where a redirect leads, what a path becomes.
//!
//! Decides which names there are and spells the text for one request; what a pattern captures is
//! left to [`target`](crate::target).
//!
//! Invariant: what is written between the names is visible ASCII.

use std::fmt;
use std::sync::Arc;

/// A text with captured names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    text: Arc<str>,
}

/// A piece of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Stands for what was captured under this name.
    Capture(&'a str),
    /// Stands for itself.
    Literal(&'a str),
}

/// Why a text is no spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpellingError {
    /// The smallest wrong piece, in bytes of the text.
    pub(crate) at: std::ops::Range<usize>,
    /// What is wrong with it.
    pub(crate) why: &'static str,
}

impl Spelling {
    /// Reads `literal{name}literal`.
    ///
    /// # Errors
    /// The first piece that is neither visible ASCII nor a name.
    pub(crate) fn parse(text: &str) -> Result<Self, SpellingError> {
        let wrong = |at, why| Err(SpellingError { at, why });
        let mut rest = text;
        let mut at = 0;
        while let Some(c) = rest.chars().next() {
            let len = match c {
                '{' => {
                    let Some(end) = rest.find('}') else {
                        return wrong(at..text.len(), "`}` is missing");
                    };
                    let name = rest.get(1..end).unwrap_or_default();
                    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    if name.is_empty() || !name.chars().all(legal) {
                        return wrong(at..at + end + 1, "a captured name is `{letters}`");
                    }
                    end + 1
                }
                '}' => return wrong(at..at + 1, "`{` is missing"),
                c if c.is_ascii_graphic()
                    && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '|') =>
                {
                    1
                }
                c => return wrong(at..at + c.len_utf8(), "not a character of an address"),
            };
            rest = rest.get(len..).unwrap_or_default();
            at += len;
        }
        Ok(Self { text: text.into() })
    }

    /// The path `/`.
    pub(crate) fn root() -> Self {
        Self { text: "/".into() }
    }

    /// Its pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        pieces(&self.text)
    }

    /// The names it holds.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        names(&self.text)
    }

    /// The names that stand in the host of an address.
    pub(crate) fn captures_in_host(&self) -> impl Iterator<Item = &str> {
        let (_, rest) = self.text.split_once("://").unwrap_or_default();
        names(rest.split(['/', '?', '#']).next().unwrap_or_default())
    }
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, left) = match rest.strip_prefix('{') {
            Some(inner) => {
                let (name, left) = inner.split_once('}').unwrap_or((inner, ""));
                (Piece::Capture(name), left)
            }
            None => {
                let (text, left) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
                (Piece::Literal(text), left)
            }
        };
        rest = left;
        Some(piece)
    })
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Capture(name) => Some(name),
        Piece::Literal(_) => None,
    })
}

/// Writes it as it is read.
impl fmt::Display for Spelling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_names_and_what_stands_between() {
        let spelling = Spelling::parse("/a/{t}/b{u}").unwrap();
        let pieces: Vec<_> = spelling.pieces().collect();
        use Piece::{Capture, Literal};
        assert_eq!(
            pieces,
            [Literal("/a/"), Capture("t"), Literal("/b"), Capture("u")]
        );
        assert_eq!(spelling.to_string(), "/a/{t}/b{u}");
        assert_eq!(spelling.captures_in_host().count(), 0);
        let abroad = Spelling::parse("https://{t}.example:8080/{u}?{v}").unwrap();
        assert_eq!(abroad.captures_in_host().collect::<Vec<_>>(), ["t"]);
        for (text, at) in [
            ("/{", 1..2),
            ("/}x", 1..2),
            ("/a b", 2..3),
            ("/{}", 1..3),
            ("/é", 1..3),
        ] {
            assert_eq!(Spelling::parse(text).unwrap_err().at, at, "{text}");
        }
    }
}
