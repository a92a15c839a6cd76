//! Serving: what `run` and `front-door` have in common.

use std::sync::Arc;

use gateway_config::Snapshot;

use crate::cli::Given;
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::render;

/// Reads the configuration and serves it until the process is told to stop.
pub(super) fn run(given: &Given) -> Exit {
    let Outcome { sources, result } = given.load_with_files();
    match result {
        Ok(loaded) => {
            let warnings: Vec<String> = loaded
                .warnings
                .iter()
                .map(|one| one.first_line(&sources).to_string())
                .collect();
            serve(given, Arc::new(loaded.snapshot.with_number(1)), &warnings)
        }
        Err(found) => {
            render::show(&found, &sources);
            Exit::Configuration
        }
    }
}

/// Starts the data plane. `given` is what a reload reads again.
fn serve(_given: &Given, _snapshot: Arc<Snapshot>, warnings: &[String]) -> Exit {
    for warning in warnings {
        eprintln!("{warning}");
    }
    Exit::Fine
}
