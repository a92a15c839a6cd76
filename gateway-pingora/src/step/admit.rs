//! Step 1: who asks, on which site, under which snapshot.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gateway_config::FoundBy;
use gateway_config::canonical::split_port;
use http::header::HOST;
use http::{HeaderMap, HeaderValue};
use pingora_core::{Error, ErrorType, Result};
use pingora_proxy::Session;

use crate::client::Client;
use crate::ctx::{Admitted, Ctx, Head, Passed};
use crate::fields::authority;
use crate::ids::{self, REQUEST_ID};
use crate::origin::Origin;
use crate::serving::Shared;
use crate::site::ServedSite;
use crate::waiting::Waiting;

/// Pins the snapshot's site for the life of the request, and gives the request its id.
///
/// # Errors
/// A session that did not come through our stream: a fault of ours.
pub(crate) fn run(shared: &Arc<Shared>, session: &mut Session, ctx: &mut Ctx) -> Result<()> {
    let client = client(session)
        .ok_or_else(|| Error::explain(ErrorType::InternalError, "a session not made by us"))?;
    // An interim answer of a node is not passed on (RFC 9110 §15.2 leaves that to a proxy).
    session.set_ignore_info_resp(true);

    client.admit();
    let mut watch = Arc::clone(&client.watch);
    if let Some(stream) = session.downstream_session.as_http2_mut() {
        watch = Arc::default();
        stream.set_waits(Box::new(Waiting::new(&client, &watch)));
    }
    let serving = shared.serving.load();
    let request = session.req_header();
    let (host, _) = split_port(authority(session.req_header()));
    let (site, by) = serving
        .sites(&client.listening.name)
        .and_then(|sites| sites.of(host))
        .unwrap_or((&serving.nobody, FoundBy::Default));

    if let Some(metrics) = &site.metrics {
        metrics.requests.inc();
    }
    let listener = client.listening.settings();
    let peer = client.peer.ip();
    ctx.admitted = Some(Admitted {
        origin: Origin::of(&listener, peer, &request.headers),
        id: id(site, &request.headers).unwrap_or_else(|| shared.ids.make()),
        head: Head {
            method: request.method.clone(),
            uri: request.uri.clone(),
            host: request.headers.get(HOST).cloned(),
            version: request.version,
            tls: session
                .digest()
                .and_then(|digest| digest.ssl_digest.clone()),
        },
        passed: Passed::default(),
        shared: Arc::clone(shared),
        is_named: by != FoundBy::Default,
        generation: shared.generation.load(Ordering::Relaxed),
        _in_flight: site.counts.begin(),
        counted: None,
        site: Arc::clone(site),
        client,
        watch,
    });
    Ok(())
}

fn client(session: &Session) -> Option<Arc<Client>> {
    let proxy = session.digest()?.proxy_digest.as_ref()?;
    proxy
        .user_data
        .as_ref()?
        .downcast_ref::<Arc<Client>>()
        .map(Arc::clone)
}

/// A client's own id, where all its fields travel.
fn id(site: &ServedSite, fields: &HeaderMap) -> Option<HeaderValue> {
    let id = fields.get(REQUEST_ID)?;
    (site.request_fields.is_none() && ids::is_usable(id)).then(|| id.clone())
}
