//! What passes the gate and what does not; the always and never rules as properties.
use super::chunks::{ChunkFault, Chunks};
use super::head::{Framing, HeadFault, judge};
use super::scan::{Scan, ScanFault};
use gateway_config::model::HeadLimits;
use proptest::prelude::*;
use std::time::Duration;

const LIMITS: HeadLimits = HeadLimits {
    line: 8192,
    fields: 16384,
    count: 64,
    timeout: Duration::from_secs(30),
};

fn head(text: &str) -> Result<Framing, HeadFault> {
    match Scan::default().find(text.as_bytes(), &LIMITS) {
        Ok(Some(range)) => judge(&text.as_bytes()[range], 64).map(|judged| judged.framing),
        Ok(None) => panic!("no end found"),
        Err(ScanFault::Head(fault)) => Err(fault),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_limits_of_a_head_are_told_apart() {
    let find = |text: String| Scan::default().find(text.as_bytes(), &LIMITS);
    let line = |length: usize| format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(length - 14));
    assert!(find(line(8192)).unwrap().is_some());
    assert_eq!(find(line(8193)), Err(ScanFault::Line));
    assert_eq!(find("a".repeat(8193)), Err(ScanFault::Line));
    let fields = |length: usize| format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(length - 3));
    assert!(find(fields(16382)).unwrap().is_some());
    assert_eq!(find(fields(16385)), Err(ScanFault::Fields));
    let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: 1\r\n".repeat(count));
    assert!(find(many(64)).unwrap().is_some());
    assert_eq!(find(many(65)), Err(ScanFault::Fields));
    assert_eq!(
        find("\r\nGET / HTTP/1.1\r\n\r\n".to_owned()),
        Ok(Some(2..20))
    );
    assert_eq!(
        find("\r\n".repeat(9)),
        Err(ScanFault::Head(HeadFault::RequestLine))
    );
}

#[test]
fn a_plain_head_passes_as_it_came() {
    let text = "GET /a?b HTTP/1.1\r\nHost: a.test:80\r\n\r\n";
    let judged = judge(text.as_bytes(), 64).unwrap();
    assert_eq!(judged.framing, Framing::None);
    assert_eq!(&*judged.bytes, text.as_bytes());
}

