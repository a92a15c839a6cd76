//! What a large configuration takes of memory: 200 MiB for 10,000 routes checked, 2 KiB a route and
//! 4 KiB a site in the snapshot.
//!
//! What the system counts as resident is compared, each in a process of its own, so that nothing
//! that was freed before is used again. `benches/memory.rs` measures the same with more care.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by stopping"
)]

use std::process::Command;
use std::{env, fs};

#[path = "../benches/edge.rs"]
mod edge;

const COUNT: usize = 10_000;
/// Snapshots that are kept: what is freed on the way to each counts for little among so many.
const KEPT: usize = 8;
/// Most memory that checking takes.
const CHECKED: usize = 200 << 20;

#[test]
fn a_large_configuration_stays_within_its_bounds() {
    for alone in ["routes_alone", "sites_alone"] {
        let mut own = Command::new(env::current_exe().unwrap());
        let ended = own.args(["--exact", "--ignored", alone]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}

#[test]
#[ignore = "started by the other one, in a process of its own"]
fn routes_alone() {
    measure(&edge::routes(COUNT), 2 << 10);
}

#[test]
#[ignore = "started by the other one, in a process of its own"]
fn sites_alone() {
    measure(&edge::sites(COUNT), 4 << 10);
}

fn measure(text: &str, bound: usize) {
    let before = resident("VmRSS:");
    let mut snapshots = vec![edge::load(text).snapshot];
    let checked = resident("VmHWM:") - before;
    let start = resident("VmRSS:");
    snapshots.extend((0..KEPT).map(|_| edge::load(text).snapshot));
    let each = resident("VmRSS:").saturating_sub(start) / (KEPT * COUNT);
    println!("{each} B each; checking took {} MiB", checked >> 20);
    assert!(checked < CHECKED);
    // Next to nothing would be a measurement that went wrong.
    assert!((500..bound).contains(&each));
}

/// Bytes, as the system counts them for this process.
fn resident(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.unwrap().trim().strip_suffix(" kB").unwrap();
    number.parse::<usize>().unwrap() << 10
}
