//! A state directory that takes nothing: real faults, also for a process that may write anywhere.

use std::fs;
use std::path::{Path, PathBuf};

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The name of the active snapshot cannot be written.
    Active,
    /// Snapshots can be neither written nor read.
    Snapshots,
}

impl Fault {
    /// Something of another kind is where a part of the directory should be.
    ///
    /// # Panics
    /// When the directory is not there.
    pub fn begins(self, state: &Path) {
        let (place, away) = self.places(state);
        fs::rename(&place, away).expect("a state directory in use");
        match self {
            Fault::Active => fs::create_dir_all(place.join("in the way")),
            Fault::Snapshots => fs::write(place, "in the way"),
        }
        .expect("a directory of our own");
    }

    /// It is as it was.
    ///
    /// # Panics
    /// When it has not begun.
    pub fn ends(self, state: &Path) {
        let (place, away) = self.places(state);
        match self {
            Fault::Active => fs::remove_dir_all(&place),
            Fault::Snapshots => fs::remove_file(&place),
        }
        .expect("what we put in the way");
        fs::rename(away, place).expect("what we put away");
    }

    fn places(self, state: &Path) -> (PathBuf, PathBuf) {
        let name = match self {
            Fault::Active => "active",
            Fault::Snapshots => "snapshots",
        };
        (state.join(name), state.with_file_name("put away"))
    }
}
