//! Asks nodes how they are, as their pool says: for the readiness document, for an answer with an
//! expected status, or for a connection; over the transport of the pool, on a connection of its own,
//! without a credential and without a slot. All addresses of a node are asked at once, and it is as well
//! as the best of them. Of a node that nobody asks only the name is followed.
//!
//! [`AddressCheck`] is Pingora's `HealthCheck` for one address of a node. What an observation means is
//! [`readiness`]'s and what it does to the node is the pool's; Pingora's
//! own threshold is not asked, since it cannot take a node out at once. Everything here runs on the
//! control runtime, so that no load on the workers can starve it.
//!
//! Source: adr/0010, adr/0019, adr/0048, adr/0052.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use gateway_config::canonical::split_port;
use gateway_config::model::ProbeKind;
use gateway_core::failure::Unsent;
use gateway_core::node::{LastProbe, LiveNode};
use gateway_core::readiness::{self, Document, Observation};
use pingora_core::connectors::ConnectorOptions;
use pingora_core::connectors::http::Connector;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::server::configuration::ServerConf;
use pingora_core::{Error, ErrorType, Result};
use pingora_http::RequestHeader;
use pingora_load_balancing::Backend;
use pingora_load_balancing::health_check::HealthCheck;
use tokio::sync::{Notify, watch as channel};
use tokio::task::JoinSet;

use crate::clock;
use crate::names::{Meaning, Names};
use crate::peer::{self, Carries};
use crate::pools::LivePool;
use crate::translate::{self, Broken};
use crate::unshaken::Unshaken;

/// What probes are sent through. Trusts nobody but whom a pool names; see [`tls`](crate::tls).
pub(crate) fn connector() -> Arc<Connector> {
    let conf = ServerConf {
        ca_file: Some("/dev/null".to_owned()),
        ..ServerConf::default()
    };
    Arc::new(Connector::new(Some(ConnectorOptions::from_server_conf(
        &conf,
    ))))
}

/// Asks one node of one pool.
pub(crate) struct NodeCheck {
    /// Its pool as the snapshot that is served has it.
    pool: ArcSwap<LivePool>,
    node: Arc<LiveNode>,
    connector: Arc<Connector>,
    /// What its name means, with the port; `None` where it is given by an address.
    name: Option<(channel::Receiver<Meaning>, u16)>,
    /// The pool is probed otherwise than before.
    changed: Notify,
    unshaken: Arc<Unshaken>,
}

/// Asks one node at one of its addresses.
struct AddressCheck {
    node: Arc<NodeCheck>,
    address: SocketAddr,
    /// What has been seen so far: a check that is cut short leaves how far it came.
    seen: Mutex<Observation>,
    /// It could not be made at all.
    says_nothing: AtomicBool,
}

impl NodeCheck {
    /// A check of this node, over a connector that may be shared: it keeps no connection.
    pub(crate) fn new(
        pool: Arc<LivePool>,
        node: Arc<LiveNode>,
        connector: Arc<Connector>,
        names: &Names,
        unshaken: &Arc<Unshaken>,
    ) -> Arc<Self> {
        let name = match node.addr().parse::<SocketAddr>() {
            Ok(_) => None,
            Err(_) => {
                let (host, port) = split_port(node.addr());
                let port = port.and_then(|port| port.parse().ok()).unwrap_or_default();
                Some((names.follow(host), port))
            }
        };
        Arc::new(NodeCheck {
            pool: ArcSwap::new(pool),
            node,
            connector,
            name,
            changed: Notify::new(),
            unshaken: Arc::clone(unshaken),
        })
    }

    /// The pool is as another snapshot has it. Where it is probed otherwise, the next probe is made
    /// at once.
    pub(crate) fn apply(&self, pool: Arc<LivePool>) {
        let probe = pool.pool.probe.clone();
        if self.pool.swap(pool).pool.probe != probe {
            self.changed.notify_one();
        }
    }

