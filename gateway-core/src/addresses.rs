//! The addresses of one node, and which of them is dialled next.
//!
//! A node is one thing, whatever its name resolves to: it has one slot count, one verdict, one row in
//! each view. Which of its addresses a request is sent to is decided here, from what probes and
//! connections found at each; asking the name is the adapter's.
//!
//! Invariants: an address that is set aside is dialled only when no other is left, or by one request
//! when its time has come; what is known about an address that stays is kept.
//!
//! Source: GATEWAY §6; adr/0052.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Addresses of one node that are used; a name that has more is used by the first of them.
const MOST: usize = 256;

/// How long an address that failed is passed over where no probe asks it.
const AGAIN: Duration = Duration::from_secs(10);

/// Set aside until something finds it good.
const UNTIL_GOOD: u64 = u64::MAX;

/// Where a node is reached.
#[derive(Debug)]
pub(crate) struct Addresses {
    known: Mutex<Arc<[Arc<Address>]>>,
    /// Whose turn it is.
    turn: AtomicUsize,
    /// Something may speak against one of them.
    is_any_aside: AtomicBool,
    born: Instant,
}

#[derive(Debug)]
struct Address {
    at: SocketAddr,
    /// 0: nothing speaks against it; else until when it is passed over, in nanoseconds since its
    /// node was born.
    aside: AtomicU64,
}

impl Addresses {
    /// None known, unless the node is given by an address and not by a name.
    pub(crate) fn of(addr: &str, now: Instant) -> Self {
        let at = addr.parse::<SocketAddr>().ok();
        Self {
            known: Mutex::new(at.map(|at| fresh(at, 0)).into_iter().collect()),
            turn: AtomicUsize::new(0),
            is_any_aside: AtomicBool::new(false),
            born: now,
        }
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> Vec<SocketAddr> {
        self.known().iter().map(|one| one.at).collect()
    }

    /// Takes over what the name means now. No address at all is no answer: the last one stays. One that
    /// is new beside others waits for a probe, where `are_probed`.
    pub(crate) fn replace(&self, found: &[SocketAddr], are_probed: bool) -> bool {
        let mut found = found.to_vec();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() || known.iter().map(|one| &one.at).eq(&found) {
            return false;
        }
        let stay = |at: &SocketAddr| known.iter().find(|one| one.at == *at);
        let aside = match are_probed && found.iter().any(|at| stay(at).is_some()) {
            true => UNTIL_GOOD,
            false => 0,
        };
        let kept = |at: SocketAddr| stay(&at).cloned().unwrap_or_else(|| fresh(at, aside));
        *known = found.into_iter().map(kept).collect();
        self.is_any_aside.store(true, Ordering::Relaxed);
        true
    }

    /// The one to dial next, of those that this try has not dialled yet: by its turn, or the same for
    /// the same key; `None` when none is left.
    pub(crate) fn next(
        &self,
        dialled: &[SocketAddr],
        key: Option<u32>,
        now: Instant,
    ) -> Option<SocketAddr> {
        let known = self.known();
        let first = match (known.len(), key) {
            (0 | 1, _) => 0,
            (count, Some(key)) => usize::try_from(key).unwrap_or(0) % count,
            (count, None) => self.turn.fetch_add(1, Ordering::Relaxed) % count,
        };
        let (before, after) = known.split_at(first);
        let mut left = after
            .iter()
            .chain(before)
            .filter(|one| !dialled.contains(&one.at));
        let now = self.age(now);
        let usable = left.clone().find(|one| one.is_usable(now));
        usable.or_else(|| left.next()).map(|one| one.at)
    }

    /// Whether there is one that this try has not dialled.
    pub(crate) fn has_more(&self, dialled: &[SocketAddr]) -> bool {
        let known = self.known();
        known.len() > 1 && known.iter().any(|one| !dialled.contains(&one.at))
    }

    /// Takes in that a probe found it good.
    pub(crate) fn good(&self, at: SocketAddr) {
        if let Some(one) = self.find(at) {
            one.aside.store(0, Ordering::Relaxed);
        }
    }

    /// Takes in that a request was answered there. What a probe says of it stays.
    ///
    /// One relaxed load while nothing speaks against any.
    pub(crate) fn answered(&self, at: SocketAddr) {
        if !self.is_any_aside.load(Ordering::Relaxed) {
            return;
        }
        let known = self.known();
        for one in known.iter().filter(|one| one.at == at) {
            let works = |until| (until != UNTIL_GOOD).then_some(0);
            let _ = one
                .aside
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, works);
        }
        let is_aside = |one: &Arc<Address>| one.aside.load(Ordering::Relaxed) > 0;
        let is_any = known.iter().any(is_aside);
        self.is_any_aside.store(is_any, Ordering::Relaxed);
    }

