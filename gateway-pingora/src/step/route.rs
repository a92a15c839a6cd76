//! Step 3: what does the request want? An endpoint of ours, a route of the site, or nothing that
//! exists here.

use std::sync::Arc;

use gateway_config::Endpoint;
use gateway_config::target::Unrouted;
use gateway_core::deadline::Budget;
use gateway_core::failure::Failure;
use gateway_core::retry::Tries;
use pingora_proxy::Session;

use crate::ctx::{Ctx, Routed};

/// Who answers.
pub(crate) enum Taken {
    /// A node of the route's pool.
    ByPool,
    /// The gateway itself.
    ByUs(Endpoint),
}

/// Finds who answers, before a byte of the body is read.
///
/// # Errors
/// [`Failure::NoSuchRoute`], the same for every reason there may be; [`Failure::QueryRefused`].
pub(crate) fn run(session: &Session, ctx: &mut Ctx) -> Result<Taken, Failure> {
    let Some(admitted) = &ctx.admitted else {
        return Err(Failure::NoSuchRoute);
    };
    let served = &admitted.site;
    let request = session.req_header();
    let (method, target) = (request.method.as_str(), request.raw_path());

    if let Some(endpoint) = served.site.endpoint(method, target) {
        return Ok(Taken::ByUs(endpoint));
    }
    let matched = served
        .site
        .route(method, target)
        .map_err(|unrouted| failure(&unrouted));
    let matched = match matched {
        Ok(matched) => matched,
        Err(failure) => {
            served
                .metrics
                .denied
                .inc_by(u64::from(failure == Failure::NoSuchRoute));
            return Err(failure);
        }
    };

    let route = matched.route;
    let pool = served.pools.get(&route.pool).ok_or(Failure::NoSuchRoute)?;
    ctx.routed = Some(Routed {
        route: Arc::clone(&route.name),
        pool: Arc::clone(pool),
        path_and_query: matched.path_and_query,
        tries: Tries::new(route.repeatable, &pool.pool),
        upgrade: route.upgrade,
        body: route.body,
        // Counted from the head for a body that is passed on; `body` starts it again otherwise.
        budget: Budget::new(ctx.started, route.budget),
    });
    Ok(Taken::ByPool)
}

/// What the client of a request is told that no route takes.
pub(crate) fn failure(unrouted: &Unrouted<'_>) -> Failure {
    match unrouted {
        Unrouted::NoSuchRoute => Failure::NoSuchRoute,
        Unrouted::RefusedQuery { because, .. } => Failure::QueryRefused {
            because: (*because).into(),
        },
    }
}
