//! Tells whether `vendor/pingora` still belongs to the pins and patches beside it.
//!
//! The stamp is no digest but the very text it stands for: the lock file and every patch. It is
//! small, cannot collide, and shows with `diff` what a stale tree was made from.

use std::fs;
use std::path::Path;

use super::patches::Patch;
use crate::Result;

/// The file inside `vendor/pingora` that says what it was made from.
pub(crate) const STAMP: &str = ".made-from";

/// How a tree relates to the pins and patches of the checkout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Staleness {
    /// Nothing is there.
    Absent,
    /// Something is there that this tool did not make.
    Foreign,
    /// Made from exactly these pins and patches.
    Fresh,
    /// Made from others.
    Stale,
}

/// The stamp that a tree made from these pins and patches carries.
pub(crate) fn of(pins: &Path, patches: &[Patch]) -> Result<String> {
    let mut stamp = String::new();
    for name in ["Cargo.toml", "Cargo.lock"] {
        let file = pins.join(name);
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        add(&mut stamp, name, &text);
    }
    for patch in patches {
        add(&mut stamp, &patch.name, &patch.text);
    }
    Ok(stamp)
}

/// Length and name go first, so that no two lists of files share a stamp.
fn add(stamp: &mut String, name: &str, text: &str) {
    stamp.push_str(&format!("## {} bytes of {name}\n{text}\n", text.len()));
}

/// Compares the tree at `place` with the stamp it should carry.
pub(crate) fn compare(place: &Path, wanted: &str) -> Staleness {
    if !place.exists() {
        return Staleness::Absent;
    }
    match fs::read_to_string(place.join(STAMP)) {
        Err(_) => Staleness::Foreign,
        Ok(found) if found == wanted => Staleness::Fresh,
        Ok(_) => Staleness::Stale,
    }
}

#[cfg(test)]
mod tests {
    use super::{STAMP, Staleness, compare, of};
    use crate::vendor::patches::Patch;
    use std::fs;
    use std::path::PathBuf;

    /// A folder that is gone when the test is over.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("Cargo.toml"), "[workspace]").unwrap();
            fs::write(folder.join("Cargo.lock"), "version = 4").unwrap();
            Self(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn patch(name: &str, text: &str) -> Patch {
        Patch {
            name: name.to_owned(),
            text: text.to_owned(),
            crates: Vec::new(),
            files: Vec::new(),
        }
    }

    #[test]
    fn every_change_of_pins_or_patches_changes_the_stamp() {
        let pins = Scratch::new("stamp");
        let one = of(&pins.0, &[patch("0001-a.patch", "+a\n")]).unwrap();
        let changed = of(&pins.0, &[patch("0001-a.patch", "+b\n")]).unwrap();
        let renamed = of(&pins.0, &[patch("0001-b.patch", "+a\n")]).unwrap();
        let gone = of(&pins.0, &[]).unwrap();
        fs::write(pins.0.join("Cargo.lock"), "version = 5").unwrap();
        let repinned = of(&pins.0, &[patch("0001-a.patch", "+a\n")]).unwrap();
        for other in [changed, renamed, gone, repinned] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_tree_is_absent_foreign_stale_or_fresh() {
        let place = Scratch::new("place");
        assert_eq!(compare(&place.0.join("nothing"), "x"), Staleness::Absent);
        assert_eq!(compare(&place.0, "x"), Staleness::Foreign);
        fs::write(place.0.join(STAMP), "w").unwrap();
        assert_eq!(compare(&place.0, "x"), Staleness::Stale);
        fs::write(place.0.join(STAMP), "x").unwrap();
        assert_eq!(compare(&place.0, "x"), Staleness::Fresh);
    }

    #[test]
    fn pins_without_a_lock_file_are_an_error() {
        let pins = Scratch::new("lockless");
        fs::remove_file(pins.0.join("Cargo.lock")).unwrap();
        assert!(of(&pins.0, &[]).unwrap_err().contains("Cargo.lock"));
    }
}
