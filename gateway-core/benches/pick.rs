//! What a request pays for its node: a pick and the release of its slot. The bounds are 150 ns with three
//! nodes and 2 µs with a thousand, whatever the way of choosing.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a bench that cannot go on says so by stopping, and its time is real"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use gateway_config::model::{Balance, HashBy, Node, Pool, ProbeKind};
use gateway_core::key;
use gateway_core::node::Slot;
use gateway_core::pool::{Pick, PoolState};
use gateway_core::tried::{Hints, Tried};

/// A pool of so many nodes that nobody probes, all in rotation, of these weights in turn.
fn pool(count: u16, balance: Balance, weights: &[u16]) -> Arc<PoolState> {
    let node = |(at, weight): (u16, &u16)| {
        let mut node = Node::new(
            format!("n{at}").into(),
            format!("192.0.2.1:{}", at + 1).into(),
        );
        node.weight = *weight;
        node
    };
    let nodes = (0..count).zip(weights.iter().cycle());
    let mut pool = Pool::new("p".into(), nodes.map(node).collect());
    pool.probe.kind = ProbeKind::None;
    pool.balance = balance;
    pool.in_flight = FULL;
    PoolState::new(&pool, 7, Instant::now())
}

/// Requests that one node takes.
const FULL: u32 = 4;
const EQUAL: &[u16] = &[1];
const UNEQUAL: &[u16] = &[1, 7, 2, 3];

fn ways() -> [(&'static str, Balance); 4] {
    [
        ("round-robin", Balance::RoundRobin),
        ("least-in-flight", Balance::LeastInFlight),
        ("random", Balance::Random),
        ("hash", Balance::Hash(HashBy::Uri)),
    ]
}

/// The next request.
fn hints(number: &mut u32) -> Hints {
    *number = number.wrapping_add(1);
    Hints {
        tried: Tried::none(),
        key: Some(key(&number.to_le_bytes())),
    }
}

fn slot(state: &PoolState, number: &mut u32, now: Instant) -> Slot {
    match state.pick(&hints(number), now) {
        Pick::Slot(slot) => slot,
        other => panic!("no slot but {other:?}"),
    }
}

/// Picks while each node has about `busy` requests in flight.
fn picks(c: &mut Criterion, what: &str, weights: &[u16], busy: usize) {
    for (name, balance) in ways() {
        for count in [3, 1_000] {
            let state = pool(count, balance.clone(), weights);
            let (now, mut number) = (Instant::now(), 0);
            let held: Vec<Slot> = (0..usize::from(count) * busy)
                .map(|_| slot(&state, &mut number, now))
                .collect();
            c.bench_function(&format!("{what}/{name}/{count}"), |b| {
                b.iter(|| drop(black_box(slot(&state, &mut number, now))));
            });
            drop(held);
        }
    }
}

fn pick(c: &mut Criterion) {
    picks(c, "pick", EQUAL, 0);
    picks(c, "unequal", UNEQUAL, 0);
    picks(c, "busy", EQUAL, 2);
    picks(c, "busy-unequal", UNEQUAL, 2);
}

/// What a request pays that finds every node full.
fn full(c: &mut Criterion) {
    for (name, balance) in ways() {
        for count in [3, 1_000] {
            let state = pool(count, balance.clone(), EQUAL);
            let (now, mut number) = (Instant::now(), 0);
            let held: Vec<Slot> = (0..u32::from(count) * FULL)
                .map(|_| slot(&state, &mut number, now))
                .collect();
            c.bench_function(&format!("full/{name}/{count}"), |b| {
                b.iter(|| match state.pick(&hints(&mut number), now) {
                    Pick::Full => {}
                    other => panic!("not full but {other:?}"),
                });
            });
            drop(held);
        }
    }
}

criterion_group!(benches, pick, full);
criterion_main!(benches);
