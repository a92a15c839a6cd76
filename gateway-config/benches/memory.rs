//! What a large configuration takes of memory: while it is checked, and as a snapshot.
//!
//! Bounds: 200 MiB for 10,000 routes checked; 2 KiB a route and 4 KiB a site in the snapshot. What
//! the system counts as resident is compared, each in a process of its own, so that nothing that
//! was freed before is used again.

use std::process::Command;
use std::{env, fs};

use gateway_config::model::{Route, Site};

mod edge;

const COUNT: usize = 10_000;
/// Snapshots that are kept, so that what is freed on the way to each counts for little.
const ROUNDS: usize = 8;

fn main() {
    let what = env::args().nth(1).unwrap_or_default();
    match what.as_str() {
        "routes" => measure("route", edge::routes(COUNT)),
        "sites" => measure("site", edge::sites(COUNT)),
        _ => {
            println!(
                "Route: {} B, Site: {} B",
                size_of::<Route>(),
                size_of::<Site>()
            );
            for what in ["routes", "sites"] {
                let own = env::current_exe().map(|own| Command::new(own).arg(what).status());
                if !matches!(own, Ok(Ok(status)) if status.success()) {
                    println!("{what}: could not be measured");
                }
            }
        }
    }
}

fn measure(what: &str, text: String) {
    let before = status("VmRSS:");
    let mut snapshots = vec![edge::load(&text).snapshot];
    let most = status("VmHWM:");
    println!(
        "{COUNT} {what}s checked: {} MiB at most",
        (most - before) >> 20
    );
    let start = status("VmRSS:");
    snapshots.extend((0..ROUNDS).map(|_| edge::load(&text).snapshot));
    let each = status("VmRSS:").saturating_sub(start) / (ROUNDS * COUNT);
    println!("a {what} in a snapshot: {each} B");
    drop(snapshots);
}

/// Bytes, as the system counts them for this process.
fn status(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    number.unwrap_or(0) << 10
}
