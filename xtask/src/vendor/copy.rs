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
        // A link is what it leads to; one that leads nowhere is left behind.
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => folder(&entry.path(), &target, &[])?,
            Ok(_) => drop(fs::copy(entry.path(), target)?),
            Err(_) if entry.file_type()?.is_symlink() => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::folder;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_what_they_lead_to() {
        let place = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("from/real/below")).unwrap();
        fs::write(place.join("from/real/below/file"), "x").unwrap();
        symlink("real", place.join("from/link")).unwrap();
        symlink("nowhere", place.join("from/broken")).unwrap();
        fs::create_dir(place.join("from/.git")).unwrap();
        folder(&place.join("from"), &place.join("to"), &[".git"]).unwrap();
        let copied = fs::read_to_string(place.join("to/link/below/file")).unwrap();
        assert_eq!(copied, "x");
        assert!(!place.join("to/broken").exists() && !place.join("to/.git").exists());
        fs::remove_dir_all(place).unwrap();
    }
}
