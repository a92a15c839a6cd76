//! Reads the bytes of a file that an answer promised.
//!
//! First out of the page cache, on the thread that asks; only what has to come from a disk is left
//! to a thread that may sleep. The promise is the `Content-Length` already sent: a file that ends
//! before it is an error, and its connection or stream has to be broken off, so that a client
//! never takes the part for the whole. What is appended meanwhile is not sent.
//!
//! Source: preadv2(2) `RWF_NOWAIT`; RFC 9112 §8; adr/0036.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Some bytes of an open file that are still to be sent.
#[derive(Debug)]
pub struct Part {
    file: File,
    from: u64,
    left: u64,
}

/// What came of reading without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadNow {
    /// So many bytes are in the buffer; 0: everything promised has been read, or the buffer has
    /// no room.
    Bytes(usize),
    /// The next bytes are not in memory; a thread that may sleep reads them.
    WouldBlock,
}

impl AsFd for Part {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Part {
    pub(crate) fn new(file: File, from: u64, length: u64) -> Self {
        Self {
            file,
            from,
            left: length,
        }
    }

    /// Bytes that are still to be read.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Reads what is in memory, at most a buffer of it.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) where the file has shrunk, and what the
    /// kernel says.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadNow> {
        let room = self.room(buffer);
        if room.is_empty() {
            return Ok(ReadNow::Bytes(0));
        }
        let mut slices = [IoSliceMut::new(room)];
        let read = preadv2(&self.file, &mut slices, self.from, ReadWriteFlags::NOWAIT);
        match read {
            // Some filesystems cannot tell; then every read may wait.
            Err(Errno::AGAIN | Errno::INTR | Errno::NOSYS | Errno::OPNOTSUPP) => {
                Ok(ReadNow::WouldBlock)
            }
            Err(why) => Err(why.into()),
            Ok(bytes) => self.passed(bytes).map(ReadNow::Bytes),
        }
    }

    /// Reads at most a buffer, and waits for the disk if it must; 0 as for [`ReadNow::Bytes`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_blocking(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = self.room(buffer);
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            match self.file.read_at(room, self.from) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
                Ok(bytes) => return self.passed(bytes),
            }
        }
    }

    /// What of a buffer may be filled.
    fn room<'a>(&self, buffer: &'a mut [u8]) -> &'a mut [u8] {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        buffer.get_mut(..most).unwrap_or_default()
    }

    fn passed(&mut self, bytes: usize) -> io::Result<usize> {
        if bytes == 0 {
            let because = "the file has become shorter while it was sent";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, because));
        }
        // A read never gives more than the room it was given.
        let passed = bytes as u64;
        self.from = self.from.saturating_add(passed);
        self.left = self.left.saturating_sub(passed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file_of(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    fn now(part: &mut Part, buffer: &mut [u8]) -> usize {
        match part.read(buffer).unwrap() {
            ReadNow::Bytes(bytes) => bytes,
            ReadNow::WouldBlock => part.read_blocking(buffer).unwrap(),
        }
    }

    #[test]
    fn exactly_what_was_promised_is_read() {
        let mut part = Part::new(file_of(b"0123456789"), 2, 5);
        let mut buffer = [0; 3];
        assert_eq!((now(&mut part, &mut buffer), &buffer), (3, b"234"));
        assert_eq!(part.left(), 2);
        assert_eq!(now(&mut part, &mut buffer), 2);
        assert_eq!(&buffer[..2], b"56");
        assert_eq!(part.read(&mut buffer).unwrap(), ReadNow::Bytes(0));
        assert_eq!(part.read_blocking(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_file_that_shrinks_is_noticed_both_ways() {
        let file = file_of(b"0123456789");
        let mut part = Part::new(file.try_clone().unwrap(), 0, 10);
        let mut buffer = [0; 4];
        assert_eq!(now(&mut part, &mut buffer), 4);
        file.set_len(4).unwrap();
        let blocking = part.read_blocking(&mut buffer).unwrap_err();
        assert_eq!(blocking.kind(), io::ErrorKind::UnexpectedEof);
        // Not every filesystem says so without waiting.
        if let Err(why) = part.read(&mut buffer) {
            assert_eq!(why.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn what_is_appended_is_not_sent() {
        let mut file = file_of(b"0123");
        let mut part = Part::new(file.try_clone().unwrap(), 0, 4);
        file.write_all(b"45").unwrap();
        let mut buffer = [0; 16];
        assert_eq!(now(&mut part, &mut buffer), 4);
        assert_eq!(now(&mut part, &mut buffer), 0);
    }
}
