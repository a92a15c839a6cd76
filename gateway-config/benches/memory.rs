//! What a large configuration takes of memory: while it is checked, and as a snapshot.
//!
//! Bounds: 200 MiB for 10,000 routes checked; 2 KiB a route and 4 KiB a site in the snapshot. What
//! the system counts as resident is compared, so small numbers mean little.

use std::fs;

mod edge;

const COUNT: usize = 10_000;

fn main() {
    // What is freed goes back to the system only as whole pages: the first round warms up.
    let routes = edge::routes(COUNT);
    drop(edge::load(&edge::routes(100)));
    let before = resident();
    let first = edge::load(&routes);
    let most = peak();
    let kept: Vec<_> = (0..4).map(|_| first.snapshot.model().clone()).collect();
    let start = resident();
    let snapshots: Vec<_> = (0..4).map(|_| edge::load(&routes).snapshot).collect();
    let each = (resident().saturating_sub(start)) / (4 * COUNT);
    println!(
        "10,000 routes checked: {} KiB at most, {} KiB before",
        most >> 10,
        before >> 10
    );
    println!("a route in a snapshot: {each} B");
    drop((kept, snapshots, first));

    let sites = edge::sites(COUNT);
    let start = resident();
    let snapshots: Vec<_> = (0..4).map(|_| edge::load(&sites).snapshot).collect();
    let each = (resident().saturating_sub(start)) / (4 * COUNT);
    println!("a site in a snapshot: {each} B");
    drop(snapshots);
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    status("VmRSS:")
}

/// The most there ever were.
fn peak() -> usize {
    status("VmHWM:")
}

fn status(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    number.unwrap_or(0) << 10
}
