//! The files themselves: listing, reading and removing snapshots, and the one way to write.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::aside::Yard;
use super::name::{self, Name};
use super::sealed::{self, Unread};
use super::{Kept, StateError};

/// What a file is called until it is whole. The directory is ours alone, so one name will do.
const FRESH: &str = ".new";

/// How many snapshots are kept.
const MOST: usize = 10;

/// Writes a file that is there as a whole, for certain, or as it was before.
pub(super) fn write(directory: &Path, name: &str, text: &str) -> Result<(), StateError> {
    let path = directory.join(name);
    if text.len() as u64 > sealed::LARGEST {
        return Err(StateError::TooLarge { path });
    }
    replace(directory, &path, text).map_err(|why| StateError::Write { path, why })
}

/// The names of the snapshots, whatever their state.
pub(super) fn names(shelf: &Path) -> Result<Vec<Name>, StateError> {
    let entries = entries(shelf)?.into_iter();
    Ok(entries.filter_map(|(name, _)| name).collect())
}

/// The snapshots, newest first; the rest is set aside.
pub(super) fn read(shelf: &Path, yard: &mut Yard) -> Result<Vec<Kept>, StateError> {
    let mut all = Vec::new();
    for (name, path) in entries(shelf)? {
        let read = match &name {
            Some(name) => sealed::read(&path).and_then(|sealed| name::kept(name, sealed)),
            None => Err(Unread::Damaged("its name is not a snapshot's".to_owned())),
        };
        match read {
            Ok(kept) => all.push(kept),
            Err(unread) => yard.not_read(&path, unread),
        }
    }
    all.sort_by(|a, b| (b.number, &b.hash).cmp(&(a.number, &a.hash)));
    Ok(all)
}

/// Removes what the active snapshot leaves too far behind, and what never was active after all.
/// What cannot be removed is tried again next time.
pub(super) fn prune(shelf: &Path, active: &Name) {
    let mut names = names(shelf).unwrap_or_default();
    names.sort_unstable_by(|a, b| b.cmp(a));
    let (before, after): (Vec<_>, Vec<_>) = names
        .iter()
        .filter(|name| *name != active)
        .partition(|name| name.number < active.number);
    for name in after.into_iter().chain(before.into_iter().skip(MOST - 1)) {
        let _ = fs::remove_file(shelf.join(name.to_string()));
    }
}

/// Removes what a writer left that did not get to the end.
pub(super) fn clear(directory: &Path, yard: &mut Yard) {
    let path = directory.join(FRESH);
    match fs::remove_file(&path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            yard.take(&path, format!("it cannot be removed: {why}"));
        }
        _ => {}
    }
}

fn entries(shelf: &Path) -> Result<Vec<(Option<Name>, std::path::PathBuf)>, StateError> {
    let list = || -> io::Result<_> {
        let mut all = Vec::new();
        for entry in fs::read_dir(shelf)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != FRESH {
                all.push((name.to_str().and_then(Name::parse), entry.path()));
            }
        }
        Ok(all)
    };
    list().map_err(|why| StateError::Read {
        path: shelf.to_owned(),
        why,
    })
}

fn replace(directory: &Path, path: &Path, text: &str) -> io::Result<()> {
    // Before anything is changed: there may be no descriptor left.
    let handle = File::open(directory)?;
    let fresh = directory.join(FRESH);
    let replaced = fill(&fresh, text).and_then(|()| fs::rename(&fresh, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    replaced?;
    handle.sync_all()
}

fn fill(path: &Path, text: &str) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // The mask may have taken more away than we said.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
