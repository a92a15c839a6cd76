//! All nodes of the soak: those that fail, the one that is a process, and those for tunnels.

use std::net::SocketAddr;
use std::time::Duration;

use gateway_tests::client::ask;
use gateway_tests::curtain::Curtain;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Way};
use gateway_tests::wait;

use crate::bodies::Bodies;
use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::remote::{NAME, Remote};
use crate::scene::Scene;
use crate::shape::BUDGET;
use crate::troubles::{self, Trouble};
use crate::weather::Cause;

/// Nodes that are broken now and then.
const FAILING: [&str; 3] = ["a", "b", "c"];
/// Nodes for tunnels.
const LIVE: [&str; 2] = ["e", "f"];
/// Records in the table that is read.
const RECORDS: usize = 400;
/// A trouble that is over before the budget of who met it.
const SHORT: Duration = Duration::from_millis(700);
/// How often what nodes saw is collected, and what goes on while they fail.
const COLLECT: Duration = Duration::from_millis(100);
/// How long all nodes serve between two troubles.
const REST: Duration = Duration::from_millis(600);

/// All of them.
#[derive(Debug)]
pub(crate) struct Nodes {
    failing: Cluster,
    live: Cluster,
    remote: Remote,
}

impl Nodes {
    /// Starts them, with something to read.
    pub(crate) fn start() -> Self {
        let nodes = Nodes {
            failing: Cluster::of(&FAILING),
            live: Cluster::of(&LIVE),
            remote: Remote::start(),
        };
        nodes.live.always(&Way::SwitchesAndEchoes);
        fill(nodes.failing.nodes()[0].addr());
        fill(nodes.remote.addr);
        nodes
    }

    /// Those of the pool for requests.
    pub(crate) fn for_requests(&self) -> Vec<(String, SocketAddr)> {
        let mut all = addresses(&self.failing);
        all.push((NAME.to_owned(), self.remote.addr));
        all
    }

    /// Those of the pool for tunnels.
    pub(crate) fn for_tunnels(&self) -> Vec<(String, SocketAddr)> {
        addresses(&self.live)
    }

    /// What a read is answered with, by any of them.
    pub(crate) fn answers(&self, read: &Request) -> Vec<u8> {
        ask(self.remote.addr, read).body
    }

    /// Counts what they saw, again and again until it is over, and once more.
    pub(crate) fn are_counted(&self, bodies: &Bodies, ledger: &Ledger, over: &Curtain) {
        loop {
            let is_last = over.is_down();
            for node in self.failing.nodes().iter().chain(self.live.nodes()) {
                bodies.count(node.name(), node.tells(), ledger);
            }
            self.remote.count(bodies, ledger);
            if is_last {
                return;
            }
            wait::maybe(COLLECT, || over.is_down().then_some(()));
        }
    }

    /// One after the other, each a short while, they fail in every way until it is over.
    pub(crate) fn fail(&self, scene: &Scene<'_>, over: &Curtain, mut dice: Dice) {
        let mut all: Vec<Trouble> = troubles::ALL.to_vec();
        all.push(Trouble::Frozen);
        while !over.is_down() {
            dice.shuffle(&mut all);
            for trouble in &all {
                // Now and then it outlasts every budget.
                let length = if dice.below(5) == 0 {
                    BUDGET + SHORT
                } else {
                    SHORT
                };
                let node = &self.failing.nodes()[dice.below(FAILING.len())];
                self.fails(scene, over, (*trouble, node), length);
                wait::maybe(REST, || over.is_down().then_some(()));
                if over.is_down() {
                    return;
                }
            }
        }
    }

    fn fails(
        &self,
        scene: &Scene<'_>,
        over: &Curtain,
        (trouble, node): (Trouble, &Node),
        length: Duration,
    ) {
        let name = FAILING.into_iter().find(|name| *name == node.name());
        let name = name.filter(|_| trouble != Trouble::Frozen).unwrap_or(NAME);
        let what = format!("node {name} {trouble:?}");
        let under_way = scene.weather.begins(what, Cause::Node(name, trouble));
        match trouble {
            Trouble::Frozen => self.remote.is_frozen(true),
            _ => trouble.begins(node),
        }
        let rounds = u32::try_from(length.as_millis() / COLLECT.as_millis()).unwrap_or(1);
        for round in 0..rounds {
            trouble.goes_on(node, round);
            wait::maybe(COLLECT, || over.is_down().then_some(()));
        }
        match trouble {
            Trouble::Frozen => self.remote.is_frozen(false),
            _ => Trouble::ends(node),
        }
        drop(under_way);
        scene.ledger.did(&format!("node {trouble:?}"));
    }
}

/// Writes something to read to a node, and to all that share its store.
pub(crate) fn fill(node: SocketAddr) {
    let record = |number| format!("record {number:06}\n");
    let records: String = (0..RECORDS).map(record).collect();
    ask(node, &Request::post("/table/t/import", records)).is(200);
}

/// The nodes of a cluster as a pool has them.
pub(crate) fn addresses(cluster: &Cluster) -> Vec<(String, SocketAddr)> {
    let address = |node: &Node| (node.name().to_owned(), node.addr());
    cluster.nodes().iter().map(address).collect()
}
