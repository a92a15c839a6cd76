//! `release`: the binary as it is shipped, its symbols beside it, and what it is made of.
//!
//! Everything of it lies in `target/dist`. Paths of the machine are left out of the binary.
//!
//! Source: adr/0054.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{capture, program, run as run_program};
use crate::{Result, commit, sbom, vendor};

const DIST: &str = "target/dist";
const BUILT: &str = "target/release/gatewayd";
const BUILD: [&str; 5] = ["build", "--release", "--locked", "-p", "gatewayd"];
/// What the stripped binary may weigh, in bytes: 20 MiB.
const HEAVIEST: u64 = 20 << 20;

/// The command.
pub(crate) fn run(root: &Path) -> Result {
    vendor::ensure(root)?;
    let folders = folders(root)?;
    let mut cargo = build(root, &folders);
    cargo.env(commit::TOLD, commit::of(root)?);
    run_program(&mut cargo)?;
    let dist = root.join(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|why| format!("{DIST}: {why}"))?;
    }
    fs::create_dir_all(&dist).map_err(|why| format!("{DIST}: {why}"))?;
    part(&dist, &root.join(BUILT))?;
    for name in ["gatewayd", "gatewayd.debug"] {
        let bytes = fs::read(dist.join(name)).map_err(|why| format!("{name}: {why}"))?;
        untraced(name, &bytes, &folders)?;
    }
    sbom::run(
        root,
        &["--output".to_owned(), at(&dist.join("gatewayd.cdx.json"))],
    )?;
    let files = ["gatewayd", "gatewayd.cdx.json", "gatewayd.debug"];
    let sums = capture(&mut program(&dist, "sha256sum", &files))?;
    fs::write(dist.join("SHA256SUMS"), &sums).map_err(|why| format!("SHA256SUMS: {why}"))?;
    let size = fs::metadata(dist.join("gatewayd")).map_err(|why| why.to_string())?;
    print!("{sums}");
    println!("{DIST}/gatewayd: {}", weighed(size.len())?);
    Ok(())
}

/// Cargo, with the folders of this machine by names that mean nothing, in Rust and in C.
fn build(root: &Path, folders: &[(String, &str)]) -> Command {
    let rust = folders.iter();
    let rust: Vec<String> = rust
        .map(|(from, to)| format!("--remap-path-prefix={from}={to}"))
        .collect();
    let c = folders.iter();
    let c: Vec<String> = c
        .map(|(from, to)| format!("'-ffile-prefix-map={from}={to}'"))
        .collect();
    let mut cargo = program(root, "cargo", &BUILD);
    // A folder may have a blank in its name: cargo's own separator, and quotes that cc understands.
    cargo
        .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"))
        .env("CC_SHELL_ESCAPED_FLAGS", "1")
        // mimalloc says when it was compiled: it is to say the same at any time.
        .env("SOURCE_DATE_EPOCH", "0")
        .env("CFLAGS", c.join(" "));
    cargo
}

/// The folders of this machine, each with what stands for it.
fn folders(root: &Path) -> Result<[(String, &'static str); 3]> {
    let sysroot = capture(&mut program(root, "rustc", &["--print", "sysroot"]))?;
    Ok([
        (at(root), "gatewayd"),
        (home(root)?, "cargo"),
        (sysroot.trim().to_owned(), "rust"),
    ])
}

/// Refuses what names a folder of this machine: another one would build something else.
fn untraced(name: &str, bytes: &[u8], folders: &[(String, &str)]) -> Result {
    let is_in = |folder: &str| {
        let folder = folder.as_bytes();
        bytes.windows(folder.len()).any(|part| part == folder)
    };
    match folders.iter().find(|(folder, _)| is_in(folder)) {
        Some((folder, _)) => Err(format!("{name} names a folder of this machine: {folder}")),
        None => Ok(()),
    }
}

/// Cargo's folder, told by where a crate of the registry lies.
fn home(root: &Path) -> Result<String> {
    let line = ["metadata", "--locked", "--format-version", "1"];
    let metadata = capture(&mut program(root, "cargo", &line))?;
    let mut words = metadata.split('"');
    words
        .find_map(|word| word.split_once("/registry/src/"))
        .map(|(home, _)| home.to_owned())
        .ok_or_else(|| "no crate of a registry in cargo metadata".to_owned())
}

/// The binary without its symbols, and the symbols, each knowing the other.
fn part(dist: &Path, built: &Path) -> Result {
    let built = at(built);
    let objcopy = |words: &[&str]| capture(&mut program(dist, "objcopy", words)).map(drop);
    objcopy(&["--only-keep-debug", &built, "gatewayd.debug"])?;
    let link = "--add-gnu-debuglink=gatewayd.debug";
    objcopy(&["--strip-all", link, &built, "gatewayd"])
}

/// The weight in words; an error where it is too much.
fn weighed(size: u64) -> Result<String> {
    let hundredths = size.saturating_mul(100) / (1 << 20);
    let words = format!("{}.{:02} MiB", hundredths / 100, hundredths % 100);
    match size <= HEAVIEST {
        true => Ok(words),
        false => Err(format!("the binary weighs {words}, and may weigh 20 MiB")),
    }
}

fn at(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::{HEAVIEST, untraced, weighed};

    #[test]
    fn a_binary_that_names_a_folder_of_the_machine_is_refused() {
        let folders = [("/build/here".to_owned(), "gatewayd")];
        assert!(untraced("it", b"\0gatewayd/src/main.rs\0", &folders).is_ok());
        let refused = untraced("it", b"\0/build/here/src/main.rs\0", &folders);
        assert!(refused.unwrap_err().contains("/build/here"));
    }

    #[test]
    fn a_binary_that_is_too_heavy_is_refused() {
        assert_eq!(weighed(HEAVIEST).unwrap(), "20.00 MiB");
        assert_eq!(weighed(11 << 19).unwrap(), "5.50 MiB");
        let refused = weighed(HEAVIEST + 1).unwrap_err();
        assert!(refused.contains("may weigh 20 MiB"), "{refused}");
    }
}
