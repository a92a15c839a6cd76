//! Says what a file is, by the end of its name.
//!
//! Source: GATEWAY §4; RFC 9110 §8.3; adr/0036.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use http::HeaderValue;

/// The `Content-Type` of a file of this name.
pub(crate) fn kind(name: &[u8]) -> HeaderValue {
    let extension = Path::new(OsStr::from_bytes(name))
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let listed = mime_guess::from_ext(extension).first_raw();
    let kind = unlisted(extension).or(listed).unwrap_or(UNKNOWN);
    let is_text = kind.starts_with("text/") || kind.ends_with("/javascript");
    let value = match is_text {
        true => HeaderValue::from_str(&format!("{kind}; charset=utf-8")),
        false => HeaderValue::from_str(kind),
    };
    value.unwrap_or(HeaderValue::from_static(UNKNOWN))
}

/// What the library does not know, or knows by a name that has been replaced.
fn unlisted(extension: &str) -> Option<&'static str> {
    let known = |name: &str| extension.eq_ignore_ascii_case(name);
    match () {
        () if known("map") => Some("application/json"),
        () if known("mjs") => Some("text/javascript"),
        () if known("webmanifest") => Some("application/manifest+json"),
        () => None,
    }
}

const UNKNOWN: &str = "application/octet-stream";

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
            ("a.nosuch", UNKNOWN),
            ("html", UNKNOWN),
            ("a.", UNKNOWN),
            ("", UNKNOWN),
        ] {
            assert_eq!(kind(name.as_bytes()), expected, "{name}");
        }
        assert_eq!(kind(b"a.\xff"), UNKNOWN);
    }
}
