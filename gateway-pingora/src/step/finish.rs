//! Step 9: the request is over: its metrics, its one line in the access log, and what it held is
//! given back.

use std::sync::atomic::Ordering;

use gateway_config::canonical::split_port;
use gateway_core::failure::Failure;
use http::header::{REFERER, USER_AGENT};
use http::{HeaderName, Version};
use pingora_http::RequestHeader;
use pingora_proxy::Session;

use crate::access::AccessLine;
use crate::clock;
use crate::counts::Ended;
use crate::ctx::{Admitted, Ctx};

/// Ends the request.
pub(crate) fn run(session: &Session, ctx: &mut Ctx) {
    let status = session
        .response_written()
        .filter(|head| !head.status.is_informational() || session.was_upgraded())
        .map(|head| head.status.as_u16());
    let bytes_in = session.body_bytes_read() as u64;
    let bytes_out = session.body_bytes_sent() as u64;
    end(
        ctx,
        Some(session.req_header()),
        status,
        (bytes_in, bytes_out),
    );
}

impl Drop for Ctx {
    /// A request that is dropped before its end is cut with its connection.
    fn drop(&mut self) {
        let Some(admitted) = self.admitted.as_ref().filter(|_| !self.is_over) else {
            return;
        };
        let passed = &admitted.passed;
        let status = Some(passed.status.load(Ordering::Relaxed)).filter(|status| *status > 0);
        let bytes =
            [&passed.bytes_in, &passed.bytes_out].map(|bytes| bytes.load(Ordering::Relaxed));
        self.failure = Some(match std::thread::panicking() {
            true => Failure::Internal {
                because: "a panic".to_owned(),
            },
            false => Failure::Draining,
        });
        end(self, None, status, bytes.into());
    }
}

/// Counts it and writes its line: once for each request that was admitted.
fn end(ctx: &mut Ctx, request: Option<&RequestHeader>, status: Option<u16>, bytes: (u64, u64)) {
    ctx.is_over = true;
    drop(ctx.attempt.take());
    let Some(admitted) = &ctx.admitted else {
        return;
    };
    admitted.watch.clear();
    let now = clock::now();
    // It was not the client who went away, where the connection was cut under the request.
    if ctx.failure == Some(Failure::ClientGone) && admitted.client.drain.is_over(now) {
        ctx.failure = Some(Failure::Draining);
    }
    let took = now.saturating_duration_since(ctx.started);
    if let Some(metrics) = &admitted.site.metrics {
        if let Some(status) = status {
            metrics.answered(status, took);
        }
        metrics.request_bytes.inc_by(bytes.0);
        metrics.response_bytes.inc_by(bytes.1);
    }

    let ended = Ended {
        listener: &admitted.client.listening.name,
        route: ctx.route_at,
        status,
        took: Some(took),
        bytes,
    };
    admitted.site.counts.end(&ended);
    if let Some(failure) = &ctx.failure {
        admitted.client.listening.counts.failures.count(failure);
    }
    let access_log = &admitted.shared.access_log;
    if access_log.is_on() {
        access_log.write(&line(request, ctx, admitted, &ended));
    }
}

/// Its line.
fn line<'a>(
    request: Option<&'a RequestHeader>,
    ctx: &'a Ctx,
    admitted: &'a Admitted,
    ended: &Ended<'a>,
) -> AccessLine<'a> {
    let head = &admitted.head;
    let field = |name: HeaderName| Some(request?.headers.get(name)?.as_bytes());
    let failure = ctx.failure.as_ref();
    let answer = failure.map(|failure| failure.answer_at(&admitted.site.site));
    let node = ctx.asked.last.as_ref();
    let (host, _) = split_port(head.authority());
    AccessLine {
        time: clock::unix_seconds(),
        id: admitted.id.to_str().unwrap_or_default(),
        client: admitted.origin.client,
        listener: ended.listener,
        site: Some(&*admitted.site.site.name).filter(|name| !name.is_empty()),
        host: Some(host).filter(|host| !host.is_empty()),
        method: Some(head.method.as_str()),
        target: Some(request.map_or_else(|| head.target(), RequestHeader::raw_path)),
        protocol: Some(protocol(head.version)),
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
        tls: head.tls.as_ref().map(|tls| &*tls.version),
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
