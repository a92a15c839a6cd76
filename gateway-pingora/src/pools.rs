//! A pool as it runs: its settings, what is known about its nodes, how they are reached.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use gateway_config::model::{Name, Pool};
use gateway_core::node::{LiveNode, NodeView};
use gateway_core::pool::PoolState;
use gateway_core::readiness::Why;
use gateway_core::rotation::{By, Moves, Rotation};

use crate::clock;
use crate::counts::Count;
use crate::fault::Fault;
use crate::telemetry;
use crate::tls::{self, Transport};
use crate::view::{NodeHealth, PoolView};

/// A pool as it runs.
pub(crate) struct LivePool {
    /// Its settings.
    pub(crate) pool: Pool,
    /// What is known about its nodes; outlives snapshots.
    pub(crate) state: Arc<PoolState>,
    /// Tries after the first; outlives snapshots.
    pub(crate) retries: Arc<Count>,
    /// How its nodes are reached.
    pub(crate) transport: Transport,
    /// See [`LivePool::group`].
    group: u64,
}

impl LivePool {
    /// The pool for a snapshot, with what an earlier one of the same name knows.
    ///
    /// # Errors
    /// [`Fault::Certificate`] when the roots cannot be read; [`Fault::NodeName`].
    pub(crate) fn new(pool: &Pool, before: Option<&LivePool>) -> Result<Self, Fault> {
        let transport = Transport::new(&pool.tls)?;
        if transport.is_verified {
            tls::check_names(pool)?;
        }
        let mut hasher = DefaultHasher::new();
        (&pool.name, &pool.tls).hash(&mut hasher);
        transport.hash_roots(&mut hasher);
        Ok(LivePool {
            pool: pool.clone(),
            state: before.map_or_else(
                || PoolState::new(pool, RandomState::new().hash_one(0), clock::now()),
                |one| Arc::clone(&one.state),
            ),
            retries: before.map_or_else(Arc::default, |one| Arc::clone(&one.retries)),
            transport,
            group: hasher.finish(),
        })
    }

    /// What keeps its connections apart from those of pools with another TLS policy, and those that
    /// offer HTTP/2 from those that do not: Pingora's own key for a connection knows neither whom it
    /// trusts nor what it offers.
    pub(crate) fn group(&self, speaks_http2: bool) -> u64 {
        self.group.wrapping_add(u64::from(speaks_http2))
    }

    /// What is known about its nodes.
    pub(crate) fn view(&self) -> PoolView {
        let seen = self.state.view();
        PoolView {
            name: Arc::clone(&self.pool.name),
            nodes: seen.into_iter().map(|one| self.health(one)).collect(),
            leaving: self.view_leaving(&self.state.leaving()),
        }
    }

    /// What is known about nodes that have left, or whose pool has.
    pub(crate) fn view_leaving(&self, nodes: &[Arc<LiveNode>]) -> Vec<NodeHealth> {
        let leaves = |node: &Arc<LiveNode>| NodeHealth {
            enabled: false,
            may_take: false,
            why: Some(Why::Removed.to_string()),
            ..self.health(node.view())
        };
        nodes.iter().map(leaves).collect()
    }

    fn health(&self, one: NodeView) -> NodeHealth {
        let (now, wall) = (clock::now(), clock::wall());
        let at = |at: Instant| wall.checked_sub(now.saturating_duration_since(at));
        let configured = self.pool.nodes.iter().find(|node| node.name == one.name);
        NodeHealth {
            weight: configured.map_or(1, |node| u32::from(node.weight)),
            backup: configured.is_some_and(|node| node.backup),
            enabled: one.is_in,
            healthy: one.is_healthy,
            drained: one.is_drained,
            ejected_until: one
                .ejected_until
                .map(|until| wall + until.saturating_duration_since(now)),
            in_flight: one.in_flight,
            ceiling: one.ceiling,
            may_take: one.may_take,
            requests: one.requests,
            failures: one.failures,
            latency: one.last_probe.map(|probe| probe.took),
            last_probe: one.last_probe.and_then(|probe| at(probe.at)),
            why: one.why.map(|why| why.to_string()),
            name: one.name,
            addr: one.addr,
        }
    }

    /// Says what moved, and counts it.
    pub(crate) fn report(&self, moves: &Moves) {
        let is_ejected = |one: &&Rotation| one.by == By::Traffic && !one.is_in;
        for out in moves.rotations.iter().filter(is_ejected) {
            let nodes = self.state.nodes();
            if let Some(node) = nodes.iter().find(|node| *node.name() == out.node) {
                node.tally().count_ejection();
            }
        }
        telemetry::moves(&self.pool.name, moves);
    }
}

/// The pools of a snapshot by name.
pub(crate) type Pools = BTreeMap<Name, Arc<LivePool>>;
