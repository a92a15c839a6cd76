//! Step 5: which node? One pick per try, always a node of the pool of the route that matched, always
//! with a slot on it.

use std::sync::Arc;

use gateway_config::model::Body;
use gateway_core::failure::{Failure, Unsent};
use gateway_core::node::Slot;
use gateway_core::pool::Pick;
use gateway_core::tally::Outcome;
use gateway_core::wait::Waited;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::{Error, ErrorType, Result as PingoraResult};
use pingora_proxy::Session;

use crate::clock;
use crate::connections_out::ConnectionsOut;
use crate::ctx::{AskedSoFar, Attempt, Ctx, Reached, Routed};
use crate::peer::{self, Carries};
use crate::serving::Shared;

/// Takes a slot for the first try, waiting for one if need be.
///
/// # Errors
/// [`Failure::NoHealthyNode`], [`Failure::QueueFull`], [`Failure::QueueWaitSpent`],
/// [`Failure::BudgetSpentBefore`], [`Failure::ClientGone`].
///
/// Cancel-safe: a request that is dropped leaves the queue and gives its slot back.
pub(crate) async fn run(session: &mut Session, ctx: &mut Ctx) -> Result<(), Failure> {
    let Some(routed) = &ctx.routed else {
        return Err(Failure::NoSuchRoute);
    };
    // Bytes behind a request to upgrade are the tunnel's.
    let is_read = session.is_body_done() && routed.protocols.is_none();
    let can_listen = ctx.body.is_some() || is_read;
    let slot = slot(session, routed, &ctx.asked, can_listen).await;
    if let (Err(Failure::NoHealthyNode), Some(metrics)) = (&slot, ctx.metrics()) {
        metrics.no_node.inc();
    }
    let slot = slot?;
    ctx.asked.hints.tried.add(slot.node().id());
    ctx.asked.made += 1;
    ctx.asked.last = Some(Arc::clone(slot.node()));
    ctx.attempt = Some(Attempt {
        slot,
        reached: Reached::Nothing,
        is_caught_up: false,
        dialled: None,
        passed_over: Vec::new(),
        is_last_on_connection: false,
        asks_for: None,
        turn: None,
        connection: None,
        outcome: Outcome::Abandoned,
    });
    Ok(())
}

/// The node of this try as Pingora dials it; for a further try a slot is taken first.
///
/// # Errors
/// As [`run`]. Where an earlier try failed, that failure stands: it says more.
pub(crate) async fn peer(
    shared: &Shared,
    out: &ConnectionsOut,
    session: &mut Session,
    ctx: &mut Ctx,
) -> PingoraResult<Box<HttpPeer>> {
    if ctx.attempt.is_none() {
        match run(session, ctx).await {
            Ok(()) => {
                if let Some(metrics) = ctx.metrics() {
                    metrics.retries.inc();
                }
                if let Some(routed) = &ctx.routed {
                    routed.pool.retries.one();
                }
            }
            Err(failure) => return stop(ctx, failure),
        }
    }
    wait_for_turn(out, ctx).await;
    let Some(routed) = &ctx.routed else {
        return stop(ctx, Failure::NoSuchRoute);
    };
    let now = clock::now();
    let Some(attempt) = &mut ctx.attempt else {
        return stop(ctx, Failure::NoHealthyNode);
    };
    let named = attempt.asked();
    let Some(timeout) = routed.budget.at_most(routed.pool.pool.connect_timeout, now) else {
        let failure = Failure::BudgetSpentBefore {
            budget: routed.budget.length(),
        };
        return stop(ctx, failure);
    };
    let node = attempt.slot.node();
    attempt.dialled = node.dial(&attempt.passed_over, ctx.asked.hints.key, now);
    let Some(address) = attempt.dialled else {
        return stop(
            ctx,
            Failure::NeverSent {
                asked: named,
                cause: Unsent::Resolve,
            },
        );
    };
    let carries = match routed.protocols {
        Some(_) => Carries::Tunnel,
        None => Carries::Requests,
    };
    let mut peer = peer::build(&routed.pool, node, address, timeout, carries);
    let left = routed.budget.remaining(now).unwrap_or_default();
    if let (Some(admitted), Body::Buffer(_)) = (&ctx.admitted, routed.body) {
        // For a body that is passed on the time begins when it has been: see `send`.
        admitted.watch.until(now + left);
    }
    peer.options.write_timeout = Some(left);
    peer.options.upstream_tcp_sock_tweak_hook = Some(Arc::clone(&shared.dialling));
    Ok(Box::new(peer))
}

/// Where requests share connections, a burst of them makes one and not one each.
async fn wait_for_turn(out: &ConnectionsOut, ctx: &mut Ctx) {
    let (Some(routed), Some(attempt)) = (&ctx.routed, &mut ctx.attempt) else {
        return;
    };
    if routed.pool.pool.http2 && routed.protocols.is_none() {
        let addr = Arc::clone(attempt.slot.node().addr());
        attempt.turn = out.turn((routed.pool.group(true), addr)).await;
    }
}

fn stop(ctx: &mut Ctx, failure: Failure) -> PingoraResult<Box<HttpPeer>> {
    ctx.failure.get_or_insert(failure);
    let mut error = Error::explain(ErrorType::InternalError, "no node for this try");
    error.set_retry(false);
    Err(error)
}

async fn slot(
    session: &mut Session,
    routed: &Routed,
    asked: &AskedSoFar,
    can_listen: bool,
) -> Result<Slot, Failure> {
    let state = &routed.pool.state;
    match state.pick(&asked.hints, clock::now()) {
        Pick::Slot(slot) => return Ok(slot),
        Pick::NobodyUp | Pick::AllTried => return Err(Failure::NoHealthyNode),
        Pick::Full => {}
    }
    let wait = state.wait(&asked.hints, clock::now());
    let wait = wait.map_err(|_| Failure::QueueFull)?;
    let limit = routed
        .budget
        .at_most(routed.pool.pool.queue_wait, clock::now());
    let Some(limit) = limit else {
        return Err(Failure::BudgetSpentBefore {
            budget: routed.budget.length(),
        });
    };
    tokio::select! {
        biased;
        waited = tokio::time::timeout(limit, wait) => match waited {
            Ok(Waited::Slot(slot)) => Ok(slot),
            Ok(Waited::NobodyUp | Waited::AllTried) => Err(Failure::NoHealthyNode),
            Err(_) => Err(Failure::QueueWaitSpent),
        },
        () = gone(session, can_listen) => Err(Failure::ClientGone),
    }
}

/// Completes when the client has gone away. A client whose body has not been read is not listened
/// to, since that would take a byte of it.
async fn gone(session: &mut Session, can_listen: bool) {
    match can_listen {
        true => {
            let _ = session.downstream_session.read_body_or_idle(true).await;
        }
        false => std::future::pending().await,
    }
}
