//! What was found out about a node before its pool knows it.

use std::net::SocketAddr;
use std::time::Instant;

use gateway_config::model::Health as Rules;

use crate::health::Turn;
use crate::node::LiveNode;
use crate::readiness::Observation;
use crate::rotation::By;

/// What was found out about a node before its pool knows it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its address as configured.
    pub addr: &'a str,
    /// What its name resolved to.
    pub addresses: &'a [SocketAddr],
    /// What a probe of it found; `None` where nobody probes it.
    pub seen: Option<&'a Observation>,
}

impl Asked<'_> {
    pub(super) fn is_of(&self, node: &LiveNode) -> bool {
        **node.name() == *self.name && **node.addr() == *self.addr
    }

    /// Tells the node, which its pool has taken in.
    pub(super) fn judges(
        &self,
        node: &LiveNode,
        rules: &Rules,
        now: Instant,
    ) -> Option<(Turn, By)> {
        let mut turn = None;
        if node.known_addresses().replace(self.addresses, false) {
            let is_in = node.judge(|health| health.resolved(now));
            turn = is_in.map(|turn| (turn, By::Name));
        }
        let is_in = self
            .seen
            .and_then(|seen| node.judge(|health| health.probed(seen, rules, false, now)));
        turn.or(is_in.map(|turn| (turn, By::Probe)))
    }
}