#[test]
fn lengths_are_digits_and_stand_once() {
    let with = |fields: &str| head(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    assert_eq!(with("Content-Length: 003\r\n"), Ok(Framing::Counted(3)));
    assert_eq!(with("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
    for bad in ["", "+3", "-1", "0x3", "3 3", "18446744073709551619"] {
        assert_eq!(
            with(&format!("Content-Length: {bad}\r\n")),
            Err(HeadFault::Length),
            "{bad}"
        );
    }
    for both in [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 6\r\nTransfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip\r\nContent-Length: +6\r\n",
        "Content-Length: 6\r\nContent-Length: 6\r\n",
        "Content-Length: 6, 6\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ] {
        assert_eq!(with(both), Err(HeadFault::AmbiguousLength), "{both}");
    }
    assert_eq!(
        with("Transfer-Encoding: gzip, chunked\r\n"),
        Err(HeadFault::TransferCoding)
    );
    assert_eq!(
        with("Transfer-Encoding: identity\r\n"),
        Err(HeadFault::TransferCoding)
    );
}

#[test]
fn lines_and_fields_are_never_repaired() {
    for (text, fault) in [
        ("GET / HTTP/1.1\nHost: a\n\n", HeadFault::Line),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
            HeadFault::Line,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
            HeadFault::Line,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", HeadFault::Field),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", HeadFault::Field),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", HeadFault::Field),
        ("GET / HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n", HeadFault::Field),
        ("GET / HTTP/1.1\r\nHost\r\n\r\n", HeadFault::Field),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n",
            HeadFault::Field,
        ),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", HeadFault::RequestLine),
        (
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", HeadFault::RequestLine),
        (
            "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", HeadFault::RequestLine),
        (
            "GET /a<b HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
        (
            "GET /a?\"b HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
        (
            "GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
        (
            "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
            HeadFault::RequestLine,
        ),
    ] {
        assert_eq!(head(text), Err(fault), "{text:?}");
    }
}

#[test]
fn one_authority_and_no_other() {
    for (text, right) in [
        ("GET / HTTP/1.1\r\n\r\n", Err(HeadFault::Host)),
        ("GET / HTTP/1.0\r\n\r\n", Ok(Framing::None)),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            Err(HeadFault::Host),
        ),
        (
            "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
            Err(HeadFault::Host),
        ),
        (
            "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        (
            "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        (
            "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        (
            "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
            Ok(Framing::None),
        ),
        (
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        (
            "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        (
            "CONNECT a:443 HTTP/1.1\r\nHost: b\r\n\r\n",
            Ok(Framing::None),
        ),
        ("CONNECT /a HTTP/1.1\r\nHost: b\r\n\r\n", Ok(Framing::None)),
        (
            "CONNECT a@b:1 HTTP/1.1\r\nHost: b\r\n\r\n",
            Err(HeadFault::Authority),
        ),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Ok(Framing::None)),
        (
            "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            Err(HeadFault::RequestLine),
        ),
    ] {
        assert_eq!(head(text), right, "{text:?}");
    }
}

#[test]
fn an_absolute_target_replaces_the_host() {
    let text = b"GET HTTP://a.test?x HTTP/1.1\r\nHost: b.test\r\nA: 1\r\n\r\n";
    let judged = judge(text, 64).unwrap();
    let right = "GET /?x HTTP/1.1\r\nHost: a.test\r\nA: 1\r\n\r\n";
    assert_eq!(std::str::from_utf8(&judged.bytes).unwrap(), right);
}

#[test]
fn too_many_fields_are_told_apart() {
    let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: 1\r\n".repeat(64));
    assert_eq!(judge(text.as_bytes(), 64), Err(HeadFault::TooMany));
}

fn chunks(bytes: &[u8]) -> Result<(usize, bool), ChunkFault> {
    let mut chunks = Chunks::new();
    let taken = chunks.accept(bytes)?;
    Ok((taken, chunks.is_done()))
}

#[test]
fn a_chunked_body_ends_where_it_ends() {
    assert_eq!(chunks(b"3\r\nabc\r\n0\r\n\r\nGET /"), Ok((13, true)));
    assert_eq!(
        chunks(b"3;a=\"b\"\r\nabc\r\n0\r\nX:y\r\n\r\nG"),
        Ok((24, true))
    );
    assert_eq!(chunks(b"003\r\nabc\r\n"), Ok((10, false)));
    assert_eq!(chunks(b"0\r\nX:y\r\n\r\nGET /admin"), Ok((10, true)));
}

#[test]
fn a_chunked_body_is_never_repaired() {
    for (bytes, fault) in [
        (&b"3\r\nabc\r\n0\r\nXX\r\n"[..], ChunkFault::Trailer),
        (b"3\r\nabcXX", ChunkFault::Line),
        (b"3\nabc", ChunkFault::Size),
        (b"0x3\r\nabc", ChunkFault::Size),
        (b"\r\n", ChunkFault::Size),
        (b"-1\r\n", ChunkFault::Size),
        (b"FFFFFFFFFFFFFFFF\r\n", ChunkFault::Size),
        (b"11111111111111111\r\n", ChunkFault::Size),
        (b"3;a\rb\r\n", ChunkFault::Line),
        (b"3;\"\r\n", ChunkFault::Line),
        (b"0\r\n X:y\r\n\r\n", ChunkFault::Trailer),
        (b"3 4\r\nabc", ChunkFault::Line),
        (b"3\t\tx\r\nabc", ChunkFault::Line),
    ] {
        assert_eq!(
            chunks(bytes),
            Err(fault),
            "{:?}",
            bytes.escape_ascii().to_string()
        );
    }
    assert_eq!(chunks(&[b'0'; 8192]), Err(ChunkFault::Size));
    let long = [&b"3;"[..], &[b'a'; 65536]].concat();
    assert_eq!(chunks(&long), Err(ChunkFault::TooLong));
}

proptest! {
    #[test]
    fn no_bytes_make_the_gate_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = judge(&bytes, 64);
        let _ = Scan::default().find(&bytes, &LIMITS);
        let _ = chunks(&bytes);
    }

    #[test]
    fn the_end_of_a_head_does_not_depend_on_how_it_is_cut(cut in 0_usize..40) {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        let mut scan = Scan::default();
        let cut = cut.min(text.len());
        let found = match scan.find(&text[..cut], &LIMITS).unwrap() {
            Some(range) => range,
            None => scan.find(text, &LIMITS).unwrap().unwrap(),
        };
        prop_assert_eq!(found, 0..text.len() - 4);
    }

    #[test]
    fn the_verdict_on_a_body_does_not_depend_on_how_it_is_cut(
        data in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..20), 0..5),
        cut in 0_usize..200,
        after in "[A-Z]{0,8}",
    ) {
        let mut body = Vec::new();
        for piece in &data {
            body.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            body.extend_from_slice(piece);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        let end = body.len();
        body.extend_from_slice(after.as_bytes());
        let cut = cut.min(body.len());
        let mut chunks = Chunks::new();
        let first = chunks.accept(&body[..cut]).unwrap();
        let second = chunks.accept(&body[first..]).unwrap();
        prop_assert_eq!(first + second, end);
        prop_assert!(chunks.is_done());
    }

    #[test]
    fn a_head_that_passes_ends_each_line_once(
        name in "[A-Za-z-]{1,10}", value in "[ -~]{0,20}", bad in "[\\r\\n\\x00]{0,1}",
    ) {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: {value}{bad}\r\n\r\n");
        let found = Scan::default().find(text.as_bytes(), &LIMITS);
        let passed = matches!(&found, Ok(Some(range)) if range.end == text.len());
        prop_assert!(!passed || bad.is_empty());
    }
}
