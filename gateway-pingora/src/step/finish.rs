//! Step 9: the request is over: its metrics, its one line in the access log, and what it held is
//! given back.

use http::Version;
use pingora_proxy::Session;

use crate::clock;
use crate::ctx::Ctx;
use crate::serving::Shared;
use crate::telemetry::AccessLine;

/// Longest path in an access line, in bytes.
const MAX_PATH: usize = 1024;

/// Ends the request.
pub(crate) fn run(shared: &Shared, session: &Session, ctx: &mut Ctx) {
    drop(ctx.attempt.take());
    let Some(admitted) = &ctx.admitted else {
        return;
    };
    admitted.client.watch.clear();
    let took = clock::now().saturating_duration_since(ctx.started);
    let status = session
        .response_written()
        .filter(|head| !head.status.is_informational() || session.was_upgraded())
        .map(|head| head.status.as_u16());
    let bytes_in = session.body_bytes_read() as u64;
    let bytes_out = session.body_bytes_sent() as u64;

    let metrics = &admitted.site.metrics;
    if let Some(status) = status {
        metrics.answered(status, took);
    }
    metrics.request_bytes.inc_by(bytes_in);
    metrics.response_bytes.inc_by(bytes_out);

    if shared.access_log.is_on() {
        let request = session.req_header();
        let path = String::from_utf8_lossy(path(request.raw_path()));
        let answer = ctx.failure.as_ref().map(|failure| failure.answer());
        let node = ctx.asked.last.as_ref();
        shared.access_log.write(&AccessLine {
            id: admitted.id.to_str().unwrap_or_default(),
            client: admitted.origin.client,
            listener: &admitted.client.listening.name,
            site: Some(&*admitted.site.site.name).filter(|name| !name.is_empty()),
            method: Some(request.method.as_str()),
            path: Some(&path),
            protocol: Some(protocol(request.version)),
            status,
            bytes_in,
            bytes_out,
            seconds: took.as_secs_f64(),
            route: ctx.route.as_deref(),
            pool: ctx.routed.as_ref().map(|routed| &*routed.pool.pool.name),
            node: node.map(|node| &**node.name()),
            addr: node.map(|node| &**node.addr()),
            tries: ctx.asked.made,
            code: answer.as_ref().map(|answer| answer.code),
            reason: ctx
                .failure
                .as_ref()
                .map(gateway_core::failure::Failure::reason),
            snapshot: Some(&admitted.site.hash),
            tls: session
                .digest()
                .and_then(|digest| digest.ssl_digest.as_ref())
                .map(|tls| &*tls.version),
        });
    }
}

/// The path of a target, without its query, cut to a length a line can bear.
fn path(target: &[u8]) -> &[u8] {
    let path = target
        .split(|&byte| byte == b'?')
        .next()
        .unwrap_or_default();
    path.get(..MAX_PATH).unwrap_or(path)
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}
