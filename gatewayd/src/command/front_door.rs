//! `gatewayd front-door`: the preset, started or printed.

use super::print;
use crate::cli::{Given, ServedDoor};
use crate::exit::Exit;
use crate::origin::{self, Outcome};
use crate::reload::Written;
use crate::{process, render};

/// Starts the door, or prints the file that asks for it.
pub(super) fn run(served: ServedDoor) -> Exit {
    let ServedDoor { door, process } = served;
    let printed = door.print_config.then(|| origin::printed(&door));
    let given = Given::FrontDoor(Box::new(door));
    let Some(printed) = printed else {
        return process::serve(Box::new(Written(given)), &process);
    };
    let Outcome { sources, result } = given.load();
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
