//! Compresses answers of nodes for clients that accept it.
//!
//! Decides whether an answer is compressed and with what, and does it piece by piece: what has come
//! from a node is on its way to the client before the next piece is waited for.
//!
//! Source: RFC 9110 §8.4, §8.8.3, §12.5.3, §12.5.5; RFC 9111 §5.2.2.6; adr/0041.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzEncoder;
use gateway_config::model::Compression;
use gateway_files::preferred_codings;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use pingora_http::RequestHeader;
use zstd::zstd_safe::CParameter;

/// Levels at which a gateway can keep up: what more would save costs more than sending it.
const GZIP_LEVEL: u32 = 5;
const BROTLI_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
/// The window of brotli and zstd, as a power of two in bytes: 256 KiB, which bounds the memory of an
/// answer, here and at the client (RFC 9659).
const WINDOW: u32 = 18;
/// The buffer of brotli, in bytes.
const BROTLI_BUFFER: usize = 4096;
/// Fields that hold a digest of the bytes that were coded.
const DIGESTS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];

/// An answer that is being compressed.
pub(crate) enum Encoder {
    /// Brotli, RFC 7932; `None` once it has ended.
    Brotli(Option<Box<brotli::CompressorWriter<Vec<u8>>>>),
    /// gzip, RFC 1952.
    Gzip(Box<GzEncoder<Vec<u8>>>),
    /// Zstandard, RFC 8878.
    Zstd(Box<zstd::stream::write::Encoder<'static, Vec<u8>>>),
}

impl Encoder {
    fn of(coding: &str) -> Option<Self> {
        match coding {
            "br" => {
                let made =
                    brotli::CompressorWriter::new(Vec::new(), BROTLI_BUFFER, BROTLI_LEVEL, WINDOW);
                Some(Encoder::Brotli(Some(Box::new(made))))
            }
            "gzip" => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                Some(Encoder::Gzip(Box::new(GzEncoder::new(Vec::new(), level))))
            }
            "zstd" => {
                let mut made = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL).ok()?;
                made.set_parameter(CParameter::WindowLog(WINDOW)).ok()?;
                Some(Encoder::Zstd(Box::new(made)))
            }
            _ => None,
        }
    }

    /// What the client gets for a piece of the answer: all of it, so that nothing is held back.
    ///
    /// # Errors
    /// What a library says that cannot go on.
    pub(crate) fn push(&mut self, piece: &[u8], ends: bool) -> io::Result<Bytes> {
        let out = match self {
            Encoder::Brotli(None) => Vec::new(),
            Encoder::Brotli(Some(encoder)) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            Encoder::Gzip(encoder) => {
                encoder.write_all(piece)?;
                match ends {
                    true => encoder.try_finish()?,
                    false => encoder.flush()?,
                }
                std::mem::take(encoder.get_mut())
            }
            Encoder::Zstd(encoder) => {
                encoder.write_all(piece)?;
                match ends {
                    true => encoder.do_finish()?,
                    false => encoder.flush()?,
                }
                std::mem::take(encoder.get_mut())
            }
        };
        match self {
            Encoder::Brotli(encoder) if ends => {
                let last = encoder.take().map(|encoder| encoder.into_inner());
                Ok([out, last.unwrap_or_default()].concat().into())
            }
            _ => Ok(out.into()),
        }
    }
}

/// Prepares the fields of an answer that will be compressed; `None`: it goes as it came.
pub(crate) fn begin(
    how: &Compression,
    request: &RequestHeader,
    status: StatusCode,
    fields: &mut HeaderMap,
) -> Option<Encoder> {
    if !is_suitable(how, status, fields) {
        return None;
    }
    vary(fields);
    if status == StatusCode::NOT_MODIFIED {
        confirm(how, request, fields);
        return None;
    }
    // A HEAD has no body to be compressed, and HTTP/1.0 no way to end one that was.
    if request.method == Method::HEAD || request.version == Version::HTTP_10 {
        return None;
    }
    let wanted = preferred_codings(&request.headers, &how.codings);
    let coding = wanted.first()?;
    let encoder = Encoder::of(coding)?;
    fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    fields.remove(CONTENT_LENGTH);
    // A range of what was not compressed is none of what is.
    fields.remove(ACCEPT_RANGES);
    // RFC 9530 §2, §3: of the bytes that were coded otherwise.
    for digest in DIGESTS {
        fields.remove(digest);
    }
    weaken(fields);
    Some(encoder)
}

/// RFC 9110 §15.4.5: a 304 says what the 200 would have said. What it is of is not known, so its
/// validator is a weak one for whoever may have been sent it compressed (RFC 9111 §4.3.4).
fn confirm(how: &Compression, request: &RequestHeader, fields: &mut HeaderMap) {
    if !preferred_codings(&request.headers, &how.codings).is_empty() {
        weaken(fields);
    }
}

/// Whether an answer gains by it and may be changed at all, or is a 304 to one that may.
fn is_suitable(how: &Compression, status: StatusCode, fields: &HeaderMap) -> bool {
    let length = fields.get(CONTENT_LENGTH).map(|length| {
        let text = length.to_str().unwrap_or_default();
        text.parse::<u64>().unwrap_or_default()
    });
    let lines = fields.get_all(CACHE_CONTROL).iter();
    let mut directives = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let is_fixed = |one: &[u8]| one.trim_ascii().eq_ignore_ascii_case(b"no-transform");
    let is_bare = status == StatusCode::NOT_MODIFIED;
    (is_bare || status == StatusCode::OK)
        && !fields.contains_key(CONTENT_ENCODING)
        && (is_bare || length.is_none_or(|length| length >= how.min_size.max(1)))
        && !directives.any(is_fixed)
        && (is_bare || fields.contains_key(CONTENT_TYPE))
        && fields.get_all(CONTENT_TYPE).iter().all(is_text)
}

