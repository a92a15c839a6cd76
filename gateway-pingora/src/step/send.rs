//! Step 6: what the node is sent. The request is built anew, from the route and from the fields that
//! may travel; nothing else of what the client sent crosses.
//!
//! Source: RFC 9110 §7.6; RFC 9112 §3.2, §6.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use gateway_config::model::{Body, ForwardedFor, HostSent, NodeHost};
use gateway_core::deadline::Budget;
use gateway_core::failure::Failure;
use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, FORWARDED, HOST, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{HeaderMap, Method, Uri, Version};
use pingora_core::{Error, ErrorType, OrErr, Result};
use pingora_http::RequestHeader;
use pingora_proxy::Session;

use crate::clock;
use crate::connections_out::{ConnectionsOut, Found};
use crate::ctx::{Admitted, Attempt, Ctx, Reached, Routed};
use crate::fields::{
    all_lines, authority, carried, is_about_the_client, is_spelled, takes_trailers,
};
use crate::ids::REQUEST_ID;
use crate::replay::Replay;
use crate::serving::Shared;

/// What is set besides where all fields travel.
pub(crate) static SET_WHERE_ALL_TRAVEL: [HeaderName; 2] = [FORWARDED, FORWARDED_HOST];
/// What is set whatever the client sent.
pub(crate) static SET: [HeaderName; 5] = [HOST, VIA, FORWARDED_FOR, FORWARDED_PROTO, REQUEST_ID];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What is wrong when a value we made is not one.
const FAULT: ErrorType = ErrorType::InternalError;

/// Takes the connection: the last request it may carry closes it.
///
/// # Errors
/// When the node has closed it while it rested. Nothing was written; the same node is dialled again.
pub(crate) fn take(out: &ConnectionsOut, is_reused: bool, fd: i32, ctx: &mut Ctx) -> Result<()> {
    let found = out.take(fd, is_reused);
    let (Some(routed), Some(attempt)) = (&ctx.routed, &mut ctx.attempt) else {
        return Ok(());
    };
    attempt.turn = None;
    match found {
        Found::Open(count) => {
            attempt.is_last_on_connection = count >= routed.pool.pool.keep_requests;
            attempt.connection = Some(fd);
            Ok(())
        }
        Found::Ended => {
            attempt.reached = Reached::Ended;
            Error::e_explain(ErrorType::ConnectionClosed, "closed while it rested")
        }
    }
}

/// Builds the request for the node. When this returns, the first write is entered: from here on the
/// request counts as sent.
///
/// It is put together from plain parts: Pingora's own setters parse each name again, at a third of
/// what the whole step costs (adr/0014).
///
/// # Errors
/// Only when a value we made is no field value, which is a fault of ours.
pub(crate) fn run(
    out: &ConnectionsOut,
    session: &mut Session,
    request: &mut RequestHeader,
    ctx: &mut Ctx,
) -> Result<()> {
    let version = node_version(out, request, ctx.attempt.as_ref());
    let (admitted, routed) = (ctx.admitted()?, ctx.routed()?);
    let client = session.req_header();
    let mut fields = HeaderMap::with_capacity(16);
    fields.insert(HOST, host(client, ctx.attempt.as_ref(), admitted, routed)?);
    let listed = admitted.site.request_fields.as_deref();
    let is_believed = admitted.origin.is_trusted;
    let listener = admitted.client.listening.settings();
    let told = listener.client_ip_header.as_deref();
    let is_claim = |name: &[u8]| {
        is_about_the_client(name) || told.is_some_and(|told| is_spelled(name, told.as_bytes()))
    };
    let travels = |(name, _): &(&HeaderName, &HeaderValue)| {
        let name_bytes = name.as_str().as_bytes();
        let is_twin = name_bytes.contains(&b'_');
        !is_ours(name) && ((is_believed && !is_twin) || !is_claim(name_bytes))
    };
    for (name, value) in carried(&client.headers, listed).filter(travels) {
        fields.append(name.clone(), value.clone());
    }
    join_cookies(client, &mut fields);
    let buffered = ctx.body.as_ref().map(|body| body.bytes.len());
    set_framing(client, buffered, routed, &mut fields);
    if version == Version::HTTP_2 {
        set_for_http2(client, &mut fields);
    } else {
        set_connection(ctx.attempt.as_ref(), routed, &mut fields);
    }
    set_forwarding(client, admitted, &mut fields)?;
    admitted.site.request_edits.change(&mut fields);
    let asks_for = fields.get(UPGRADE).cloned();

    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = client.method.clone();
    parts.uri = Uri::try_from(routed.path_and_query.as_str()).or_err(FAULT, "the target")?;
    parts.version = version;
    parts.headers = fields;
    *request = parts.into();
    if let Some(attempt) = &mut ctx.attempt {
        attempt.reached = Reached::Sent;
        attempt.asks_for = asks_for;
    }
    let is_passed_on = ctx.body.is_none();
    if is_passed_on && version == Version::HTTP_2 && session.is_body_empty() {
        // It ends with its head, and `body` is not asked.
        begin_to_wait(ctx);
    }
    Ok(())
}

