//! Spells a path the way in which it is compared.
//!
//! Source: RFC 3986 §6.2.2, §3.3.

use std::borrow::Cow;

use crate::segment;

/// Unreserved escapes decoded, other escapes upper case, dot segments removed; and repeated slashes
/// merged first, if they are, so that a dot segment means the same to every reader. Begins with `/`.
pub(super) fn normalise(path: &[u8], merge_slashes: bool) -> Cow<'_, str> {
    if is_plain(path)
        && let Ok(text) = std::str::from_utf8(path)
    {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut is_open = true;
    let mut pieces = path.split(|byte| *byte == b'/');
    // What stands before the first slash is nothing.
    if path.first() == Some(&b'/') {
        pieces.next();
    }
    for piece in pieces {
        let text = normal_segment(piece);
        is_open = match &*text {
            "" if merge_slashes => true,
            "." => true,
            ".." => {
                kept.pop();
                true
            }
            "" => {
                kept.push(text);
                true
            }
            _ => {
                kept.push(text);
                false
            }
        };
    }
    // An empty last segment is the slash at the end, and not one more.
    if kept.last().is_some_and(|last| last.is_empty()) && is_open {
        kept.pop();
    }
    let mut normal = String::with_capacity(path.len() + 8);
    for one in &kept {
        normal.push('/');
        normal.push_str(one);
    }
    if is_open || normal.is_empty() {
        normal.push('/');
    }
    Cow::Owned(normal)
}

/// A path as it is compared; the form in which exact paths and prefixes are written.
#[must_use]
pub(crate) fn normal_path(path: &str, merge_slashes: bool) -> String {
    normalise(path.as_bytes(), merge_slashes).into_owned()
}

/// Whether a path is normal at first sight: no escape, no dot behind a slash, no slash behind one.
fn is_plain(path: &[u8]) -> bool {
    let is_legal = |byte: u8| segment::is_unreserved(byte) || segment::is_delimiter(byte);
    let mut after_slash = false;
    path.first() == Some(&b'/')
        && path.iter().all(|byte| {
            let is_slash = *byte == b'/';
            let fits = match after_slash {
                true => !is_slash && *byte != b'.' && is_legal(*byte),
                false => is_slash || is_legal(*byte),
            };
            after_slash = is_slash;
            fits
        })
}

fn normal_segment(piece: &[u8]) -> Cow<'_, str> {
    let is_own = |byte: &u8| segment::is_unreserved(*byte) || segment::is_delimiter(*byte);
    if piece.iter().all(is_own)
        && let Ok(text) = std::str::from_utf8(piece)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(piece.len());
    let mut rest = piece;
    while let Some((byte, width)) = segment::next(rest) {
        let stays = segment::is_unreserved(byte) || (width == 1 && segment::is_delimiter(byte));
        if stays {
            text.push(char::from(byte));
        } else {
            segment::push_escape(&mut text, byte);
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slashes_are_merged_unless_they_are_kept() {
        let both =
            |path: &str| [true, false].map(|merge| normalise(path.as_bytes(), merge).into_owned());
        assert_eq!(both("/a//b/"), ["/a/b/", "/a//b/"]);
        assert_eq!(both("//"), ["/", "//"]);
        assert_eq!(both("/a/..//b"), ["/b", "//b"]);
        assert_eq!(both("/a//../b"), ["/b", "/a/b"]);
        assert_eq!(both("/"), ["/", "/"]);
        assert_eq!(both(""), ["/", "/"]);
        assert_eq!(both("/a%2e%2E/%7eb%2f"), ["/a../~b%2F", "/a../~b%2F"]);
    }

    proptest! {
        #[test]
        fn what_is_normal_stays_so(path in "(/|\\.|%2[eEfF]|%7E|a|é| ){0,12}", merge: bool) {
            let once = normalise(path.as_bytes(), merge).into_owned();
            prop_assert!(once.starts_with('/'));
            prop_assert_eq!(&*normalise(once.as_bytes(), merge), &once);
            if merge {
                prop_assert!(!once.contains("//"));
            }
        }
    }
}
