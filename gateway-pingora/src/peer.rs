//! A node as Pingora dials it.

use std::net::SocketAddr;
use std::time::Duration;

use gateway_core::node::LiveNode;
use pingora_core::protocols::ALPN;
use pingora_core::upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy};

use crate::pools::LivePool;

/// The node at `address`, to be connected to within `timeout`, TLS included.
///
/// Verified is the node's name, whatever its address: a peer without a server name would not be
/// verified at all by Pingora. There is never a client certificate.
pub(crate) fn build(
    pool: &LivePool,
    node: &LiveNode,
    address: SocketAddr,
    timeout: Duration,
) -> HttpPeer {
    let transport = &pool.transport;
    let name = if transport.is_tls {
        node.name().to_string()
    } else {
        String::new()
    };
    let mut peer = HttpPeer::new(address, transport.is_tls, name);
    peer.group_key = pool.group;
    peer.options.alpn = ALPN::H1;
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
