//! What a reload pays for reading and checking a large configuration.
//!
//! Bound: 300 ms for 10,000 routes.

use criterion::{Criterion, criterion_group, criterion_main};

mod edge;

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.sample_size(10);
    let routes = edge::routes(10_000);
    group.bench_function("10,000 routes", |b| b.iter(|| edge::load(&routes)));
    let sites = edge::sites(10_000);
    group.bench_function("10,000 sites", |b| b.iter(|| edge::load(&sites)));
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
