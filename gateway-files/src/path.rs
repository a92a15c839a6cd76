//! Decides what a request path names below a root, and where a directory without its slash is.
//!
//! Each segment is decoded exactly once. What comes out is never looked at again: it is handed
//! to the kernel, which holds it beneath the root ([`root`](crate::root)).
//!
//! Source: GATEWAY §4; RFC 3986 §2.1, §3.3; RFC 8615 §3.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};

/// What a path names below the root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Decoded segments with `/` between them; empty: the root itself.
    pub(crate) below: Vec<u8>,
    /// Whether the path ends in a slash.
    pub(crate) is_directory: bool,
}

/// Why a path names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unnamed {
    /// A dot file, which is shown to nobody.
    Hidden,
    /// An escape that is none, a dot segment, a separator or a NUL inside a segment.
    Malformed,
    /// An empty segment, which no file is called.
    Nothing,
}

/// What a path names once its first `prefix` segments are off; those are the route's own.
pub(crate) fn name(path: &[u8], prefix: usize) -> Result<Named, Unnamed> {
    let decoded = segments(path).ok_or(Unnamed::Malformed)?;
    let mut mine = decoded.get(prefix..).unwrap_or_default();
    if let Some((last, before)) = mine.split_last()
        && last.is_empty()
    {
        mine = before;
    }
    if mine.iter().any(|one| is_malformed(one)) {
        return Err(Unnamed::Malformed);
    }
    if mine.iter().any(|one| one.is_empty()) {
        return Err(Unnamed::Nothing);
    }
    // A well-known address begins at the top of the site and nowhere else (RFC 8615 §3).
    let is_well_known = |at: usize, one: &[u8]| prefix + at == 0 && one == b".well-known";
    let mut numbered = mine.iter().enumerate();
    if numbered.any(|(at, one)| one.starts_with(b".") && !is_well_known(at, one)) {
        return Err(Unnamed::Hidden);
    }
    Ok(Named {
        below: mine.join(&b'/'),
        is_directory: path.ends_with(b"/"),
    })
}

/// Where the directory is that a target without the slash at its end names; its query stays.
///
/// Spelled from the decoded segments, so that it is always a path of this site: there is
/// something other than a slash or a backslash behind the first slash.
pub(crate) fn with_slash(target: &[u8]) -> Option<String> {
    let (path, query) = split_query(target);
    let mut location = String::with_capacity(target.len() + 1);
    for one in segments(path)?.iter().filter(|one| !one.is_empty()) {
        location.push('/');
        location.extend(percent_encode(one, IN_SEGMENT));
    }
    location.push('/');
    if let Some(query) = query {
        location.push('?');
        location.extend(percent_encode(query, IN_QUERY));
    }
    Some(location)
}

/// A name as a reference to it from the directory it is in.
pub(crate) fn reference(name: &[u8]) -> String {
    // Behind `./` a colon does not make a scheme (RFC 3986 §4.2).
    format!("./{}", percent_encode(name, IN_SEGMENT))
}

/// Whether a name can be asked for at all.
pub(crate) fn is_shown(name: &[u8]) -> bool {
    !name.starts_with(b".") && !is_malformed(name)
}

pub(crate) fn split_query(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match target.iter().position(|byte| *byte == b'?') {
        Some(at) => (target.get(..at).unwrap_or_default(), target.get(at + 1..)),
        None => (target, None),
    }
}

/// The decoded segments of a path; nothing where it begins with no slash or an escape is none.
fn segments(path: &[u8]) -> Option<Vec<Cow<'_, [u8]>>> {
    let inner = path.strip_prefix(b"/")?;
    inner.split(|byte| *byte == b'/').map(decode).collect()
}

fn decode(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !raw.contains(&b'%') {
        return Some(Cow::Borrowed(raw));
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        rest = match rest {
            [] => return Some(Cow::Owned(bytes)),
            [b'%', high, low, rest @ ..] => {
                bytes.push(hex(*high)? << 4 | hex(*low)?);
                rest
            }
            [b'%', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        }
    }
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

fn is_malformed(segment: &[u8]) -> bool {
    let is_forbidden = |byte: &u8| matches!(byte, b'/' | b'\\' | 0);
    matches!(segment, b"." | b"..") || segment.iter().any(is_forbidden)
}

/// Everything but `pchar` (RFC 3986 §3.3).
const IN_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// What may not stand in a query as it is; its escapes stay (RFC 3986 §3.4).
const IN_QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\');

#[cfg(test)]
mod tests;
