//! Lines that are written whole, or are counted as dropped: a disk may be full, and whoever reads a
//! pipe may have gone.
//!
//! Source: GATEWAY §10; adr/0039.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where lines are written to.
pub(crate) trait Sink: Write {
    /// Whether what is written next is elsewhere than what was written before.
    fn is_turned(&mut self) -> bool {
        false
    }

    /// Takes back the bytes that were written last.
    ///
    /// # Errors
    /// They stay where they are.
    fn take_back(&mut self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Sink for io::Stderr {}

/// Writes each line whole or not at all. Where a part of one cannot be taken back, the next one begins
/// with a line break.
pub(crate) struct Lines<S> {
    to: S,
    losses: Losses,
    is_within: bool,
    is_failing: bool,
}

/// The lines that could not be written.
#[derive(Clone, Default)]
pub(crate) struct Losses {
    lines: Arc<AtomicU64>,
    last: Arc<Mutex<Option<Loss>>>,
}

/// The last of them.
struct Loss {
    why: String,
    /// A line was written since.
    is_past: bool,
}

impl<S: Sink> Lines<S> {
    /// Lines go there, and those that cannot are counted.
    pub(crate) fn new(to: S, losses: Losses) -> Self {
        Lines {
            to,
            losses,
            is_within: false,
            is_failing: false,
        }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.to.is_turned() {
            self.is_within = false;
        }
        if line.is_empty() {
            return Ok(());
        }
        let written = self.whole(line);
        let was_failing = mem::replace(&mut self.is_failing, written.is_err());
        match &written {
            Err(why) => self.losses.count(why),
            Ok(()) if was_failing => self.losses.are_past(),
            Ok(()) => {}
        }
        written
    }

    fn whole(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_within {
            self.to.write_all(b"\n")?;
            self.is_within = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.to.write(rest) {
                Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    let part = (line.len() - rest.len()) as u64;
                    self.is_within = part > 0 && self.to.take_back(part).is_err();
                    return failed.and(Err(io::ErrorKind::WriteZero.into()));
                }
            }
        }
        Ok(())
    }
}

/// What is given at once is a line; nothing at all is none, and only looks where to write.
impl<S: Sink> Write for Lines<S> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        self.line(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Losses {
    /// How many there were.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Why lines are lost at this moment, or were since this was asked last.
    pub(crate) fn look(&self) -> Option<String> {
        let mut last = self.last();
        let why = last.as_ref().map(|loss| loss.why.clone());
        last.take_if(|loss| loss.is_past);
        why
    }

    /// Those of somewhere else, counted with these.
    pub(crate) fn elsewhere(&self) -> Self {
        Losses {
            lines: Arc::clone(&self.lines),
            last: Arc::default(),
        }
    }

    fn count(&self, why: &io::Error) {
        self.lines.fetch_add(1, Ordering::Relaxed);
        *self.last() = Some(Loss {
            why: why.to_string(),
            is_past: false,
        });
    }

    fn are_past(&self) {
        if let Some(loss) = &mut *self.last() {
            loss.is_past = true;
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Loss>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has room for so many bytes more.
    #[derive(Default)]
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        is_file: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.room);
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= fits;
            self.bytes.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Disk {
        fn take_back(&mut self, bytes: u64) -> io::Result<()> {
            if !self.is_file {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let bytes = usize::try_from(bytes).unwrap();
            self.bytes.truncate(self.bytes.len() - bytes);
            Ok(())
        }
    }

    fn fills_up(is_file: bool) -> (Lines<Disk>, Losses) {
        let losses = Losses::default();
        let disk = Disk {
            room: 6,
            is_file,
            ..Disk::default()
        };
        let mut lines = Lines::new(disk, losses.clone());
        lines.write_all(b"one\n").unwrap();
        lines.write_all(b"two\n").unwrap_err();
        lines.write_all(b"three\n").unwrap_err();
        (lines, losses)
    }

    #[test]
    fn a_line_after_a_part_of_one_begins_on_a_line_of_its_own() {
        let (mut lines, losses) = fills_up(false);
        assert_eq!(lines.to.bytes, b"one\ntw");
        lines.to.room = 1;
        lines.write_all(b"four\n").unwrap_err();
        lines.to.room = 100;
        lines.write_all(b"five\n").unwrap();
        lines.write_all(b"six\n").unwrap();
        assert_eq!(lines.to.bytes, b"one\ntw\nfive\nsix\n");
        assert_eq!(losses.lines(), 3);
    }

    #[test]
    fn a_part_that_can_be_taken_back_is() {
        let (mut lines, losses) = fills_up(true);
        assert_eq!(lines.to.bytes, b"one\n");
        lines.to.room = 100;
        lines.write_all(b"four\n").unwrap();
        assert_eq!(lines.to.bytes, b"one\nfour\n");
        assert_eq!(losses.lines(), 2);
    }

    #[test]
    fn a_loss_is_seen_until_a_line_was_written_and_at_least_once() {
        let (mut lines, losses) = fills_up(true);
        let elsewhere = losses.elsewhere();
        let why = io::Error::from(io::ErrorKind::StorageFull).to_string();
        assert_eq!(losses.look(), Some(why.clone()));
        assert_eq!(losses.look(), Some(why.clone()));
        lines.to.room = 100;
        lines.write_all(b"four\n").unwrap();
        assert_eq!(losses.look(), Some(why));
        assert_eq!(losses.look(), None);
        assert_eq!((elsewhere.look(), elsewhere.lines()), (None, 2));
    }
}
