//! An HTTP/2 connection as Pingora is given it: whole, with the bounds that its listener has at the
//! moment it is made. Its streams are served like any other request, by the worker's proxy.
//!
//! Source: RFC 9113 §6.8, §9.1; adr/0035.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_config::model::Listener;
use pingora_core::apps::{HttpServerApp, ReusedHttpStream, ServerApp};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::server::ShutdownWatch;
use pingora_proxy::HttpProxy;

use crate::client::Client;
use crate::proxy::Door;
use crate::stream::Conn;

/// What RFC 9113 §6.5.2 adds for each field to the bytes of a list.
const OVERHEAD: u32 = 32;
/// Fields that are made of a request line.
const PSEUDO: u32 = 4;

/// What frames of data that are smaller than 256 bytes may cost while nobody has read them: each is
/// held to cost 256 bytes, and what it carries is counted by its window. So many that a window of
/// 65,535 bytes may be full of messages of five, as those of gRPC without content are: 13,107 times 251.
const SMALL_FRAMES: usize = 65_535 / 5 * (256 - 5);

/// One connection's bounds before the proxy of its worker.
struct Http2 {
    proxy: Arc<HttpProxy<Door>>,
    client: Arc<Client>,
    listener: Arc<Listener>,
}

/// What may wait of an answer for its client to take it, bytes; the request is under way until the rest of it has
/// found room here.
const SEND_BUFFER: usize = 64 * 1024;

/// Serves a connection to its end.
pub(crate) async fn serve(
    mut conn: Box<Conn>,
    proxy: &Arc<HttpProxy<Door>>,
    listener: Arc<Listener>,
    drain: &ShutdownWatch,
) {
    conn.open();
    let http2 = Http2 {
        proxy: Arc::clone(proxy),
        client: Arc::clone(conn.client()),
        listener,
    };
    Arc::new(http2).process_new(conn, drain).await;
}

#[async_trait]
impl HttpServerApp for Http2 {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        drain: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        let _under_way = self.client.serves();
        self.proxy.process_new_http(session, drain).await
    }

    fn h2_options(&self) -> Option<H2Options> {
        let (head, limits) = (&self.listener.head, &self.listener.http2_limits);
        // Room for all that passes the limits of a head, which are judged by our own step.
        let overhead = OVERHEAD * (u32::from(head.count) + PSEUDO);
        let mut options = H2Options::new();
        options
            .max_concurrent_streams(limits.streams)
            .max_header_list_size(head.fields + head.line + overhead)
            .max_send_buffer_size(SEND_BUFFER)
            // Counted by the stream below.
            .max_pending_accept_reset_streams(limits.resets as usize)
            .max_local_error_reset_streams(None)
            .data_frame_budget(SMALL_FRAMES);
        Some(options)
    }
}