    /// Takes in that it was not reached, or is not to be used: it is passed over for a while, or until a
    /// probe finds it good where `are_probed`.
    pub(crate) fn failed(&self, at: SocketAddr, are_probed: bool, now: Instant) {
        let until = match are_probed {
            true => UNTIL_GOOD,
            false => self.age(now + AGAIN),
        };
        if let Some(one) = self.find(at) {
            one.aside.store(until, Ordering::Relaxed);
            self.is_any_aside.store(true, Ordering::Relaxed);
        }
    }

    /// Nobody probes them any more: those that waited for a probe may be tried.
    pub(crate) fn are_left(&self, now: Instant) {
        let now = self.age(now);
        for one in self.known().iter() {
            let waits = |until| (until == UNTIL_GOOD).then_some(now);
            let _ = one
                .aside
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, waits);
        }
        self.is_any_aside.store(true, Ordering::Relaxed);
    }

    fn find(&self, at: SocketAddr) -> Option<Arc<Address>> {
        self.known().iter().find(|one| one.at == at).cloned()
    }

    fn known(&self) -> Arc<[Arc<Address>]> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn age(&self, now: Instant) -> u64 {
        let age = now.saturating_duration_since(self.born).as_nanos();
        // Never 0, which stands for an address that nothing speaks against.
        u64::try_from(age).unwrap_or(UNTIL_GOOD - 1).max(1)
    }
}

