//! Step 8: what the client is told: the node's answer, reduced to what may cross, or a failure of
//! ours.

use std::time::Duration;

use bytes::Bytes;
use gateway_core::failure::Failure;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Method, StatusCode, Version};
use pingora_core::{Error, ErrorType, OrErr, Result};
use pingora_http::ResponseHeader;
use pingora_proxy::{FailToProxy, Session};

use crate::clock;
use crate::compress;
use crate::ctx::Ctx;
use crate::fields::{accepts_html, answer_head, carried, is_about_the_client};
use crate::ids::REQUEST_ID;
use crate::made::Made;
use crate::serving::Shared;

/// Reduces a node's head to what may cross, and adds what is ours.
///
/// # Errors
/// Only when a value we made is no field value, which is a fault of ours.
pub(crate) fn head(
    shared: &Shared,
    session: &mut Session,
    response: &mut ResponseHeader,
    ctx: &mut Ctx,
) -> Result<()> {
    if response.status.is_informational() && response.status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(());
    }
    let admitted = ctx.admitted()?;
    admitted.passed.answers(response.status);
    if admitted.client.drain.is_on() {
        session.set_keepalive(None);
    }
    let mut fields = HeaderMap::with_capacity(12);
    let listed = admitted.site.response_fields.as_deref();
    for (name, value) in carried(&response.headers, listed) {
        if *name != CONTENT_LENGTH && *name != REQUEST_ID {
            fields.append(name.clone(), value.clone());
        }
    }
    admitted.dress(&mut fields);
    if response.status == StatusCode::SWITCHING_PROTOCOLS {
        admitted.client.tunnel();
        let idle = admitted.client.listening.settings().tunnel_idle;
        admitted.watch.silence(idle, clock::now());
        fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Some(protocol) = response.headers.get(UPGRADE) {
            fields.insert(UPGRADE, protocol.clone());
        }
    } else {
        set_framing(session, response, &mut fields);
        let how = admitted.site.site.compression.as_ref();
        let request = session.req_header();
        let encoder = how.and_then(|how| {
            let all = shared.serving.load().snapshot.model().limits.body_memory;
            let room = compress::room(&shared.body_memory, all);
            compress::begin(how, request, response.status, &mut fields, room)
        });
        if encoder.is_some() && !session.is_http2() {
            fields.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        ctx.encoder = encoder;
    }
    ctx.has_no_content = session.req_header().method == Method::HEAD
        || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&response.status);
    *response = answer_head(response.status, fields);
    Ok(())
}

