//! Says what a file is, by the end of its name.
//!
//! Source: GATEWAY §4; RFC 9110 §8.3; adr/0036.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

use http::HeaderValue;

/// The `Content-Type` of a file of this name.
pub(crate) fn kind(name: &[u8]) -> HeaderValue {
    let extension = Path::new(OsStr::from_bytes(name)).extension();
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let known = extension.to_str().and_then(|name| KINDS.get(name));
    known.cloned().unwrap_or(UNKNOWN)
}

/// What the library knows, and what it does not or by a name that has been replaced. The library looks for
/// each name in a list, which costs more than the rest of an answer's head.
static KINDS: LazyLock<HashMap<&'static str, HeaderValue>> = LazyLock::new(|| {
    let all = mime_guess::get_extensions("*", "*").unwrap_or_default();
    let listed = all
        .iter()
        .filter_map(|name| Some((*name, mime_guess::from_ext(name).first_raw()?)));
    let newer = [
        ("map", "application/json"),
        ("mjs", "text/javascript"),
        ("webmanifest", "application/manifest+json"),
    ];
    listed
        .chain(newer)
        .map(|(name, kind)| (name, with_charset(kind)))
        .collect()
});

fn with_charset(kind: &'static str) -> HeaderValue {
    let is_text = kind.starts_with("text/") || kind.ends_with("/javascript");
    let whole = match is_text {
        true => format!("{kind}; charset=utf-8"),
        false => kind.to_owned(),
    };
    HeaderValue::try_from(whole).unwrap_or(UNKNOWN)
}

const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_ends_in() {
        for (name, expected) in [
            ("a.html", "text/html; charset=utf-8"),
            ("A.HTML", "text/html; charset=utf-8"),
            ("d.x/a.css", "text/css; charset=utf-8"),
            ("a.js", "text/javascript; charset=utf-8"),
            ("a.mjs", "text/javascript; charset=utf-8"),
            ("a.txt", "text/plain; charset=utf-8"),
            ("a.js.map", "application/json"),
            ("a.json", "application/json"),
            ("a.webmanifest", "application/manifest+json"),
            ("a.wasm", "application/wasm"),
            ("a.svg", "image/svg+xml"),
            ("a.png", "image/png"),
            ("a.avif", "image/avif"),
            ("a.webp", "image/webp"),
            ("a.ico", "image/x-icon"),
            ("a.woff2", "font/woff2"),
            ("a.mp4", "video/mp4"),
            ("a.pdf", "application/pdf"),
            ("a.js.gz", "application/gzip"),
        ] {
            assert_eq!(kind(name.as_bytes()), expected, "{name}");
        }
        for name in ["a.nosuch", "html", "a.", ""] {
            assert_eq!(kind(name.as_bytes()), UNKNOWN, "{name}");
        }
        assert_eq!(kind(b"a.\xff"), UNKNOWN);
    }
}
