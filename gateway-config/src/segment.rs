//! Decides what one path segment or one query value says, and how it is spelled for a node.
//!
//! Works on raw bytes and never fails: what cannot be decoded stays as it was written. Called by
//! [`template`](crate::template) and [`target`](crate::target) on every request, so a text
//! without escapes is neither copied nor looked at twice.
//!
//! Source: RFC 3986 §2.1 and §2.3; adr/0013.

use std::borrow::Cow;

/// Whether a raw segment may stand where a template captures a name: it is text, not empty, not
/// a dot segment and without control characters (Unicode Cc), all of it after decoding.
#[must_use]
pub(crate) fn is_legal_name(raw: &[u8]) -> bool {
    let decoded = decode(raw);
    match std::str::from_utf8(&decoded) {
        Ok(text) => {
            !text.is_empty() && !is_dots(text.as_bytes()) && !text.chars().any(char::is_control)
        }
        Err(_) => false,
    }
}

/// Whether a raw segment is this text once decoded.
#[must_use]
pub(crate) fn decodes_to(raw: &[u8], text: &str) -> bool {
    raw == text.as_bytes() || (raw.contains(&b'%') && *decode(raw) == *text.as_bytes())
}

/// Whether a key or a value of a query is this text, as a form says it: escapes decoded, `+` a space.
#[must_use]
pub(crate) fn form_says(raw: &[u8], text: &str) -> bool {
    let mut rest = raw;
    let mut bytes = text.bytes();
    while let Some((byte, width)) = next(rest) {
        let is_space = width == 1 && byte == b'+';
        if bytes.next() != Some(if is_space { b' ' } else { byte }) {
            return false;
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    bytes.next().is_none()
}

/// Whether a segment is exactly `.` or `..`.
#[must_use]
pub(crate) fn is_dots(segment: &[u8]) -> bool {
    matches!(segment, b"." | b"..")
}

/// Whether some readers would find another path in a segment: dots behind a separator that was
/// escaped or before a parameter, or a control character. Nobody means such a name (adr/0037).
///
/// Judges the bytes, whether or not they are a text: a node need not care.
#[must_use]
pub(crate) fn is_misread(raw: &[u8]) -> bool {
    let is_disguised = |part: &[u8]| {
        let bare = part.split(|byte| *byte == b';').next();
        bare.is_some_and(is_dots)
    };
    let bytes = decode_all(raw);
    let mut parts = bytes.split(|byte| matches!(byte, b'/' | b'\\'));
    !is_dots(raw) && (parts.any(is_disguised) || bytes.iter().any(u8::is_ascii_control))
}

/// The segments of a normalised path or of a prefix; a slash at the end makes none, and slashes in a row
/// have an empty one between them.
pub(crate) fn of_path(path: &str) -> impl Iterator<Item = &str> {
    let rest = path.strip_prefix('/').unwrap_or(path);
    let rest = Some(rest).filter(|rest| !rest.is_empty());
    let whole = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    whole.into_iter().flat_map(|all| all.split('/'))
}

/// Whether a segment may be the name of a file: after decoding no dot segment, and without a separator and NUL.
pub(crate) fn is_file_name(raw: &[u8]) -> bool {
    let decoded = decode_all(raw);
    let is_forbidden = |byte: &u8| matches!(byte, b'/' | b'\\' | 0);
    !is_dots(&decoded) && !decoded.iter().any(is_forbidden)
}

/// Whether RFC 3986 §2.3 lets this byte stand for itself everywhere.
#[must_use]
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
}

/// `pchar` without the unreserved ones and without escapes (RFC 3986 §3.3).
#[must_use]
pub(crate) fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@'
    )
}

/// Why a character that ends a path stands in none (RFC 3986 §3.3); what it would begin is told
/// elsewhere.
#[must_use]
pub(crate) fn ends_path(c: char) -> Option<&'static str> {
    match c {
        '?' => Some("a path has no query; what has to be in one is said by `when.query`"),
        '#' => Some("a path has no fragment, and none is ever sent"),
        _ => None,
    }
}

/// Appends the decoded segment, re-encoded: unreserved bytes as they are, all others `%XX`.
pub(crate) fn push_name(out: &mut String, raw: &[u8]) {
    for byte in decode(raw).iter() {
        push_byte(out, *byte);
    }
}

/// Appends a query value as the node's reader takes it: escapes decoded and re-encoded, a raw
/// `+` left alone, a value whose bytes are not text left as it is.
pub(crate) fn push_value(out: &mut String, raw: &[u8]) {
    let is_text = std::str::from_utf8(&decode_all(raw)).is_ok();
    let mut rest = raw;
    while let Some((byte, width)) = next(rest) {
        let written = rest.get(..width).unwrap_or_default();
        match (is_text, width) {
            (false, _) => push_raw(out, written),
            (true, 1) if byte == b'+' => out.push('+'),
            (true, _) => push_byte(out, byte),
        }
        rest = rest.get(width..).unwrap_or_default();
    }
}

/// Appends raw text, with only those bytes escaped that may not stand in a request target.
pub(crate) fn push_raw(out: &mut String, raw: &[u8]) {
    for byte in raw {
        if byte.is_ascii_graphic() && *byte != b'#' {
            out.push(char::from(*byte));
        } else {
            push_escape(out, *byte);
        }
    }
}

