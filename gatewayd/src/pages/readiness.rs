//! Decides whether traffic should be sent to this process.
//!
//! It should as long as the process takes it and some of it can be served. One pool of several that
//! is empty is no reason: it is empty for the other gateways as well, and a balancer before them
//! would take all of them out for the sake of one pool.
//!
//! Source: adr/0039.

use std::collections::BTreeSet;
use std::fmt::Write;

use gateway_config::model::{Action, Model};
use gateway_pingora::{DataPlane, PoolView};

use crate::reload::Reload;

/// Whether traffic should be sent here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    /// Why not; empty when it should.
    reasons: Vec<String>,
    /// What somebody should know all the same.
    remarks: Vec<String>,
}

/// The process as it is.
pub(super) fn of(reload: &Reload) -> Readiness {
    let snapshot = reload.snapshot();
    let (plane, pools) = (reload.data_plane(), reload.pools());
    decide(reload.is_draining(), &plane, &pools, snapshot.model())
}

fn decide(is_draining: bool, plane: &DataPlane, pools: &[PoolView], model: &Model) -> Readiness {
    let mut found = Readiness::default();
    if is_draining {
        found.reasons.push("draining".to_owned());
    } else if plane.listeners.is_empty() {
        found.reasons.push("no listener is served".to_owned());
    }
    let deaf = plane.listeners.iter().filter(|one| {
        let accepts = !one.addresses.is_empty() && plane.workers > 0;
        !accepts
    });
    let deaf = deaf.map(|one| format!("listener `{}` does not accept", one.name));
    found.reasons.extend(deaf);
    let used = used(model);
    let mut used = pools.iter().filter(|pool| used.contains(&*pool.name));
    let is_empty = |pool: &&PoolView| !pool.nodes.iter().any(|node| node.enabled);
    let (empty, served): (Vec<_>, Vec<_>) = used.by_ref().partition(is_empty);
    let said = empty
        .iter()
        .map(|pool| format!("pool `{}` has no node in rotation", pool.name));
    match served.is_empty() {
        true => found.reasons.extend(said),
        false => found.remarks.extend(said),
    }
    found
}

/// The pools that requests can be sent to.
fn used(model: &Model) -> BTreeSet<&str> {
    let routes = model.sites.iter().flat_map(|site| &site.routes);
    let sent = routes.filter(|route| matches!(route.action, Action::Pool));
    sent.map(|route| &*route.pool).collect()
}

impl Readiness {
    /// As a balancer reads it, and a person.
    pub(super) fn said(&self) -> (u16, String) {
        let is_ready = self.reasons.is_empty();
        let (status, first) = if is_ready {
            (200, "ready")
        } else {
            (503, "not ready")
        };
        let mut text = format!("{first}\n");
        for line in self.reasons.iter().chain(&self.remarks) {
            let _ = writeln!(text, "{line}");
        }
        (status, text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use gateway_config::{Snapshot, Sources, load_source};
    use gateway_pingora::{ListenerView, NodeHealth};

    use super::*;

    const TEXT: &str = "[listeners.a]\nbind = \"127.0.0.1:0\"\n\
        [sites.s]\nlistener = \"a\"\npool = \"p\"\nroutes.r = { path = \"/r/\", pool = \"q\" }\n\
        [pools]\np.nodes = [\"localhost:1\"]\nq.nodes = [\"localhost:2\"]\nz.nodes = [\"localhost:3\"]\n";

    fn snapshot() -> Snapshot {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", TEXT.to_owned());
        load_source(id, &mut sources).unwrap().snapshot
    }

    fn plane(listeners: &[&str]) -> DataPlane {
        let view = |name: &&str| ListenerView {
            name: (*name).into(),
            addresses: vec!["127.0.0.1:1".parse().unwrap()],
            tls: false,
            http1: true,
            http2: false,
            connections: 0,
        };
        DataPlane {
            generation: 1,
            since: SystemTime::UNIX_EPOCH,
            started: SystemTime::UNIX_EPOCH,
            workers: 1,
            listeners: listeners.iter().map(view).collect(),
            draining: Vec::new(),
            ends: None,
        }
    }

    fn pool(name: &str, enabled: bool) -> PoolView {
        let node = NodeHealth {
            name: "n".into(),
            addr: "localhost:1".into(),
            weight: 1,
            enabled,
            backup: false,
            healthy: enabled,
            drained: false,
            ejected_until: None,
            in_flight: 0,
            ceiling: 1,
            may_take: enabled,
            requests: 0,
            failures: 0,
            latency: None,
            last_probe: None,
            why: None,
        };
        PoolView {
            name: name.into(),
            leaving: Vec::new(),
            nodes: vec![node],
        }
    }

    fn said(draining: bool, listeners: &[&str], pools: &[(&str, bool)]) -> (u16, String) {
        let pools: Vec<_> = pools
            .iter()
            .map(|(name, is_in)| pool(name, *is_in))
            .collect();
        decide(draining, &plane(listeners), &pools, snapshot().model()).said()
    }

    #[test]
    fn one_pool_of_several_that_is_empty_is_a_remark_and_no_reason() {
        let (status, text) = said(false, &["a"], &[("p", false), ("q", true), ("z", false)]);
        assert_eq!(status, 200);
        assert_eq!(text, "ready\npool `p` has no node in rotation\n");
    }

    #[test]
    fn where_no_pool_that_is_used_has_a_node_nothing_can_be_served() {
        let (status, text) = said(false, &["a"], &[("p", false), ("q", false), ("z", true)]);
        assert_eq!(status, 503);
        assert!(text.starts_with("not ready\npool `p` "), "{text}");
    }

    #[test]
    fn a_process_that_drains_or_listens_nowhere_is_not_ready() {
        let pools = [("p", true), ("q", true)];
        assert_eq!(
            said(true, &[], &pools),
            (503, "not ready\ndraining\n".to_owned())
        );
        let nowhere = "not ready\nno listener is served\n";
        assert_eq!(said(false, &[], &pools), (503, nowhere.to_owned()));
    }
}
