//! The state directory: what outlives the process.
//!
//! Decides which of its files are to be believed, and writes them so that whoever reads them next
//! finds the last good state or the new one, wherever the writer was stopped. Leaves to its callers
//! what a snapshot means and whether a failure to keep one refuses a reload.
//!
//! Invariants: one process at a time; a name never stands for a part of a file; a damaged file is
//! named and moved, never deleted; `active` names the newest snapshot.
//!
//! Source: adr/0032.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

mod aside;
mod name;
mod sealed;
mod shelf;

use aside::Yard;
use name::Name;
use sealed::{Unread, seal};

/// What names the active snapshot.
const ACTIVE: &str = "active";

/// Where drains and the worker count lie.
const OVERRIDES: &str = "runtime.json";
/// What it held before its last change.
const OVERRIDES_BEFORE: &str = "runtime.json.before";

/// Where the snapshots lie.
const SNAPSHOTS: &str = "snapshots";

/// A state directory that no other process has open.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// Device and number of the directory, which is held as long as this is.
    home: (u64, u64),
    /// The directory itself: its lock keeps other processes out, the mutex other threads.
    turn: Mutex<File>,
}

/// One snapshot as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Its number.
    pub(crate) number: u64,
    /// Its hash, in hexadecimal digits.
    pub(crate) hash: String,
    /// Its canonical text.
    pub(crate) text: String,
    /// When it became active.
    pub(crate) at: SystemTime,
}

/// A file that was not to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetAside {
    /// Where it was.
    pub(crate) path: PathBuf,
    /// Where it is; the same place when it could not be moved.
    pub(crate) to: PathBuf,
    /// Why.
    pub(crate) because: String,
}

/// What somebody said to the running process, against its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overrides {
    /// The number of workers.
    pub(crate) workers: Option<u16>,
    /// Pool and node of each that is drained.
    pub(crate) drained: BTreeSet<(String, String)>,
}

/// What a state directory holds when it is opened.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The last good snapshot.
    pub(crate) active: Option<Kept>,
    /// The highest number that was ever given, also to what is damaged by now; 0 if none was.
    pub(crate) last: u64,
    /// What was said to the process before.
    pub(crate) overrides: Overrides,
    /// What could not be believed.
    pub(crate) set_aside: Vec<SetAside>,
}

impl Found {
    /// Why what was said to the process last is not in force; `None`: it is.
    pub(crate) fn not_remembered(&self) -> Option<String> {
        let damaged = self.damaged(OVERRIDES)?;
        Some(format!("what was told last may be lost: {damaged}"))
    }

    /// Why the snapshot that was active is not the one that is found; `None`: it is.
    pub(crate) fn not_active(&self) -> Option<String> {
        let damaged = self.damaged(ACTIVE)?;
        Some(format!("the snapshot that was active is lost: {damaged}"))
    }

    fn damaged(&self, name: &str) -> Option<String> {
        let is_it = |one: &&SetAside| one.path.file_name().is_some_and(|file| file == name);
        let one = self.set_aside.iter().find(is_it)?;
        Some(format!("{}: {}", one.path.display(), one.because))
    }
}

/// Why the state directory cannot be used, or something not be kept in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// It is not there and cannot be made, or is something else.
    #[error("the state directory {} cannot be opened: {why}", path.display())]
    Directory { path: PathBuf, why: io::Error },
    /// Anybody could change what is served.
    #[error("the state directory {} may be written by others (mode {mode:04o}); make it 0700", path.display())]
    Exposed { path: PathBuf, mode: u32 },
    /// Another process has it.
    #[error("the state directory {} is in use by another process", path.display())]
    Held { path: PathBuf },
    /// Not a number and hash that can be a file's name.
    #[error("`{number}-{hash}` cannot name a snapshot")]
    Name { number: u64, hash: String },
    /// Somebody else's directory has its name, or none.
    #[error("{} is no longer the state directory that was opened: nothing is kept until it is there again, or the process is started again", path.display())]
    Replaced { path: PathBuf },
    /// Numbers rise.
    #[error("snapshot {number} cannot be kept after snapshot {last}")]
    NotRising { number: u64, last: u64 },
    /// The snapshots cannot even be listed.
    #[error("{} cannot be read: {why}", path.display())]
    Read { path: PathBuf, why: io::Error },
    /// More than what is read back.
    #[error("{} would be larger than {} bytes", path.display(), sealed::LARGEST)]
    TooLarge { path: PathBuf },
    /// The disk does not take it; what was there is still there.
    #[error("{} cannot be written: {why}", path.display())]
    Write { path: PathBuf, why: io::Error },
}

