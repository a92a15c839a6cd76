//! A node as Pingora dials it.
//!
//! Source: RFC 9113 §3.2, §3.3, §5.2, §9.1; adr/0051.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gateway_core::node::LiveNode;
use nix::errno::Errno;
use pingora_core::protocols::ALPN;
use pingora_core::upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy};
use pingora_core::{Error, ErrorType, Result};
use tokio::net::TcpSocket;

use crate::descriptors::Descriptors;
use crate::pools::LivePool;
use crate::tls;

/// Requests at once on one connection of HTTP/2; nodes may take fewer.
const STREAMS: u32 = 100;
/// What a node may send on one stream ahead of its client, in bytes: so much is held for a client that
/// takes nothing.
const STREAM_WINDOW: u32 = 256 * 1024;

/// What a connection is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// One probe; the connection is kept by nobody.
    Probe,
    /// Requests.
    Requests,
    /// A request that a 101 may follow, which only HTTP/1.1 knows (RFC 9113 §8.6).
    Tunnel,
}

/// Asked of each socket before it is connected.
pub(crate) type Dialling = Arc<dyn Fn(&TcpSocket) -> Result<()> + Send + Sync>;

/// Lets a request connect for as long as more descriptors are left than are kept back, and fails as the
/// system does where there is none.
pub(crate) fn dialling(descriptors: Descriptors) -> Dialling {
    Arc::new(move |socket| match descriptors.are_short(socket) {
        true => {
            let none: io::Error = Errno::EMFILE.into();
            Err(Error::because(ErrorType::SocketError, "kept back", none))
        }
        false => Ok(()),
    })
}

/// The node at `address`, to be connected to within `timeout`, TLS included.
///
/// HTTP/2 is agreed on during the handshake, and a node that does not offer it is spoken to in
/// HTTP/1.1; in clear text it is taken as known. The streams of one connection have room for
/// themselves: a client that takes nothing keeps nobody else from being answered.
///
/// There is always a name to verify: a peer without a server name would not be verified at all by
/// Pingora. There is never a client certificate.
pub(crate) fn build(
    pool: &LivePool,
    node: &LiveNode,
    address: SocketAddr,
    timeout: Duration,
    carries: Carries,
) -> HttpPeer {
    let transport = &pool.transport;
    let name = match transport.is_tls {
        true => tls::name(&pool.pool, node.name(), node.addr()).to_owned(),
        false => String::new(),
    };
    let mut peer = HttpPeer::new(address, transport.is_tls, name);
    let speaks_http2 = pool.pool.http2 && carries != Carries::Tunnel;
    peer.group_key = pool.group(speaks_http2);
    peer.options.alpn = match (speaks_http2, transport.is_tls) {
        (false, _) => ALPN::H1,
        (true, false) => ALPN::H2,
        (true, true) => ALPN::H2H1,
    };
    let streams = if carries == Carries::Probe {
        1
    } else {
        STREAMS
    };
    peer.options.max_h2_streams = streams as usize;
    peer.options.h2_stream_window_size = Some(STREAM_WINDOW);
    peer.options.h2_connection_window_size = Some(STREAM_WINDOW * streams);
    peer.options.ca = transport.roots.clone();
    peer.options.verify_cert = transport.is_verified;
    peer.options.verify_hostname = transport.is_verified;
    peer.options.connection_timeout = Some(timeout.min(pool.pool.tcp_timeout));
    peer.options.total_connection_timeout = Some(timeout);
    peer.options.idle_timeout = Some(pool.pool.keep_idle);
    // Fields are chosen by `send`, all of them.
    peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::preserve();
    peer
}
