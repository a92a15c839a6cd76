//! The counts of slots under every order in which threads may come: what goes out comes back, and no bound
//! is ever passed, at a node and in its pool.
//!
//! `in_flight.rs` itself is compiled here over the atomics of loom, which tries the orders out. What loom
//! cannot say is whether a release and a look at the queue may pass a join and a look at the slots: it
//! takes sequentially consistent accesses for weaker ones.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test"
)]

#[allow(dead_code, unreachable_pub, reason = "what the crate needs of it")]
#[path = "../src/in_flight.rs"]
mod in_flight;

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use in_flight::{Gate, Taken, give_back, take};
use loom::thread;

/// What is inside, counted beside loom so that it adds no order of its own.
#[derive(Default)]
struct Inside(AtomicU32);

impl Inside {
    fn enters(&self, most: u32) {
        let inside = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(inside <= most, "{inside} of at most {most}");
    }

    fn leaves(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn open(ceiling: u32) -> Arc<Gate> {
    let gate = Gate::shut(ceiling);
    gate.open();
    Arc::new(gate)
}

fn all(work: impl Fn(usize) + Clone + Send + 'static, threads: usize) {
    let running: Vec<_> = (0..threads)
        .map(|number| {
            let work = work.clone();
            thread::spawn(move || work(number))
        })
        .collect();
    running.into_iter().for_each(|one| one.join().unwrap());
}

#[test]
fn no_bound_is_passed_and_all_come_back_whoever_comes_when() {
    loom::model(|| {
        let gate = open(1);
        let inside = Arc::new(Inside::default());
        let (counted, taken) = (Arc::clone(&gate), inside);
        all(
            move |_| {
                if take(&counted, None).is_some() {
                    taken.enters(1);
                    thread::yield_now();
                    taken.leaves();
                    give_back(&counted, None);
                }
            },
            3,
        );
        assert_eq!(gate.count(), 0);
    });
}

#[test]
fn a_pool_and_its_nodes_are_bounded_together_and_a_refusal_takes_nothing() {
    let mut model = loom::model::Builder::new();
    // Every order in which threads are interrupted so often; all orders take a minute.
    model.preemption_bound = Some(3);
    model.check(|| {
        // Two of the three want the same node, which may refuse what the pool has granted.
        let (total, nodes) = (open(2), [open(1), open(1)]);
        let inside = Arc::new(Inside::default());
        let (pool, own, taken) = (Arc::clone(&total), nodes.clone(), inside);
        all(
            move |number| {
                let node = &own[number % 2];
                if take(node, Some(&pool)).is_some() {
                    taken.enters(2);
                    thread::yield_now();
                    taken.leaves();
                    give_back(node, Some(&pool));
                }
            },
            3,
        );
        assert_eq!(
            (total.count(), nodes[0].count(), nodes[1].count()),
            (0, 0, 0)
        );
    });
}

#[test]
fn a_gate_open_for_one_lets_one_in_however_often_it_is_shut_meanwhile() {
    loom::model(|| {
        let gate = Arc::new(Gate::shut(9));
        gate.open_for_one();
        let let_in = Arc::new(AtomicU32::new(0));
        let (tried, counted) = (Arc::clone(&gate), Arc::clone(&let_in));
        all(
            move |number| match number {
                0 => tried.shut_again(),
                _ => {
                    if take(&tried, None) == Some(Taken::Only) {
                        counted.fetch_add(1, Ordering::SeqCst);
                        give_back(&tried, None);
                    }
                }
            },
            3,
        );
        assert!(let_in.load(Ordering::SeqCst) <= 1);
        assert_eq!((gate.count(), gate.is_open()), (0, false));
    });
}
