//! `vendor`: makes `vendor/pingora` from the pinned release and our patches.
//!
//! Cargo downloads and verifies the release named by `vendor/pingora-patches/pins`; the crates
//! that carry a patch are copied out of its cache, patched in order, and put in place with one
//! rename. Leaves to the workspace's `[patch]` table which crates are taken from there.
//!
//! Invariant: `vendor/pingora` is either complete for one state of pins and patches, or absent.
//!
//! Source: adr/0017.

pub(crate) mod copy;
pub(crate) mod patches;
mod stamp;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use crate::Result;
use crate::process::{capture, program};
use patches::Patch;
use stamp::Staleness;

pub(crate) const PATCHES: &str = "vendor/pingora-patches";
pub(crate) const PINS: &str = "vendor/pingora-patches/pins";
pub(crate) const PLACE: &str = "vendor/pingora";

/// The command: like [`ensure`], and says what it found. `--force` makes it again regardless.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    match arguments {
        [] if ensure(root)? => {}
        [] => println!("{PLACE} is up to date"),
        [word] if word == "--force" => make(root, &wanted(root)?)?,
        _ => return Err("vendor takes no argument but --force".to_owned()),
    }
    Ok(())
}

/// Makes `vendor/pingora` when it is absent or older than pins and patches; answers whether it did.
pub(crate) fn ensure(root: &Path) -> Result<bool> {
    let lock = fs::read_to_string(root.join("Cargo.lock"))
        .map_err(|error| format!("cannot read Cargo.lock: {error}"))?;
    if is_unused(&lock) {
        return Err(format!(
            "Cargo.lock takes Pingora from the registry, without our patches; \
             let Cargo.toml and {PINS} name one version"
        ));
    }
    let wanted = wanted(root)?;
    match stamp::compare(&root.join(PLACE), &wanted)? {
        Staleness::Fresh => Ok(false),
        Staleness::Foreign => Err(foreign()),
        Staleness::Edited(file) => Err(edited(&file)),
        Staleness::Absent | Staleness::Stale => make(root, &wanted).map(|()| true),
    }
}

fn wanted(root: &Path) -> Result<String> {
    stamp::of(&root.join(PINS), &patches::read(&root.join(PATCHES))?)
}

/// Cargo only warns when a `[patch]` fits nothing, and then builds what is not patched.
fn is_unused(lock: &str) -> bool {
    lock.lines().any(|line| line == "[[patch.unused]]")
}

fn foreign() -> String {
    format!(
        "{PLACE} is there, but was not made by this command; \
         move it away, or let `cargo xtask vendor --force` replace it"
    )
}

/// What was tried there is worth a patch, or nothing: a gateway is never built from it unnoticed.
fn edited(file: &str) -> String {
    format!(
        "{PLACE}/{file} is not as the patches leave it; make a patch of the change in {PATCHES}, \
         or let `cargo xtask vendor --force` undo it"
    )
}

fn make(root: &Path, wanted: &str) -> Result {
    let patches = patches::read(&root.join(PATCHES))?;
    let sources = registry_sources(root, &patches)?;
    let workspace = fs::read_to_string(root.join("Cargo.toml"))
        .map_err(|error| format!("cannot read Cargo.toml: {error}"))?;
    agree(&workspace, sources.keys())?;
    // Beside the target and ignored by git as well, so that the last step is one rename.
    let staging = root.join(format!(".tools/vendor-{}", std::process::id()));
    let made = stage(&staging, &sources, &patches, wanted).and_then(|()| swap(root, &staging));
    // Left-overs of a failure; after success there is nothing to remove.
    let _ = fs::remove_dir_all(&staging);
    made?;
    println!(
        "{PLACE}: {} with {} patches",
        sources
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        patches.len()
    );
    Ok(())
}

/// The workspace takes exactly those crates from here that carry a patch.
fn agree<'a>(workspace: &str, patched: impl Iterator<Item = &'a String>) -> Result {
    let manifest: Table = workspace
        .parse()
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let overrides = manifest
        .get("patch")
        .and_then(|patch| patch.get("crates-io"))
        .and_then(toml::Value::as_table);
    let taken: BTreeSet<&String> = overrides.into_iter().flat_map(Table::keys).collect();
    let patched: BTreeSet<&String> = patched.collect();
    if taken == patched {
        return Ok(());
    }
    Err(format!(
        "Cargo.toml takes {taken:?} from {PLACE}, but patches exist for {patched:?}"
    ))
}

