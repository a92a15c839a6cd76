//! `gatewayd effective`: the configuration with everything spelled out.

use gateway_config::effective::to_toml;

use super::print;
use crate::cli::Effective;
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::render;

/// Prints what would be served; findings go to the standard error.
pub(super) fn run(effective: Effective) -> Exit {
    let Outcome { sources, result } = effective.subject.given().load();
    match result {
        Ok(loaded) => {
            render::show(&loaded.warnings, &sources);
            print(&to_toml(loaded.snapshot.model()))
        }
        Err(found) => {
            render::show(&found, &sources);
            Exit::Configuration
        }
    }
}
