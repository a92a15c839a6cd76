//! Judges the bytes of one HTTP/1 request head; strict where parsers differ.
//!
//! Pure: it is given a whole head, up to and including the empty line. Reading it in time and
//! within its limits is the stream's work; which request it is, is the steps'.
//!
//! Invariant: a head that passes means the same to every parser behind this one.
//!
//! Source: RFC 9112 §2–§6, RFC 9110 §5, §7.2, §8.6; adr/0015.

use std::borrow::Cow;

/// Most field lines a head may have at all; a listener may allow fewer.
pub(crate) const MAX_FIELDS: usize = 256;

/// Why a head is refused. One variant is one sentence to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadFault {
    /// `Content-Length` beside `Transfer-Encoding`, or more than one of the former (§6.3).
    AmbiguousLength,
    /// An authority that is not `host[:port]` (RFC 9110 §7.2), or user information in it.
    Authority,
    /// A field line that is not `name: value` (§5): folded, without a colon, with controls.
    Field,
    /// HTTP/1.1 without `Host`, or any request with several (§3.2).
    Host,
    /// A length that is not decimal digits, or does not fit 64 bits (RFC 9110 §8.6).
    Length,
    /// A bare CR, a bare LF or a NUL (§2.2).
    Line,
    /// A request line that is not `method target HTTP/1.x` with single spaces (§3).
    RequestLine,
    /// A transfer coding other than `chunked` alone (§6.1).
    TransferCoding,
    /// `Transfer-Encoding` in a message of HTTP/1.0 (§6.1).
    TransferCodingVersion,
    /// More field lines than the listener allows.
    TooMany,
}

impl HeadFault {
    /// What the client is told.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            HeadFault::AmbiguousLength => "the length of the body is given more than once",
            HeadFault::Authority => "the authority is not a host with an optional port",
            HeadFault::Field => "a field line is malformed",
            HeadFault::Host => "a request must carry exactly one Host",
            HeadFault::Length => "Content-Length is not a decimal number in range",
            HeadFault::Line => "a line of the request head does not end in CRLF",
            HeadFault::RequestLine => "the request line is malformed",
            HeadFault::TooMany => "the request head has too many fields",
            HeadFault::TransferCoding => "the transfer coding is not supported",
            HeadFault::TransferCodingVersion => "an HTTP/1.0 request has no transfer coding",
        }
    }
}

/// How the body after a head is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In chunks.
    Chunked,
    /// This many bytes.
    Counted(u64),
    /// There is none.
    None,
}

/// A head that passed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judged<'a> {
    /// How its body is framed.
    pub(crate) framing: Framing,
    /// The bytes to hand on: as they came, or with an absolute target made one with its `Host`.
    pub(crate) bytes: Cow<'a, [u8]>,
}

/// Whether a byte may stand in a token (RFC 9110 §5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Judges a whole head, whose line ends [`scan`](super::scan) has judged, with at most `max_fields`
/// field lines.
///
/// # Errors
/// The first fault found; nothing of such a head may be handed on.
pub(crate) fn judge(head: &[u8], max_fields: usize) -> Result<Judged<'_>, HeadFault> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let allowed = fields
        .get_mut(..max_fields.min(MAX_FIELDS))
        .ok_or(HeadFault::TooMany)?;
    let mut request = httparse::Request::new(allowed);
    match request.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err(HeadFault::Line),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadFault::TooMany),
        Err(httparse::Error::HeaderName | httparse::Error::HeaderValue) => {
            return Err(HeadFault::Field);
        }
        Err(_) => return Err(HeadFault::RequestLine),
    }
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(HeadFault::RequestLine);
    };
    fields_are_visible(request.headers)?;
    let host = host(request.headers, minor)?;
    let framing = framing(request.headers, minor)?;
    let bytes = match form(method, target)? {
        Form::Absolute { authority, rest } => {
            let slash = if rest.starts_with('/') { "" } else { "/" };
            let target = format!("{slash}{rest}");
            Cow::Owned(with_host(
                method,
                &target,
                authority,
                minor,
                request.headers,
            ))
        }
        // Never connected to; said twice it would be compared, and refused in another voice.
        Form::Authority => Cow::Owned(with_host(method, target, target, minor, request.headers)),
        Form::Other => Cow::Borrowed(head),
    };
    if let Some(host) = host {
        authority(host)?;
    }
    Ok(Judged { framing, bytes })
}

/// RFC 9110 §5.5: a value holds no control character but a tab.
fn fields_are_visible(fields: &[httparse::Header<'_>]) -> Result<(), HeadFault> {
    let visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~' | 0x80..);
    match fields
        .iter()
        .all(|field| !field.name.is_empty() && field.value.iter().all(visible))
    {
        true => Ok(()),
        false => Err(HeadFault::Field),
    }
}

/// RFC 9112 §3.2: one `Host`, which only HTTP/1.0 may leave out.
fn host<'a>(fields: &[httparse::Header<'a>], minor: u8) -> Result<Option<&'a [u8]>, HeadFault> {
    let mut hosts = fields
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Ok(Some(host.value)),
        (None, _) if minor == 0 => Ok(None),
        _ => Err(HeadFault::Host),
    }
}

