//! A path template: literal segments and captured names, matched by position.
//!
//! Decides which segment lists a template takes and how the path sent to a node is spelled.
//! Leaves to [`target`](crate::target) how a request target becomes segments.
//!
//! Invariant: a rebuilt path has exactly the shape of the template, whatever the request said.
//!
//! Source: adr/0013.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::segment;

/// Segments a template may have; a longer path matches no template.
pub const MAX_SEGMENTS: usize = 16;

/// Literal segments and captured names, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

/// One position of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Any legal name.
    Capture(Arc<str>),
    /// Exactly this text, after decoding.
    Literal(Arc<str>),
}

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Byte offset of the smallest wrong piece in the text.
    pub at: usize,
    /// Its length in bytes.
    pub len: usize,
    /// What is wrong with it, in a few words.
    pub why: &'static str,
}

impl Template {
    /// Reads `/literal/{name}/…`; `/` alone is the template without segments.
    ///
    /// A literal is written decoded and may not hold `%`, `?`, `#`, `{`, `}` or controls.
    ///
    /// # Errors
    /// The first piece that is not a literal or a capture, with its place.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(wrong(0, text.len(), "a template starts with `/`"));
        };
        let end = |(at, c)| segment::ends_path(c).map(|why| (at, why));
        if let Some((at, why)) = text.char_indices().find_map(end) {
            return Err(wrong(at, text.len() - at, why));
        }
        let mut segments = Vec::new();
        let mut at = 1;
        for piece in rest.split('/') {
            if !rest.is_empty() {
                segments.push(parse_segment(piece, at)?);
            }
            at += piece.len() + 1;
        }
        if segments.len() > MAX_SEGMENTS {
            return Err(wrong(0, text.len(), "a template has at most 16 segments"));
        }
        for (index, one) in segments.iter().enumerate() {
            if let Segment::Capture(name) = one
                && segments
                    .iter()
                    .take(index)
                    .any(|earlier| matches!(earlier, Segment::Capture(other) if other == name))
            {
                return Err(wrong(0, text.len(), "a name is captured twice"));
            }
        }
        Ok(Self { segments })
    }

    /// Whether these raw segments have the template's shape and every captured name is legal.
    #[must_use]
    pub(crate) fn takes(&self, raw: &[&[u8]]) -> bool {
        self.segments.len() == raw.len()
            && self
                .segments
                .iter()
                .zip(raw)
                .all(|(mine, theirs)| match mine {
                    Segment::Capture(_) => segment::is_legal_name(theirs),
                    Segment::Literal(text) => segment::decodes_to(theirs, text),
                })
    }

    /// How many segments it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether it is the template `/`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The names it captures, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|one| match one {
            Segment::Capture(name) => Some(&**name),
            Segment::Literal(_) => None,
        })
    }

    /// Its segments: a literal, or nothing where any legal name may stand.
    pub(crate) fn literals(&self) -> impl Iterator<Item = Option<&str>> {
        self.segments.iter().map(|one| match one {
            Segment::Capture(_) => None,
            Segment::Literal(text) => Some(&**text),
        })
    }

    /// The template without the names it captures: equal for two that take the same paths.
    #[must_use]
    pub(crate) fn shape(&self) -> String {
        let pieces = self.segments.iter().map(|one| match one {
            Segment::Capture(_) => "/{}".to_owned(),
            Segment::Literal(text) => format!("/{text}"),
        });
        pieces.collect()
    }

    /// Which of two templates is tried first: the longer one, then the one with a literal where
    /// the other captures.
    #[must_use]
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let rank = |one: &Segment| match one {
            Segment::Literal(_) => 0,
            Segment::Capture(_) => 1,
        };
        other
            .segments
            .len()
            .cmp(&self.segments.len())
            .then_with(|| {
                self.segments
                    .iter()
                    .map(rank)
                    .cmp(other.segments.iter().map(rank))
            })
    }
}

/// Writes the template as it is read.
impl fmt::Display for Template {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            return out.write_str("/");
        }
        self.segments.iter().try_for_each(|one| match one {
            Segment::Capture(name) => write!(out, "/{{{name}}}"),
            Segment::Literal(text) => write!(out, "/{text}"),
        })
    }
}

fn parse_segment(piece: &str, at: usize) -> Result<Segment, TemplateError> {
    if piece.is_empty() {
        return Err(wrong(at, 0, "a segment may not be empty"));
    }
    if let Some(name) = piece
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(legal) {
            return Err(wrong(at, piece.len(), "a captured name is `{letters}`"));
        }
        return Ok(Segment::Capture(name.into()));
    }
    if let Some((offset, c)) = piece
        .char_indices()
        .find(|(_, c)| matches!(c, '{' | '}' | '%' | '\\') || c.is_control())
    {
        return Err(wrong(
            at + offset,
            c.len_utf8(),
            "a literal segment may not hold this character",
        ));
    }
    if segment::is_dots(piece.as_bytes()) {
        return Err(wrong(at, piece.len(), "a dot segment names no resource"));
    }
    Ok(Segment::Literal(piece.into()))
}

fn wrong(at: usize, len: usize, why: &'static str) -> TemplateError {
    TemplateError { at, len, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        for text in [
            "/",
            "/schema",
            "/table/{t}",
            "/table/{t}/field/{f}",
            "/a b/é",
        ] {
            assert_eq!(Template::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_template_is_refused_with_its_place() {
        for (text, at, len) in [
            ("", 0, 0),
            ("schema", 0, 6),
            ("/a//b", 3, 0),
            ("/a/", 3, 0),
            ("/a/{}", 3, 2),
            ("/a/x{t}", 4, 1),
            ("/a/..", 3, 2),
            ("/a/%2f", 3, 1),
            ("/{a}/{a}", 0, 8),
        ] {
            let found = Template::parse(text).unwrap_err();
            assert_eq!((found.at, found.len), (at, len), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_literal_goes_before_a_capture_and_the_longer_before_the_shorter() {
        let mut all: Vec<Template> = ["/{a}/{b}", "/x", "/x/{b}", "/{a}/y", "/x/y/z"]
            .iter()
            .map(|text| Template::parse(text).unwrap())
            .collect();
        all.sort_by(Template::order);
        let order: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(order, ["/x/y/z", "/x/{b}", "/{a}/y", "/{a}/{b}", "/x"]);
    }
}
