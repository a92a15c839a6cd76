//! Step 8: what the client is told: the node's answer, reduced to what may cross, or a failure of
//! ours.

use std::time::Duration;

use bytes::Bytes;
use gateway_config::model::FailureStyle;
use gateway_core::failure::Failure;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue,
    RETRY_AFTER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method, StatusCode, Version};
use pingora_core::{Error, Result};
use pingora_http::ResponseHeader;
use pingora_proxy::{FailToProxy, Session};

use crate::clock;
use crate::ctx::Ctx;
use crate::fields::carried;

const OUTCOME: HeaderName = HeaderName::from_static("x-gateway-outcome");
/// The id of the request, in every answer.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A body that is read to its end, unused, so that the connection can go on; in bytes.
const LITTLE: u64 = 64 * 1024;
/// How long that may take.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a tunnel may be silent.
const TUNNEL_IDLE: Duration = Duration::from_secs(600);

/// Reduces a node's head to what may cross, and adds what is ours.
///
/// # Errors
/// Only when a value we made is no field value, which is a fault of ours.
pub(crate) fn head(session: &mut Session, response: &mut ResponseHeader, ctx: &Ctx) -> Result<()> {
    if response.status.is_informational() && response.status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(());
    }
    let admitted = ctx.admitted()?;
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
    fields.insert(REQUEST_ID, admitted.id.clone());
    if response.status == StatusCode::SWITCHING_PROTOCOLS {
        admitted.client.tunnel();
        admitted.client.watch.silence(TUNNEL_IDLE, clock::now());
        fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Some(protocol) = response.headers.get(UPGRADE) {
            fields.insert(UPGRADE, protocol.clone());
        }
    } else {
        set_framing(session, response, &mut fields);
    }
    // From plain parts, as in `send`.
    let (mut parts, ()) = http::Response::new(()).into_parts();
    parts.status = response.status;
    parts.version = Version::HTTP_11;
    parts.headers = fields;
    *response = parts.into();
    Ok(())
}

/// RFC 9112 §6: a 204 has no length; an HTTP/1.0 client knows no chunks and is told by the end.
fn set_framing(session: &mut Session, node: &ResponseHeader, fields: &mut HeaderMap) {
    if node.status == StatusCode::NO_CONTENT {
        return;
    }
    if node.headers.contains_key(TRANSFER_ENCODING) {
        if session.req_header().version == Version::HTTP_10 {
            session.set_keepalive(None);
        } else {
            fields.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    } else if let Some(length) = node.headers.get(CONTENT_LENGTH) {
        fields.insert(CONTENT_LENGTH, length.clone());
    }
}

/// A piece of the answer: the node is not silent.
///
/// # Errors
/// None.
pub(crate) fn body(ctx: &Ctx) -> Result<Option<Duration>> {
    if let Some(admitted) = &ctx.admitted {
        admitted.client.watch.moved();
    }
    Ok(None)
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
        return Ok(true);
    }
    if ctx.is_leaving() {
        session.set_keepalive(None);
    } else if !failure.answer().close && is_soon_read(session) {
        session.set_close_on_response_before_downstream_finish(false);
        session.set_total_drain_timeout(Some(DRAIN));
    }
    write(session, ctx, &failure).await?;
    Ok(true)
}

/// Whether what the client still sends is little, and sure to come: then the connection goes on after
/// it. A client that waits for a 100 may never send it (RFC 9110 §10.1.1).
fn is_soon_read(session: &Session) -> bool {
    let length = session
        .get_header(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    session.get_header(EXPECT).is_none()
        && length
            .and_then(|length| length.parse::<u64>().ok())
            .is_some_and(|length| length <= LITTLE)
}

/// Answers with the failure the tries have ended in; or cuts an answer that had begun, so that the
/// client can tell that it is not whole (RFC 9112 §8).
pub(crate) async fn fail(session: &mut Session, error: &Error, ctx: &mut Ctx) -> FailToProxy {
    let failure = ctx.failure.take().unwrap_or_else(|| Failure::Internal {
        because: error.to_string(),
    });
    let failure = match &ctx.routed {
        Some(routed) => routed.tries.last_word(failure),
        None => failure,
    };
    ctx.failure = Some(failure.clone());
    session.set_keepalive(None);
    let is_http2 = session.is_http2();
    let begun = session
        .response_written()
        .filter(|head| !head.status.is_informational());
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
    } else if failure != Failure::ClientGone {
        let _ = write(session, ctx, &failure).await;
    }
    FailToProxy {
        error_code: failure.answer().status,
        can_reuse_downstream: false,
    }
}

async fn write(session: &mut Session, ctx: &Ctx, failure: &Failure) -> Result<()> {
    let admitted = ctx.admitted()?;
    let (head, body) = of_failure(failure, admitted.site.site.failures, &admitted.id)?;
    if failure.answer().close {
        session.set_keepalive(None);
    }
    let is_head = session.req_header().method == Method::HEAD;
    session
        .write_response_header(Box::new(head), is_head)
        .await?;
    if !is_head {
        session.write_response_body(Some(body), true).await?;
    }
    Ok(())
}

/// A failure as it is sent.
///
/// # Errors
/// Only when a value we made is no field value, which is a fault of ours.
pub(crate) fn of_failure(
    failure: &Failure,
    style: FailureStyle,
    id: &HeaderValue,
) -> Result<(ResponseHeader, Bytes)> {
    let answer = failure.answer();
    let (kind, body) = match style {
        FailureStyle::Json => ("application/json", answer.json()),
        FailureStyle::Text => ("text/plain; charset=utf-8", answer.text()),
    };
    let mut head = ResponseHeader::build_no_case(answer.status, Some(8))?;
    head.insert_header(CONTENT_TYPE, HeaderValue::from_static(kind))?;
    head.insert_header(CONTENT_LENGTH, HeaderValue::from(body.len()))?;
    head.insert_header(CACHE_CONTROL, HeaderValue::from_static("no-store"))?;
    if let Some(after) = &answer.retry_after {
        head.insert_header(RETRY_AFTER, after.as_str())?;
    }
    if let Some(outcome) = answer.outcome {
        head.insert_header(OUTCOME, HeaderValue::from_static(outcome.as_str()))?;
    }
    head.insert_header(REQUEST_ID, id.clone())?;
    Ok((head, Bytes::from(body)))
}
