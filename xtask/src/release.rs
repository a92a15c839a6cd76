//! `release`: the binary as it is shipped, its symbols beside it, and what it is made of.
//!
//! Everything of it lies in `target/dist`. Paths of the machine are left out of the binary.
//!
//! Source: adr/0054.

use std::fs;
use std::path::Path;

use crate::process::{capture, program, run as run_program};
use crate::{Result, sbom, vendor};

const DIST: &str = "target/dist";
const BUILT: &str = "target/release/gatewayd";
const BUILD: [&str; 5] = ["build", "--release", "--locked", "-p", "gatewayd"];
/// What the stripped binary may weigh, in bytes: 20 MiB.
const HEAVIEST: u64 = 20 << 20;

/// The command.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    if !arguments.is_empty() {
        return Err("release takes no argument".to_owned());
    }
    vendor::ensure(root)?;
    let flags = flags(root)?;
    run_program(program(root, "cargo", &BUILD).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    let dist = root.join(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|why| format!("{DIST}: {why}"))?;
    }
    fs::create_dir_all(&dist).map_err(|why| format!("{DIST}: {why}"))?;
    part(&dist, &root.join(BUILT))?;
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

/// The folders of this machine by names that mean nothing.
fn flags(root: &Path) -> Result<String> {
    let sysroot = capture(&mut program(root, "rustc", &["--print", "sysroot"]))?;
    let cargo = home(root)?;
    let folders = [
        (at(root), "gatewayd"),
        (cargo, "cargo"),
        (sysroot.trim().to_owned(), "rust"),
    ];
    let flags = folders.map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    // Cargo's own separator, so that a folder may have a blank in its name.
    Ok(flags.join("\u{1f}"))
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
    use super::{HEAVIEST, weighed};

    #[test]
    fn a_binary_that_is_too_heavy_is_refused() {
        assert_eq!(weighed(HEAVIEST).unwrap(), "20.00 MiB");
        assert_eq!(weighed(11 << 19).unwrap(), "5.50 MiB");
        let refused = weighed(HEAVIEST + 1).unwrap_err();
        assert!(refused.contains("may weigh 20 MiB"), "{refused}");
    }
}
