//! Step 1: who asks, on which site, under which snapshot.

use std::sync::Arc;

use pingora_core::{Error, ErrorType, Result};
use pingora_proxy::Session;

use crate::client::Client;
use crate::ctx::{Admitted, Ctx};
use crate::serving::Shared;

/// Pins the snapshot's site for the life of the request, and gives the request its id.
///
/// # Errors
/// A session that did not come through our stream, or a listener without a site: faults of ours.
pub(crate) fn run(shared: &Shared, session: &mut Session, ctx: &mut Ctx) -> Result<()> {
    let client = client(session)
        .ok_or_else(|| Error::explain(ErrorType::InternalError, "a session not made by us"))?;
    // An interim answer of a node is not passed on (RFC 9110 §15.2 leaves that to a proxy).
    session.set_ignore_info_resp(true);

    let serving = shared.serving.load();
    let site = serving
        .sites(&client.listening.name)
        .and_then(|sites| sites.of(|| host(session)))
        .ok_or_else(|| Error::explain(ErrorType::InternalError, "a listener without a site"))?;

    site.metrics.requests.inc();
    let site = Arc::clone(site);
    ctx.admitted = Some(Admitted {
        client,
        site,
        id: shared.ids.make(),
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

/// The host asked for, lower case, without its port and one trailing dot (RFC 3986 §3.2.2).
fn host(session: &Session) -> String {
    let header = session.req_header();
    let authority = match header.uri.authority() {
        Some(authority) => authority.host(),
        None => header
            .headers
            .get(http::header::HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or(""),
    };
    let name = name(authority);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The host of an authority, without the port.
pub(crate) fn name(authority: &str) -> &str {
    match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => authority.get(..colon).unwrap_or(authority),
        _ => authority,
    }
}
