//! `gatewayd run`: serves what files say, or what was applied last.

use crate::cli::Run;
use crate::exit::Exit;
use crate::process;
use crate::reload::{Applied, Owner, Written};

/// Serves until the process is told to stop.
pub(super) fn run(run: &Run) -> Exit {
    let owner: Box<dyn Owner> = match run.given() {
        Some(given) => Box::new(Written(given)),
        None => Box::new(Applied::default()),
    };
    process::serve(owner, &run.process)
}