/// What the node speaks: Pingora has turned the head into that version before it asks.
fn node_version(
    out: &ConnectionsOut,
    request: &RequestHeader,
    attempt: Option<&Attempt>,
) -> Version {
    if request.version != Version::HTTP_2 {
        return Version::HTTP_11;
    }
    if let Some(fd) = attempt.and_then(|attempt| attempt.connection) {
        out.speaks_http2(fd);
    }
    Version::HTTP_2
}

/// Bytes of one body that are kept where only a node that never began the request, or a connection that
/// had been about to end, would have it sent again: as much as nodes take before they have read any of
/// it (RFC 9113 §6.9.2).
const KEPT_FOR_A_REFUSAL: usize = 1024 * 1024;

/// Supplies a body that was read whole, on each try, in one piece; counts one that is passed on, and
/// supplies what an earlier try was sent of it. Called at the beginning of each try, also without a byte.
///
/// # Errors
/// A body that is passed on and longer than its route takes.
pub(crate) fn body(
    shared: &Shared,
    session: &Session,
    body: &mut Option<Bytes>,
    end: bool,
    ctx: &mut Ctx,
) -> Result<()> {
    // RFC 9112 §7.1: an end is written once. HTTP/2 may say it in a piece without bytes, which would be
    // written as a last chunk of its own; the node would take the second one for another request.
    if end && body.as_ref().is_some_and(Bytes::is_empty) {
        *body = None;
    }
    let taken = session.body_bytes_read() as u64;
    let passed = ctx.admitted.as_ref().map(|admitted| &admitted.passed);
    if let Some(passed) = passed {
        passed.bytes_in.store(taken, Ordering::Relaxed);
    }
    if let Some(buffered) = &ctx.body {
        if end && !buffered.bytes.is_empty() && !session.was_upgraded() {
            *body = Some(buffered.bytes.clone());
        }
        return Ok(());
    }
    let Body::Stream(limit) = ctx.routed()?.body else {
        return Ok(());
    };
    if session.was_upgraded() {
        return Ok(());
    }
    if taken > limit {
        ctx.failure = Some(Failure::BodyTooLarge { limit });
        if let Some(attempt) = &mut ctx.attempt {
            attempt.reached = Reached::Stopped;
        }
        return Error::e_explain(FAULT, "the body is longer than its route takes");
    }
    replay(shared, body, ctx);
    if end {
        begin_to_wait(ctx);
    }
    Ok(())
}

/// Keeps a piece of a body that is passed on, for as long as the request may be sent again, and puts
/// before it what an earlier try was sent. Bodies that are read whole have the other half of the memory.
fn replay(shared: &Shared, body: &mut Option<Bytes>, ctx: &mut Ctx) {
    let (Some(routed), Some(attempt)) = (&mut ctx.routed, &mut ctx.attempt) else {
        return;
    };
    let may_be_needed = attempt.reached != Reached::Answered
        && !ctx.is_body_gone
        && routed.tries.may_go_again(routed.pool.pool.http2);
    let is_behind = !std::mem::replace(&mut attempt.is_caught_up, true) && ctx.replay.is_some();
    if let Some(piece) = body.as_ref().filter(|piece| !piece.is_empty()) {
        ctx.is_body_gone |= !may_be_needed || {
            let kept = ctx.replay.get_or_insert_with(|| {
                let all = shared.serving.load().snapshot.model().limits.body_memory;
                // What waits for a refusal leaves room for what is repeatable.
                let (most, bytes) = match routed.tries.may_repeat() {
                    true => (all / 2, usize::MAX),
                    false => (all / 4, KEPT_FOR_A_REFUSAL),
                };
                Replay::new(shared.body_memory.hold(most), bytes)
            });
            !kept.keep(piece)
        };
    }
    if is_behind && let Some(kept) = &mut ctx.replay {
        *body = Some(kept.whole());
    }
    if ctx.is_body_gone {
        routed.tries.never_again();
        ctx.replay = None;
    }
}