/// Appends one byte, escaped unless it is unreserved.
pub(crate) fn push_byte(out: &mut String, byte: u8) {
    if is_unreserved(byte) {
        out.push(char::from(byte));
    } else {
        push_escape(out, byte);
    }
}

/// Appends `%XX` in upper case.
pub(crate) fn push_escape(out: &mut String, byte: u8) {
    out.push('%');
    for nibble in [byte >> 4, byte & 0x0f] {
        let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
    }
}

/// The first byte a text says and how many bytes it took to say it: three for `%XX`, else one.
#[must_use]
pub(crate) fn next(raw: &[u8]) -> Option<(u8, usize)> {
    match raw {
        [b'%', high, low, ..] => match (hex(*high), hex(*low)) {
            (Some(high), Some(low)) => Some((high << 4 | low, 3)),
            _ => Some((b'%', 1)),
        },
        [byte, ..] => Some((*byte, 1)),
        [] => None,
    }
}

/// The bytes a segment says; the raw ones when they would not be text.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, [u8]> {
    match decode_all(raw) {
        Cow::Owned(bytes) if std::str::from_utf8(&bytes).is_err() => Cow::Borrowed(raw),
        decoded => decoded,
    }
}

fn decode_all(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'%') {
        return Cow::Borrowed(raw);
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((byte, width)) = next(rest) {
        bytes.push(byte);
        rest = rest.get(width..).unwrap_or_default();
    }
    Cow::Owned(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// A normal path as patterns are compared with it: what may stand in a path by itself is not escaped.
/// RFC 3986 §2.2 keeps the two apart, but whoever opens what is named, here or behind us, does not.
pub(crate) fn compared(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut text = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, width)) = next(rest) {
        match rest
            .get(..width)
            .and_then(|raw| std::str::from_utf8(raw).ok())
        {
            Some(raw) if width > 1 && !is_delimiter(byte) => text.push_str(raw),
            _ => text.push(char::from(byte)),
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(raw: &[u8]) -> String {
        let mut out = String::new();
        push_name(&mut out, raw);
        out
    }

    fn value(raw: &[u8]) -> String {
        let mut out = String::new();
        push_value(&mut out, raw);
        out
    }

    #[test]
    fn what_needs_no_escape_has_none_when_it_is_compared() {
        for (path, is) in [
            ("/a%28b%29%2C%3A", "/a(b),:"),
            ("/a%2Fb%5C%25%20%C3%A9", "/a%2Fb%5C%25%20%C3%A9"),
            ("/%2528", "/%2528"),
            ("/a(", "/a("),
        ] {
            assert_eq!(compared(path), is);
        }
    }

    #[test]
    fn what_some_would_read_otherwise_is_found_also_in_what_is_no_text() {
        for raw in [
            "..%2fa%c0%aeb",
            "%ff%2f..",
            "a%00",
            "%ff%0a",
            "..%2fadmin",
            "a%2F..",
            "a%5c.%5cb",
            "..;",
            "..;x=1",
            "%2e%2e;",
            ".%2f",
        ] {
            assert!(is_misread(raw.as_bytes()), "{raw}");
        }
        for raw in ["..", "a;..", "@a%2fb..c", "...", "a%2f..b", "", "%252e"] {
            assert!(!is_misread(raw.as_bytes()), "{raw}");
        }
    }

    #[test]
    fn a_name_is_decoded_once_and_encoded_once() {
        for (raw, sent) in [
            (&b"orders"[..], "orders"),
            (b"a%2fb", "a%2Fb"),
            (b"a%252fb", "a%252fb"),
            (b"a+b", "a%2Bb"),
            (b"100%", "100%25"),
            (b"%zz", "%25zz"),
            (b"%ff", "%25ff"),
            (b"%c3%a9", "%C3%A9"),
            ("é".as_bytes(), "%C3%A9"),
            (b"%7e~", "~~"),
        ] {
            assert_eq!(name(raw), sent);
        }
    }

    #[test]
    fn a_value_keeps_its_plus_and_its_escaped_plus_apart() {
        for (raw, sent) in [
            (&b"a+b"[..], "a+b"),
            (b"a%2Bb", "a%2Bb"),
            (b"a%2bb%20c", "a%2Bb%20c"),
            (b"%ff+", "%ff+"),
            (b"50%", "50%25"),
            (b"a=b", "a%3Db"),
            (b"", ""),
            (b"\xff#", "%FF%23"),
        ] {
            assert_eq!(value(raw), sent);
        }
    }

    #[test]
    fn an_illegal_name_is_known_after_decoding() {
        for raw in [
            &b""[..],
            b".",
            b"..",
            b"%2e",
            b".%2E",
            b"%2e%2e",
            b"a%00",
            b"a%0d%0ab",
            b"%7f",
            b"%c2%85",
            b"\xff",
        ] {
            assert!(!is_legal_name(raw), "{raw:?}");
        }
        for raw in [&b"..."[..], b"a%2fb", b"%2e%2e%2e", b"%ff", b"%", b"a b"] {
            assert!(is_legal_name(raw), "{raw:?}");
        }
    }
}
