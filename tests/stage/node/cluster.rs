//! Several stand-in nodes over one store.

use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

use super::{Node, Store, Way};
use crate::certs::{Authority, Identity};
use crate::ports::Reserved;

/// Nodes that share what is written to any of them.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    store: Arc<Store>,
}

impl Cluster {
    /// Nodes of these names, in clear text.
    #[must_use]
    pub fn of(names: &[&str]) -> Self {
        let store = Arc::new(Store::default());
        let node = |name: &&str| Node::start(name, Arc::clone(&store), None);
        Self {
            nodes: names.iter().map(node).collect(),
            store,
        }
    }

    /// Nodes of these names in clear text, all on the same port: the first at 127.0.0.1, and so on.
    #[must_use]
    pub fn on_one_port(names: &[&str]) -> Self {
        let store = Arc::new(Store::default());
        let last: Vec<u8> = (1..).take(names.len()).collect();
        let ports = Reserved::take_on(&last).into_iter().zip(names);
        let node =
            |(port, name): (Reserved, &&str)| Node::start_at(port, name, Arc::clone(&store), None);
        Self {
            nodes: ports.map(node).collect(),
            store,
        }
    }

    /// Nodes of these names with TLS, each showing a certificate for its own name.
    #[must_use]
    pub fn with_tls(names: &[&str], authority: &Authority) -> Self {
        let store = Arc::new(Store::default());
        let node =
            |name: &&str| Node::start(name, Arc::clone(&store), Some(&authority.signs(&[name])));
        Self {
            nodes: names.iter().map(node).collect(),
            store,
        }
    }

    /// One node for each name and identity, to show certificates that do not fit.
    #[must_use]
    pub fn showing(identities: &[(&str, &Identity)]) -> Self {
        let store = Arc::new(Store::default());
        let node = |(name, identity): &(&str, &Identity)| {
            Node::start(name, Arc::clone(&store), Some(identity))
        };
        Self {
            nodes: identities.iter().map(node).collect(),
            store,
        }
    }

    /// What the next requests are to meet, whichever node they come to.
    pub fn next(&self, ways: impl IntoIterator<Item = Way>) {
        self.store.plot(ways);
    }

    /// Every node treats every request so from now on.
    pub fn always(&self, way: &Way) {
        self.nodes.iter().for_each(|node| node.always(way.clone()));
    }

    /// All of them.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many requests with exactly this body any of them saw, whole.
    #[must_use]
    pub fn times_seen(&self, body: &str) -> usize {
        let same = |node: &Node| {
            node.seen()
                .iter()
                .filter(|seen| seen.body == body.as_bytes())
                .count()
        };
        self.nodes.iter().map(same).sum()
    }

    /// How often each body was seen, by all of them together.
    #[must_use]
    pub fn times_each_was_seen(&self) -> HashMap<Vec<u8>, usize> {
        let mut times = HashMap::new();
        for seen in self.nodes.iter().flat_map(Node::seen) {
            *times.entry(seen.body).or_default() += 1;
        }
        times
    }

    /// How many requests they saw together.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.nodes.iter().map(|node| node.seen().len()).sum()
    }

    /// Bytes that reached any of them without becoming a whole request.
    #[must_use]
    pub fn fragments(&self) -> Vec<Vec<u8>> {
        self.nodes.iter().flat_map(Node::fragments).collect()
    }

    /// All forget what they saw.
    pub fn forgets(&self) {
        self.nodes.iter().for_each(Node::forgets);
    }
}

impl Index<&str> for Cluster {
    type Output = Node;

    fn index(&self, name: &str) -> &Node {
        let found = self.nodes.iter().find(|node| node.name() == name);
        found.unwrap_or_else(|| panic!("no node {name} in this cluster"))
    }
}
