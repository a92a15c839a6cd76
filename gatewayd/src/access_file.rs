//! Where access lines are written: the standard output, or a file that can be moved away and opened
//! again; a reload may turn from one to another. What a line says is left to the data plane.
//!
//! Source: adr/0034.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway_config::model::AccessLog;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};

use crate::lines::{Losses, Sink};
use crate::log::non_blocking;

/// The access log: what is written at this moment, and how it becomes another one.
#[derive(Default)]
pub(crate) struct AccessFile {
    now: Mutex<Option<Opened>>,
    losses: Losses,
    /// Lines that nobody took in time, where they went before.
    dropped: AtomicU64,
}

/// Something that access lines can be written to. What was written has arrived once it is dropped; a
/// file that was made for it and never used is removed again.
pub(crate) struct Opened {
    to: AccessLog,
    writer: Option<NonBlocking>,
    losses: Losses,
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
            false => Opened::at(to, self.losses.elsewhere()).map(Some),
        }
    }

    /// It is written there from here on; nobody may be writing to where it was before.
    pub(crate) fn turn_to(&self, mut next: Opened) {
        next.unused = None;
        let mut now = self.lock();
        let before = now.replace(next);
        let dropped = before.as_ref().map_or(0, Opened::dropped);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        drop(now);
        drop(before);
    }

    /// Lines after those that wait go to a file opened anew at the same path.
    pub(crate) fn reopen(&self) {
        if let Some(now) = &*self.lock() {
            now.is_moved.store(true, Ordering::Release);
            // No line, but whoever writes them looks.
            let _ = now.writer().map(|mut writer| writer.write_all(b""));
        }
    }

    /// Lines that nobody took in time, or that could not be written.
    pub(crate) fn dropped(&self) -> u64 {
        let now = self.lock();
        let waited = now.as_ref().map_or(0, Opened::dropped);
        self.dropped.load(Ordering::Relaxed) + waited + self.losses.lines()
    }

    /// Why lines cannot be written at this moment, or could not since this was asked last.
    pub(crate) fn looks(&self) -> Option<String> {
        let now = self.lock();
        let now = now.as_ref()?;
        let why = now.losses.look()?;
        let to = match &now.to {
            AccessLog::File(path) => path.display().to_string(),
            AccessLog::Off | AccessLog::Stdout => "on the standard output".to_owned(),
        };
        Some(format!("the access log {to} cannot be written: {why}"))
    }

    /// Nobody writes any more.
    pub(crate) fn close(&self) {
        let last = self.lock().take();
        drop(last);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// Takes lines; `None` where there is no access log.
    pub(crate) fn writer(&self) -> Option<NonBlocking> {
        self.writer.clone()
    }

    fn dropped(&self) -> u64 {
        let counter = self.writer.as_ref().map(NonBlocking::error_counter);
        counter.map_or(0, |counter| counter.dropped_lines() as u64)
    }

    fn at(to: &AccessLog, losses: Losses) -> Result<Self, AccessError> {
        let is_moved = Arc::new(AtomicBool::new(false));
        let mut unused = None;
        let opened = match to {
            AccessLog::Off => None,
            AccessLog::Stdout => {
                let out = Stdout::new().map_err(|why| AccessError {
                    path: "stdout".into(),
                    why,
                })?;
                Some(non_blocking(out, losses.clone()))
            }
            AccessLog::File(path) => {
                let is_new = !path.exists();
                let file = append(path).map_err(|why| AccessError {
                    path: path.clone(),
                    why,
                })?;
                unused = is_new.then(|| path.clone());
                let file = Reopened {
                    file,
                    path: path.clone(),
                    is_moved: Arc::clone(&is_moved),
                };
                Some(non_blocking(file, losses.clone()))
            }
        };
        let (writer, guard) = opened.unzip();
        Ok(Opened {
            to: to.clone(),
            writer,
            losses,
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
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for Reopened {
    fn is_turned(&mut self) -> bool {
        if !self.is_moved.swap(false, Ordering::AcqRel) {
            return false;
        }
        let opened = append(&self.path).map(|file| self.file = file);
        // The old file goes on taking the lines.
        opened
            .inspect_err(
                |error| tracing::error!(path = %self.path.display(), %error, "not reopened"),
            )
            .is_ok()
    }

    fn take_back(&mut self, bytes: u64) -> io::Result<()> {
        let (end, now) = (self.file.stream_position()?, self.file.metadata()?);
        // Somebody else may have cut it, or written to it as well.
        match now.is_file() && now.len() == end {
            true => self.file.set_len(end.saturating_sub(bytes)),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// The standard output without the buffer of the library, which writes a part of a line again later.
struct Stdout(File);

impl Stdout {
    fn new() -> io::Result<Self> {
        let out = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Stdout(File::from(out)))
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Stdout {}

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
    use crate::lines::Lines;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("access-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn opened(path: &Path) -> (Reopened, Arc<AtomicBool>) {
        let is_moved = Arc::new(AtomicBool::new(false));
        let file = Reopened {
            file: append(path).unwrap(),
            path: path.to_owned(),
            is_moved: Arc::clone(&is_moved),
        };
        (file, is_moved)
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_again_before_there_is_a_line() {
        let folder = folder("moved");
        let (path, moved) = (folder.join("log"), folder.join("log.1"));
        let (file, is_moved) = opened(&path);
        let mut log = Lines::new(file, Losses::default());

        log.write_all(b"one").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b"two").unwrap();
        is_moved.store(true, Ordering::Release);
        log.write_all(b"").unwrap();

        assert_eq!(std::fs::read(&path).unwrap(), b"");
        log.write_all(b"three").unwrap();
        assert_eq!(std::fs::read(&moved).unwrap(), b"onetwo");
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_part_is_taken_back_from_the_end_of_a_file_and_from_nothing_else() {
        let folder = folder("part");
        let path = folder.join("log");
        let (mut file, _) = opened(&path);

        file.write_all(b"one\ntw").unwrap();
        file.take_back(2).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n");
        file.write_all(b"three\nfo").unwrap();
        append(&path).unwrap().write_all(b"x").unwrap();
        file.take_back(2).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\nthree\nfox");
        let (mut device, _) = opened(Path::new("/dev/null"));
        device.write_all(b"tw").unwrap();
        device.take_back(2).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
