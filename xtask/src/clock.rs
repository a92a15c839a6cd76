//! Tries what a jump of the wall clock does, with a library that shows a process another time.
//!
//! Built below `target/` by a package of Python's, where that can be had; otherwise the reason why nothing
//! was checked.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::clients::environment;
use crate::process::{capture, program, run};

/// Brings the sources of the library along and builds them.
const PACKAGE: &str = "libfaketime==2.1.0";
/// Where it has put the library.
const PLACE: &str = "import libfaketime, os, glob; \
    print(glob.glob(os.path.join(os.path.dirname(libfaketime.__file__), '**/libfaketime.so.1'), \
    recursive=True)[0])";

const TEST: &str = "test --locked -p gateway-tests --test scenarios -- --ignored clock::";

/// Runs the scenario of the clock.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let library = match library(root) {
        Ok(library) => library,
        Err(reason) => return Ok(Some(reason)),
    };
    let words: Vec<&str> = TEST.split(' ').collect();
    let mut tests = program(root, "cargo", &words);
    run(tests.env("GATEWAY_FAKETIME", library))?;
    Ok(None)
}

fn library(root: &Path) -> Result<PathBuf> {
    let python = environment(root, "faketime", &[PACKAGE], PLACE)?;
    let asked = ["-c", PLACE];
    let place = capture(&mut program(root, &python.to_string_lossy(), &asked))?;
    Ok(PathBuf::from(place.trim()))
}
