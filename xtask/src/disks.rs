//! Tries what a full disk and a read-only one do, on a disk that only the gateway under test sees.
//!
//! That takes a mount in a namespace of one's own, which root may always make and others where the
//! system allows it; otherwise the reason why nothing was checked.

use std::path::Path;

use crate::Result;
use crate::process::{program, run};

/// Mounts and fills nothing that anybody else sees.
const TRIED: &str = "mount -t tmpfs -o size=64k none /mnt";

const TEST: &str = "test --locked -p gateway-tests --test scenarios -- --ignored disks::";

/// Runs the scenarios of the disks.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let words = ["--user", "--map-root-user", "--mount", "sh", "-c", TRIED];
    if let Err(why) = run(&mut program(root, "unshare", &words)) {
        return Ok(Some(format!("no disk can be mounted here: {why}")));
    }
    let words: Vec<&str> = TEST.split(' ').collect();
    run(&mut program(root, "cargo", &words))?;
    Ok(None)
}
