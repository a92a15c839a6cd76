//! Step 7: how did the try go? What it says about the node goes to the pool; whether another node is
//! asked is decided by [`retry`](gateway_core::retry); Pingora's own opinion is never asked.

use gateway_core::failure::{Failure, RetryAfter, Unsent};
use gateway_core::retry::{Next, Try};
use gateway_core::tally::Outcome;
use http::HeaderValue;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, RETRY_AFTER, TRANSFER_ENCODING, UPGRADE};
use pingora_core::{Error, ErrorType, Result};
use pingora_http::ResponseHeader;

use crate::clock;
use crate::ctx::{Attempt, Ctx, Reached, Routed};
use crate::translate::{self, Broken};

/// No connection came about; nothing was written.
pub(crate) fn not_connected(mut error: Box<Error>, ctx: &mut Ctx) -> Box<Error> {
    error.set_retry(false);
    let (Some(routed), Some(mut attempt)) = (&ctx.routed, ctx.attempt.take()) else {
        return error;
    };
    let cause = translate::not_connected(&error);
    // A connect that the budget cut short says nothing about the node.
    let now = clock::now();
    let failure = if routed.budget.remaining(now).is_none() {
        Failure::BudgetSpentBefore {
            budget: routed.budget.length(),
        }
    } else if translate::is_for_want_of_descriptors(&error) {
        Failure::NoDescriptors
    } else if attempt.has_another_address(now) {
        // The same node keeps the slot, and no try is spent.
        ctx.attempt = Some(attempt);
        error.set_retry(true);
        return error;
    } else {
        Failure::NeverSent {
            asked: attempt.asked(),
            cause,
        }
    };
    let how = match translate::took_no_stream(&error) {
        true => Try::GoneAway,
        false => Try::Unsent,
    };
    end(attempt, how, failure, error, ctx)
}

/// The connection was made, and broke.
pub(crate) fn broken(mut error: Box<Error>, was_used_before: bool, ctx: &mut Ctx) -> Box<Error> {
    error.set_retry(false);
    let (Some(routed), Some(mut attempt)) = (&ctx.routed, ctx.attempt.take()) else {
        return error;
    };
    let (how, failure) = match attempt.reached {
        Reached::Busy => {
            // `head` has decided.
            ctx.failure = Some(Failure::NoHealthyNode);
            error.set_retry(true);
            return error;
        }
        Reached::Ended => {
            // The same node keeps the slot and is dialled again; no try is spent.
            attempt.reached = Reached::Nothing;
            attempt.is_caught_up = false;
            ctx.attempt = Some(attempt);
            error.set_retry(true);
            return error;
        }
        Reached::Stopped => return error,
        Reached::Answered => (Try::Lost, lost(&error, &attempt, routed, ctx)),
        Reached::Nothing => (
            Try::Unsent,
            Failure::Internal {
                because: error.to_string(),
            },
        ),
        Reached::Sent => unanswered(&error, was_used_before, &attempt, routed, ctx),
    };
    // What is gone for good cannot be sent again: the try ends the request, whatever it came to.
    let how = if ctx.is_body_gone { Try::Answered } else { how };
    end(attempt, how, failure, error, ctx)
}

/// Whether a connection of HTTP/2 is to carry no further request: it has carried its number, or the
/// node was silent on it for so long that nobody knows whether it is still there.
pub(crate) fn ends_connection(error: Option<&Error>, ctx: &Ctx) -> bool {
    let is_silence = |error| matches!(translate::broken(error), Broken::NodeSilent) || is_past(ctx);
    ctx.attempt
        .as_ref()
        .is_some_and(|attempt| attempt.is_last_on_connection)
        || error.is_some_and(is_silence)
}

