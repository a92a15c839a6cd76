//! Step 3: what does the request want? Another address, an endpoint of ours, a route of the site, or
//! nothing that exists here.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gateway_config::Endpoint;
use gateway_config::canonical::Came;
use gateway_config::model::{Action, Route, Segments, Site};
use gateway_config::target::{Facts, Matched, Unrouted, has_cookie};
use gateway_core::deadline::Budget;
use gateway_core::failure::Failure;
use gateway_core::retry::Tries;
use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Version};
use pingora_http::RequestHeader;
use pingora_proxy::Session;

use crate::affinity;
use crate::ctx::{Admitted, Ctx, Routed};
use crate::fields::{asked_to_upgrade, authority};
use crate::folder::Folder;
use crate::made::Made;
use crate::pools::LivePool;

/// What is served of HTTP's methods, where a site does not hide what it has.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Who answers.
pub(crate) enum Taken {
    /// A node of the route's pool.
    ByPool,
    /// The gateway itself, from what it knows.
    ByUs(Endpoint),
    /// The gateway itself, with a file of this directory: that of this path, which the route matched.
    Files(Arc<Folder>, String),
    /// The gateway itself, with this.
    Made(Made),
}

/// Finds who answers, before a byte of the body is read.
///
/// # Errors
/// [`Failure::NoSuchRoute`], the same for every reason there may be; [`Failure::QueryRefused`];
/// [`Failure::RateExceeded`]; [`Failure::MethodNotAllowed`] for CONNECT and TRACE, where a site does not hide what it has.
pub(crate) fn run(session: &Session, ctx: &mut Ctx) -> Result<Taken, Failure> {
    let Some(admitted) = &ctx.admitted else {
        return Err(Failure::NoSuchRoute);
    };
    let served = &admitted.site;
    let request = session.req_header();
    let (method, target) = (request.method.as_str(), request.raw_path());

    if let Some(answer) = self::method(&served.site, method, target) {
        return answer.map(|status| Taken::Made(Made::empty(status)));
    }
    if let Some(made) = moved(admitted, session) {
        return Ok(Taken::Made(made));
    }
    if let Some(endpoint) = served.site.endpoint(method, target) {
        return Ok(Taken::ByUs(endpoint));
    }
    let known = Known {
        fields: &request.headers,
        client: admitted.origin.client,
    };
    let matched = served.site.route_with(method, target, &known);
    let matched = matched.map_err(|unrouted| {
        let is_unknown = unrouted == Unrouted::NoSuchRoute;
        if let Some(metrics) = &served.metrics {
            metrics.denied.inc_by(u64::from(is_unknown));
        }
        failure(&unrouted)
    })?;
    ctx.route = Some(Arc::clone(&matched.route.name));
    ctx.route_at = served.site.routes.element_offset(matched.route);
    let route = ctx.route_at.and_then(|at| served.route(at));
    let route = route.ok_or(Failure::NoSuchRoute)?;
    route.count(admitted.origin.client, ctx.started)?;
    if let Some(folder) = &route.folder {
        return Ok(Taken::Files(Arc::clone(folder), matched.path_and_query));
    }
    if let Some(made) = made(&matched) {
        return made.map(Taken::Made);
    }

    let pool = route.pool.as_ref().ok_or(Failure::NoSuchRoute)?;
    let client = admitted.origin.client;
    let balance = &pool.pool.balance;
    ctx.asked.hints.key = affinity::of(balance, &request.headers, client, &matched.path_and_query);
    let routed = routed(request, pool, matched, (&served.site, ctx.started));
    // Above whatever else the request waits for.
    admitted.watch.never_after(routed.end);
    ctx.routed = Some(routed);
    Ok(Taken::ByPool)
}

