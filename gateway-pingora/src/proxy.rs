//! A request's table of contents: what Pingora calls, in the order in which it calls, and the step
//! that answers. No rule lives here.
//!
//! Before any of this the gate has judged the request head ([`connection`](crate::connection)).
//! Read on in [`step`], downward, each file once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use pingora_core::connectors::http::v2::ConnectionRef;
use pingora_core::modules::http::HttpModules;
use pingora_core::protocols::Digest;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::{Error, Result};
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{FailToProxy, ProxyHttp, ProxyWarnLogContext, Session};

use crate::connections_out::ConnectionsOut;
use crate::ctx::Ctx;
use crate::serving::Shared;
use crate::step;
use crate::step::route::Taken;

/// What a worker serves requests with.
pub(crate) struct Door {
    /// What all workers share.
    pub(crate) shared: Arc<Shared>,
    /// The connections of this worker to nodes.
    pub(crate) connections: ConnectionsOut,
}

#[async_trait]
impl ProxyHttp for Door {
    type CTX = Ctx;

    fn new_ctx(&self) -> Ctx {
        Ctx::new()
    }

    /// None: what Pingora's modules would do is not wanted.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn early_request_filter(&self, session: &mut Session, ctx: &mut Ctx) -> Result<()> {
        step::admit::run(&self.shared, session, ctx)
    }

    async fn request_filter(&self, session: &mut Session, ctx: &mut Ctx) -> Result<bool> {
        let taken = match step::screen::run(session, ctx) {
            Ok(()) => step::route::run(session, ctx),
            Err(failure) => Err(failure),
        };
        let ready = match taken {
            Ok(Taken::ByUs(endpoint)) => {
                return step::endpoint::run(&self.shared, endpoint, session, ctx).await;
            }
            Ok(Taken::Files(folder, target)) => {
                return step::files::run(&self.shared, &folder, &target, session, ctx).await;
            }
            Ok(Taken::Made(made)) => return step::answer::made(session, ctx, made).await,
            Ok(Taken::ByPool) => step::body::run(&self.shared, session, ctx).await,
            Err(failure) => Err(failure),
        };
        let chosen = match ready {
            Ok(()) => step::choose::run(session, ctx).await,
            Err(failure) => Err(failure),
        };
        match chosen {
            Ok(()) => Ok(false),
            Err(failure) => step::answer::refuse(session, ctx, failure).await,
        }
    }

    /// The allowlist's selector: it can return only a node of the pool of the route that matched.
    async fn upstream_peer(&self, session: &mut Session, ctx: &mut Ctx) -> Result<Box<HttpPeer>> {
        step::choose::peer(&self.shared, &self.connections, session, ctx).await
    }

    async fn connected_to_upstream(
        &self,
        _session: &mut Session,
        reused: bool,
        _peer: &HttpPeer,
        fd: std::os::unix::io::RawFd,
        _digest: Option<&Digest>,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::send::take(&self.connections, reused, fd, ctx)
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::send::run(&self.connections, session, request, ctx)
    }

    async fn request_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::send::body(&self.shared, session, body, end, ctx)
    }

    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        ctx: &mut Ctx,
        error: Box<Error>,
    ) -> Box<Error> {
        step::judge::not_connected(error, ctx)
    }

    fn error_while_proxy(
        &self,
        _peer: &HttpPeer,
        _session: &mut Session,
        error: Box<Error>,
        ctx: &mut Ctx,
        was_used_before: bool,
    ) -> Box<Error> {
        step::judge::broken(error, was_used_before, ctx)
    }

    fn h2_upstream_stream_ended(
        &self,
        connection: &ConnectionRef,
        error: Option<&Error>,
        ctx: &mut Ctx,
    ) {
        if step::judge::ends_connection(error, ctx) {
            connection.mark_shutdown();
        }
    }

    async fn upstream_response_filter(
        &self,
        _session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::judge::head(response, ctx)
    }

    fn upstream_response_trailer_filter(
        &self,
        _session: &mut Session,
        trailers: &mut HeaderMap,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::answer::trailers(trailers, ctx)
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        step::answer::head(&self.shared, session, response, ctx)
    }

    fn response_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Ctx,
    ) -> Result<Option<Duration>> {
        step::answer::body(body, end, ctx)
    }

    async fn response_trailer_filter(
        &self,
        _session: &mut Session,
        _trailers: &mut HeaderMap,
        ctx: &mut Ctx,
    ) -> Result<Option<Bytes>> {
        step::answer::end_of_compressed(ctx)
    }

    async fn fail_to_proxy(
        &self,
        session: &mut Session,
        error: &Error,
        ctx: &mut Ctx,
    ) -> FailToProxy {
        step::answer::fail(session, error, ctx).await
    }

    async fn logging(&self, session: &mut Session, _error: Option<&Error>, ctx: &mut Ctx) {
        step::finish::run(session, ctx);
    }

    /// Every failure stands in the access log, once.
    fn suppress_error_log(&self, _session: &Session, _ctx: &Ctx, _error: &Error) -> bool {
        true
    }

    /// A try that failed stands in the access log by its count, and in the log when it moved a node.
    fn suppress_proxy_warn_log(
        &self,
        _session: &Session,
        _ctx: &Ctx,
        _error: &Error,
        _context: ProxyWarnLogContext,
    ) -> bool {
        true
    }
}
