//! Where access lines are written: the standard output, or a file that can be moved away and opened
//! again; a reload may turn from one to another. What a line says is left to the data plane.
//!
//! Source: adr/0034.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway_config::model::AccessLog;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};

use crate::log::non_blocking;

/// The access log: what is written at this moment, and how it becomes another one.
#[derive(Default)]
pub(crate) struct AccessFile(Mutex<Option<Opened>>);

/// Something that access lines can be written to. What was written has arrived once it is dropped; a
/// file that was made for it and never used is removed again.
pub(crate) struct Opened {
    to: AccessLog,
    writer: Option<NonBlocking>,
    is_moved: Arc<AtomicBool>,
    unused: Option<PathBuf>,
    _guard: Option<WorkerGuard>,
}

/// Why the access log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("the access log {} cannot be opened: {why}", path.display())]
pub(crate) struct AccessError {
    path: PathBuf,
    why: io::Error,
}

impl AccessFile {
    /// What it would be written to; `None` when it is written there already.
    ///
    /// # Errors
    /// What the system says of the file.
    pub(crate) fn next(&self, to: &AccessLog) -> Result<Option<Opened>, AccessError> {
        let is_there = self.lock().as_ref().is_some_and(|now| now.to == *to);
        match is_there {
            true => Ok(None),
            false => Opened::at(to).map(Some),
        }
    }

    /// It is written there from here on; nobody may be writing to where it was before.
    pub(crate) fn turn_to(&self, mut next: Opened) {
        next.unused = None;
        let before = self.lock().replace(next);
        drop(before);
    }

    /// The next line goes to a file opened anew at the same path.
    pub(crate) fn reopen(&self) {
        if let Some(now) = &*self.lock() {
            now.is_moved.store(true, Ordering::Release);
        }
    }

    /// Nobody writes any more.
    pub(crate) fn close(&self) {
        let last = self.lock().take();
        drop(last);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// Takes lines; `None` where there is no access log.
    pub(crate) fn writer(&self) -> Option<NonBlocking> {
        self.writer.clone()
    }

    fn at(to: &AccessLog) -> Result<Self, AccessError> {
        let is_moved = Arc::new(AtomicBool::new(false));
        let mut unused = None;
        let opened = match to {
            AccessLog::Off => None,
            AccessLog::Stdout => Some(non_blocking(io::stdout())),
            AccessLog::File(path) => {
                let is_new = !path.exists();
                let file = append(path).map_err(|why| AccessError {
                    path: path.clone(),
                    why,
                })?;
                unused = is_new.then(|| path.clone());
                Some(non_blocking(Reopened {
                    file,
                    path: path.clone(),
                    is_moved: Arc::clone(&is_moved),
                }))
            }
        };
        let (writer, guard) = opened.unzip();
        Ok(Opened {
            to: to.clone(),
            writer,
            is_moved,
            unused,
            _guard: guard,
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(path) = self.unused.take() {
            let _ = fs::remove_file(path);
        }
    }
}

/// A file that is opened again when it has been moved away.
struct Reopened {
    file: File,
    path: PathBuf,
    is_moved: Arc<AtomicBool>,
}

impl Write for Reopened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_moved.swap(false, Ordering::AcqRel) {
            match append(&self.path) {
                Ok(file) => self.file = file,
                // The old file goes on taking the lines.
                Err(error) => tracing::error!(path = %self.path.display(), %error, "not reopened"),
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Waits for nobody: a pipe that nobody reads cannot be opened. Lines are written one after the other.
fn append(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_away_is_opened_again() {
        let folder = std::env::temp_dir().join(format!("access-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, moved) = (folder.join("log"), folder.join("log.1"));
        let is_moved = Arc::new(AtomicBool::new(false));
        let file = append(&path).unwrap();
        let mut log = Reopened {
            file,
            path: path.clone(),
            is_moved: Arc::clone(&is_moved),
        };

        log.write_all(b"one").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b"two").unwrap();
        is_moved.store(true, Ordering::Release);
        log.write_all(b"three").unwrap();

        assert_eq!(std::fs::read(&moved).unwrap(), b"onetwo");
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