/// Copies, patches and stamps the crates below `staging`.
fn stage(
    staging: &Path,
    sources: &BTreeMap<String, PathBuf>,
    patches: &[Patch],
    wanted: &str,
) -> Result {
    fs::create_dir_all(staging)
        .map_err(|error| format!("cannot make {}: {error}", staging.display()))?;
    for (name, source) in sources {
        copy::tree(source, &staging.join(name))?;
    }
    for patch in patches {
        patches::apply(staging, patch)?;
    }
    stamp::put(staging, wanted)
}

/// Puts `staging` where cargo looks for it.
fn swap(root: &Path, staging: &Path) -> Result {
    let place = root.join(PLACE);
    let old = staging.with_extension("old");
    let failed = |error: std::io::Error| format!("cannot replace {PLACE}: {error}");
    if place.exists() {
        fs::rename(&place, &old).map_err(failed)?;
    }
    fs::rename(staging, &place).map_err(failed)?;
    if old.exists() {
        fs::remove_dir_all(&old).map_err(failed)?;
    }
    Ok(())
}

/// Where cargo unpacked each crate that a patch touches.
pub(crate) fn registry_sources(
    root: &Path,
    patches: &[Patch],
) -> Result<BTreeMap<String, PathBuf>> {
    let metadata = capture(&mut program(
        &root.join(PINS),
        "cargo",
        &["metadata", "--locked", "--format-version", "1"],
    ))?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let mut sources = BTreeMap::new();
    for name in patches.iter().flat_map(|patch| &patch.crates) {
        sources.insert(name.clone(), source_of(&metadata, name)?);
    }
    Ok(sources)
}

fn source_of(metadata: &Value, name: &str) -> Result<PathBuf> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    let manifest = packages
        .into_iter()
        .flatten()
        .find(|package| package.get("name").and_then(Value::as_str) == Some(name))
        .and_then(|package| package.get("manifest_path"))
        .and_then(Value::as_str)
        .ok_or_else(|| format!("a patch touches {name}, which {PINS} does not name"))?;
    Path::new(manifest)
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("{manifest} lies nowhere"))
}

#[cfg(test)]
mod tests {
    use super::{agree, is_unused, source_of};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn the_source_is_the_folder_of_the_manifest() {
        let metadata = json!({ "packages": [
            { "name": "other", "manifest_path": "cache/other-1.0.0/Cargo.toml" },
            { "name": "pingora-core", "manifest_path": "cache/pingora-core-0.9.1/Cargo.toml" },
        ]});
        let source = source_of(&metadata, "pingora-core").unwrap();
        assert_eq!(source, Path::new("cache/pingora-core-0.9.1"));
    }

    #[test]
    fn overrides_and_patches_name_the_same_crates() {
        let workspace = "[patch.crates-io]\npingora-core = { path = \"x\" }\n";
        let patched =
            |names: &[&str]| -> Vec<String> { names.iter().map(|n| (*n).to_owned()).collect() };
        assert!(agree(workspace, patched(&["pingora-core"]).iter()).is_ok());
        assert!(agree(workspace, patched(&[]).iter()).is_err());
        assert!(
            agree(
                workspace,
                patched(&["pingora-core", "pingora-proxy"]).iter()
            )
            .is_err()
        );
    }

    #[test]
    fn a_lock_file_that_ignores_the_patches_is_noticed() {
        assert!(is_unused("[[patch.unused]]\nname = \"pingora-core\"\n"));
        assert!(!is_unused("[[package]]\nname = \"pingora-core\"\n"));
    }

    #[test]
    fn a_patch_for_a_crate_that_is_not_pinned_is_refused() {
        let refused = source_of(&json!({ "packages": [] }), "pingora-core");
        assert!(refused.unwrap_err().contains("pingora-core"));
    }
}
