//! Compiles the interface of the control plane, without a `protoc` on the machine, and finds out what
//! `--version` says: the commit, and the engine's version.

use std::path::{Path, PathBuf};
use std::process::Command;

use prost::Message;

/// The interface, under `proto/`.
const FILES: [&str; 2] = [
    "pingora/panel/gateway/v1/gateway_runtime.proto",
    "gateway/control/v1/gateway_config.proto",
];

#[expect(
    clippy::disallowed_methods,
    reason = "cargo says where to build in the environment"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let described = protox::compile(FILES, ["proto"])?;
    let out: PathBuf = std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?.into();
    // For reflection, and for JSON.
    std::fs::write(out.join("control.bin"), described.encode_to_vec())?;
    let mut config = tonic_prost_build::Config::new();
    config.enable_type_names();
    tonic_prost_build::configure()
        .include_file("proto.rs")
        .compile_fds_with_config(described, config)?;
    let engine = engine().ok_or("Cargo.lock names no pingora-core")?;
    println!("cargo::rustc-env=GATEWAYD_ENGINE={engine}");
    println!("cargo::rustc-env=GATEWAYD_COMMIT={}", commit());
    Ok(())
}

/// The version that the lock file says.
fn engine() -> Option<String> {
    const LOCK: &str = "../Cargo.lock";
    println!("cargo::rerun-if-changed={LOCK}");
    let lock = std::fs::read_to_string(LOCK).ok()?;
    let package = lock
        .split("\nname = \"pingora-core\"\nversion = \"")
        .nth(1)?;
    package.split('"').next().map(str::to_owned)
}

/// The commit that is built: what `GATEWAYD_COMMIT` says, or git, or the archive this was unpacked from; none
/// is needed to build.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever packs sources of their own says the commit in the environment"
)]
fn commit() -> String {
    println!("cargo::rerun-if-env-changed=GATEWAYD_COMMIT");
    if let Ok(said) = std::env::var("GATEWAYD_COMMIT") {
        return said;
    }
    // Not any repository further up: an archive may have been unpacked in one.
    let found = if Path::new("../.git").exists() {
        checked_out()
    } else {
        archived()
    };
    found.unwrap_or_else(|| "unknown commit".to_owned())
}

fn checked_out() -> Option<String> {
    // Another commit without another lock file changes this one.
    if let Some(moves) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&moves).exists()
    {
        println!("cargo::rerun-if-changed={moves}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// `git archive` writes the commit into this file (`export-subst` in `.gitattributes`).
fn archived() -> Option<String> {
    const PLACE: &str = "commit.txt";
    println!("cargo::rerun-if-changed={PLACE}");
    let said = std::fs::read_to_string(PLACE).ok()?;
    let commit = said.trim().get(..12)?;
    let is_commit = commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_commit.then(|| commit.to_owned())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}
