//! The TCP connections that a process has, for whoever asks what it still holds.

use std::fs;
use std::path::Path;

use nix::unistd::Pid;

/// Names of the states, from 1 (proc_net_tcp(5)).
const STATES: [&str; 11] = [
    "established",
    "syn sent",
    "syn received",
    "fin wait 1",
    "fin wait 2",
    "time wait",
    "closed",
    "close wait",
    "last ack",
    "listening",
    "closing",
];

/// Each connection over IPv4 in a line: own port, the other's, state, bytes not sent and not read.
pub(crate) fn connections(pid: Pid) -> Vec<String> {
    let held = inodes(pid);
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let lines = table
        .lines()
        .skip(1)
        .filter_map(|line| line_of(line, &held));
    lines.collect()
}

fn inodes(pid: Pid) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets.filter_map(|target| inode(&target)).collect()
}

fn inode(target: &Path) -> Option<String> {
    let inode = target.to_str()?.strip_prefix("socket:[")?;
    Some(inode.strip_suffix(']')?.to_owned())
}

fn line_of(line: &str, held: &[String]) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    held.iter()
        .find(|inode| fields.get(9) == Some(&inode.as_str()))?;
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let port = |number: usize| hex(fields.get(number)?.split_once(':')?.1);
    let (unsent, unread) = fields.get(4)?.split_once(':')?;
    let state = STATES.get(
        usize::from_str_radix(fields.get(3)?, 16)
            .ok()?
            .checked_sub(1)?,
    )?;
    if *state == "listening" {
        return None;
    }
    Some(format!(
        "{} with {}, {state}, {} bytes unsent, {} unread",
        port(1)?,
        port(2)?,
        hex(unsent)?,
        hex(unread)?
    ))
}
