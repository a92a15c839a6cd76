//! `demo`: builds the gateway and the stand-in nodes, then hands the terminal to the demo.

use std::path::Path;
use std::process::ExitCode;

use crate::process::{program, run as run_program};
use crate::{Result, vendor};

/// Passes `arguments` through, and the demo's exit code back.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<ExitCode> {
    vendor::ensure(root)?;
    run_program(&mut program(
        root,
        "cargo",
        &[
            "build",
            "--locked",
            "-p",
            "gatewayd",
            "-p",
            "gateway-tests",
            "--bins",
        ],
    ))?;
    let demo = root.join("target/debug/demo");
    let status = std::process::Command::new(&demo)
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start {}: {error}", demo.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
