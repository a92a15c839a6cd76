//! Finds out whether the list of advisories can be reached from this machine.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::process::program;

const LIST: &str = "https://github.com/RustSec/advisory-db";
const PATIENCE: Duration = Duration::from_secs(20);

/// `Err` says why not. Git is asked rather than a socket opened, so that its proxies count.
pub(crate) fn reachable(root: &Path) -> Result<(), String> {
    let mut question = program(root, "git", &["ls-remote", "--exit-code", LIST, "HEAD"]);
    let mut asked = question
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    let asked_at = Instant::now();
    loop {
        match asked.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(format!("{LIST} cannot be reached from here")),
            Ok(None) if asked_at.elapsed() < PATIENCE => sleep(Duration::from_millis(50)),
            Ok(None) | Err(_) => {
                // Already given up on it; nothing better is left to do when it will not die.
                let _ = asked.kill();
                let _ = asked.wait();
                return Err(format!(
                    "{LIST} did not answer within {} s",
                    PATIENCE.as_secs()
                ));
            }
        }
    }
}
