//! Tells whether `vendor/pingora` still belongs to the pins and patches beside it.
//!
//! The stamp is no digest but the very text it stands for: the lock file and every patch. It is
//! small, cannot collide, and shows with `diff` what a stale tree was made from. What was made is
//! kept as git's sum of each file, which tells a file that was changed, added or removed since.

use std::fs;
use std::path::{Path, PathBuf};

use super::patches::Patch;
use crate::Result;
use crate::process::{capture, program};

/// The file inside `vendor/pingora` that says what it was made from.
const STAMP: &str = ".made-from";
/// The file inside `vendor/pingora` that says what it was when it was made.
const SUMS: &str = ".sums";

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
    /// Made from these, but this file is not as it was made.
    Edited(String),
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

/// Stamps the tree at `place`, which was made just now.
pub(crate) fn put(place: &Path, stamp: &str) -> Result {
    let write = |name: &str, text: &str| {
        fs::write(place.join(name), text).map_err(|error| format!("cannot write {name}: {error}"))
    };
    write(SUMS, &sums(place)?)?;
    write(STAMP, stamp)
}

/// Compares the tree at `place` with the stamp it should carry.
pub(crate) fn compare(place: &Path, wanted: &str) -> Result<Staleness> {
    if !place.exists() {
        return Ok(Staleness::Absent);
    }
    let Ok(found) = fs::read_to_string(place.join(STAMP)) else {
        return Ok(Staleness::Foreign);
    };
    let Ok(made) = fs::read_to_string(place.join(SUMS)) else {
        return Ok(Staleness::Stale);
    };
    if found != wanted {
        return Ok(Staleness::Stale);
    }
    Ok(match difference(&made, &sums(place)?) {
        None => Staleness::Fresh,
        Some(file) => Staleness::Edited(file),
    })
}

/// A line for each file below `place`, in order: git's sum of it, and its name.
fn sums(place: &Path) -> Result<String> {
    let mut files = Vec::new();
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", place.display());
    collect(place, Path::new(""), &mut files).map_err(failed)?;
    files.retain(|file| file != Path::new(STAMP) && file != Path::new(SUMS));
    files.sort();
    let mut git = program(place, "git", &["hash-object", "--no-filters", "--"]);
    let told = capture(git.args(&files))?;
    let lines = told.lines().zip(&files);
    Ok(lines
        .map(|(sum, file)| format!("{sum} {}\n", file.display()))
        .collect())
}

fn collect(place: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(place.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => collect(place, &path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// The first file of which only one of two lists of sums has this line.
fn difference(made: &str, found: &str) -> Option<String> {
    let mut lines = made
        .lines()
        .filter(|line| !found.lines().any(|other| other == *line));
    let mut others = found
        .lines()
        .filter(|line| !made.lines().any(|other| other == *line));
    let line = lines.next().or(others.next())?;
    line.split_once(' ').map(|(_, file)| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{STAMP, Staleness, compare, of, put};
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
        let said = |stamp: &str| compare(&place.0, stamp).unwrap();
        assert_eq!(
            compare(&place.0.join("nothing"), "x").unwrap(),
            Staleness::Absent
        );
        assert_eq!(said("x"), Staleness::Foreign);
        fs::write(place.0.join(STAMP), "x").unwrap();
        assert_eq!(said("x"), Staleness::Stale, "nothing says how it was made");
        put(&place.0, "x").unwrap();
        assert_eq!(said("x"), Staleness::Fresh);
        assert_eq!(said("y"), Staleness::Stale);
    }

    #[test]
    fn what_was_changed_added_or_removed_by_hand_is_named() {
        let place = Scratch::new("edited");
        fs::create_dir(place.0.join("src")).unwrap();
        fs::write(place.0.join("src/a.rs"), "a").unwrap();
        put(&place.0, "x").unwrap();
        let edits: [(&str, &dyn Fn()); 3] = [
            ("src/a.rs", &|| {
                fs::write(place.0.join("src/a.rs"), "b").unwrap()
            }),
            ("src/b.rs", &|| {
                fs::write(place.0.join("src/b.rs"), "b").unwrap()
            }),
            ("Cargo.lock", &|| {
                fs::remove_file(place.0.join("Cargo.lock")).unwrap()
            }),
        ];
        for (file, edit) in edits {
            edit();
            assert_eq!(
                compare(&place.0, "x").unwrap(),
                Staleness::Edited(file.to_owned())
            );
            put(&place.0, "x").unwrap();
            assert_eq!(compare(&place.0, "x").unwrap(), Staleness::Fresh);
        }
    }

    #[test]
    fn pins_without_a_lock_file_are_an_error() {
        let pins = Scratch::new("lockless");
        fs::remove_file(pins.0.join("Cargo.lock")).unwrap();
        assert!(of(&pins.0, &[]).unwrap_err().contains("Cargo.lock"));
    }
}
