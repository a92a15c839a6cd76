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
use gateway_core::pool::{Pick, PoolState};
use gateway_core::tried::{Hints, Tried};

/// A pool of so many nodes that nobody probes, all in rotation.
fn pool(count: u16, balance: Balance) -> Arc<PoolState> {
    let node = |at: u16| {
        Node::new(
            format!("n{at}").into(),
            format!("192.0.2.1:{}", at + 1).into(),
        )
    };
    let mut pool = Pool::new("p".into(), (0..count).map(node).collect());
    pool.probe.kind = ProbeKind::None;
    pool.balance = balance;
    PoolState::new(&pool, 7, Instant::now())
}

fn pick(c: &mut Criterion) {
    let ways = [
        ("round-robin", Balance::RoundRobin),
        ("least-in-flight", Balance::LeastInFlight),
        ("random", Balance::Random),
        ("hash", Balance::Hash(HashBy::Uri)),
    ];
    for (name, balance) in ways {
        for count in [3, 1_000] {
            let state = pool(count, balance.clone());
            let now = Instant::now();
            let mut number = 0_u32;
            c.bench_function(&format!("pick/{name}/{count}"), |b| {
                b.iter(|| {
                    number = number.wrapping_add(1);
                    let hints = Hints {
                        tried: Tried::none(),
                        key: Some(key(&number.to_le_bytes())),
                    };
                    match state.pick(&hints, now) {
                        Pick::Slot(slot) => drop(black_box(slot)),
                        other => panic!("no slot but {other:?}"),
                    }
                });
            });
        }
    }
}

criterion_group!(benches, pick);
criterion_main!(benches);
