//! Leads the same key to the same node, and moves few keys when nodes come and go.
//!
//! A ring as ketama has it: every node stands at many points of a circle of hashes, a key goes to
//! the next point after its own. A node that leaves gives its keys to those that come next, all
//! over the circle; the keys of the others stay where they are.
//!
//! Invariants: the order of the nodes in the file does not matter; neither does who else is there
//! for the place of a node, as long as the greatest weight stays.
//!
//! Source: GATEWAY §6; adr/0049.

use std::hash::Hasher;

use fnv::FnvHasher;

/// Points of a node with the greatest weight; with fewer, keys would be spread unevenly.
const POINTS: u64 = 160;

/// The circle: where which node stands.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// Sorted by the point; with the place of the node in its list.
    points: Vec<(u32, u32)>,
}

impl Ring {
    /// The circle of these nodes, by their names and weights.
    pub(crate) fn new<'a>(nodes: impl Iterator<Item = (&'a str, u16)> + Clone) -> Self {
        let greatest = nodes.clone().map(|(_, weight)| u64::from(weight)).max();
        let greatest = greatest.unwrap_or(1).max(1);
        let mut points = Vec::new();
        for (place, (name, weight)) in (0..).zip(nodes) {
            let own = (POINTS * u64::from(weight) / greatest).max(1);
            points.extend((0..own).map(|point| (at(name, point), place)));
        }
        points.sort_unstable();
        Self { points }
    }

    /// The places of the nodes that come after this key, once round the circle; a node may come
    /// several times.
    pub(crate) fn after(&self, key: u32) -> impl Iterator<Item = usize> {
        let first = self.points.partition_point(|(point, _)| *point < key);
        let (before, after) = self.points.split_at(first);
        after
            .iter()
            .chain(before)
            .filter_map(|(_, place)| usize::try_from(*place).ok())
    }
}

/// The hash of what is to lead to the same node again; the same in every process.
#[must_use]
pub fn key(bytes: &[u8]) -> u32 {
    let mut hasher = FnvHasher::default();
    hasher.write(bytes);
    mixed(hasher.finish())
}

fn at(name: &str, point: u64) -> u32 {
    let mut hasher = FnvHasher::default();
    hasher.write(name.as_bytes());
    // No name holds this byte, so that no name and number run together.
    hasher.write(&[0]);
    hasher.write(&point.to_le_bytes());
    mixed(hasher.finish())
}

/// Spreads what FNV leaves close together, and keeps the upper half.
fn mixed(hash: u64) -> u32 {
    let mut mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    u32::try_from((mixed ^ (mixed >> 33)) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn goes_to<'a>(nodes: &[(&'a str, u16)], key: u32) -> &'a str {
        let ring = Ring::new(nodes.iter().copied());
        nodes[ring.after(key).next().unwrap()].0
    }

    fn shares(nodes: &[(&str, u16)]) -> BTreeMap<String, u32> {
        let ring = Ring::new(nodes.iter().copied());
        let mut shares = BTreeMap::new();
        for number in 0..20_000_u32 {
            let place = ring.after(key(&number.to_le_bytes())).next().unwrap();
            *shares.entry(nodes[place].0.to_owned()).or_default() += 1;
        }
        shares
    }

    #[test]
    fn keys_are_spread_by_weight() {
        let shares = shares(&[("a", 1), ("b", 1), ("c", 2)]);
        assert!((4_000..6_000).contains(&shares["a"]), "{shares:?}");
        assert!((4_000..6_000).contains(&shares["b"]), "{shares:?}");
        assert!((8_500..11_500).contains(&shares["c"]), "{shares:?}");
    }

    #[test]
    fn nobody_stands_on_an_empty_ring() {
        assert_eq!(Ring::default().after(7).count(), 0);
    }

    proptest! {
        #[test]
        fn a_node_that_leaves_never_moves_the_keys_of_others(bytes: Vec<u8>, gone in 0..5usize) {
            let all = [("a", 3), ("b", 3), ("c", 3), ("d", 3), ("e", 3)];
            let left: Vec<_> = all.into_iter().filter(|one| *one != all[gone]).collect();
            let (before, after) = (goes_to(&all, key(&bytes)), goes_to(&left, key(&bytes)));
            prop_assert!(before == after || before == all[gone].0);
        }

        #[test]
        fn the_order_of_the_nodes_never_matters(key: u32, turn in 0..4usize) {
            let all = [("a", 1), ("b", 2), ("c", 3), ("d", 4)];
            let mut turned = all;
            turned.rotate_left(turn);
            prop_assert_eq!(goes_to(&all, key), goes_to(&turned, key));
        }

        #[test]
        fn every_node_is_come_by(key: u32) {
            let ring = Ring::new([("a", 1), ("b", 1_000), ("c", 30)].into_iter());
            let mut places: Vec<_> = ring.after(key).collect();
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places, [0, 1, 2]);
        }
    }
}
