//! Chooses among the nodes that could take a request.
//!
//! Which nodes those are is told by [`pool`](crate::pool), which also takes the slot. Nodes are
//! compared by the requests they have in flight and by when their turn is due: each node has a
//! time of its own that moves on by the inverse of its weight whenever it is chosen, so that over
//! as many choices as the weights add up to each node is chosen as often as its weight says, and
//! evenly spread. A node that could not be chosen for a while is not owed anything.
//!
//! Source: GATEWAY §6; adr/0049.

use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(crate) mod ring;

/// How far a node's time moves on for a weight of one thousandth.
const WHOLE: u64 = 1 << 40;

/// The time of a pool in which turns are due, and the numbers it draws.
#[derive(Debug)]
pub(crate) struct Turns {
    now: AtomicU64,
    drawn: AtomicU64,
    /// Where a look at a large pool begins.
    place: AtomicUsize,
}

/// What a node is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Its requests in flight.
    pub(crate) in_flight: u32,
    /// When its turn is due.
    pub(crate) due: u64,
    /// Its weight in thousandths, at least 1.
    pub(crate) weight: u64,
}

impl Turns {
    /// Nobody has been chosen; what is drawn follows from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: AtomicU64::new(0),
            drawn: AtomicU64::new(seed),
            place: AtomicUsize::new(0),
        }
    }

    /// Where the look at a large pool is to begin.
    pub(crate) fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    /// Begins the next look there.
    pub(crate) fn set_place(&self, place: usize) {
        self.place.store(place, Ordering::Relaxed);
    }

    /// Whether its turn is due now, which nobody's can be before.
    pub(crate) fn is_now(&self, one: &Standing) -> bool {
        one.due == self.now.load(Ordering::Relaxed)
    }

    /// When the turn of a node is due whose own time is `due`: not before now.
    pub(crate) fn due(&self, due: u64) -> u64 {
        let now = self.now.load(Ordering::Relaxed);
        match compare(due, now) {
            Order::Less => now,
            Order::Equal | Order::Greater => due,
        }
    }

    /// The time of a node of this weight that comes in: half a turn from now.
    pub(crate) fn at_entry(&self, weight: u64) -> u64 {
        let now = self.now.load(Ordering::Relaxed);
        now.wrapping_add(WHOLE / weight.max(1) / 2)
    }

    /// Takes in that this node was chosen; its next time.
    ///
    /// Two choices at once may be made of the same moment, which costs a tie its order and nothing
    /// else.
    pub(crate) fn chosen(&self, one: Standing) -> u64 {
        self.now.store(one.due, Ordering::Relaxed);
        one.due.wrapping_add(WHOLE / one.weight.max(1))
    }

    /// A number below `bound`, and another one the next time (splitmix64 over a count).
    pub(crate) fn draw(&self, bound: u64) -> u64 {
        let count = self
            .drawn
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mut mixed = count;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(bound).unwrap_or(0)
    }
}

/// Whose turn comes first.
pub(crate) fn by_turn(a: &Standing, b: &Standing) -> Order {
    compare(a.due, b.due)
}

/// Which has less in flight for its weight; of two equals, whose turn comes first.
pub(crate) fn by_load(a: &Standing, b: &Standing) -> Order {
    let load = |one: &Standing, other: &Standing| u64::from(one.in_flight) * other.weight;
    load(a, b).cmp(&load(b, a)).then(by_turn(a, b))
}

/// Times go round: of two, the one less than half the circle ahead is the later one.
fn compare(a: u64, b: u64) -> Order {
    match a.wrapping_sub(b) {
        0 => Order::Equal,
        ahead if ahead < 1 << 63 => Order::Greater,
        _ => Order::Less,
    }
}

#[cfg(test)]
mod tests;