/// The head of an answer. A busy one may be left for another node.
///
/// # Errors
/// To leave it; Pingora then comes back through [`broken`].
pub(crate) fn head(response: &ResponseHeader, ctx: &mut Ctx) -> Result<()> {
    if response.status.is_informational() && response.status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(());
    }
    let (Some(routed), Some(attempt)) = (&mut ctx.routed, &mut ctx.attempt) else {
        return Ok(());
    };
    if !is_readable(response, attempt) {
        ctx.failure = Some(Failure::Unreadable(attempt.asked()));
        attempt.reached = Reached::Stopped;
        attempt.outcome = Outcome::Unreadable;
        return Error::e_explain(
            ErrorType::InvalidHTTPHeader,
            "not an answer to this request",
        );
    }
    let now = clock::now();
    let moves = routed.pool.state.exchange_completed(&attempt.slot, now);
    routed.pool.report(&moves);
    if let Some(address) = attempt.dialled {
        attempt.slot.node().address_answered(address);
    }
    if let Some(after) = busy(response) {
        let elsewhere = routed.pool.state.elsewhere(&ctx.asked.hints, now);
        if routed.tries.judge(Try::Busy(after), elsewhere) == Next::Another {
            attempt.reached = Reached::Busy;
            attempt.outcome = Outcome::Busy;
            return Error::e_explain(ErrorType::InternalError, "busy; another node is asked");
        }
    }
    attempt.reached = Reached::Answered;
    attempt.outcome = Outcome::Answered;
    // What a try before it came to is told by its node; the request is served.
    ctx.failure = None;
    ctx.replay = None;
    if let Some(admitted) = ctx
        .admitted
        .as_ref()
        .filter(|admitted| admitted.watch.is_set())
    {
        admitted.watch.silence(routed.answer_gap, now);
    }
    Ok(())
}

/// Decides what follows a try that failed, gives the slot back and says so to Pingora.
fn end(
    mut attempt: Attempt,
    how: Try,
    failure: Failure,
    mut error: Box<Error>,
    ctx: &mut Ctx,
) -> Box<Error> {
    attempt.outcome = outcome(&how, &failure);
    let Some(routed) = &mut ctx.routed else {
        return error;
    };
    let now = clock::now();
    let next = match routed.budget.remaining(now) {
        Some(_) => {
            let elsewhere = routed.pool.state.elsewhere(&ctx.asked.hints, now);
            routed.tries.judge(how, elsewhere)
        }
        None => Next::Stop,
    };
    error.set_retry(matches!(next, Next::Again | Next::Another));
    if next == Next::Again {
        // The same node keeps the slot and is dialled again; nothing is held against it.
        attempt.reached = Reached::Nothing;
        attempt.is_caught_up = false;
        attempt.turn = None;
        ctx.attempt = Some(attempt);
        return error;
    }
    if is_held_against_the_node(&failure) {
        if let (Failure::OutcomeUnknown(_), Some(address)) = (&failure, attempt.dialled) {
            attempt.slot.node().address_failed(address, now);
        }
        let moves = routed.pool.state.exchange_failed(&attempt.slot, now);
        routed.pool.report(&moves);
    }
    drop(attempt);
    ctx.failure = Some(failure);
    error
}

/// Whether it was the transport that failed. A stream that a node would not begin is a word of it like
/// any answer.
fn is_held_against_the_node(failure: &Failure) -> bool {
    match failure {
        Failure::NeverSent { cause, .. } => *cause != Unsent::Refused,
        failure => matches!(failure, Failure::OutcomeUnknown(_)),
    }
}

/// What a try came to that ended with this failure.
fn outcome(how: &Try, failure: &Failure) -> Outcome {
    if matches!(how, Try::Unsent | Try::Refused | Try::GoneAway) {
        Outcome::Unsent
    } else if matches!(failure, Failure::AnswerLost(_) | Failure::AnswerStalled(..)) {
        Outcome::Lost
    } else if matches!(
        failure,
        Failure::OutcomeUnknown(_) | Failure::BudgetSpent { .. }
    ) {
        Outcome::Unanswered
    } else if matches!(failure, Failure::Unreadable(_)) {
        Outcome::Unreadable
    } else {
        Outcome::Abandoned
    }
}

/// Fields of one answer, as many as Pingora reads in HTTP/1.
const FIELDS: usize = 256;

/// Whether the head means the same to everybody: a status there is (RFC 9110 §15), a switch of
/// protocol only to one that was asked for (§7.8, §15.2.2), one length that is a number (§8.6), no
/// transfer coding but chunked (RFC 9112 §6.1), and no more fields in HTTP/2 than in HTTP/1.
fn is_readable(response: &ResponseHeader, attempt: &Attempt) -> bool {
    let switches = response.status == StatusCode::SWITCHING_PROTOCOLS;
    let mut lengths = response.headers.get_all(CONTENT_LENGTH).iter();
    let is_one_length = match (lengths.next(), lengths.next()) {
        (None, _) => true,
        (Some(length), None) => length.as_bytes().iter().all(u8::is_ascii_digit),
        (Some(_), Some(_)) => false,
    };
    let codings = response.headers.get_all(TRANSFER_ENCODING);
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    response.status.as_u16() < 600
        && response.headers.len() <= FIELDS
        && (!switches || is_asked_for(response, attempt.asks_for.as_ref()))
        && is_one_length
        && codings.iter().all(is_chunked)
        && codings.iter().count() <= 1
}

