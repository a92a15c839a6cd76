//! Reads `Forwarded`, the standard's own field for what proxies know of who asked them.
//!
//! Decides nothing: whose field it is, and whether it counts, is [`origin`](crate::origin)'s.
//!
//! Source: RFC 7239 §4; RFC 9110 §5.6.4 (quoted strings).

use std::borrow::Cow;

use http::HeaderMap;
use http::header::FORWARDED;

/// What the elements of every line say under a name, the last element first; an element that does not
/// say it, or cannot be read, is a `None`.
pub(crate) fn from_the_right<'a>(
    fields: &'a HeaderMap,
    name: &'static str,
) -> impl Iterator<Item = Option<Cow<'a, [u8]>>> {
    let lines = fields.get_all(FORWARDED).iter();
    let elements: Vec<&[u8]> = lines
        .flat_map(|line| split(line.as_bytes(), b','))
        .collect();
    let elements = elements.into_iter().rev();
    elements.map(move |element| said(element, name))
}

/// What one element says under a name, without its quotes.
fn said<'a>(element: &'a [u8], name: &str) -> Option<Cow<'a, [u8]>> {
    let mut found = None;
    for pair in split(element, b';') {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (pair.get(..at)?, pair.get(at + 1..)?);
        if key.eq_ignore_ascii_case(name.as_bytes()) {
            // §4: a parameter occurs once.
            if found.replace(unquoted(value)?).is_some() {
                return None;
            }
        }
    }
    found
}

fn unquoted(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(inner) = value.strip_prefix(b"\"") else {
        let is_bare = !value.is_empty() && !value.contains(&b'"');
        return is_bare.then_some(Cow::Borrowed(value));
    };
    let inner = inner.strip_suffix(b"\"")?;
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => text.push(*bytes.next()?),
            b'"' => return None,
            byte => text.push(*byte),
        }
    }
    Some(Cow::Owned(text))
}

/// The pieces of a text between separators that are in no quotes, without blanks around them.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |byte| {
        match (*byte, is_quoted, is_escaped) {
            (_, _, true) => is_escaped = false,
            (b'\\', true, _) => is_escaped = true,
            (b'"', _, _) => is_quoted = !is_quoted,
            _ => {}
        }
        *byte == separator && !is_quoted
    })
    .map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_from_the_right_and_quotes_hold_them_together() {
        for (line, proto) in [
            ("for=1.2.3.4;proto=https", Some("https")),
            ("for=1.2.3.4; PROTO = https", None),
            ("for=1.2.3.4;Proto=HTTPS", Some("HTTPS")),
            ("proto=https, for=1.2.3.4", None),
            ("proto=http, proto=\"https\"", Some("https")),
            ("proto=https;host=\"a,b;proto=http\"", Some("https")),
            ("proto=https;host=\"a\\\",proto=http\"", Some("https")),
            ("proto=https;proto=https", None),
            ("proto=\"https", None),
            ("proto=", None),
            ("https", None),
            ("", None),
        ] {
            let mut fields = HeaderMap::new();
            fields.append(FORWARDED, line.parse().unwrap());
            let found = from_the_right(&fields, "proto").next().flatten();
            let wanted = proto.map(|proto| Cow::Borrowed(proto.as_bytes()));
            assert_eq!(found, wanted, "{line}");
        }
        assert!(from_the_right(&HeaderMap::new(), "for").next().is_none());
    }
}
