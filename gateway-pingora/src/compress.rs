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

use crate::body_memory::{BodyMemory, Held};

/// Levels at which a gateway can keep up: what more would save costs more than sending it.
const GZIP_LEVEL: u32 = 5;
const BROTLI_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 3;
/// The window of brotli and zstd, as a power of two in bytes: 128 KiB, which bounds the memory of an
/// answer, here and at the client (RFC 9659).
const WINDOW: u32 = 17;
/// The tables of zstd, as powers of two in entries: larger ones cost twice the memory for a hundredth of the
/// answer.
const ZSTD_HASH: u32 = 15;
const ZSTD_CHAIN: u32 = 14;
/// The buffer of brotli, in bytes.
const BROTLI_BUFFER: usize = 4096;
/// Fields that hold a digest of the bytes that were coded.
const DIGESTS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];

/// The share of `limits.body_memory` that answers may take for being compressed: one in so many.
const SHARE: u64 = 4;

/// An answer that is being compressed, and the memory that this takes.
pub(crate) struct Encoder {
    coder: Coder,
    _held: Held,
}

enum Coder {
    /// Brotli, RFC 7932; `None` once it has ended.
    Brotli(Option<Box<brotli::CompressorWriter<Vec<u8>>>>),
    /// gzip, RFC 1952.
    Gzip(Box<GzEncoder<Vec<u8>>>),
    /// Zstandard, RFC 8878.
    Zstd(Box<zstd::stream::write::Encoder<'static, Vec<u8>>>),
}

/// Bytes that a coder takes, as measured with incompressible text in pieces of 64 KiB; they do not grow with
/// the answer.
fn cost(coding: &str) -> u64 {
    match coding {
        "br" => 864 << 10,
        "zstd" => 656 << 10,
        _ => 400 << 10,
    }
}

impl Encoder {
    /// `None`: there is no room for one more, or no such coding.
    fn of(coding: &str, mut held: Held) -> Option<Self> {
        let has_room = held.grow_to(cost(coding));
        let coder = has_room.then(|| Coder::of(coding)).flatten()?;
        Some(Encoder { coder, _held: held })
    }

    /// What the client gets for a piece of the answer: all of it, so that nothing is held back.
    ///
    /// # Errors
    /// What a library says that cannot go on.
    pub(crate) fn push(&mut self, piece: &[u8], ends: bool) -> io::Result<Bytes> {
        self.coder.push(piece, ends)
    }
}

impl Coder {
    fn of(coding: &str) -> Option<Self> {
        match coding {
            "br" => {
                let made =
                    brotli::CompressorWriter::new(Vec::new(), BROTLI_BUFFER, BROTLI_LEVEL, WINDOW);
                Some(Coder::Brotli(Some(Box::new(made))))
            }
            "gzip" => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                Some(Coder::Gzip(Box::new(GzEncoder::new(Vec::new(), level))))
            }
            "zstd" => {
                let mut made = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL).ok()?;
                made.set_parameter(CParameter::WindowLog(WINDOW)).ok()?;
                made.set_parameter(CParameter::HashLog(ZSTD_HASH)).ok()?;
                made.set_parameter(CParameter::ChainLog(ZSTD_CHAIN)).ok()?;
                Some(Coder::Zstd(Box::new(made)))
            }
            _ => None,
        }
    }

    fn push(&mut self, piece: &[u8], ends: bool) -> io::Result<Bytes> {
        let out = match self {
            Coder::Brotli(None) => Vec::new(),
            Coder::Brotli(Some(encoder)) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            Coder::Gzip(encoder) => {
                encoder.write_all(piece)?;
                match ends {
                    true => encoder.try_finish()?,
                    false => encoder.flush()?,
                }
                std::mem::take(encoder.get_mut())
            }
            Coder::Zstd(encoder) => {
                encoder.write_all(piece)?;
                match ends {
                    true => encoder.do_finish()?,
                    false => encoder.flush()?,
                }
                std::mem::take(encoder.get_mut())
            }
        };
        match self {
            Coder::Brotli(encoder) if ends => {
                let last = encoder.take().map(|encoder| encoder.into_inner());
                Ok([out, last.unwrap_or_default()].concat().into())
            }
            _ => Ok(out.into()),
        }
    }
}

