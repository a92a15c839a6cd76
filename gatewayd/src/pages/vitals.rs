//! What the system says of this process, under the names every Prometheus library gives it.

use std::fs;
use std::time::SystemTime;

use gateway_pingora::{Exposition, Kind};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::unistd::{SysconfVar, sysconf};

/// Writes it. What the system does not tell is left out.
pub(super) fn write(out: &mut Exposition, started: SystemTime) {
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        let words = "Time on the processor, in seconds.";
        out.family("process_cpu_seconds_total", Kind::Counter, words);
        let (user, system) = (usage.user_time(), usage.system_time());
        let whole = user.tv_sec() + system.tv_sec();
        let micros = user.tv_usec() + system.tv_usec();
        let (whole, micros) = (whole + micros / 1_000_000, micros % 1_000_000);
        out.sample(&[], format_args!("{whole}.{micros:06}"));
    }
    if let Some(bytes) = resident() {
        let words = "Memory that is resident, in bytes.";
        out.family("process_resident_memory_bytes", Kind::Gauge, words);
        out.sample(&[], bytes);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let words = "Descriptors open.";
        out.family("process_open_fds", Kind::Gauge, words);
        // One of them is the folder that is read.
        out.sample(&[], open.count().saturating_sub(1));
    }
    if let Ok((most, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let words = "Descriptors that may be open.";
        out.family("process_max_fds", Kind::Gauge, words);
        out.sample(&[], most);
    }
    if let Ok(since) = started.duration_since(SystemTime::UNIX_EPOCH) {
        let words = "When the process began to serve, in seconds since 1970.";
        out.family("process_start_time_seconds", Kind::Gauge, words);
        out.sample(&[], since.as_secs_f64());
    }
}

fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    let size = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(size).ok()?)
}
