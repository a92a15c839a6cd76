//! A node as Pingora dials it.

use std::net::SocketAddr;
use std::time::Duration;

use gateway_config::canonical::split_port;
use gateway_config::model::{Pool, TlsName};
use gateway_core::node::LiveNode;
use pingora_core::protocols::ALPN;
use pingora_core::upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy};

use crate::pools::LivePool;

/// The node at `address`, to be connected to within `timeout`, TLS included.
///
/// There is always a name to verify: a peer without a server name would not be verified at all by
/// Pingora. There is never a client certificate.
pub(crate) fn build(
    pool: &LivePool,
    node: &LiveNode,
    address: SocketAddr,
    timeout: Duration,
) -> HttpPeer {
    let transport = &pool.transport;
    let name = match transport.is_tls {
        true => name(&pool.pool, node),
        false => String::new(),
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

/// The name checked in the certificate: the node's own setting, else what the pool says.
fn name(pool: &Pool, node: &LiveNode) -> String {
    let told = pool.nodes.iter().find(|one| one.name == *node.name());
    match (
        told.and_then(|told| told.tls_name.as_deref()),
        &pool.tls_name,
    ) {
        (Some(name), _) => name.to_owned(),
        (None, TlsName::Address) => host(node.addr()).to_owned(),
        (None, TlsName::Literal(name)) => name.to_string(),
        (None, TlsName::Node) => node.name().to_string(),
    }
}

/// The host of `HOST:PORT`, without the brackets of an IPv6 address.
fn host(addr: &str) -> &str {
    let (host, _) = split_port(addr);
    host.trim_start_matches('[').trim_end_matches(']')
}