/// RFC 9112 §6: a 204 has no length; an HTTP/1.0 client knows no chunks and is told by the end.
fn set_framing(session: &mut Session, node: &ResponseHeader, fields: &mut HeaderMap) {
    if node.status == StatusCode::NO_CONTENT {
        return;
    }
    let is_told_by_frames = node.version == Version::HTTP_2;
    let length = node.headers.get(CONTENT_LENGTH);
    if node.headers.contains_key(TRANSFER_ENCODING) || (is_told_by_frames && length.is_none()) {
        if session.req_header().version == Version::HTTP_10 {
            session.set_keepalive(None);
        } else {
            fields.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    } else if let Some(length) = length {
        fields.insert(CONTENT_LENGTH, length.clone());
    }
}

/// Reduces the fields after an answer to what may cross: to what may before it, without what would say
/// something about the message or whom it is for (RFC 9110 §6.5.1).
///
/// # Errors
/// A step that has not run, which is a fault of ours.
pub(crate) fn trailers(fields: &mut HeaderMap, ctx: &Ctx) -> Result<()> {
    let listed = ctx.admitted()?.site.response_fields.as_deref();
    let mut crossing = HeaderMap::new();
    for (name, value) in carried(fields, listed) {
        if *name != CONTENT_LENGTH && !is_about_the_client(name.as_str().as_bytes()) {
            crossing.append(name.clone(), value.clone());
        }
    }
    *fields = crossing;
    Ok(())
}

/// A piece of the answer: the node is not silent. What comes after a head that ends an answer is no part of
/// it (RFC 9110 §6.4.1), and HTTP/2 has frames for it.
///
/// # Errors
/// When it cannot be compressed any further: the answer is cut then.
pub(crate) fn body(
    body: &mut Option<Bytes>,
    ends: bool,
    ctx: &mut Ctx,
) -> Result<Option<Duration>> {
    if ctx.has_no_content {
        *body = None;
    }
    if let Some(encoder) = &mut ctx.encoder {
        let out = encoder.push(body.as_deref().unwrap_or_default(), ends);
        let out = out.or_err(ErrorType::InternalError, "compressing an answer")?;
        *body = Some(out).filter(|out| !out.is_empty());
        if ends {
            ctx.encoder = None;
        }
    }
    if let Some(admitted) = &ctx.admitted {
        admitted.passed.sends(body.as_ref().map_or(0, Bytes::len));
        admitted.watch.moved();
    }
    Ok(None)
}

/// What is left of a compressed answer that ends with trailers. The trailers are dropped then: they are
/// about other bytes (RFC 9110 §6.5.1), and end with these.
///
/// # Errors
/// When it cannot be compressed to its end.
pub(crate) fn end_of_compressed(ctx: &mut Ctx) -> Result<Option<Bytes>> {
    let Some(mut encoder) = ctx.encoder.take() else {
        return Ok(None);
    };
    let rest = encoder.push(&[], true);
    rest.map(Some)
        .or_err(ErrorType::InternalError, "compressing an answer")
}

/// Answers with a failure before any node was asked; the connection goes on where it can.
///
/// # Errors
/// When the client cannot be written to.
pub(crate) async fn refuse(session: &mut Session, ctx: &mut Ctx, failure: Failure) -> Result<bool> {
    let is_gone = failure == Failure::ClientGone;
    ctx.failure = Some(failure.clone());
    if is_gone {
        session.set_keepalive(None);
    } else {
        write(session, ctx, &failure).await?;
    }
    Ok(true)
}

/// Answers without a node.
///
/// # Errors
/// When the client cannot be written to.
pub(crate) async fn made(session: &mut Session, ctx: &Ctx, made: Made) -> Result<bool> {
    made.send(session, ctx.admitted()?).await?;
    Ok(true)
}

/// Answers with the failure the tries have ended in; or cuts an answer that had begun, so that the
/// client can tell that it is not whole (RFC 9112 §8).
pub(crate) async fn fail(session: &mut Session, error: &Error, ctx: &mut Ctx) -> FailToProxy {
    let failure = ctx.failure.take();
    let failure = failure.unwrap_or_else(|| unnamed(error, ctx));
    let failure = match &ctx.routed {
        Some(routed) => routed.tries.last_word(failure),
        None => failure,
    };
    ctx.failure = Some(failure.clone());
    session.set_keepalive(None);
    let is_http2 = session.is_http2();
    let written = session.response_written();
    // Inside a tunnel there is nothing to tell: it ends.
    let is_tunnel = written.is_some_and(|head| head.status == StatusCode::SWITCHING_PROTOCOLS);
    let begun = written.filter(|head| !head.status.is_informational());
    if let Some(head) = begun {
        let is_told_by_end = ![CONTENT_LENGTH, TRANSFER_ENCODING]
            .iter()
            .any(|name| head.headers.contains_key(name));
        if let Some(admitted) = ctx
            .admitted
            .as_ref()
            .filter(|_| is_told_by_end && !is_http2)
        {
            admitted.client.reset();
        }
    } else if ![Failure::ClientGone, Failure::SlowReader].contains(&failure) && !is_tunnel {
        let _ = write(session, ctx, &failure).await;
    }
    let answer = match &ctx.admitted {
        Some(admitted) => failure.answer_at(&admitted.site.site),
        None => failure.answer(),
    };
    FailToProxy {
        error_code: answer.status,
        can_reuse_downstream: false,
    }
}

/// What an error is that no step has named: of an answer that is not a node's, it is the client's that
/// could not be written to.
fn unnamed(error: &Error, ctx: &Ctx) -> Failure {
    let is_slow = |ctx: &Ctx| {
        let admitted = ctx.admitted.as_ref();
        admitted.is_some_and(|admitted| admitted.watch.is_reader_slow())
    };
    match error.etype() {
        _ if is_slow(ctx) => Failure::SlowReader,
        ErrorType::ConnectionClosed | ErrorType::WriteError => Failure::ClientGone,
        _ => Failure::Internal {
            because: error.to_string(),
        },
    }
}

async fn write(session: &mut Session, ctx: &Ctx, failure: &Failure) -> Result<()> {
    let admitted = ctx.admitted()?;
    let accepts_html = accepts_html(&session.req_header().headers);
    let made = Made::failure(failure, &admitted.site, accepts_html);
    made.send(session, admitted).await
}
