//! A pool as it runs: its settings, what is known about its nodes, how they are reached.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use gateway_config::model::{Name, Pool};
use gateway_core::pool::PoolState;
use gateway_core::rotation::Moves;

use crate::fault::Fault;
use crate::telemetry;
use crate::tls::Transport;

/// A pool as it runs.
pub(crate) struct LivePool {
    /// Its settings.
    pub(crate) pool: Pool,
    /// What is known about its nodes; outlives snapshots.
    pub(crate) state: Arc<PoolState>,
    /// How its nodes are reached.
    pub(crate) transport: Transport,
    /// Keeps its connections apart from those of pools with another TLS policy, which Pingora's own
    /// key for a connection does not.
    pub(crate) group: u64,
}

impl LivePool {
    /// The pool for a snapshot, with what an earlier one of the same name knows.
    ///
    /// # Errors
    /// [`Fault::Certificate`] when the roots cannot be read.
    pub(crate) fn new(pool: &Pool, state: Option<Arc<PoolState>>) -> Result<Self, Fault> {
        let transport = Transport::new(&pool.tls)?;
        let mut hasher = DefaultHasher::new();
        (&pool.name, format!("{:?}", pool.tls)).hash(&mut hasher);
        transport.hash_roots(&mut hasher);
        Ok(LivePool {
            pool: pool.clone(),
            state: state.unwrap_or_else(|| PoolState::new(pool)),
            transport,
            group: hasher.finish(),
        })
    }

    /// Says what moved.
    pub(crate) fn report(&self, moves: &Moves) {
        telemetry::moves(&self.pool.name, moves);
    }
}

/// The pools of a snapshot by name.
pub(crate) type Pools = BTreeMap<Name, Arc<LivePool>>;