impl StateDir {
    /// Opens it, made if it is not there, and says what it holds.
    ///
    /// # Errors
    /// When it cannot be used at all: damaged files are not an error.
    pub(crate) fn open(path: &Path) -> Result<(Self, Found), StateError> {
        let held = hold(path)?;
        let refused = |why| StateError::Directory {
            path: path.to_owned(),
            why,
        };
        let state = Self {
            path: path.to_owned(),
            home: place(&held.metadata().map_err(refused)?),
            turn: Mutex::new(held),
        };
        let mut yard = Yard::of(path);
        let shelf = state.path.join(SNAPSHOTS);
        yard.unless_directory(&shelf);
        make(&shelf).map_err(|why| StateError::Directory {
            path: shelf.clone(),
            why,
        })?;
        for directory in [&state.path, &shelf] {
            shelf::clear(directory, &mut yard);
        }
        let given = shelf::names(&shelf)?.into_iter().chain(state.named());
        let given = given.map(|name| name.number).chain(yard.numbers());
        let last = given.max().unwrap_or_default();
        let kept = shelf::read(&shelf, &mut yard)?;
        let found = Found {
            active: state.settle(kept, &mut yard),
            last,
            overrides: state.overrides(&mut yard),
            set_aside: yard.taken(),
        };
        Ok((state, found))
    }

    /// Keeps a snapshot and makes it the active one; only the last ten are kept.
    ///
    /// # Errors
    /// When it is not on the disk for certain. The one before it still is.
    pub(crate) fn keep(&self, kept: &Kept) -> Result<(), StateError> {
        let name = Name::of(kept)?;
        let text = seal(&name::label(kept), &kept.text);
        let turn = self.turn_at_home()?;
        let shelf = self.path.join(SNAPSHOTS);
        // Somebody may have removed it, and with it what was kept; what is served can be kept again.
        make(&shelf).map_err(|why| StateError::Write {
            path: shelf.clone(),
            why,
        })?;
        self.rises(&name, &shelf)?;
        shelf::write(&shelf, &name.to_string(), &text)?;
        let named = shelf::write(&self.path, ACTIVE, &seal(ACTIVE, &name.to_string()));
        if named.is_err() && self.named().as_ref().ok() != Some(&name) {
            // What never was active must not be taken for the newest.
            let _ = fs::remove_file(shelf.join(name.to_string()));
        }
        named?;
        shelf::prune(&shelf, &name);
        drop(turn);
        self.is_at_home()
    }

