//! Finds the ranges of shards that no node in rotation holds.
//!
//! A range is held by the node the cluster's list names for it and by the copies of that node.
//! Which nodes are in rotation is [`pool`](crate::pool)'s to say; the ranges are only reported,
//! no request is refused for them.
//!
//! Source: the metrics section of the front door (`shards_without_node`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gateway_config::model::{Name, Node};

/// The ranges of one pool and their holders.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    holders: BTreeMap<Arc<str>, BTreeSet<Name>>,
    missing: BTreeSet<Arc<str>>,
}

/// What is known about a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// In rotation.
    In,
    /// Out of rotation.
    Out,
    /// Out of rotation, and not probed yet.
    Unprobed,
}

/// A range that lost its last holder in rotation, or got one back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTurn {
    /// The range as the cluster writes it, such as `0..64`.
    pub range: Arc<str>,
    /// Whether any of its holders is in rotation.
    pub is_held: bool,
}

impl Ranges {
    /// The ranges these nodes are listed for.
    #[must_use]
    pub fn of(nodes: &[Node]) -> Self {
        let mut holders: BTreeMap<Arc<str>, BTreeSet<Name>> = BTreeMap::new();
        for node in nodes {
            for range in ranges_of(node, nodes) {
                holders
                    .entry(range)
                    .or_default()
                    .insert(Arc::clone(&node.name));
            }
        }
        Self {
            holders,
            missing: BTreeSet::new(),
        }
    }

    /// Takes over another list of nodes; a range that is on both keeps what is known about it.
    pub fn replace(&mut self, nodes: &[Node]) {
        let mut next = Self::of(nodes);
        next.missing = std::mem::take(&mut self.missing);
        next.missing
            .retain(|range| next.holders.contains_key(range));
        *self = next;
    }

    /// The ranges none of whose holders is in rotation.
    #[must_use]
    pub fn without_node(&self, holder: impl Fn(&str) -> Holder) -> Vec<Arc<str>> {
        let bare = |names: &BTreeSet<Name>| names.iter().all(|name| holder(name) != Holder::In);
        self.holders
            .iter()
            .filter(|(_, names)| bare(names))
            .map(|(range, _)| Arc::clone(range))
            .collect()
    }

    /// What has changed since the last call. A range is not reported as lost while one of its
    /// holders waits for its first probe.
    pub fn observe(&mut self, holder: impl Fn(&str) -> Holder) -> Vec<RangeTurn> {
        let mut turns = Vec::new();
        for (range, names) in &self.holders {
            let is_held = names.iter().any(|name| holder(name) == Holder::In);
            let is_lost = names.iter().all(|name| holder(name) == Holder::Out);
            let turned = if is_held {
                self.missing.remove(range)
            } else {
                is_lost && self.missing.insert(Arc::clone(range))
            };
            if turned {
                turns.push(RangeTurn {
                    range: Arc::clone(range),
                    is_held,
                });
            }
        }
        turns
    }
}

/// The ranges a node holds: those it is listed for, or those of the node it is a copy of.
///
/// A list may name copies of copies, or go round in circles; it is followed as far as it has nodes.
fn ranges_of(node: &Node, nodes: &[Node]) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    let mut at = Some(node);
    for _ in nodes {
        let Some(here) = at else { break };
        found.extend(here.shards.iter().cloned());
        at = here
            .replica
            .as_ref()
            .and_then(|of| nodes.iter().find(|other| other.name == *of));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, shards: Option<&str>, replica: Option<&str>) -> Node {
        Node {
            shards: shards.map(Into::into),
            replica: replica.map(Into::into),
            ..Node::new(name.into(), "h:1".into())
        }
    }

    fn in_rotation<'a>(names: &'a [&'a str]) -> impl Fn(&str) -> Holder + 'a {
        |name| {
            if names.contains(&name) {
                Holder::In
            } else {
                Holder::Out
            }
        }
    }

    fn nodes() -> Vec<Node> {
        vec![
            node("a", Some("0..64"), None),
            node("b", Some("64.."), None),
            node("c", None, Some("a")),
        ]
    }

    #[test]
    fn a_range_is_held_by_its_node_and_by_the_copies_of_it() {
        let ranges = Ranges::of(&nodes());
        assert!(ranges.without_node(in_rotation(&["b", "c"])).is_empty());
        assert_eq!(ranges.without_node(in_rotation(&["b"])), ["0..64".into()]);
        assert_eq!(ranges.without_node(in_rotation(&[])).len(), 2);
    }

    #[test]
    fn a_range_is_reported_once_when_it_appears_and_once_when_it_is_held_again() {
        let mut ranges = Ranges::of(&nodes());
        assert!(ranges.observe(|_| Holder::Unprobed).is_empty());
        assert!(ranges.observe(in_rotation(&["a", "b"])).is_empty());
        let lost = RangeTurn {
            range: "64..".into(),
            is_held: false,
        };
        assert_eq!(ranges.observe(in_rotation(&["a"])), [lost]);
        assert!(ranges.observe(in_rotation(&["a"])).is_empty());
        ranges.replace(&nodes());
        assert!(ranges.observe(in_rotation(&["a"])).is_empty());
        let held = RangeTurn {
            range: "64..".into(),
            is_held: true,
        };
        assert_eq!(ranges.observe(in_rotation(&["a", "b"])), [held]);
    }

    #[test]
    fn a_range_that_leaves_the_list_is_forgotten() {
        let mut ranges = Ranges::of(&nodes());
        ranges.observe(in_rotation(&[]));
        ranges.replace(&[node("a", Some("0.."), None)]);
        assert_eq!(ranges.observe(in_rotation(&["a"])), []);
    }

    #[test]
    fn copies_of_copies_circles_and_unknown_names_are_followed_without_end_in_sight() {
        let odd = [
            node("a", Some("0.."), Some("a")),
            node("b", None, Some("c")),
            node("c", None, Some("b")),
            node("d", None, Some("nobody")),
            node("e", None, Some("a")),
        ];
        let ranges = Ranges::of(&odd);
        assert!(ranges.without_node(in_rotation(&["e"])).is_empty());
        assert_eq!(
            ranges.without_node(in_rotation(&["b", "c", "d"])),
            ["0..".into()]
        );
    }
}
