//! `gatewayd manual DIR`: the pages of the manual, one for each command.
//!
//! Hidden, since it is for `cargo xtask generate`, which keeps them in `deploy/`.

use crate::cli::{self, Manual};
use crate::exit::Exit;
use crate::release;

/// Writes the pages.
pub(super) fn run(manual: &Manual) -> Exit {
    // The commit has no place in a page that lies in the tree.
    let grammar = cli::grammar().version(release::VERSION);
    match clap_mangen::generate_to(grammar, &manual.directory) {
        Ok(()) => Exit::Fine,
        Err(why) => {
            eprintln!("{}: {why}", manual.directory.display());
            Exit::Usage
        }
    }
}
