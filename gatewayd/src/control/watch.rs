//! What changes, for whoever watches: told by the reload, or seen by looking.
//!
//! Rotations and the end of a generation are looked for a few times a second, and only while
//! somebody watches. A watcher that does not keep up is told how much it missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::convert;
use super::end::End;
use crate::clock;
use crate::proto::config::event::What;
use crate::proto::config::{Event, GenerationEnded, Rotation};
use crate::reload::Reload;

/// From one look to the next.
const EVERY: Duration = Duration::from_millis(250);
/// Events that may wait for a watcher.
const WAITING: usize = 256;
/// The services whose health is told; the empty name is the process.
const SERVICES: [&str; 3] = [
    "",
    "gateway.control.v1.GatewayConfig",
    "pingora.panel.gateway.v1.GatewayRuntime",
];

/// Where watchers get their events from; `None` is the last.
#[derive(Clone)]
pub(super) struct Watched(broadcast::Sender<Option<Event>>);

type Events = broadcast::Sender<Option<Event>>;

/// What a look saw.
#[derive(Default)]
struct Seen {
    nodes: BTreeMap<(String, String), bool>,
    draining: BTreeSet<u64>,
}

/// Looks from here on, until the end.
pub(super) fn start(reload: Arc<Reload>, health: HealthReporter, end: End) -> Watched {
    let events = broadcast::Sender::new(WAITING);
    tokio::spawn(look(reload, events.clone(), health, end));
    Watched(events)
}

impl Watched {
    /// What changes from here on.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Event, Status>> + Send + use<> {
        let events = BroadcastStream::new(self.0.subscribe());
        let events = events.map_while(|event| match event {
            Ok(event) => event,
            Err(BroadcastStreamRecvError::Lagged(missed)) => Some(now(What::Missed(missed))),
        });
        events.map(Ok)
    }
}

async fn look(reload: Arc<Reload>, events: Events, health: HealthReporter, mut end: End) {
    let mut told = reload.watch();
    let mut seen = None;
    let mut every = tokio::time::interval(EVERY);
    let mut was_ready = None;
    loop {
        tokio::select! {
            // All that was told before the end comes before it.
            biased;
            event = told.recv() => match event {
                Ok(event) => tell(&events, convert::event(&event)),
                Err(RecvError::Lagged(missed)) => tell(&events, What::Missed(missed)),
                Err(RecvError::Closed) => return,
            },
            () = end.comes() => {
                let _ = events.send(None);
                return;
            }
            _ = every.tick() => {
                let is_ready = !reload.is_draining() && reload.status().active.number > 0;
                if was_ready.replace(is_ready) != Some(is_ready) {
                    report(&health, is_ready).await;
                }
                if events.receiver_count() == 0 {
                    seen = None;
                    continue;
                }
                let now_seen = Seen::of(&reload, seen.as_ref(), &events);
                seen = Some(now_seen);
            }
        }
    }
}

async fn report(health: &HealthReporter, is_ready: bool) {
    let status = match is_ready {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    };
    for service in SERVICES {
        health.set_service_status(service, status).await;
    }
}

impl Seen {
    /// Looks, and tells what is otherwise than it was before.
    fn of(reload: &Reload, before: Option<&Seen>, events: &Events) -> Self {
        let mut seen = Seen::default();
        let tell = |what: What| tell(events, what);
        for pool in reload.pools() {
            for node in pool.nodes {
                let key = (pool.name.to_string(), node.name.to_string());
                let was = before.and_then(|before| before.nodes.get(&key));
                if was.is_some_and(|was| *was != node.enabled) {
                    tell(What::Rotation(Rotation {
                        pool: key.0.clone(),
                        node: key.1.clone(),
                        is_in: node.enabled,
                        why: node.why.unwrap_or_default(),
                    }));
                }
                seen.nodes.insert(key, node.enabled);
            }
        }
        let draining = reload.data_plane().draining;
        seen.draining = draining.iter().map(|one| one.generation).collect();
        for generation in before.iter().flat_map(|before| &before.draining) {
            if !seen.draining.contains(generation) {
                let generation = *generation;
                tell(What::GenerationEnded(GenerationEnded { generation }));
            }
        }
        seen
    }
}

/// Nobody may be watching.
fn tell(events: &Events, what: What) {
    let _ = events.send(Some(now(what)));
}

fn now(what: What) -> Event {
    Event {
        at: Some(convert::time(clock::wall())),
        what: Some(what),
    }
}
