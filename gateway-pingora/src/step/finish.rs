//! Step 9: the request is over: its metrics, its one line in the access log, and what it held is
//! given back.

use gateway_config::canonical::split_port;
use gateway_core::failure::Failure;
use http::header::{REFERER, USER_AGENT};
use http::{HeaderName, Version};
use pingora_proxy::Session;

use crate::access::AccessLine;
use crate::clock;
use crate::counts::Ended;
use crate::ctx::{Admitted, Ctx};
use crate::fields::authority;
use crate::serving::Shared;

/// Ends the request.
pub(crate) fn run(shared: &Shared, session: &Session, ctx: &mut Ctx) {
    ctx.is_over = true;
    drop(ctx.attempt.take());
    let Some(admitted) = &ctx.admitted else {
        return;
    };
    admitted.watch.clear();
    let took = clock::now().saturating_duration_since(ctx.started);
    let status = session
        .response_written()
        .filter(|head| !head.status.is_informational() || session.was_upgraded())
        .map(|head| head.status.as_u16());
    let bytes_in = session.body_bytes_read() as u64;
    let bytes_out = session.body_bytes_sent() as u64;

    if let Some(metrics) = &admitted.site.metrics {
        if let Some(status) = status {
            metrics.answered(status, took);
        }
        metrics.request_bytes.inc_by(bytes_in);
        metrics.response_bytes.inc_by(bytes_out);
    }

    let ended = Ended {
        listener: &admitted.client.listening.name,
        route: ctx.route_at,
        status,
        took: Some(took),
        bytes: (bytes_in, bytes_out),
    };
    admitted.site.counts.end(&ended);
    if let Some(failure) = &ctx.failure {
        admitted.client.listening.counts.failures.count(failure);
    }
    if shared.access_log.is_on() {
        shared
            .access_log
            .write(&line(session, ctx, admitted, &ended));
    }
}

/// Its line.
fn line<'a>(
    session: &'a Session,
    ctx: &'a Ctx,
    admitted: &'a Admitted,
    ended: &Ended<'a>,
) -> AccessLine<'a> {
    let request = session.req_header();
    let field = |name: HeaderName| request.headers.get(name).map(|value| value.as_bytes());
    let failure = ctx.failure.as_ref();
    let answer = failure.map(|failure| failure.answer_at(&admitted.site.site));
    let node = ctx.asked.last.as_ref();
    let (host, _) = split_port(authority(request));
    let tls = session
        .digest()
        .and_then(|digest| digest.ssl_digest.as_ref());
    AccessLine {
        time: clock::unix_seconds(),
        id: admitted.id.to_str().unwrap_or_default(),
        client: admitted.origin.client,
        listener: ended.listener,
        site: Some(&*admitted.site.site.name).filter(|name| !name.is_empty()),
        host: Some(host).filter(|host| !host.is_empty()),
        method: Some(request.method.as_str()),
        target: Some(request.raw_path()),
        protocol: Some(protocol(request.version)),
        status: ended.status,
        bytes_in: ended.bytes.0,
        bytes_out: ended.bytes.1,
        seconds: ended.took.unwrap_or_default().as_secs_f64(),
        route: ctx.route.as_deref(),
        pool: ctx.routed.as_ref().map(|routed| &*routed.pool.pool.name),
        node: node.map(|node| &**node.name()),
        addr: node.map(|node| &**node.addr()),
        tries: ctx.asked.made,
        code: answer.as_ref().map(|answer| answer.code),
        reason: ctx.failure.as_ref().map(Failure::reason),
        generation: admitted.generation,
        snapshot: Some(&admitted.site.hash),
        tls: tls.map(|tls| &*tls.version),
        referrer: field(REFERER),
        agent: field(USER_AGENT),
    }
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}
