//! Opens what lies beneath one directory, and nothing else.
//!
//! The kernel itself holds every step of a look-up beneath the directory, so there is no moment
//! between a check and an opening, whatever is moved or linked meanwhile. Opened without waiting
//! for whoever is at the other end of a FIFO; only regular files and directories come out.
//!
//! Source: openat2(2) `RESOLVE_BENEATH`; adr/0036.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{ffi::OsStr, io};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// A directory whose files are sent, held open: what it is called later does not matter.
#[derive(Debug)]
pub struct Root {
    held: OwnedFd,
}

/// Why no files can be sent from a directory.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The kernel, or what filters its calls, does not keep a look-up beneath a directory.
    #[error(
        "files cannot be served here: openat2(2) is missing (Linux 5.6 has it; a seccomp filter may take it away)"
    )]
    NotBeneath(#[source] io::Error),
    /// The directory cannot be opened.
    #[error("the directory {} cannot be opened", path.display())]
    NotOpened {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Whether an answer may wait for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// Only what the kernel has in memory is looked at.
    Avoid,
    /// The thread may sleep.
    Wait,
}

/// What is there.
#[derive(Debug)]
pub(crate) enum Found {
    /// A directory.
    Directory,
    /// A regular file, and what it was when it was opened.
    File(File, Metadata),
}

/// Why nothing comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The kernel could not say: an input or output error, or one nobody foresaw.
    Broken,
    /// Not at this moment: no descriptor is left, or the tree changed under every try.
    Busy,
    /// It is not in memory, and the disk was to be left alone.
    Disk,
    /// There is something that is shown to nobody.
    Hidden,
    /// There is nothing.
    Nothing,
}

impl Root {
    /// Opens a directory and sees that the kernel can keep a look-up beneath it.
    ///
    /// # Errors
    /// [`Fault`]: the directory is not there, is none, or the kernel is too old.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = openat(CWD, path, flags, Mode::empty()).map_err(|why| Fault::NotOpened {
            path: path.to_owned(),
            source: why.into(),
        })?;
        let tried = openat2(&held, ".", flags, Mode::empty(), BENEATH);
        tried.map_err(|why| Fault::NotBeneath(why.into()))?;
        Ok(Self { held })
    }

    /// Opens what is called so, decoded, below the root.
    pub(crate) fn find(&self, below: &[u8], disk: Disk) -> Result<Found, Missed> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match self.beneath(below, flags, disk) {
            // A directory may be passed through by those who may not read it.
            Err(Missed::Hidden) if self.is_directory(below, disk)? => {
                return Ok(Found::Directory);
            }
            opened => File::from(opened?),
        };
        let metadata = opened.metadata().map_err(|_| Missed::Broken)?;
        match metadata.file_type() {
            kind if kind.is_file() => Ok(Found::File(opened, metadata)),
            kind if kind.is_dir() => Ok(Found::Directory),
            _ => Err(Missed::Hidden),
        }
    }

    /// Opens a directory in order to read its entries.
    pub(crate) fn entries_of(&self, below: &[u8]) -> Result<OwnedFd, Missed> {
        self.beneath(below, OFlags::RDONLY | OFlags::DIRECTORY, Disk::Wait)
    }

    /// What kind of thing a link leads to, without opening it; nothing where it leads out.
    pub(crate) fn kind(&self, below: &[u8]) -> Option<std::fs::FileType> {
        let opened = self.beneath(below, OFlags::PATH, Disk::Wait).ok()?;
        let metadata = File::from(opened).metadata().ok()?;
        Some(metadata.file_type())
    }

    fn is_directory(&self, below: &[u8], disk: Disk) -> Result<bool, Missed> {
        match self.beneath(below, OFlags::PATH | OFlags::DIRECTORY, disk) {
            Ok(_) => Ok(true),
            Err(Missed::Hidden | Missed::Nothing) => Ok(false),
            Err(missed) => Err(missed),
        }
    }

    fn beneath(&self, below: &[u8], flags: OFlags, disk: Disk) -> Result<OwnedFd, Missed> {
        /// Tries while a tree is changed under a look-up; each one is some microseconds.
        const TRIES: usize = 32;

        let path = if below.is_empty() { b"." } else { below };
        let path = OsStr::from_bytes(path);
        let resolve = match disk {
            Disk::Avoid => BENEATH | ResolveFlags::CACHED,
            Disk::Wait => BENEATH,
        };
        let flags = flags | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            match openat2(&self.held, path, flags, Mode::empty(), resolve) {
                Ok(opened) => return Ok(opened),
                Err(Errno::AGAIN) if disk == Disk::Avoid => return Err(Missed::Disk),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(why) => return Err(missed(why)),
            }
        }
        Err(Missed::Busy)
    }
}

fn missed(why: Errno) -> Missed {
    match why {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Missed::Nothing,
        // Out of the root, round in a circle, not allowed, a socket, a device without a driver.
        Errno::XDEV | Errno::LOOP | Errno::ACCESS | Errno::PERM | Errno::NXIO | Errno::NODEV => {
            Missed::Hidden
        }
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Missed::Busy,
        _ => Missed::Broken,
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

#[cfg(test)]
mod tests;
