//! `cargo deny` in the one version we know, built into `.tools` when it is not there.

use std::path::{Path, PathBuf};

use crate::process::{capture, program, run};
use crate::{Result, advisories};

const VERSION: &str = "0.20.2";

/// Advisories are looked for by registry: what is patched here is known to it by what was pinned.
const PINNED: &str = "vendor/pingora-patches/pins/Cargo.toml";

/// A tool that runs for a second need not be built for speed: this takes a quarter of the time.
const QUICK_BUILD: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

/// Bans, licences and sources: everything that needs no network.
pub(crate) fn check(root: &Path) -> Result {
    let tool = installed(root)?;
    run(&mut program(
        root,
        &tool.to_string_lossy(),
        &[
            "--locked",
            "--offline",
            "check",
            "bans",
            "licenses",
            "sources",
        ],
    ))
}

/// Advisories, where the list can be reached; otherwise the reason why nothing was checked.
pub(crate) fn check_advisories(root: &Path) -> Result<Option<String>> {
    if let Err(reason) = advisories::reachable(root) {
        return Ok(Some(reason));
    }
    let tool = installed(root)?;
    for manifest in ["Cargo.toml", PINNED] {
        let told = [
            "--manifest-path",
            manifest,
            "--config",
            "deny.toml",
            "--locked",
            "check",
            "advisories",
        ];
        run(&mut program(root, &tool.to_string_lossy(), &told))?;
    }
    Ok(None)
}

/// The tool's path; builds it first when it is absent or another version.
pub(crate) fn installed(root: &Path) -> Result<PathBuf> {
    let tool = root.join(".tools/bin/cargo-deny");
    let found = capture(&mut program(root, &tool.to_string_lossy(), &["--version"]));
    if found.is_ok_and(|version| version.trim() == format!("cargo-deny {VERSION}")) {
        return Ok(tool);
    }
    println!("installing cargo-deny {VERSION} into .tools");
    let version = format!("={VERSION}");
    let mut install = program(
        root,
        "cargo",
        &[
            "install",
            "--quiet",
            "--locked",
            "--force",
            "--root",
            ".tools",
            "--version",
            &version,
            "cargo-deny",
        ],
    );
    run(install.envs(QUICK_BUILD))?;
    Ok(tool)
}
