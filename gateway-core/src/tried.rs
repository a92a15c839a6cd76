//! What a request brings to the choice of a node: which nodes it has tried, and what is to lead it
//! to the same node again.
//!
//! Source: the retry section of the front door: every try is on a different node; adr/0049.

/// The identity of one node in one pool, for as long as the process runs.
///
/// A node that leaves its pool and comes back under the same name is another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u64);

/// The nodes a request has tried, in order. Costs no allocation while it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried(Vec<NodeId>);

impl Tried {
    /// No node tried.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds a node; one that is there already is not added again.
    pub fn add(&mut self, node: NodeId) {
        if !self.contains(node) {
            self.0.push(node);
        }
    }

    /// Whether this node has been tried.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    /// How many nodes have been tried.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none has been tried.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a choice of a node for one request depends on, beside the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The nodes it has tried; none of them is chosen again.
    pub tried: Tried,
    /// The hash of what is to lead to the same node again, in a pool that is balanced by a hash;
    /// `None`: it has nothing of the kind, and goes where the next one in turn goes.
    pub key: Option<u32>,
}

impl Hints {
    /// A request that has tried nothing and has no key.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            tried: Tried::none(),
            key: None,
        }
    }
}
