//! What changes, for whoever watches: told by the reload, or seen by looking.
//!
//! Rotations and the end of a generation are looked for a few times a second, and only while
//! somebody watches. A watcher that does not keep up is told how much it missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_pingora::NodeHealth;
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

/// Where watchers get their events from.
#[derive(Clone)]
pub(super) struct Watched {
    reload: Arc<Reload>,
    events: Events,
    /// What the last look saw, while somebody watches.
    seen: Arc<Mutex<Option<Seen>>>,
}

/// `None` is the last.
type Events = broadcast::Sender<Option<Event>>;

/// What a look saw.
#[derive(Default)]
struct Seen {
    /// Whether each is in rotation, and why not.
    nodes: BTreeMap<(String, String), (bool, String)>,
    generation: u64,
    draining: BTreeSet<u64>,
}

/// Looks from here on, until the end.
pub(super) fn start(reload: Arc<Reload>, health: HealthReporter, end: End) -> Watched {
    let watched = Watched {
        reload,
        events: broadcast::Sender::new(WAITING),
        seen: Arc::default(),
    };
    tokio::spawn(look(watched.clone(), health, end));
    watched
}

impl Watched {
    /// What changes from here on.
    pub(super) fn stream(&self) -> impl Stream<Item = Result<Event, Status>> + Send + use<> {
        let mut seen = self.seen();
        let events = BroadcastStream::new(self.events.subscribe());
        // Whoever watches is told of what changes from now on, not from the next look on.
        seen.get_or_insert_with(|| Seen::of(&self.reload));
        drop(seen);
        let events = events.map_while(|event| match event {
            Ok(event) => event,
            Err(BroadcastStreamRecvError::Lagged(missed)) => Some(now(What::Missed(missed))),
        });
        events.map(Ok)
    }

    /// Looks, and tells what is otherwise than it was before.
    fn looks(&self) {
        let mut seen = self.seen();
        if self.events.receiver_count() == 0 {
            *seen = None;
            return;
        }
        let now = Seen::of(&self.reload);
        if let Some(before) = seen.as_ref() {
            let events = now.turned(before).into_iter().chain(now.ended(before));
            events.for_each(|what| tell(&self.events, what));
        }
        *seen = Some(now);
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look(watched: Watched, health: HealthReporter, mut end: End) {
    let (reload, events) = (&watched.reload, &watched.events);
    let mut told = reload.watch();
    let mut every = tokio::time::interval(EVERY);
    let mut was_ready = None;
    loop {
        tokio::select! {
            // All that was told before the end comes before it.
            biased;
            event = told.recv() => match event {
                Ok(event) => tell(events, convert::event(&event)),
                Err(RecvError::Lagged(missed)) => tell(events, What::Missed(missed)),
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
                watched.looks();
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
    fn of(reload: &Reload) -> Self {
        let pools = reload.pools().into_iter();
        let nodes = pools.flat_map(|pool| {
            let of_pool = move |node: NodeHealth| {
                let key = (pool.name.to_string(), node.name.to_string());
                (key, (node.enabled, node.why.unwrap_or_default()))
            };
            pool.nodes.into_iter().map(of_pool)
        });
        let nodes = nodes.collect();
        let plane = reload.data_plane();
        Seen {
            nodes,
            generation: plane.generation,
            draining: plane.draining.iter().map(|one| one.generation).collect(),
        }
    }

    /// The nodes that came into rotation or left it.
    fn turned(&self, before: &Seen) -> Vec<What> {
        let has_turned = |(key, (is_in, why)): (&(String, String), &(bool, String))| {
            let was_in = before.nodes.get(key)?.0;
            (was_in != *is_in).then(|| {
                What::Rotation(Rotation {
                    pool: key.0.clone(),
                    node: key.1.clone(),
                    is_in: *is_in,
                    why: why.clone(),
                })
            })
        };
        self.nodes.iter().filter_map(has_turned).collect()
    }

    /// The generations that served or drained then, or have served since, and are over.
    fn ended(&self, before: &Seen) -> Vec<What> {
        let since = before.generation..self.generation;
        let all = before.draining.iter().copied().chain(since);
        let over = all.filter(|one| !self.draining.contains(one));
        over.map(|generation| What::GenerationEnded(GenerationEnded { generation }))
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reload::tests::started;

    #[tokio::test]
    async fn what_ends_between_the_call_and_the_first_look_is_told() {
        let watched = Watched {
            reload: started(),
            events: broadcast::Sender::new(WAITING),
            seen: Arc::default(),
        };
        let reload = &watched.reload;
        reload.set_workers(Some(1)).await.unwrap();
        let first = reload.data_plane().generation;
        let mut stream = std::pin::pin!(watched.stream());
        for workers in [2, 1] {
            reload.set_workers(Some(workers)).await.unwrap();
        }

        watched.looks();

        for generation in [first, first + 1] {
            let event = tokio::time::timeout(Duration::from_secs(5), stream.next());
            let event = event.await.expect("an event").unwrap().unwrap();
            let what = What::GenerationEnded(GenerationEnded { generation });
            assert_eq!(event.what, Some(what));
        }
    }
}