/// A body that was passed on has been passed on: from here on the node has the budget.
fn begin_to_wait(ctx: &mut Ctx) {
    let now = clock::now();
    let (Some(admitted), Some(routed)) = (&ctx.admitted, &mut ctx.routed) else {
        return;
    };
    if std::mem::replace(&mut routed.is_passed_on, true) {
        return;
    }
    routed.budget = Budget::new(now, routed.budget.length());
    let reached = ctx.attempt.as_ref().map(|attempt| attempt.reached);
    match reached {
        // The answer had begun before: it goes on for as long as it moves.
        Some(Reached::Answered) => admitted.watch.silence(routed.answer_gap, now),
        _ => admitted.watch.until(now + routed.budget.length()),
    }
}

/// Fields that are always made here.
pub(crate) fn is_ours(name: &HeaderName) -> bool {
    [
        CONTENT_LENGTH,
        FORWARDED,
        FORWARDED_FOR,
        FORWARDED_HOST,
        FORWARDED_PROTO,
        HOST,
        REQUEST_ID,
    ]
    .contains(name)
}

/// RFC 9113 §8.2.3: cookies that HTTP/2 carried in several fields are one in HTTP/1.
fn join_cookies(client: &RequestHeader, fields: &mut HeaderMap) {
    if client.version != Version::HTTP_2 || fields.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let crumbs: Vec<&[u8]> = fields
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if let Ok(joined) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])) {
        fields.insert(COOKIE, joined);
    }
}

fn host(
    client: &RequestHeader,
    attempt: Option<&Attempt>,
    admitted: &Admitted,
    routed: &Routed,
) -> Result<HeaderValue> {
    let is_clients = match (&routed.pool.pool.host, admitted.site.site.host) {
        (Some(NodeHost::Literal(host)), _) => {
            return HeaderValue::from_str(host).or_err(FAULT, "the host");
        }
        (Some(NodeHost::Client), _) | (None, HostSent::Client) => true,
        (Some(NodeHost::Node), _) | (None, HostSent::Node) => false,
    };
    let made = match (client.headers.get(HOST), authority(client)) {
        (Some(host), _) if is_clients => return Ok(host.clone()),
        (None, authority) if is_clients && !authority.is_empty() => authority,
        _ => attempt.map_or("", |attempt| attempt.slot.node().addr()),
    };
    HeaderValue::from_str(made).or_err(FAULT, "the host")
}