/// Memory for one more answer that is compressed, out of the `all` that `limits.body_memory` allows.
pub(crate) fn room(memory: &BodyMemory, all: u64) -> Held {
    memory.hold(all / SHARE)
}

/// Prepares the fields of an answer that will be compressed, or of one to a HEAD that would be; `None`: what
/// comes after them goes as it came. Without room an answer is passed on as it is.
pub(crate) fn begin(
    how: &Compression,
    request: &RequestHeader,
    status: StatusCode,
    fields: &mut HeaderMap,
    room: Held,
) -> Option<Encoder> {
    if !is_suitable(how, status, fields) {
        return None;
    }
    vary(fields);
    if status == StatusCode::NOT_MODIFIED {
        confirm(how, request, fields);
        return None;
    }
    // HTTP/1.0 has no way to end a body that was compressed.
    if request.version == Version::HTTP_10 {
        return None;
    }
    let wanted = preferred_codings(&request.headers, &how.codings);
    let coding = wanted.first()?;
    // RFC 9110 §9.3.2: a HEAD is told what a GET would be, and has no body to be compressed.
    let encoder = match request.method == Method::HEAD {
        true => None,
        false => Some(Encoder::of(coding, room)?),
    };
    fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    fields.remove(CONTENT_LENGTH);
    // A range of what was not compressed is none of what is.
    fields.remove(ACCEPT_RANGES);
    // RFC 9530 §2, §3: of the bytes that were coded otherwise.
    for digest in DIGESTS {
        fields.remove(digest);
    }
    weaken(fields);
    encoder
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
            let room = BodyMemory::default().hold(1 << 20);
            let encoder = begin(&how(), &asked(accepts), StatusCode::OK, &mut fields, room);
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

    fn told(method: &str, room: Held) -> (HeaderMap, Option<Encoder>) {
        let mut fields = fields(&[
            ("content-type", "text/css"),
            ("content-length", "200"),
            ("etag", "\"a\""),
        ]);
        let mut request = asked("br");
        request.set_method(method.parse().unwrap());
        let encoder = begin(&how(), &request, StatusCode::OK, &mut fields, room);
        (fields, encoder)
    }

    #[test]
    fn a_head_is_told_what_a_get_would_be() {
        let memory = BodyMemory::default();
        let (get, encoder) = told("GET", memory.hold(1 << 20));
        assert!(encoder.is_some());
        let (head, encoder) = told("HEAD", memory.hold(0));
        assert!(encoder.is_none());
        assert_eq!(head, get);
        assert_eq!(head[CONTENT_ENCODING], "br");
        assert!(!head.contains_key(CONTENT_LENGTH));
    }

    #[test]
    fn what_there_is_no_room_for_goes_as_it_came_until_another_has_ended() {
        let (memory, all) = (BodyMemory::default(), SHARE * 2 * cost("br"));
        let mut encoders = Vec::new();
        for has_room in [true, true, false] {
            let (fields, encoder) = told("GET", room(&memory, all));
            assert_eq!(encoder.is_some(), has_room);
            assert_eq!(fields.contains_key(CONTENT_ENCODING), has_room);
            assert_eq!(fields.contains_key(CONTENT_LENGTH), !has_room);
            assert_eq!(fields[VARY], "Accept-Encoding");
            encoders.extend(encoder);
        }
        encoders.pop();
        assert!(told("GET", room(&memory, all)).1.is_some());
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2000), 0..8),
            ends_alone in any::<bool>(),
        ) {
            for coding in ["br", "gzip", "zstd"] {
                let mut encoder = Coder::of(coding).unwrap();
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
