//! Where files go that are not to be believed: kept for whoever wants to know, and out of the way.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::SetAside;
use super::name::Name;
use super::sealed::Unread;

/// The directory's name.
const NAME: &str = "set-aside";

/// So many files at most; those beyond stay where they are.
const MOST: usize = 32;

/// The place, and what was taken there.
#[derive(Debug)]
pub(super) struct Yard {
    path: PathBuf,
    taken: Vec<SetAside>,
}

impl Yard {
    pub(super) fn of(state: &Path) -> Self {
        Self {
            path: state.join(NAME),
            taken: Vec::new(),
        }
    }

    /// Takes a file there, or says why it stays.
    pub(super) fn take(&mut self, path: &Path, because: String) {
        let (to, because) = match self.moved(path) {
            Ok(to) => (to, because),
            Err(why) => (path.to_owned(), format!("{because}; it stays: {why}")),
        };
        let path = path.to_owned();
        self.taken.push(SetAside { path, to, because });
    }

    /// Takes a file there that is damaged. What the system does not let us read may be sound: it
    /// is named, and stays.
    pub(super) fn not_read(&mut self, path: &Path, unread: Unread) {
        match unread {
            Unread::Absent => {}
            Unread::Damaged(because) => self.take(path, because),
            Unread::Failed(why) => self.taken.push(SetAside {
                path: path.to_owned(),
                to: path.to_owned(),
                because: format!("it cannot be read: {why}"),
            }),
        }
    }

    /// Takes away what stands where a directory has to be.
    pub(super) fn unless_directory(&mut self, path: &Path) {
        if fs::symlink_metadata(path).is_ok_and(|seen| !seen.is_dir()) {
            self.take(path, "it is not a directory".to_owned());
        }
    }

    /// The numbers of the snapshots that lie there.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name();
            Name::parse(name.to_str()?.rsplit_once('.')?.0)
        });
        names.map(|name| name.number).collect()
    }

    /// What was taken there.
    pub(super) fn taken(self) -> Vec<SetAside> {
        self.taken
    }

    fn moved(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path.file_name().unwrap_or_default();
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
        if fs::read_dir(&self.path)?.count() >= MOST {
            let full = format!("{} is full", self.path.display());
            return Err(io::Error::other(full));
        }
        let places = (1..=MOST).map(|turn| {
            let mut numbered = name.to_owned();
            numbered.push(format!(".{turn}"));
            self.path.join(numbered)
        });
        let mut free = places.filter(|place| fs::symlink_metadata(place).is_err());
        let to = free
            .next()
            .ok_or_else(|| io::Error::other("it has no place"))?;
        fs::rename(path, &to)?;
        Ok(to)
    }
}
