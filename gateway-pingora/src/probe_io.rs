//! Asks nodes whether they serve: `GET /ready` over the transport of their pool, on a connection of
//! its own, without a credential and without a slot.
//!
//! [`ReadyCheck`] is Pingora's `HealthCheck` for one node. What an observation means is
//! [`readiness`]'s and what it does to the node is the pool's; Pingora's
//! own threshold is not asked, since it cannot take a node out at once. Everything here runs on the
//! control runtime, so that no load on the workers can starve it.
//!
//! Source: adr/0010, adr/0019.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use gateway_core::node::{LastProbe, LiveNode};
use gateway_core::readiness::{self, Observation};
use pingora_core::connectors::ConnectorOptions;
use pingora_core::connectors::http::v1::Connector;
use pingora_core::protocols::http::v1::client::HttpSession;
use pingora_core::server::configuration::ServerConf;
use pingora_core::{Error, ErrorType, Result};
use pingora_http::RequestHeader;
use pingora_load_balancing::Backend;
use pingora_load_balancing::health_check::HealthCheck;

use crate::clock;
use crate::peer;
use crate::pools::LivePool;
use crate::translate;

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
pub(crate) struct ReadyCheck {
    /// Its pool as the snapshot that is served has it.
    pool: ArcSwap<LivePool>,
    node: Arc<LiveNode>,
    connector: Arc<Connector>,
    /// What the last check has seen so far: a check that is cut short leaves how far it came.
    seen: Mutex<Observation>,
    /// The last check could not be made at all.
    says_nothing: AtomicBool,
}

impl ReadyCheck {
    /// A check of this node, over a connector that may be shared: it keeps no connection.
    pub(crate) fn new(pool: Arc<LivePool>, node: Arc<LiveNode>, connector: Arc<Connector>) -> Self {
        ReadyCheck {
            pool: ArcSwap::new(pool),
            node,
            connector,
            seen: Mutex::new(Observation::Unreachable),
            says_nothing: AtomicBool::new(false),
        }
    }

    /// From the next probe on, the pool is as another snapshot has it.
    pub(crate) fn apply(&self, pool: Arc<LivePool>) {
        self.pool.store(pool);
    }

    /// Probes once, in time, and tells the pool what was seen.
    ///
    /// Cancel-safe: a probe that is dropped counts for nothing.
    pub(crate) async fn probe(&self) {
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

    /// Probes once, in time, and tells nobody; `None` when the probe could not be made.
    ///
    /// Cancel-safe: a probe that is dropped counts for nothing.
    pub(crate) async fn observe(&self) -> Option<Observation> {
        self.sees(Observation::Unreachable);
        let begun = clock::now();
        let pool = self.pool.load_full();
        let _ = tokio::time::timeout(pool.pool.probe.timeout, self.check_addresses()).await;
        if self.says_nothing.swap(false, Ordering::Relaxed) {
            // No descriptor was left for the probe: that is not the node's fault.
            return None;
        }
        let now = clock::now();
        let took = now.saturating_duration_since(begun);
        self.node.set_last_probe(LastProbe { at: now, took });
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Some(seen.clone())
    }

    /// Resolves the name, and checks the first address that takes a connection.
    async fn check_addresses(&self) {
        let Ok(found) = tokio::net::lookup_host(&**self.node.addr()).await else {
            return;
        };
        for address in found {
            let Ok(backend) = Backend::new(&address.to_string()) else {
                continue;
            };
            let _ = self.check(&backend).await;
            if *self.seen.lock().unwrap_or_else(PoisonError::into_inner) != Observation::Unreachable
            {
                self.node.set_addresses(&[address]);
                return;
            }
        }
    }

    async fn ask(&self, target: &Backend) -> Observation {
        let Some(address) = target.addr.as_inet() else {
            return Observation::Unreachable;
        };
        let pool = self.pool.load_full();
        let timeout = pool.pool.probe.timeout;
        let peer = peer::build(&pool, &self.node, *address, timeout);
        let mut session = match self.connector.get_http_session(&peer).await {
            Ok((session, _)) => {
                self.says_nothing.store(false, Ordering::Relaxed);
                session
            }
            Err(error) => {
                let is_ours = translate::is_for_want_of_descriptors(&error);
                self.says_nothing.store(is_ours, Ordering::Relaxed);
                return Observation::Unreachable;
            }
        };
        // From here on the node has been reached, and silence is a matter of time.
        self.sees(Observation::Timeout);
        let Ok(request) = self.request() else {
            return Observation::Unreachable;
        };
        if session
            .write_request_header(Box::new(request))
            .await
            .is_err()
        {
            return Observation::Unreachable;
        }
        read_answer(&mut session).await
    }

    fn sees(&self, seen: Observation) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Case 61: `Host` is the address as configured, port and brackets included.
    fn request(&self) -> Result<RequestHeader> {
        let mut request = RequestHeader::build("GET", b"/ready", Some(4))?;
        request.insert_header(http::header::HOST, &**self.node.addr())?;
        request.insert_header(http::header::USER_AGENT, "gatewayd-probe")?;
        request.insert_header(http::header::CONNECTION, "close")?;
        Ok(request)
    }
}

/// A connection that breaks before an answer is a node that was not reached; an answer that breaks,
/// or is no HTTP, is one that cannot be read.
async fn read_answer(session: &mut HttpSession) -> Observation {
    match session.read_response().await {
        Ok(_) => {}
        Err(error) if matches!(error.etype(), ErrorType::InvalidHTTPHeader) => {
            return Observation::Unreadable;
        }
        Err(_) => return Observation::Unreachable,
    }
    let Some(status) = session.get_status() else {
        return Observation::Unreadable;
    };
    let mut body = Vec::new();
    loop {
        match session.read_body_bytes().await {
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
impl HealthCheck for ReadyCheck {
    async fn check(&self, target: &Backend) -> Result<()> {
        let seen = self.ask(target).await;
        let why = seen.why();
        self.sees(seen);
        match why {
            None => Ok(()),
            Some(why) => Error::e_explain(ErrorType::Custom("ready"), why.to_string()),
        }
    }

    /// What Pingora would need; here the pool counts.
    fn health_threshold(&self, success: bool) -> usize {
        let pool = self.pool.load();
        let health = &pool.pool.health;
        usize::from(if success { health.rise } else { health.fall })
    }
}

/// Probes a node again and again, from start to start one interval apart with a little jitter, and
/// never twice at once.
pub(crate) async fn watch(check: Arc<ReadyCheck>, first: Duration) {
    let keys = RandomState::new();
    let mut round = 0_u64;
    let mut next = clock::now() + first;
    loop {
        tokio::time::sleep_until(next.into()).await;
        let started = clock::now();
        check.probe().await;
        round += 1;
        next = started + jittered(check.pool.load().pool.probe.every, keys.hash_one(round));
    }
}

/// The interval, shorter or longer by up to a twentieth.
fn jittered(every: Duration, random: u64) -> Duration {
    let part = u32::try_from(random % 101).unwrap_or(50);
    every * 19 / 20 + every * part / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_twentieth() {
        let every = Duration::from_secs(2);
        assert_eq!(jittered(every, 0), Duration::from_millis(1900));
        assert_eq!(jittered(every, 100), Duration::from_millis(2100));
        assert_eq!(jittered(every, 101), Duration::from_millis(1900));
    }
}
