//! What the process holds, as the kernel sees it.

use std::fmt;
use std::fs;

use nix::unistd::Pid;

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
