//! `gatewayd check`: everything that can be found without starting.

use gateway_config::{Diagnostic, Severity};

use super::print;
use crate::cli::{Check, Format};
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::render;

/// Silent when all is well, unless asked to say so.
pub(super) fn run(check: Check) -> Exit {
    let given = check.subject.given();
    let Outcome { sources, result } = match check.files {
        true => given.load_with_files(),
        false => given.load().served(),
    };
    let hash = result
        .as_ref()
        .ok()
        .map(|loaded| loaded.snapshot.hash().to_owned());
    let found = result.map_or_else(|found| found, |loaded| loaded.warnings);
    match check.format {
        Format::Json => {
            if print(&render::json(&found, &sources)) == Exit::Usage {
                return Exit::Usage;
            }
        }
        Format::Text => {
            render::show(&found, &sources);
            if let Some(hash) = hash.filter(|_| check.verbose) {
                println!("fine: snapshot {hash}");
            }
        }
    }
    verdict(&found)
}

fn verdict(found: &[Diagnostic]) -> Exit {
    if found.iter().any(|one| one.severity == Severity::Error) {
        Exit::Configuration
    } else {
        Exit::Fine
    }
}
