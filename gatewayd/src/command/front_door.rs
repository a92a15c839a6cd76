//! `gatewayd front-door`: the preset, started or printed.

use super::{print, run};
use crate::cli::{FrontDoor, Given};
use crate::exit::Exit;
use crate::origin::{self, Outcome};
use crate::render;

/// Starts the door, or prints the file that asks for it.
pub(super) fn run(flags: Box<FrontDoor>) -> Exit {
    if !flags.print_config {
        return run::run(&Given::FrontDoor(flags));
    }
    let printed = origin::printed(&flags);
    let Outcome { sources, result } = Given::FrontDoor(flags).load();
    match result {
        Ok(loaded) => {
            render::show(&loaded.warnings, &sources);
            print(&printed)
        }
        Err(found) => {
            render::show(&found, &sources);
            Exit::Configuration
        }
    }
}
