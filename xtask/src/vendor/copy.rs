//! Copies a crate out of cargo's cache, without what only the cache or a release needs.

use std::fs;
use std::path::Path;

use crate::Result;

/// Top-level entries that nothing here builds from.
const LEFT_OUT: [&str; 6] = [
    ".cargo-ok",
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml.orig",
    "benches",
    "examples",
];

/// Copies the crate at `from` to `to`; [`LEFT_OUT`] stays behind, and so do the manifest's
/// sections about it.
pub(crate) fn tree(from: &Path, to: &Path) -> Result {
    folder(from, to, &LEFT_OUT).map_err(|error| {
        format!(
            "cannot copy {} to {}: {error}",
            from.display(),
            to.display()
        )
    })
}

/// Copies a folder, but for these entries at its top.
pub(crate) fn folder(from: &Path, to: &Path, left_out: &[&str]) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if left_out.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            folder(&entry.path(), &target, &[])?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