    /// Probes once, in time, and tells the pool what was seen.
    ///
    /// Cancel-safe: a probe that is dropped counts for nothing.
    pub(crate) async fn probe(self: &Arc<Self>) {
        if let Some(seen) = self.observe().await {
            self.node.tally().count_probe(seen.why().is_none());
            if let Some(why) = seen.why() {
                let (node, pool) = (&**self.node.name(), self.pool.load_full());
                let pool = &*pool.pool.name;
                tracing::debug!(pool, node, %why, "probe failed");
            }
            let pool = self.pool.load_full();
            let moves = pool.state.probed(&self.node, &seen, clock::now());
            pool.report(&moves);
        }
    }

    /// A connection was made, or not.
    fn shakes_hands(&self, failed: Option<&Error>) {
        let pool = self.pool.load_full();
        let (pool, node) = (&pool.pool.name, self.node.name());
        match failed {
            None => self.unshaken.is_mended(pool, node),
            Some(error) if translate::not_connected(error) == Unsent::Handshake => {
                let why = translate::deepest_words(error);
                self.unshaken.say(pool, node, why, clock::now());
            }
            Some(_) => {}
        }
    }

    fn is_asked_nothing(&self) -> bool {
        matches!(self.pool.load().pool.probe.kind, ProbeKind::None)
    }

    /// Waits for the first answer about its name if there is none yet, then probes once, all in time,
    /// and tells nobody; `None` when the probe could not be made, or the node is asked nothing.
    ///
    /// Cancel-safe: a probe that is dropped counts for nothing.
    pub(crate) async fn observe(self: &Arc<Self>) -> Option<Observation> {
        let begun = clock::now();
        let end = begun + self.pool.load().pool.probe.timeout;
        if self.node.addresses().is_empty() {
            let _ = tokio::time::timeout_at(end.into(), self.is_located()).await;
        }
        if self.is_asked_nothing() {
            return None;
        }
        let seen = self.check_addresses(end).await?;
        let now = clock::now();
        let took = now.saturating_duration_since(begun);
        self.node.set_last_probe(LastProbe { at: now, took });
        Some(seen)
    }

    /// Completes when its name has been asked, whatever came of it.
    async fn is_located(&self) {
        let Some((meaning, _)) = &self.name else {
            return;
        };
        let mut meaning = meaning.clone();
        if let Ok(known) = meaning.wait_for(|known| known.is_found.is_some()).await {
            let known = known.clone();
            self.is_moved(&known);
        }
    }

    /// Takes over what its name means; whether it is reached elsewhere than before.
    fn is_moved(&self, known: &Meaning) -> bool {
        let Some((_, port)) = &self.name else {
            return false;
        };
        let at = |address: &std::net::IpAddr| SocketAddr::new(*address, *port);
        let found: Vec<SocketAddr> = known.addresses.iter().map(at).collect();
        let pool = self.pool.load_full();
        let (is_other, moves) = pool.state.resolved(&self.node, &found, clock::now());
        pool.report(&moves);
        is_other
    }

    /// Completes when its name has been asked again.
    async fn asked_again(&self, meaning: &mut Option<channel::Receiver<Meaning>>) -> bool {
        let Some(meaning) = meaning else {
            return std::future::pending().await;
        };
        if meaning.changed().await.is_err() {
            return std::future::pending().await;
        }
        let known = meaning.borrow_and_update().clone();
        if known.is_found.is_none() {
            return false;
        }
        self.node.tally().count_lookup(known.is_found == Some(true));
        self.is_moved(&known)
    }

