//! What a large configuration takes of memory: 200 MiB for 10,000 routes checked, 2 KiB a route and
//! 4 KiB a site in the snapshot.
//!
//! What the system counts as resident is compared, so this is a program with one test: others at
//! the same time would be counted as well. `benches/memory.rs` measures the same with more care.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by stopping"
)]

use std::fs;

#[path = "../benches/edge.rs"]
mod edge;

const COUNT: usize = 10_000;
/// Snapshots that are kept: what each of them leaves free counts for little among so many.
const KEPT: usize = 3;

#[test]
fn a_large_configuration_stays_within_its_bounds() {
    let most = resident("VmHWM:");
    let routes = edge::routes(COUNT);
    drop(edge::load(&routes));
    let checked = (resident("VmHWM:") - most) >> 20;
    assert!(checked < 200, "{COUNT} routes checked: {checked} MiB");
    for (what, text, bound) in [
        ("route", routes, 2 << 10),
        ("site", edge::sites(COUNT), 4 << 10),
    ] {
        let mut snapshots = vec![edge::load(&text).snapshot];
        let before = resident("VmRSS:");
        snapshots.extend((0..KEPT).map(|_| edge::load(&text).snapshot));
        let each = resident("VmRSS:").saturating_sub(before) / (KEPT * COUNT);
        println!("a {what} in a snapshot: {each} B; checking took {checked} MiB");
        // Nothing at all would be a measurement that went wrong.
        assert!((100..bound).contains(&each), "a {what}: {each} B");
    }
}

/// Bytes, as the system counts them for this process.
fn resident(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.unwrap().trim().strip_suffix(" kB").unwrap();
    number.parse::<usize>().unwrap() << 10
}
