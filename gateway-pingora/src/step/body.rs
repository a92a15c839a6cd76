//! Step 4: a request that is read whole is read whole here, before a node is chosen, so that a
//! slow client never holds a node.

use bytes::{Bytes, BytesMut};
use gateway_config::model::Body;
use gateway_core::deadline::Budget;
use gateway_core::failure::Failure;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Version};
use pingora_core::{Error, ErrorType};
use pingora_proxy::Session;

use crate::body_memory::Held;
use crate::client::Client;
use crate::clock;
use crate::ctx::{Buffered, Ctx};
use crate::fields;
use crate::serving::Shared;

/// Reads the body, then starts the request's budget.
///
/// # Errors
/// [`Failure::BodyTooLarge`] before a byte is read when the length is announced;
/// [`Failure::BodyMemory`], [`Failure::BodyTooSlow`], [`Failure::Malformed`] for bad chunks,
/// [`Failure::ClientGone`].
///
/// Cancel-safe: what was read is dropped with the request.
pub(crate) async fn run(
    shared: &Shared,
    session: &mut Session,
    ctx: &mut Ctx,
) -> Result<(), Failure> {
    let (Some(admitted), Some(routed)) = (&ctx.admitted, &mut ctx.routed) else {
        return Err(Failure::NoSuchRoute);
    };
    fits(routed.body, &session.req_header().headers)?;
    let is_empty = session.is_body_empty();
    // Ours are kept by the client's stream.
    session.set_read_timeout(None);
    if !is_empty && expects_continue(session) {
        // An interim answer before the body is no reason to close after it.
        session.set_close_on_response_before_downstream_finish(false);
        let written = session.write_continue_response().await;
        session.set_close_on_response_before_downstream_finish(true);
        written.map_err(|_| Failure::ClientGone)?;
    }
    if let Body::Buffer(limit) = routed.body {
        let most = shared.serving.load().snapshot.model().limits.body_memory;
        let mut held = shared.body_memory.hold(most);
        let bytes = match is_empty {
            true => Bytes::new(),
            false => read(session, &admitted.client, limit, &mut held).await?,
        };
        ctx.body = Some(Buffered {
            bytes,
            _held: (!is_empty).then_some(held),
        });
        routed.budget = Budget::new(clock::now(), routed.budget.length());
    }
    Ok(())
}

/// Whether a body of the announced length may come by this route. The gate, or HTTP/2 itself, has made
/// sure that at most one is announced.
///
/// # Errors
/// [`Failure::BodyTooLarge`].
pub(crate) fn fits(body: Body, fields: &HeaderMap) -> Result<(), Failure> {
    let (Body::Buffer(limit) | Body::Stream(limit)) = body;
    match announced(fields).is_some_and(|length| length > limit) {
        true => Err(Failure::BodyTooLarge { limit }),
        false => Ok(()),
    }
}

fn announced(fields: &HeaderMap) -> Option<u64> {
    fields.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// RFC 9110 §10.1.1: an expectation of an HTTP/1.0 client is ignored, and so is any other one.
fn expects_continue(session: &Session) -> bool {
    session.req_header().version != Version::HTTP_10
        && fields::expects_continue(&session.req_header().headers)
}

/// Why the body could not be read.
fn unread(error: &Error, client: &Client) -> Failure {
    if client.is_body_broken() {
        return Failure::Malformed {
            because: "the chunked body is malformed",
        };
    }
    match error.etype() {
        _ if client.is_body_slow() => Failure::BodyTooSlow,
        ErrorType::ReadTimedout => Failure::BodyTooSlow,
        _ => Failure::ClientGone,
    }
}

async fn read(
    session: &mut Session,
    client: &Client,
    limit: u64,
    held: &mut Held,
) -> Result<Bytes, Failure> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    let mut length = 0_u64;
    loop {
        let piece = session.read_request_body().await;
        let piece = piece.map_err(|error| unread(&error, client))?;
        let Some(piece) = piece else { break };
        length += piece.len() as u64;
        if length > limit {
            return Err(Failure::BodyTooLarge { limit });
        }
        // One piece is kept as it is; more are put together.
        if first.is_empty() && whole.is_empty() {
            first = piece;
        } else {
            if whole.is_empty() {
                // Room for all of it at once, so that it is never copied to grow.
                let room = announced(&session.req_header().headers)
                    .unwrap_or(0)
                    .min(limit);
                whole.reserve(usize::try_from(room).unwrap_or(0));
            }
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&piece);
        }
        if !held.grow_to(length.max(whole.capacity() as u64)) {
            return Err(Failure::BodyMemory);
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}