/// Whether a media type is one of texts. Streams of events are left alone: each is small, and late is
/// worse than long.
fn is_text(kind: &HeaderValue) -> bool {
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let (family, name) = kind.split_once('/').unwrap_or_default();
    match family {
        "text" => name != "event-stream",
        "font" => matches!(name, "ttf" | "otf"),
        "image" => matches!(name, "svg+xml" | "bmp" | "x-icon"),
        "application" => {
            matches!(
                name,
                "json" | "javascript" | "xml" | "wasm" | "x-ndjson" | "rtf" | "x-javascript"
            ) || name.ends_with("+json")
                || name.ends_with("+xml")
        }
        _ => false,
    }
}

/// Says that the answer depends on what the client accepts.
fn vary(fields: &mut HeaderMap) {
    let lines = fields.get_all(VARY).iter();
    let mut names = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let says_so = |name: &[u8]| {
        let name = name.trim_ascii();
        name == b"*" || name.eq_ignore_ascii_case(b"accept-encoding")
    };
    if !names.any(says_so) {
        fields.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// RFC 9110 §8.8.1: other bytes are another representation, so a strong validator is none any more.
fn weaken(fields: &mut HeaderMap) {
    let Some(etag) = fields
        .get(ETAG)
        .filter(|etag| !etag.as_bytes().starts_with(b"W/"))
    else {
        return;
    };
    let weak = [b"W/", etag.as_bytes()].concat();
    match HeaderValue::from_bytes(&weak) {
        Ok(weak) => fields.insert(ETAG, weak),
        Err(_) => fields.remove(ETAG),
    };
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn how() -> Compression {
        Compression {
            codings: vec!["br", "gzip"],
            min_size: 100,
        }
    }

    fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(*name, HeaderValue::from_static(value));
        }
        fields
    }

    fn asked(accepts: &str) -> RequestHeader {
        let mut request = RequestHeader::build("GET", b"/", None).unwrap();
        request
            .insert_header("accept-encoding", accepts.to_owned())
            .unwrap();
        request
    }

    #[test]
    fn only_texts_that_are_long_enough_and_may_be_changed() {
        for (lines, is) in [
            (&[("content-type", "text/html; charset=utf-8")][..], true),
            (&[("content-type", "Application/Problem+JSON")], true),
            (&[("content-type", "text/event-stream")], false),
            (&[("content-type", "image/png")], false),
            (&[], false),
            (
                &[("content-type", "text/css"), ("content-length", "99")],
                false,
            ),
            (
                &[("content-type", "text/css"), ("content-length", "100")],
                true,
            ),
            (
                &[("content-type", "text/css"), ("content-encoding", "br")],
                false,
            ),
            (
                &[
                    ("content-type", "text/css"),
                    ("cache-control", "private, No-Transform"),
                ],
                false,
            ),
        ] {
            assert_eq!(
                is_suitable(&how(), StatusCode::OK, &fields(lines)),
                is,
                "{lines:?}"
            );
        }
        let text = fields(&[("content-type", "text/css")]);
        assert!(!is_suitable(&how(), StatusCode::PARTIAL_CONTENT, &text));
    }

    #[test]
    fn the_client_decides_and_the_answer_says_that_it_depends_on_that() {
        let answer = |accepts: &str| {
            let mut fields = fields(&[
                ("content-type", "text/css"),
                ("content-length", "200"),
                ("etag", "\"a\""),
                ("vary", "Origin"),
            ]);
            let encoder = begin(&how(), &asked(accepts), StatusCode::OK, &mut fields);
            assert_eq!(fields.get_all(VARY).iter().count(), 2);
            assert_eq!(encoder.is_some(), fields.contains_key(CONTENT_ENCODING));
            assert_eq!(encoder.is_none(), fields.contains_key(CONTENT_LENGTH));
            let coding = fields.get(CONTENT_ENCODING);
            let coding = coding
                .map_or("", |coding| coding.to_str().unwrap())
                .to_owned();
            (coding, fields[ETAG].to_str().unwrap().to_owned())
        };
        assert_eq!(answer("gzip, br"), ("br".into(), "W/\"a\"".into()));
        assert_eq!(answer("br;q=0.1, gzip"), ("gzip".into(), "W/\"a\"".into()));
        assert_eq!(answer("br;q=0, identity"), (String::new(), "\"a\"".into()));
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2000), 0..8),
            ends_alone in any::<bool>(),
        ) {
            for coding in ["br", "gzip", "zstd"] {
                let mut encoder = Encoder::of(coding).unwrap();
                let mut sent = Vec::new();
                for (at, piece) in pieces.iter().enumerate() {
                    let is_last = !ends_alone && at + 1 == pieces.len();
                    let out = encoder.push(piece, is_last).unwrap();
                    prop_assert!(piece.is_empty() || !out.is_empty(), "nothing is held back");
                    sent.extend_from_slice(&out);
                }
                if ends_alone || pieces.is_empty() {
                    sent.extend_from_slice(&encoder.push(b"", true).unwrap());
                }
                let mut back = Vec::new();
                match coding {
                    "br" => brotli::Decompressor::new(&sent[..], 4096).read_to_end(&mut back).unwrap(),
                    "zstd" => zstd::Decoder::new(&sent[..]).unwrap().read_to_end(&mut back).unwrap(),
                    _ => flate2::read::GzDecoder::new(&sent[..]).read_to_end(&mut back).unwrap(),
                };
                prop_assert_eq!(back, pieces.concat());
            }
        }
    }
}
