//! What the process holds, as the kernel sees it, and as it says itself.

use std::fmt;
use std::fs;

use nix::unistd::Pid;
use serde_json::Value;

use crate::running::Running;

/// Descriptors, threads and memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vitals {
    /// Descriptors open.
    pub(crate) descriptors: usize,
    /// Threads.
    pub(crate) threads: usize,
    /// Resident memory in KiB.
    pub(crate) resident: u64,
}

/// What it says that it has: generations that drain, and a task for each connection of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Generations that drain.
    pub(crate) draining: usize,
    /// Connections of listeners that are served.
    pub(crate) connections: u64,
    /// Connections of what drains.
    pub(crate) leaving: u64,
    /// Requests in flight on nodes.
    pub(crate) in_flight: u64,
}

impl Held {
    /// When nobody is there any more.
    pub(crate) const NOTHING: Held = Held {
        draining: 0,
        connections: 0,
        leaving: 0,
        in_flight: 0,
    };

    /// What this gateway says; `None` when it says nothing.
    pub(crate) fn by(gateway: &Running) -> Option<Self> {
        let status = gateway.status();
        let sum = |all: &Value, what: &str| -> Option<u64> {
            all.as_array()?.iter().map(|one| one[what].as_u64()).sum()
        };
        let pools = status["pools"].as_array()?.iter();
        Some(Held {
            draining: status["draining"].as_array()?.len(),
            connections: sum(&status["listeners"], "connections")?,
            leaving: sum(&status["draining"], "connections")?,
            in_flight: pools
                .map(|one| sum(&one["nodes"], "in_flight"))
                .sum::<Option<_>>()?,
        })
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} draining generations with {} connections, {} connections served, {} in flight",
            self.draining, self.leaving, self.connections, self.in_flight
        )
    }
}

impl Vitals {
    /// Those of a process.
    pub(crate) fn of(pid: Pid) -> Self {
        let count = |what: &str| {
            let entries = fs::read_dir(format!("/proc/{pid}/{what}"));
            entries.map_or(0, Iterator::count)
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = resident.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        Vitals {
            descriptors: count("fd"),
            threads: count("task"),
            resident: kib.unwrap_or_default(),
        }
    }
}

impl fmt::Display for Vitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} descriptors, {} threads, {:.1} MiB",
            self.descriptors,
            self.threads,
            self.resident as f64 / 1024.0
        )
    }
}
