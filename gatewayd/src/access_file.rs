//! Where access lines are written: the standard output, or a file that can be moved away and opened
//! again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gateway_config::model::AccessLog;
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};

use crate::log::non_blocking;

/// The access log; ends with what was written when it is dropped.
pub(crate) struct AccessFile {
    /// Takes lines; `None` where there is no access log.
    pub(crate) writer: Option<NonBlocking>,
    is_moved: Arc<AtomicBool>,
    _guard: Option<WorkerGuard>,
}

impl AccessFile {
    /// Opens it.
    ///
    /// # Errors
    /// What the system says of the file.
    pub(crate) fn open(to: &AccessLog) -> io::Result<Self> {
        let is_moved = Arc::new(AtomicBool::new(false));
        let opened = match to {
            AccessLog::Off => None,
            AccessLog::Stdout => Some(non_blocking(io::stdout())),
            AccessLog::File(path) => Some(non_blocking(Reopened {
                file: append(path)?,
                path: path.clone(),
                is_moved: Arc::clone(&is_moved),
            })),
        };
        let (writer, guard) = opened.unzip();
        Ok(AccessFile {
            writer,
            is_moved,
            _guard: guard,
        })
    }

    /// The next line goes to a file opened anew at the same path.
    pub(crate) fn reopen(&self) {
        self.is_moved.store(true, Ordering::Release);
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

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
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