    /// Checks all its addresses at once; it is as well as the best of them. `None`: no descriptor was
    /// left to ask, which is not the node's fault.
    async fn check_addresses(self: &Arc<Self>, end: Instant) -> Option<Observation> {
        let mut checks = JoinSet::new();
        for address in self.node.addresses() {
            let check = AddressCheck {
                node: Arc::clone(self),
                address,
                seen: Mutex::new(Observation::Unreachable),
                says_nothing: AtomicBool::new(false),
            };
            checks.spawn(async move { (address, check.observe(end).await) });
        }
        let mut best = Observation::Unreachable;
        let mut says_nothing = false;
        while let Some(checked) = checks.join_next().await {
            let Ok((address, seen)) = checked else {
                continue;
            };
            match &seen {
                Some(seen) if seen.why().is_none() => self.node.address_is_good(address),
                Some(_) => self.node.address_failed(address, clock::now()),
                None => says_nothing = true,
            }
            best = best.or(seen.unwrap_or(Observation::Unreachable));
        }
        let is_good = best.why().is_none();
        (is_good || !says_nothing).then_some(best)
    }
}

impl AddressCheck {
    /// What is seen there until then; `None` when the check could not be made.
    async fn observe(&self, end: Instant) -> Option<Observation> {
        let backend = Backend::new(&self.address.to_string()).ok()?;
        let _ = tokio::time::timeout_at(end.into(), self.check(&backend)).await;
        if self.says_nothing.load(Ordering::Relaxed) {
            return None;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Some(seen.clone())
    }

    async fn ask(&self, target: &Backend) -> Observation {
        let Some(address) = target.addr.as_inet() else {
            return Observation::Unreachable;
        };
        let pool = self.node.pool.load_full();
        let timeout = pool.pool.probe.timeout;
        let peer = peer::build(&pool, &self.node.node, *address, timeout, Carries::Probe);
        let mut session = match self.node.connector.get_http_session(&peer).await {
            Ok((session, _)) => {
                self.node.shakes_hands(None);
                self.says_nothing.store(false, Ordering::Relaxed);
                session
            }
            Err(error) => {
                let is_ours = translate::is_for_want_of_descriptors(&error);
                self.says_nothing.store(is_ours, Ordering::Relaxed);
                self.node.shakes_hands(Some(&error));
                return Observation::Unreachable;
            }
        };
        // From here on the node has been reached, and silence is a matter of time.
        self.sees(Observation::Timeout);
        let request = match &pool.pool.probe.kind {
            ProbeKind::Http(asked) => {
                self.request(&asked.method, &asked.path, asked.host.as_deref())
            }
            ProbeKind::Ready => self.request("GET", "/ready", None),
            ProbeKind::None | ProbeKind::Tcp => return Observation::Good(Document::default()),
        };
        let Ok(mut request) = request else {
            return Observation::Unreachable;
        };
        if session.as_http2().is_some() {
            // RFC 9113 §8.2.2.
            request.remove_header(&http::header::CONNECTION);
        }
        if write(&mut session, request).await.is_err() {
            return Observation::Unreachable;
        }
        match &pool.pool.probe.kind {
            ProbeKind::Http(asked) => read_status(&mut session, &asked.expect).await,
            ProbeKind::None | ProbeKind::Ready | ProbeKind::Tcp => read_answer(&mut session).await,
        }
    }

    fn sees(&self, seen: Observation) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Case 61: `Host` is the address as configured, port and brackets included, unless the pool has
    /// another.
    fn request(&self, method: &str, path: &str, host: Option<&str>) -> Result<RequestHeader> {
        let mut request = RequestHeader::build(method, path.as_bytes(), Some(4))?;
        request.insert_header(http::header::HOST, host.unwrap_or(self.node.node.addr()))?;
        request.insert_header(http::header::USER_AGENT, "gatewayd-probe")?;
        request.insert_header(http::header::CONNECTION, "close")?;
        Ok(request)
    }
}

async fn write(session: &mut HttpSession, request: RequestHeader) -> Result<()> {
    session.write_request_header(Box::new(request)).await?;
    session.finish_request_body().await
}

/// What the head of an answer says; its body is left where it is.
async fn read_status(session: &mut HttpSession, expect: &[u16]) -> Observation {
    if let Err(observation) = read_head(session).await {
        return observation;
    }
    match session.response_header().map(|head| head.status.as_u16()) {
        Some(status) if expect.contains(&status) => Observation::Good(Document::default()),
        Some(status) => Observation::Status(status),
        None => Observation::Unreadable,
    }
}

/// A connection that breaks before an answer is a node that was not reached; an answer that breaks,
/// or is no HTTP, is one that cannot be read.
async fn read_head(session: &mut HttpSession) -> std::result::Result<(), Observation> {
    match session.read_response_header().await {
        Ok(()) => Ok(()),
        Err(error) if matches!(translate::broken(&error), Broken::NodeUnreadable) => {
            Err(Observation::Unreadable)
        }
        Err(_) => Err(Observation::Unreachable),
    }
}

async fn read_answer(session: &mut HttpSession) -> Observation {
    if let Err(observation) = read_head(session).await {
        return observation;
    }
    let Some(status) = session.response_header().map(|head| head.status) else {
        return Observation::Unreadable;
    };
    let mut body = Vec::new();
    loop {
        match session.read_response_body().await {
            Ok(Some(piece)) if body.len() + piece.len() <= readiness::MAX_BODY => {
                body.extend_from_slice(&piece);
            }
            Ok(Some(_)) | Err(_) => return broken(status.as_u16()),
            Ok(None) => return readiness::read(status.as_u16(), &body),
        }
    }
}

fn broken(status: u16) -> Observation {
    match status {
        200 => Observation::Unreadable,
        other => Observation::Status(other),
    }
}

#[async_trait]
impl HealthCheck for AddressCheck {
    async fn check(&self, target: &Backend) -> Result<()> {
        let seen = self.ask(target).await;
        let why = seen.why();
        self.sees(seen);
        match why {
            None => Ok(()),
            Some(why) => Error::e_explain(ErrorType::Custom("probe"), why.to_string()),
        }
    }

