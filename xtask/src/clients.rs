//! Tries the interface, and gRPC through a gateway, with what is not ours: Python's `grpcio`, in pinned
//! versions.
//!
//! Installed below `target/`, where it can be had; otherwise the reason why nothing was checked.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{program, run};

/// What the client consists of.
const PACKAGES: [&str; 3] = [
    "grpcio==1.85.3",
    "grpcio-reflection==1.85.1",
    "googleapis-common-protos==1.76.0",
];

/// What the client imports: an installation that was stopped half-way does not have it all.
const IMPORTS: &str = "import grpc, grpc_reflection, google.rpc.status_pb2";

const TEST: &str = "test --locked -p gateway-tests --test scenarios -- --ignored foreign::";

/// Runs the scenarios of the foreign client.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let python = match environment(root, "foreign-client", &PACKAGES, IMPORTS) {
        Ok(python) => python,
        Err(reason) => return Ok(Some(reason)),
    };
    let words: Vec<&str> = TEST.split(' ').collect();
    let mut tests = program(root, "cargo", &words);
    run(tests.env("GATEWAY_GRPC_PYTHON", python))?;
    Ok(None)
}

/// A Python below `target/` that has these packages and can run this text; made when it is not there.
pub(crate) fn environment(
    root: &Path,
    name: &str,
    packages: &[&str],
    imports: &str,
) -> Result<PathBuf> {
    let place = root.join("target").join(name);
    let python = place.join("bin/python");
    let at = |path: &Path| path.to_string_lossy().into_owned();
    let has_all = || run(&mut program(root, &at(&python), &["-c", imports]));
    if python.is_file() && has_all().is_ok() {
        return Ok(python);
    }
    let make = ["-m", "venv", "--clear", &at(&place)];
    run(&mut program(root, "python3", &make))
        .map_err(|why| format!("there is no python3 that makes environments: {why}"))?;
    let mut words = vec![
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    words.extend(packages);
    run(&mut program(root, &at(&python), &words))
        .map_err(|why| format!("{} cannot be installed: {why}", packages.join(", ")))?;
    has_all().map(|()| python)
}
