//! `generate`: builds what [`test`](crate::test) builds, then has every file written that is made
//! from it.

use std::path::Path;
use std::process::Command;

use crate::process::{program, run as run_program};
use crate::test::BUILD;
use crate::{Result, vendor};

/// Passes `arguments` through.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    vendor::ensure(root)?;
    let words: Vec<&str> = BUILD.split(' ').collect();
    run_program(&mut program(root, "cargo", &words))?;
    let generate = root.join("target/debug/generate");
    run_program(Command::new(generate).args(arguments).current_dir(root))
}

/// Fails where a file is not what would be written, and names it.
pub(crate) fn check(root: &Path) -> Result {
    run(root, &["--check".to_owned()])
}
