//! An HTTP/2 connection as Pingora is given it: whole, with the bounds that its listener has at the
//! moment it is made. Its streams are served like any other request, by the worker's proxy.
//!
//! Source: RFC 9113 §6.8, §9.1; adr/0035.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream, ServerApp};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::server::ShutdownWatch;
use pingora_proxy::HttpProxy;

use crate::proxy::Door;
use crate::stream::Conn;

/// Streams at once on one connection.
const STREAMS: u32 = 100;
/// Longest list of fields, in bytes.
const FIELDS: u32 = 64 * 1024;

/// One connection's bounds before the proxy of its worker.
struct Http2 {
    proxy: Arc<HttpProxy<Door>>,
    options: HttpServerOptions,
}

/// Serves a connection to its end, which comes after `idle` without a stream.
pub(crate) async fn serve(
    conn: Box<Conn>,
    proxy: &Arc<HttpProxy<Door>>,
    idle: Duration,
    drain: &ShutdownWatch,
) {
    let mut options = HttpServerOptions::default();
    options.h2_idle_timeout = Some(idle);
    let proxy = Arc::clone(proxy);
    Arc::new(Http2 { proxy, options })
        .process_new(conn, drain)
        .await;
}

#[async_trait]
impl HttpServerApp for Http2 {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        drain: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        self.proxy.process_new_http(session, drain).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        let mut options = H2Options::new();
        options
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(FIELDS);
        Some(options)
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}
