//! Pools that a snapshot took away, for as long as requests that began before may be under way in
//! them: what is in flight is shown until it has ended.
//!
//! Source: adr/0050.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_config::model::Name;
use gateway_core::node::LiveNode;

use crate::pools::{LivePool, Pools};
use crate::view::PoolView;

/// The pools that have gone.
#[derive(Default)]
pub(crate) struct Departed(Mutex<Vec<Arc<LivePool>>>);

impl Departed {
    /// Takes over those of `before` that are not among these.
    pub(crate) fn take(&self, before: &Pools, now: &Pools) {
        let is_gone = |pool: &&Arc<LivePool>| !now.contains_key(&pool.pool.name);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(before.values().filter(is_gone).cloned());
    }

    /// Those that a request or a listener that drains still knows.
    fn now(&self) -> Vec<Arc<LivePool>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A request may know it as an earlier snapshot had it.
        all.retain(|pool| Arc::strong_count(pool) > 1 || Arc::strong_count(&pool.state) > 1);
        all.clone()
    }

    /// The pools of a snapshot and these as they are seen: a pool that came back under the name of one that
    /// has gone is one with it.
    pub(crate) fn views(&self, pools: &Pools) -> Vec<PoolView> {
        let mut all: Vec<PoolView> = pools.values().map(|pool| pool.view()).collect();
        for pool in self.now() {
            let leaving = pool.view_leaving(&busy(&pool));
            if leaving.is_empty() {
                continue;
            }
            match all.iter_mut().find(|one| one.name == pool.pool.name) {
                Some(same) => same.leaving.extend(leaving),
                None => all.push(PoolView {
                    name: Arc::clone(&pool.pool.name),
                    nodes: Vec::new(),
                    leaving,
                }),
            }
        }
        all
    }

    /// What is in flight on each node, by pool and name: of all nodes of the pools, and of those that
    /// are leaving and still have requests.
    pub(crate) fn in_flight(&self, pools: &Pools) -> BTreeMap<(Name, Name), u64> {
        let mut all = BTreeMap::new();
        let mut add = |pool: &LivePool, node: &LiveNode| {
            let name = (Arc::clone(&pool.pool.name), Arc::clone(node.name()));
            *all.entry(name).or_insert(0) += u64::from(node.in_flight());
        };
        for pool in pools.values() {
            let nodes = pool.state.nodes().into_iter().chain(pool.state.leaving());
            nodes.for_each(|node| add(pool, &node));
        }
        for pool in self.now() {
            busy(&pool).iter().for_each(|node| add(&pool, node));
        }
        all
    }
}

/// The nodes of a pool that has gone, as far as they have requests.
fn busy(pool: &LivePool) -> Vec<Arc<LiveNode>> {
    let nodes = pool.state.nodes().into_iter();
    let busy = nodes.filter(|node| node.in_flight() > 0);
    busy.chain(pool.state.leaving()).collect()
}
