//! Step 2: is the request one for us? HTTP/1 heads have passed the gate; those of HTTP/2 are held to
//! the same limits here.

use gateway_config::canonical::split_port;
use gateway_core::failure::Failure;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderValue, Method, Version};
use pingora_http::RequestHeader;
use pingora_proxy::Session;

use crate::ctx::{Admitted, Ctx};
use crate::fields::{Nominated, authority, is_about_the_client};
use crate::gate::head::{self, HeadFault};

/// Lets a request pass that keeps the limits of its listener and is for a site that takes the client.
///
/// # Errors
/// [`Failure::LineTooLong`], [`Failure::FieldsTooLarge`], [`Failure::Malformed`];
/// [`Failure::TooManyInFlight`], [`Failure::Misdirected`], [`Failure::NotLetIn`],
/// [`Failure::RateExceeded`].
pub(crate) fn run(session: &Session, ctx: &mut Ctx) -> Result<(), Failure> {
    let Some(admitted) = &mut ctx.admitted else {
        return Err(Failure::NoSuchRoute);
    };
    let request = session.req_header();
    if request.version == Version::HTTP_2 {
        keeps_limits(admitted, request)?;
        is_addressed(request)?;
        has_bare_values(&request.headers)?;
        has_one_length(&request.headers)?;
    }
    let listening = &admitted.client.listening;
    if let Some(bound) = &listening.settings().in_flight {
        let status = bound.when_full;
        let counted = listening.begin_request(bound.max);
        admitted.counted = Some(counted.ok_or(Failure::TooManyInFlight { status })?);
    }
    let site = &admitted.site.site;
    if site.name.is_empty() {
        return Err(Failure::Misdirected);
    }
    if !is_covered(admitted, request) {
        return Err(Failure::Misdirected);
    }
    if site.request_fields.is_none() {
        leaves_ours(&request.headers)?;
    }
    let networks = site.allow_from.as_ref();
    if networks.is_some_and(|networks| !networks.contains(admitted.origin.client)) {
        return Err(Failure::NotLetIn);
    }
    admitted.site.count(admitted.origin.client, ctx.started)
}

/// Source: RFC 9113 §10.5.1.
fn keeps_limits(admitted: &Admitted, request: &RequestHeader) -> Result<(), Failure> {
    let settings = admitted.client.listening.settings();
    let limits = &settings.head;
    // As long as the same request would be in HTTP/1: line breaks, separators and the version.
    let line = request.method.as_str().len() + request.raw_path().len() + "  HTTP/1.1".len();
    let fields: usize = request
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();

    if line > limits.line as usize {
        return Err(Failure::LineTooLong);
    }
    if fields > limits.fields as usize || request.headers.len() > usize::from(limits.count) {
        return Err(Failure::FieldsTooLarge);
    }
    Ok(())
}

/// RFC 9110 §7.4: over TLS a host is asked for that the certificate covers, unless a trusted proxy asks.
/// An allowlist is there for every name.
fn is_covered(admitted: &Admitted, request: &RequestHeader) -> bool {
    let (host, _) = split_port(authority(request));
    admitted.site.site.is_front_door()
        || admitted.origin.is_trusted
        || admitted.client.may_ask_for(host)
}

/// Path and authority are held to what the gate asks of those of HTTP/1.
fn is_addressed(request: &RequestHeader) -> Result<(), Failure> {
    // RFC 9110 §4.2: what else has an authority is no resource of ours.
    if !matches!(request.uri.scheme_str(), None | Some("http" | "https")) {
        return Err(malformed(HeadFault::RequestLine));
    }
    if request.method != Method::CONNECT && !is_origin_form(&request.method, request.raw_path()) {
        return Err(malformed(HeadFault::RequestLine));
    }
    has_one_authority(request)?;
    let named = request.uri.authority().map(|one| one.as_str().as_bytes());
    let host = request.headers.get(HOST).map(|host| host.as_bytes());
    let mut all = named.into_iter().chain(host);
    all.try_for_each(head::authority).map_err(malformed)
}

/// RFC 9113 §8.2.1: no value begins or ends with white space, which a node would be given as it is.
fn has_bare_values(fields: &HeaderMap) -> Result<(), Failure> {
    let is_bare = |value: &HeaderValue| value.as_bytes().trim_ascii() == value.as_bytes();
    match fields.values().all(is_bare) {
        true => Ok(()),
        false => Err(malformed(HeadFault::Field)),
    }
}

/// RFC 9110 §8.6: a length that is told more than once, if only the same, is refused as in HTTP/1: a node
/// is not asked which one it takes.
fn has_one_length(fields: &HeaderMap) -> Result<(), Failure> {
    match fields.get_all(CONTENT_LENGTH).iter().count() {
        0 | 1 => Ok(()),
        _ => Err(malformed(HeadFault::AmbiguousLength)),
    }
}

fn malformed(fault: HeadFault) -> Failure {
    Failure::Malformed {
        because: fault.sentence(),
    }
}

/// RFC 9113 §8.3.1: a path, or `*` of OPTIONS.
fn is_origin_form(method: &Method, target: &[u8]) -> bool {
    match target {
        b"*" => *method == Method::OPTIONS,
        [b'/', ..] => target.iter().copied().all(head::is_target),
        _ => false,
    }
}

/// RFC 9113 §8.3.1: what `Host` says beside `:authority` is the same; RFC 3986 §6.2.3: a port that is
/// the usual one of the scheme, or empty, says nothing.
fn has_one_authority(request: &RequestHeader) -> Result<(), Failure> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => None,
        (Some(host), None) => Some(host.to_str().map_err(|_| two_authorities())?),
        (Some(_), Some(_)) => return Err(two_authorities()),
    };
    let bare = |text: &str| {
        let text = text.to_ascii_lowercase();
        let usual = match request.uri.scheme_str() {
            Some("http") => ":80",
            _ => ":443",
        };
        let cut = text.strip_suffix(usual).or_else(|| text.strip_suffix(':'));
        cut.map_or_else(|| text.clone(), str::to_owned)
    };
    match (request.uri.authority(), host) {
        (Some(authority), Some(host)) if bare(authority.as_str()) != bare(host) => {
            Err(two_authorities())
        }
        (None, None) => Err(Failure::Malformed {
            because: "a request must name its authority",
        }),
        _ => Ok(()),
    }
}

fn two_authorities() -> Failure {
    Failure::Malformed {
        because: "Host and :authority differ",
    }
}

/// A client cannot have fields taken out that speak of itself.
fn leaves_ours(fields: &HeaderMap) -> Result<(), Failure> {
    match Nominated::of(fields).any(is_about_the_client) {
        true => Err(Failure::Malformed {
            because: "Connection names a field that does not end with this connection",
        }),
        false => Ok(()),
    }
}
