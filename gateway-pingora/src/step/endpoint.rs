//! Instead of steps 4 to 8: what the gateway answers itself, from what is already known. Never
//! probes, never waits, never asks a node.

use std::sync::Arc;
use std::time::Instant;

use gateway_config::Endpoint;
use gateway_core::node::NodeView;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use pingora_core::Result;
use pingora_proxy::Session;
use serde::Serialize;
use serde_json::Value;

use crate::clock;
use crate::ctx::{Admitted, Ctx};
use crate::made::Made;
use crate::pools::LivePool;
use crate::serving::Shared;

/// Answers.
///
/// # Errors
/// When the client cannot be written to.
pub(crate) async fn run(
    shared: &Shared,
    endpoint: Endpoint,
    session: &mut Session,
    ctx: &Ctx,
) -> Result<bool> {
    let admitted = ctx.admitted()?;
    let site = &admitted.site;
    let pool = site
        .site
        .endpoints
        .as_ref()
        .and_then(|pool| site.pools.get(pool));
    let (status, kind, body) = match endpoint {
        Endpoint::Health => (200, "application/json", br#"{"status":"ok"}"#.to_vec()),
        Endpoint::Metrics => (200, "text/plain; version=0.0.4", metrics(admitted, pool)),
        Endpoint::Ready => ready(shared, pool),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut made = Made::passing(status, HeaderValue::from_static(kind), body.into());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        made.fields
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    made.send(session, admitted).await?;
    Ok(true)
}

fn metrics(admitted: &Admitted, pool: Option<&Arc<LivePool>>) -> Vec<u8> {
    let nodes = pool.map(|pool| pool.state.view()).unwrap_or_default();
    let bare = pool.map_or(0, |pool| pool.state.ranges_without_node().len());
    let metrics = admitted.site.metrics.as_ref();
    metrics.map_or_else(Vec::new, |metrics| metrics.render(&nodes, bare))
}

fn ready(shared: &Shared, pool: Option<&Arc<LivePool>>) -> (u16, &'static str, Vec<u8>) {
    let nodes = pool.map(|pool| pool.state.view()).unwrap_or_default();
    let in_rotation = nodes.iter().filter(|node| node.is_in).count();
    let is_ready = in_rotation > 0 && !shared.is_draining();
    let now = clock::now();
    let body = Ready {
        status: if is_ready { "ready" } else { "unavailable" },
        version: env!("CARGO_PKG_VERSION"),
        in_rotation,
        total: nodes.len(),
        upstreams: nodes.iter().map(|node| Upstream::of(node, now)).collect(),
    };
    let status = if is_ready { 200 } else { 503 };
    (
        status,
        "application/json",
        serde_json::to_vec(&body).unwrap_or_default(),
    )
}

/// The body of `/ready`. The order of the keys is part of the contract.
#[derive(Serialize)]
struct Ready<'a> {
    status: &'static str,
    version: &'static str,
    in_rotation: usize,
    total: usize,
    upstreams: Vec<Upstream<'a>>,
}

#[derive(Serialize)]
struct Upstream<'a> {
    name: &'a str,
    addr: &'a str,
    state: &'static str,
    in_flight: u32,
    consecutive_failures: u32,
    serving: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    last_ok_ms: Option<u64>,
}

impl<'a> Upstream<'a> {
    fn of(node: &'a NodeView, now: Instant) -> Self {
        let since = |at: Instant| now.saturating_duration_since(at).as_millis();
        Upstream {
            name: &node.name,
            addr: &node.addr,
            state: if node.is_in { "in" } else { "out" },
            in_flight: node.in_flight,
            consecutive_failures: node.consecutive_failures,
            serving: node.document.serving,
            node: node.document.node.as_ref(),
            shards: node.document.shards.as_ref(),
            wire: node.document.wire.as_ref(),
            why: node.why.filter(|_| !node.is_in).map(|why| why.to_string()),
            last_ok_ms: node
                .last_ok
                .map(|at| u64::try_from(since(at)).unwrap_or(u64::MAX)),
        }
    }
}
