//! What the tests of this crate share: a fixed start of time, pools, probes that went well, and
//! wakers that count.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use gateway_config::model::{Health, Node, Pool, Probe, ProbeKind};

use crate::pool::{Pick, PoolState};
use crate::readiness::{Document, Observation};
use crate::tried::{Hints, Tried};
use crate::wait::{Wait, Waited};

/// Some moment to count from.
#[expect(
    clippy::disallowed_methods,
    reason = "an `Instant` can be made in no other way; tests only add to it"
)]
pub(crate) fn start() -> Instant {
    Instant::now()
}

/// The rules of the front door.
pub(crate) fn rules() -> Health {
    Health {
        floor: Duration::from_secs(6),
        keep_last: false,
        count_traffic: true,
        ..Health::new(3, 2)
    }
}

/// A pool of nodes with these names, with so many slots each and so many places in the queue.
pub(crate) fn pool(names: &[&str], in_flight: u32, queue: u32) -> Pool {
    let usual = Pool::new("p".into(), names.iter().map(|name| node(name)).collect());
    Pool {
        in_flight,
        queue_wait: Duration::from_secs(5),
        queue,
        connect_timeout: Duration::from_secs(2),
        answer_gap: Duration::from_secs(60),
        keep_idle: Duration::from_secs(3),
        keep_requests: 900,
        retries: 2,
        retry_busy: true,
        probe: Probe {
            kind: ProbeKind::Ready,
            every: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            jitter: usual.probe.jitter,
        },
        health: rules(),
        ..usual
    }
}

/// A node without shards.
pub(crate) fn node(name: &str) -> Node {
    Node::new(name.into(), "192.0.2.1:1".into())
}

/// A pool all of whose nodes are in rotation.
pub(crate) fn up(names: &[&str], in_flight: u32, queue: u32) -> Arc<PoolState> {
    let state = PoolState::new(&pool(names, in_flight, queue), 7, start());
    for node in state.nodes() {
        let moves = state.probed(&node, &good(), start());
        assert_eq!(moves.rotations.len(), 1);
    }
    state
}

/// A good probe that says nothing about serving.
pub(crate) fn good() -> Observation {
    Observation::Good(Document::default())
}

/// A node that says it does not serve.
pub(crate) fn not_serving() -> Observation {
    Observation::NotServing(Document {
        serving: Some(false),
        ..Document::default()
    })
}

/// Tries on these nodes.
pub(crate) fn tried(state: &PoolState, names: &[&str]) -> Hints {
    let mut tried = Tried::none();
    state
        .nodes()
        .iter()
        .filter(|node| names.contains(&&**node.name()))
        .for_each(|node| tried.add(node.id()));
    Hints { tried, key: None }
}

/// The slot that is there to be picked.
pub(crate) fn slot(state: &PoolState, hints: &Hints) -> crate::node::Slot {
    match state.pick(hints, start()) {
        Pick::Slot(slot) => slot,
        other => panic!("no slot but {other:?}"),
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Bell(AtomicU32);

impl Bell {
    pub(crate) fn rings(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls a wait once.
pub(crate) fn poll(wait: &mut Wait, bell: &Arc<Bell>) -> Option<Waited> {
    let waker = Waker::from(Arc::clone(bell));
    match pin!(wait).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(waited) => Some(waited),
        Poll::Pending => None,
    }
}