/// A request that goes to a node of this pool, with its site and when it came.
fn routed(
    request: &RequestHeader,
    pool: &Arc<LivePool>,
    matched: Matched<'_>,
    (site, started): (&Site, Instant),
) -> Routed {
    let route = matched.route;
    let tries = Tries::new(route, request.method.is_safe(), &pool.pool);
    Routed {
        tries: match site.is_front_door() {
            true => tries.at_other_nodes(),
            false => tries,
        },
        // RFC 9110 §7.8: what is asked for in HTTP/1.0 is ignored.
        protocols: (route.upgrade && request.version == Version::HTTP_11)
            .then(|| asked_to_upgrade(&request.headers))
            .flatten(),
        body: route.body,
        // Counted from the head for a body that is passed on; `body` starts it again otherwise.
        budget: Budget::new(
            started,
            route
                .total
                .map_or(route.budget, |all| all.min(route.budget)),
        ),
        is_passed_on: false,
        answer_gap: route.answer_gap.unwrap_or(pool.pool.answer_gap),
        end: route.total.map(|all| started + all),
        path_and_query: matched.path_and_query,
        pool: Arc::clone(pool),
    }
}

/// What is answered to a method, whatever the path; `None`: the path decides. An allowlist gives one
/// answer to all that it does not list.
///
/// # Errors
/// [`Failure::MethodNotAllowed`] for CONNECT and TRACE.
///
/// Source: RFC 9110 §9.3.6 to §9.3.8.
pub(crate) fn method(
    site: &Site,
    method: &str,
    target: &[u8],
) -> Option<Result<StatusCode, Failure>> {
    match (site.segments, method, target) {
        (Segments::Decoded, _, _) => None,
        (Segments::Normalised, "CONNECT" | "TRACE", _) => {
            Some(Err(Failure::MethodNotAllowed { allow: METHODS }))
        }
        (Segments::Normalised, "OPTIONS", b"*") => Some(Ok(StatusCode::NO_CONTENT)),
        (Segments::Normalised, _, _) => None,
    }
}

/// What the client of a request is told that no route takes.
pub(crate) fn failure(unrouted: &Unrouted<'_>) -> Failure {
    match unrouted {
        Unrouted::NoFile => Failure::NO_FILE,
        Unrouted::NoSuchRoute => Failure::NoSuchRoute,
        Unrouted::RefusedQuery { because, .. } => Failure::QueryRefused {
            because: (*because).into(),
        },
    }
}

/// RFC 9110 §15.4.9: the same request, sent to the name and scheme that the site is served under.
fn moved(admitted: &Admitted, session: &Session) -> Option<Made> {
    let served = &admitted.site;
    let came = Came {
        authority: authority(session.req_header()),
        is_named: admitted.is_named,
        is_https: admitted.origin.is_https,
        is_sent_on: admitted.client.listening.settings().redirect_to_https,
        target: session.req_header().raw_path(),
    };
    let moved = served.site.moved(&came, served.https_port)?;
    Made::redirect(StatusCode::PERMANENT_REDIRECT.as_u16(), &moved.to)
}

/// What a route answers without a node; `None`: a node answers.
fn made(matched: &Matched<'_>) -> Option<Result<Made, Failure>> {
    let made = match &matched.route.action {
        Action::Pool | Action::Files(_) => return None,
        Action::Redirect(redirect) => matched
            .location()
            .and_then(|to| Made::redirect(redirect.status, &to)),
        Action::Answer(answer) => StatusCode::from_u16(answer.status).ok().and_then(|status| {
            let mut made = Made::empty(status);
            if let Some(body) = &answer.body {
                let kind = HeaderValue::from_str(&answer.content_type).ok()?;
                made.fields.insert(CONTENT_TYPE, kind);
                made.body = Bytes::copy_from_slice(body.as_bytes());
            }
            Some(made)
        }),
    };
    Some(made.ok_or_else(|| internal(matched.route)))
}

fn internal(route: &Route) -> Failure {
    Failure::Internal {
        because: format!("the answer of route `{}` cannot be written", route.name),
    }
}

/// What conditions are held against.
struct Known<'a> {
    fields: &'a HeaderMap,
    client: IpAddr,
}

impl Facts for Known<'_> {
    fn has_header(&self, name: &str, value: Option<&str>) -> bool {
        let mut lines = self.fields.get_all(name).iter();
        lines.any(|line| value.is_none_or(|value| line.as_bytes() == value.as_bytes()))
    }

    fn has_cookie(&self, name: &str, value: Option<&str>) -> bool {
        let lines = self.fields.get_all(COOKIE).iter();
        has_cookie(lines.map(HeaderValue::as_bytes), name, value)
    }

    fn client(&self) -> Option<IpAddr> {
        Some(self.client)
    }
}