/// RFC 9112 §6.3: how the body is framed, refusing whatever could be read in two ways.
fn framing(fields: &[httparse::Header<'_>], minor: u8) -> Result<Framing, HeadFault> {
    let is = |field: &&httparse::Header<'_>, name: &str| field.name.eq_ignore_ascii_case(name);
    let mut lengths = fields.iter().filter(|field| is(field, "content-length"));
    let mut codings = fields.iter().filter(|field| is(field, "transfer-encoding"));
    let found = (lengths.next(), codings.next());
    if lengths.next().is_some() || codings.next().is_some() {
        return Err(HeadFault::AmbiguousLength);
    }
    match found {
        (None, None) => Ok(Framing::None),
        (Some(_), Some(_)) => Err(HeadFault::AmbiguousLength),
        (Some(field), None) => length(field.value).map(Framing::Counted),
        (None, Some(_)) if minor == 0 => Err(HeadFault::TransferCodingVersion),
        (None, Some(field)) if field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
            Ok(Framing::Chunked)
        }
        (None, Some(_)) => Err(HeadFault::TransferCoding),
    }
}

/// RFC 9110 §8.6: `1*DIGIT`. Leading zeros are digits.
fn length(value: &[u8]) -> Result<u64, HeadFault> {
    if value.contains(&b',') {
        return Err(HeadFault::AmbiguousLength);
    }
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(HeadFault::Length);
    }
    value
        .iter()
        .try_fold(0_u64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
        .ok_or(HeadFault::Length)
}

/// The form of a request target (RFC 9112 §3.2).
enum Form<'a> {
    /// `http://authority/rest`.
    Absolute { authority: &'a str, rest: &'a str },
    /// `host:port`, of CONNECT.
    Authority,
    /// Origin-form, or `*` of OPTIONS.
    Other,
}

fn form<'a>(method: &str, target: &'a str) -> Result<Form<'a>, HeadFault> {
    if !target.bytes().all(is_target) {
        return Err(HeadFault::RequestLine);
    }
    match method {
        _ if target.starts_with('/') => Ok(Form::Other),
        "CONNECT" => authority(target.as_bytes()).map(|()| Form::Authority),
        "OPTIONS" if target == "*" => Ok(Form::Other),
        _ => {
            let (scheme, after) = target.split_once("://").ok_or(HeadFault::RequestLine)?;
            if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
                return Err(HeadFault::RequestLine);
            }
            let end = after.find(['/', '?']).unwrap_or(after.len());
            let (found, rest) = after.split_at(end);
            authority(found.as_bytes())?;
            if found.is_empty() {
                Err(HeadFault::Authority)
            } else {
                Ok(Form::Absolute {
                    authority: found,
                    rest,
                })
            }
        }
    }
}

/// RFC 3986 §2: what may stand in a target. A fragment may not (RFC 9112 §3.2), and whatever else is
/// refused rather than repaired, as §3.2 there asks.
pub(crate) fn is_target(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:@/?[]".contains(&byte)
}

/// RFC 9110 §7.2: `uri-host [ ":" port ]`; empty where a target has no authority.
pub(crate) fn authority(value: &[u8]) -> Result<(), HeadFault> {
    let name_end = match value.first() {
        Some(b'[') => {
            1 + value
                .iter()
                .position(|&byte| byte == b']')
                .ok_or(HeadFault::Authority)?
        }
        _ => value
            .iter()
            .position(|&byte| byte == b':')
            .unwrap_or(value.len()),
    };
    let (name, port) = value
        .split_at_checked(name_end)
        .ok_or(HeadFault::Authority)?;
    let name_is_legal = match name {
        [b'[', inside @ .., b']'] => {
            std::str::from_utf8(inside).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
        }
        _ => name
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte)),
    };
    let port_is_legal = match port {
        [] => true,
        [b':', digits @ ..] => {
            digits.len() <= 5
                && digits.iter().all(u8::is_ascii_digit)
                && std::str::from_utf8(digits)
                    .is_ok_and(|text| text.is_empty() || text.parse::<u16>().is_ok())
        }
        _ => false,
    };
    if name_is_legal && port_is_legal {
        Ok(())
    } else {
        Err(HeadFault::Authority)
    }
}

/// RFC 9112 §3.2.2: the authority of a target replaces `Host`.
fn with_host(
    method: &str,
    target: &str,
    authority: &str,
    minor: u8,
    fields: &[httparse::Header<'_>],
) -> Vec<u8> {
    let mut head =
        format!("{method} {target} HTTP/1.{minor}\r\nHost: {authority}\r\n").into_bytes();
    for field in fields
        .iter()
        .filter(|field| !field.name.eq_ignore_ascii_case("host"))
    {
        head.extend_from_slice(field.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(field.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}
