//! Step 6: what the node is sent. The request is built anew, from the route and from the fields that
//! may travel; nothing else of what the client sent crosses.
//!
//! Source: RFC 9110 §7.6; RFC 9112 §3.2, §6.

use bytes::Bytes;
use gateway_config::model::{Body, ForwardedFor, HostSent};
use gateway_core::deadline::Budget;
use gateway_core::failure::Failure;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{HeaderMap, Method, Uri, Version};
use pingora_core::{Error, ErrorType, OrErr, Result};
use pingora_http::RequestHeader;
use pingora_proxy::Session;

use crate::clock;
use crate::connections_out::{ConnectionsOut, Found};
use crate::ctx::{Admitted, Attempt, Ctx, Reached, Routed};
use crate::fields::carried;

/// What is set whatever the client sent.
pub(crate) static SET: [HeaderName; 5] = [HOST, VIA, FORWARDED_FOR, FORWARDED_PROTO, REQUEST_ID];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

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
    match found {
        Found::Open(count) => {
            attempt.is_last_on_connection = count >= routed.pool.pool.keep_requests;
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
pub(crate) fn run(session: &mut Session, request: &mut RequestHeader, ctx: &mut Ctx) -> Result<()> {
    let (admitted, routed) = (ctx.admitted()?, ctx.routed()?);
    let client = session.req_header();
    let mut fields = HeaderMap::with_capacity(16);
    fields.insert(HOST, host(client, ctx.attempt.as_ref(), admitted)?);
    let listed = admitted.site.request_fields.as_deref();
    for (name, value) in carried(&client.headers, listed).filter(|(name, _)| !is_ours(name)) {
        fields.append(name.clone(), value.clone());
    }
    let buffered = ctx.body.as_ref().map(|body| body.bytes.len());
    set_framing(client, buffered, routed, &mut fields);
    set_connection(client, ctx.attempt.as_ref(), routed, &mut fields);
    set_forwarding(client, admitted, &mut fields)?;
    let asks_to_upgrade = fields.contains_key(UPGRADE);

    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = client.method.clone();
    parts.uri = Uri::try_from(routed.path_and_query.as_str()).or_err(FAULT, "the target")?;
    parts.version = Version::HTTP_11;
    parts.headers = fields;
    *request = parts.into();
    if let Some(attempt) = &mut ctx.attempt {
        attempt.reached = Reached::Sent;
        attempt.asks_to_upgrade = asks_to_upgrade;
    }
    Ok(())
}

/// Supplies a body that was read whole, on each try, in one piece; counts one that is passed on.
///
/// # Errors
/// A body that is passed on and longer than its route takes.
pub(crate) fn body(
    session: &Session,
    body: &mut Option<Bytes>,
    end: bool,
    ctx: &mut Ctx,
) -> Result<()> {
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
    if session.body_bytes_read() as u64 > limit {
        ctx.failure = Some(Failure::BodyTooLarge { limit });
        if let Some(attempt) = &mut ctx.attempt {
            attempt.reached = Reached::Stopped;
        }
        return Error::e_explain(FAULT, "the body is longer than its route takes");
    }
    if end && !session.is_http2() {
        begin_to_wait(ctx);
    }
    Ok(())
}

/// A body that was passed on has been passed on: from here on the node has the budget.
fn begin_to_wait(ctx: &mut Ctx) {
    let now = clock::now();
    if let (Some(admitted), Some(routed)) = (&ctx.admitted, &mut ctx.routed) {
        routed.budget = Budget::new(now, routed.budget.length());
        admitted.client.watch.until(now + routed.budget.length());
    }
}

/// Fields that are always made here.
pub(crate) fn is_ours(name: &HeaderName) -> bool {
    [
        HOST,
        CONTENT_LENGTH,
        FORWARDED_FOR,
        FORWARDED_PROTO,
        REQUEST_ID,
    ]
    .contains(name)
}

fn host(
    client: &RequestHeader,
    attempt: Option<&Attempt>,
    admitted: &Admitted,
) -> Result<HeaderValue> {
    let authority = client.uri.authority().map(http::uri::Authority::as_str);
    let made = match (admitted.site.site.host, client.headers.get(HOST), authority) {
        (HostSent::Client, Some(host), _) => return Ok(host.clone()),
        (HostSent::Client, None, Some(authority)) => authority,
        (HostSent::Client, None, None) | (HostSent::Node, _, _) => {
            attempt.map_or("", |attempt| attempt.slot.node().addr())
        }
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

fn set_connection(
    client: &RequestHeader,
    attempt: Option<&Attempt>,
    routed: &Routed,
    fields: &mut HeaderMap,
) {
    // RFC 9110 §7.8: an upgrade asked for in HTTP/1.0 is ignored.
    let may_upgrade = routed.upgrade && client.version == Version::HTTP_11;
    if let Some(protocol) = client.headers.get(UPGRADE).filter(|_| may_upgrade) {
        fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        fields.insert(UPGRADE, protocol.clone());
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
    let is_tls = admitted.client.listening.is_tls();
    let proto = if is_tls { "https" } else { "http" };
    fields.insert(FORWARDED_PROTO, HeaderValue::from_static(proto));
    let hops = match admitted.site.site.forwarded_for {
        ForwardedFor::Append => after_all_lines(&client.headers, &admitted.client.address)?,
        ForwardedFor::Replace => admitted.client.address.clone(),
    };
    fields.insert(FORWARDED_FOR, hops);
    Ok(())
}

/// Everything the client sent, in order, however many lines it was, and then the peer.
fn after_all_lines(fields: &HeaderMap, peer: &HeaderValue) -> Result<HeaderValue> {
    let mut hops = Vec::new();
    let lines = fields.get_all(FORWARDED_FOR).iter();
    for line in lines.filter(|line| !line.is_empty()) {
        hops.extend_from_slice(line.as_bytes());
        hops.extend_from_slice(b", ");
    }
    hops.extend_from_slice(peer.as_bytes());
    HeaderValue::from_bytes(&hops).or_err(FAULT, "the forwarded addresses")
}