    /// What Pingora would need; here the pool counts.
    fn health_threshold(&self, success: bool) -> usize {
        let pool = self.node.pool.load();
        let health = &pool.pool.health;
        usize::from(if success { health.rise } else { health.fall })
    }
}

/// Probes a node again and again, from start to start one interval apart with a little jitter, and
/// never twice at once; also when it is reached elsewhere than before.
pub(crate) async fn watch(check: Arc<NodeCheck>, first: Duration) {
    let keys = RandomState::new();
    let mut round = 0_u64;
    let mut next = clock::now() + first;
    let mut meaning = check.name.as_ref().map(|(meaning, _)| meaning.clone());
    if let Some(meaning) = &mut meaning {
        // What is known of it already is taken over now.
        meaning.mark_changed();
    }
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next.into()) => {}
            () = check.changed.notified() => {}
            is_moved = check.asked_again(&mut meaning) => if !is_moved {
                continue;
            }
        }
        let started = clock::now();
        check.probe().await;
        round += 1;
        let pool = check.pool.load();
        let probe = &pool.pool.probe;
        next = started + jittered(probe.every, probe.jitter, keys.hash_one(round));
    }
}

/// The interval, shorter or longer by up to so many per cent.
fn jittered(every: Duration, percent: u8, random: u64) -> Duration {
    let off = every * u32::from(percent) / 100;
    let part = u32::try_from(random % 1_001).unwrap_or(500);
    (every + off * 2 * part / 1_000).saturating_sub(off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_its_part() {
        let every = Duration::from_secs(2);
        let off = |percent, random| jittered(every, percent, random).as_millis();
        assert_eq!(
            (off(5, 0), off(5, 1_000), off(5, 1_001)),
            (1_900, 2_100, 1_900)
        );
        assert_eq!((off(50, 0), off(50, 1_000)), (1_000, 3_000));
        assert_eq!(off(0, 700), 2_000);
    }
}
