//! `demo`, `soak` and `bench`: builds the gateway and the stand-in nodes, then hands the terminal to a
//! program of the tests.

use std::path::Path;
use std::process::ExitCode;

use crate::process::{program, run as run_program};
use crate::{Result, vendor};

const BUILD: &str = "build --locked -p gatewayd -p gateway-tests --bins";

/// Passes `arguments` through to the program of this name, and its exit code back. What is measured is
/// what is released.
pub(crate) fn run(root: &Path, name: &str, arguments: &[String]) -> Result<ExitCode> {
    vendor::ensure(root)?;
    let is_measured = name == "bench";
    let mut words: Vec<&str> = BUILD.split(' ').collect();
    words.extend(is_measured.then_some("--release"));
    run_program(&mut program(root, "cargo", &words))?;
    let target = if is_measured {
        "target/release"
    } else {
        "target/debug"
    };
    let path = root.join(target).join(name);
    let status = std::process::Command::new(&path)
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start {}: {error}", path.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