impl Address {
    /// Whether it may be dialled. When its time has come one request is let in, and the next one only
    /// after the same time again.
    fn is_usable(&self, now: u64) -> bool {
        let until = self.aside.load(Ordering::Relaxed);
        let again = now.saturating_add(u64::try_from(AGAIN.as_nanos()).unwrap_or(0));
        until == 0
            || until <= now
                && self
                    .aside
                    .compare_exchange(until, again, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
    }
}

fn fresh(at: SocketAddr, aside: u64) -> Arc<Address> {
    let aside = AtomicU64::new(aside);
    Arc::new(Address { at, aside })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::start;
    use proptest::prelude::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn of(ports: &[u16]) -> Addresses {
        let all = Addresses::of("a.test:1", start());
        let found: Vec<_> = ports.iter().copied().map(at).collect();
        assert!(all.replace(&found, false));
        all
    }

    fn dialled(all: &Addresses, times: usize, now: Instant) -> Vec<u16> {
        let ports = (0..times).filter_map(|_| all.next(&[], None, now));
        ports.map(|at| at.port()).collect()
    }

    #[test]
    fn a_node_given_by_its_address_has_it_and_one_given_by_name_has_none() {
        let now = start();
        assert_eq!(Addresses::of("192.0.2.1:7", now).all(), [at(7)]);
        assert_eq!(Addresses::of("[::1]:7", now).all().len(), 1);
        let named = Addresses::of("a.test:7", now);
        assert_eq!((named.all().len(), named.next(&[], None, now)), (0, None));
    }

    #[test]
    fn no_answer_leaves_the_last_one_and_the_order_says_nothing() {
        let all = of(&[2, 1, 2]);
        assert_eq!(all.all(), [at(1), at(2)]);
        assert!(!all.replace(&[], false) && !all.replace(&[at(2), at(1)], false));
        assert_eq!(all.all(), [at(1), at(2)]);
    }

    #[test]
    fn all_are_dialled_in_turn_and_by_a_key_always_the_same() {
        let (all, now) = (of(&[1, 2, 3]), start());
        assert_eq!(dialled(&all, 6, now), [1, 2, 3, 1, 2, 3]);
        let by_key = |key| all.next(&[], Some(key), now);
        assert_eq!((by_key(4), by_key(4)), (Some(at(2)), Some(at(2))));
    }

    #[test]
    fn a_try_dials_each_address_once() {
        let (all, now) = (of(&[1, 2]), start());
        let first = all.next(&[], None, now).unwrap();
        assert!(all.has_more(&[first]));
        let second = all.next(&[first], None, now).unwrap();
        assert_ne!(first, second);
        assert!(!all.has_more(&[first, second]));
        assert_eq!(all.next(&[first, second], None, now), None);
    }

    #[test]
    fn one_that_failed_is_passed_over_and_tried_by_one_request_after_a_while() {
        let (all, now) = (of(&[1, 2]), start());
        all.failed(at(1), false, now);
        assert_eq!(dialled(&all, 4, now), [2; 4]);
        let later = now + AGAIN;
        let again = dialled(&all, 8, later);
        assert_eq!(again.iter().filter(|port| **port == 1).count(), 1);
        all.answered(at(1));
        assert_eq!(
            dialled(&all, 8, later).iter().filter(|p| **p == 1).count(),
            4
        );
    }

    #[test]
    fn where_probes_ask_only_a_good_one_ends_it() {
        let (all, now) = (of(&[1, 2]), start());
        all.failed(at(1), true, now);
        let much_later = now + 1_000 * AGAIN;
        all.answered(at(1));
        assert_eq!(dialled(&all, 4, much_later), [2; 4]);
        all.good(at(1));
        let again = dialled(&all, 4, much_later);
        assert_eq!(again.iter().filter(|port| **port == 1).count(), 2);
    }

    #[test]
    fn one_that_waits_for_a_probe_is_tried_once_nobody_probes() {
        let (all, now) = (of(&[1, 2]), start());
        all.failed(at(1), true, now);
        all.are_left(now);
        let again = dialled(&all, 8, now);
        assert_eq!(again.iter().filter(|port| **port == 1).count(), 1);
    }

    #[test]
    fn when_nothing_better_is_left_one_that_is_set_aside_is_dialled() {
        let (all, now) = (of(&[1, 2]), start());
        all.failed(at(1), true, now);
        all.failed(at(2), true, now);
        assert_eq!(dialled(&all, 2, now).len(), 2);
    }

    #[test]
    fn a_new_address_beside_others_waits_for_its_probe_and_alone_it_does_not() {
        let (all, now) = (of(&[1]), start());
        assert!(all.replace(&[at(1), at(2)], true));
        assert_eq!(dialled(&all, 3, now), [1; 3]);
        assert!(all.replace(&[at(3)], true));
        assert_eq!(dialled(&all, 1, now), [3]);
    }

    #[test]
    fn what_is_known_of_an_address_outlives_an_answer() {
        let (all, now) = (of(&[1, 2]), start());
        all.failed(at(1), true, now);
        assert!(all.replace(&[at(1), at(2), at(3)], false));
        assert!(!dialled(&all, 9, now).contains(&1));
    }

    proptest! {
        #[test]
        fn a_usable_address_is_never_missed(
            ports in prop::collection::btree_set(1..40_u16, 1..8),
            failed in prop::collection::btree_set(1..40_u16, 0..8),
            tried in prop::collection::btree_set(1..40_u16, 0..4),
            key in prop::option::of(0..9_u32),
        ) {
            let all = of(&ports.iter().copied().collect::<Vec<_>>());
            failed.iter().for_each(|port| all.failed(at(*port), true, start()));
            let tried: Vec<_> = tried.into_iter().map(at).collect();
            let left: Vec<_> = ports.into_iter().filter(|port| !tried.contains(&at(*port))).collect();
            let next = all.next(&tried, key, start()).map(|at| at.port());
            prop_assert_eq!(next.is_some(), !left.is_empty());
            let is_good = |port: &u16| !failed.contains(port);
            if left.iter().any(is_good) {
                prop_assert!(next.is_some_and(|port| is_good(&port)));
            }
        }
    }
}