/// RFC 9112 §6: a body read whole has a length, also where the client sent it in chunks; one that
/// is passed on is framed as it came.
fn set_framing(
    client: &RequestHeader,
    buffered: Option<usize>,
    routed: &Routed,
    fields: &mut HeaderMap,
) {
    let length = client.headers.get(CONTENT_LENGTH);
    let was_framed = length.is_some() || client.headers.contains_key(TRANSFER_ENCODING);
    match (routed.body, buffered, length) {
        (Body::Buffer(_), Some(bytes), _)
            if bytes > 0 || was_framed || takes_content(&client.method) =>
        {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        }
        (Body::Stream(_), _, Some(length)) => {
            fields.insert(CONTENT_LENGTH, length.clone());
        }
        (Body::Stream(_), _, None) if was_framed => {
            fields.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        (Body::Buffer(_) | Body::Stream(_), _, _) => {}
    }
}

/// RFC 9110 §8.6: a method that gives meaning to content says so even when there is none.
fn takes_content(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

/// RFC 9113 §8.2.2: no field of one connection only, and of `TE` no other word. That a client takes
/// trailers is passed on: they arrive.
fn set_for_http2(client: &RequestHeader, fields: &mut HeaderMap) {
    fields.remove(TRANSFER_ENCODING);
    if takes_trailers(&client.headers) {
        fields.insert(TE, HeaderValue::from_static("trailers"));
    }
}

fn set_connection(attempt: Option<&Attempt>, routed: &Routed, fields: &mut HeaderMap) {
    if let Some(protocols) = &routed.protocols {
        fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        fields.insert(UPGRADE, protocols.clone());
    } else if attempt.is_some_and(|attempt| attempt.is_last_on_connection) {
        fields.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

fn set_forwarding(
    client: &RequestHeader,
    admitted: &Admitted,
    fields: &mut HeaderMap,
) -> Result<()> {
    let via = match client.version {
        Version::HTTP_10 => "1.0 gatewayd",
        Version::HTTP_2 => "2 gatewayd",
        _ => "1.1 gatewayd",
    };
    // RFC 9110 §7.6.3: what earlier hops wrote stays in front, where it is carried at all.
    fields.append(VIA, HeaderValue::from_static(via));
    fields.insert(REQUEST_ID, admitted.id.clone());
    let listener = admitted.client.listening.settings();
    let told = listener.client_ip_header.as_deref();
    let (site, origin) = (&admitted.site.site, admitted.origin);
    // Where another field says who the client is, nobody has looked after this one.
    let is_other = told.is_some_and(|told| *told != *FORWARDED_FOR.as_str());
    fields.insert(FORWARDED_FOR, hops(client, admitted, is_other)?);
    let proto = if origin.is_https { "https" } else { "http" };
    fields.insert(FORWARDED_PROTO, HeaderValue::from_static(proto));
    if site.request_fields.is_some() {
        return Ok(());
    }
    let host = authority(client);
    let earlier = all_lines(&client.headers, &FORWARDED_HOST);
    let earlier = earlier.filter(|_| origin.is_trusted);
    let asked = earlier.map_or_else(
        || HeaderValue::from_str(host),
        |all| HeaderValue::from_bytes(&all),
    );
    if let Ok(asked) = asked {
        fields.insert(FORWARDED_HOST, asked);
    }
    let own = forwarded(admitted.client.peer.ip(), host, proto);
    let line = match (origin.is_trusted, is_other) {
        (true, false) => after_all_lines(&client.headers, &FORWARDED, own.as_bytes())?,
        (true, true) => {
            let both = format!("{}, {own}", element(origin.client));
            HeaderValue::from_str(&both).or_err(FAULT, "the forwarded elements")?
        }
        (false, _) => HeaderValue::from_str(&own).or_err(FAULT, "the forwarded element")?,
    };
    fields.insert(FORWARDED, line);
    Ok(())
}

/// The addresses of those before the node, ending with who asks us. Where a trusted peer has said
/// elsewhere for whom it asks, they are made of that.
fn hops(client: &RequestHeader, admitted: &Admitted, is_other: bool) -> Result<HeaderValue> {
    let (origin, peer) = (admitted.origin, &admitted.client.address);
    let is_alone = !client.headers.contains_key(FORWARDED_FOR);
    let speaks_for_another = origin.client != admitted.client.peer.ip().to_canonical();
    if origin.is_trusted && (is_other || (is_alone && speaks_for_another)) {
        let before = format!("{}, ", origin.client).into_bytes();
        let all = [&before, peer.as_bytes()].concat();
        return HeaderValue::from_bytes(&all).or_err(FAULT, "the forwarded addresses");
    }
    match origin.is_trusted || admitted.site.site.forwarded_for == ForwardedFor::Append {
        true => after_all_lines(&client.headers, &FORWARDED_FOR, peer.as_bytes()),
        false => Ok(peer.clone()),
    }
}

/// RFC 7239 §6: an IPv6 address is quoted, since it has colons.
fn element(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("for={address}"),
        IpAddr::V6(address) => format!("for=\"[{address}]\""),
    }
}

/// RFC 7239 §4 to §6: what we know of who asks us.
fn forwarded(peer: IpAddr, host: &str, proto: &str) -> String {
    let node = element(peer);
    let is_quotable = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    match !host.is_empty() && host.bytes().all(is_quotable) {
        true => format!("{node};host=\"{host}\";proto={proto}"),
        false => format!("{node};proto={proto}"),
    }
}

/// Everything the client sent, in order, however many lines it was, and then one more.
fn after_all_lines(fields: &HeaderMap, name: &HeaderName, last: &[u8]) -> Result<HeaderValue> {
    let all = match all_lines(fields, name) {
        Some(all) => [&all, &b", "[..], last].concat(),
        None => last.to_vec(),
    };
    HeaderValue::from_bytes(&all).or_err(FAULT, "what was forwarded")
}
