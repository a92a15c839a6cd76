//! Serving: what `run` and `front-door` have in common.

use gateway_config::Snapshot;

use crate::cli::Given;
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::{process, render};

/// Reads the configuration and serves it until the process is told to stop. A reload reads the same
/// things again.
pub(super) fn run(given: &Given) -> Exit {
    let Outcome { sources, result } = given.load_with_files();
    match result {
        Ok(loaded) => {
            render::show(&loaded.warnings, &sources);
            process::serve(loaded.snapshot.with_number(1), || again(given))
        }
        Err(found) => {
            render::show(&found, &sources);
            Exit::Configuration
        }
    }
}

/// The configuration as it reads at this moment, or every reason against it, a line each.
fn again(given: &Given) -> Result<Snapshot, String> {
    let Outcome { sources, result } = given.load_with_files();
    match result {
        Ok(loaded) => Ok(loaded.snapshot),
        Err(found) => Err(render::lines(&found, &sources)),
    }
}