/// Whether a node changes to a protocol, or to several one upon the other, that it was asked for. A
/// version is only compared where one was asked for.
fn is_asked_for(response: &ResponseHeader, asked: Option<&HeaderValue>) -> bool {
    let Some(asked) = asked else {
        return false;
    };
    let asked: Vec<&[u8]> = protocols(asked).collect();
    let is_one = |protocol: &[u8]| {
        let name = protocol.split(|byte| *byte == b'/').next();
        asked.iter().any(|one| {
            one.eq_ignore_ascii_case(protocol)
                || name.is_some_and(|name| one.eq_ignore_ascii_case(name))
        })
    };
    let lines = response.headers.get_all(UPGRADE).iter();
    let mut changed = lines.flat_map(protocols).peekable();
    changed.peek().is_some() && changed.all(is_one)
}

fn protocols(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    line.as_bytes()
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|protocol| !protocol.is_empty())
}

fn busy(response: &ResponseHeader) -> Option<RetryAfter> {
    let after = response.headers.get(RETRY_AFTER)?;
    match response.status {
        StatusCode::SERVICE_UNAVAILABLE => RetryAfter::from_node(after.as_bytes()),
        _ => None,
    }
}

/// The answer had not begun.
fn unanswered(
    error: &Error,
    was_used_before: bool,
    attempt: &Attempt,
    routed: &Routed,
    ctx: &Ctx,
) -> (Try, Failure) {
    let asked = attempt.asked();
    let refused = || Failure::NeverSent {
        asked: attempt.asked(),
        cause: Unsent::Refused,
    };
    let spent = || Failure::BudgetSpent {
        asked: attempt.asked(),
        budget: routed.budget.length(),
    };
    match translate::broken(error) {
        Broken::Client if is_past(ctx) => (Try::Answered, spent()),
        Broken::Client if is_body_broken(ctx) => {
            let because = "the chunked body is malformed";
            (Try::Answered, Failure::Malformed { because })
        }
        Broken::Client if is_body_slow(ctx) => (Try::Answered, Failure::BodyTooSlow),
        Broken::ClientSlow => (Try::Answered, Failure::BodyTooSlow),
        Broken::Client => (Try::Answered, Failure::ClientGone),
        Broken::NodeSilent => (Try::Answered, spent()),
        Broken::NodeUnreadable => (Try::Answered, Failure::Unreadable(attempt.asked())),
        Broken::NodeGone => (Try::GoneAway, refused()),
        Broken::NodeRefused => (Try::Refused, refused()),
        Broken::NodeClosed if was_used_before => {
            (Try::Closed(asked.clone()), Failure::OutcomeUnknown(asked))
        }
        Broken::Node | Broken::NodeClosed => (
            Try::Unanswered(asked.clone()),
            Failure::OutcomeUnknown(asked),
        ),
    }
}

/// The answer had begun.
fn lost(error: &Error, attempt: &Attempt, routed: &Routed, ctx: &Ctx) -> Failure {
    let stalled = || Failure::AnswerStalled(attempt.asked(), routed.answer_gap);
    match translate::broken(error) {
        // Longer than a node may be silent, perhaps; but it was not the node.
        Broken::Client if is_reader_slow(ctx) => Failure::SlowReader,
        Broken::Client if is_past(ctx) => stalled(),
        Broken::Client | Broken::ClientSlow => Failure::ClientGone,
        Broken::NodeSilent => stalled(),
        Broken::Node
        | Broken::NodeClosed
        | Broken::NodeGone
        | Broken::NodeRefused
        | Broken::NodeUnreadable => Failure::AnswerLost(attempt.asked()),
    }
}

/// Whether it was the framing of a body that was passed on.
fn is_body_broken(ctx: &Ctx) -> bool {
    ctx.admitted
        .as_ref()
        .is_some_and(|admitted| admitted.client.is_body_broken())
}

/// Whether it was the pace of a body that was passed on.
fn is_body_slow(ctx: &Ctx) -> bool {
    ctx.admitted
        .as_ref()
        .is_some_and(|admitted| admitted.client.is_body_slow())
}

/// Whether it was the pace at which the client took the answer.
fn is_reader_slow(ctx: &Ctx) -> bool {
    ctx.admitted
        .as_ref()
        .is_some_and(|admitted| admitted.watch.is_reader_slow())
}

/// Whether it was the deadline, watched on the client's connection, that ended the wait.
fn is_past(ctx: &Ctx) -> bool {
    ctx.admitted
        .as_ref()
        .is_some_and(|admitted| admitted.watch.is_past(clock::now()))
}