    /// The kept snapshots, newest first; damaged ones are set aside, and said to be in the log.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(crate) fn snapshots(&self) -> Result<Vec<Kept>, StateError> {
        let turn = self.turn_at_home()?;
        let mut yard = Yard::of(&self.path);
        let kept = shelf::read(&self.path.join(SNAPSHOTS), &mut yard);
        drop(turn);
        for SetAside { path, to, because } in yard.taken() {
            tracing::error!(path = %path.display(), to = %to.display(), because, "set aside");
        }
        kept
    }

    /// Keeps what was said to the process.
    ///
    /// # Errors
    /// When it is not on the disk for certain.
    pub(crate) fn set_overrides(&self, overrides: &Overrides) -> Result<(), StateError> {
        let path = || self.path.join(OVERRIDES);
        let json = serde_json::to_string(overrides).map_err(|error| StateError::Write {
            path: path(),
            why: error.into(),
        })?;
        let turn = self.turn_at_home()?;
        let before = sealed::read(&path()).and_then(|sealed| sealed.labelled(OVERRIDES));
        let written = match before {
            Ok(before) => shelf::write(&self.path, OVERRIDES_BEFORE, &seal(OVERRIDES, &before)),
            Err(_) => Ok(()),
        };
        let written =
            written.and_then(|()| shelf::write(&self.path, OVERRIDES, &seal(OVERRIDES, &json)));
        drop(turn);
        written.and_then(|()| self.is_at_home())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn turn(&self) -> MutexGuard<'_, File> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the path still leads to the directory that is locked: whatever else is there may be
    /// another process's.
    ///
    /// # Errors
    /// [`StateError::Replaced`].
    pub(crate) fn is_at_home(&self) -> Result<(), StateError> {
        match fs::metadata(&self.path) {
            Ok(found) if place(&found) == self.home => Ok(()),
            Ok(_) | Err(_) => Err(StateError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// The turn, if there is anything to be done with it.
    fn turn_at_home(&self) -> Result<MutexGuard<'_, File>, StateError> {
        let turn = self.turn();
        self.is_at_home().map(|()| turn)
    }

    /// Which of the intact snapshots, newest first, is the last good one.
    fn settle(&self, mut kept: Vec<Kept>, yard: &mut Yard) -> Option<Kept> {
        let file = self.path.join(ACTIVE);
        let named = match self.named() {
            Ok(named) => named,
            Err(unread) => {
                yard.not_read(&file, unread);
                return kept.into_iter().next();
            }
        };
        if !kept.iter().any(|one| named.is_of(one)) {
            yard.take(&file, format!("{named}, which it names, cannot be used"));
        }
        let is_before = |one: &Kept| named.is_of(one) || one.number < named.number;
        let Some(first) = kept.iter().position(is_before) else {
            return kept.into_iter().next();
        };
        for one in kept.drain(..first) {
            let path = self.path.join(SNAPSHOTS).join(name::file_name(&one));
            yard.take(&path, "it was written and never became active".to_owned());
        }
        kept.into_iter().next()
    }

    fn rises(&self, name: &Name, shelf: &Path) -> Result<(), StateError> {
        let last = match self.named() {
            Ok(named) => Some(named),
            Err(_) => shelf::names(shelf)?.into_iter().max(),
        };
        match last {
            Some(last) if *name != last && name.number <= last.number => {
                Err(StateError::NotRising {
                    number: name.number,
                    last: last.number,
                })
            }
            _ => Ok(()),
        }
    }

    /// The snapshot that is said to be active.
    fn named(&self) -> Result<Name, Unread> {
        let body = sealed::read(&self.path.join(ACTIVE))?.labelled(ACTIVE)?;
        Name::parse(&body).ok_or_else(|| Unread::Damaged("it names no snapshot".to_owned()))
    }

    /// Best effort: where nothing can be written, it is damaged again at the next start.
    fn restores(&self, overrides: &Overrides) {
        if let Err(why) = self.set_overrides(overrides) {
            tracing::error!(%why, "what was told before is not kept");
        }
    }

    /// What was said to the process last; where that is damaged, what was said before it.
    fn overrides(&self, yard: &mut Yard) -> Overrides {
        for name in [OVERRIDES, OVERRIDES_BEFORE] {
            let path = self.path.join(name);
            let read = sealed::read(&path)
                .and_then(|sealed| sealed.labelled(OVERRIDES))
                .and_then(|json| {
                    serde_json::from_str(&json).map_err(|error| Unread::Damaged(error.to_string()))
                });
            match read {
                Ok(overrides) => {
                    if name == OVERRIDES_BEFORE {
                        self.restores(&overrides);
                    }
                    return overrides;
                }
                // Nothing was ever said, or somebody wants it forgotten.
                Err(Unread::Absent) => break,
                Err(unread) => yard.not_read(&path, unread),
            }
        }
        Overrides::default()
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        // By name: a child that is just being started still shares the descriptor.
        let _ = self.turn().unlock();
    }
}

fn place(of: &fs::Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

/// Makes the directory if need be, and keeps every other process out of it.
fn hold(path: &Path) -> Result<File, StateError> {
    let refused = |why| StateError::Directory {
        path: path.to_owned(),
        why,
    };
    make(path).map_err(refused)?;
    let directory = File::open(path).map_err(refused)?;
    let mode = directory.metadata().map_err(refused)?.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        let path = path.to_owned();
        return Err(StateError::Exposed { path, mode });
    }
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(TryLockError::Error(why)) => Err(refused(why)),
        Err(TryLockError::WouldBlock) => Err(StateError::Held {
            path: path.to_owned(),
        }),
    }
}

/// Makes a directory of ours, for certain, unless it is there.
fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)?;
    File::open(path.join(".."))?.sync_all()
}

#[cfg(test)]
mod tests;
