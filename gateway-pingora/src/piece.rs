//! Buffers for pieces of files, used again by the worker that had them.
//!
//! A new buffer has to be filled with zeros before a file is read into it, which costs nearly as much as
//! reading what is in memory.
//!
//! Source: GATEWAY §4; adr/0036.

use std::cell::RefCell;

use bytes::Bytes;

/// Bytes of a file that are read at once.
const SIZE: usize = 64 * 1024;
/// Buffers that one thread keeps.
const KEPT: usize = 8;

thread_local! {
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer for one piece. Given back to the thread that drops it.
pub(crate) struct Piece(Box<[u8]>);

impl Piece {
    /// One that is free, or a new one. What is in it is left from before.
    pub(crate) fn take() -> Self {
        let free = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
        Piece(free.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice()))
    }

    /// Where to read to.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Its first bytes, at most as many as there are.
    pub(crate) fn into_bytes(self, filled: usize) -> Bytes {
        let mut bytes = Bytes::from_owner(self);
        bytes.truncate(filled);
        bytes
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // A thread that ends keeps nothing.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT {
                free.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_once_nobody_reads_it_any_more() {
        let mut piece = Piece::take();
        piece.room()[..3].copy_from_slice(b"one");
        let place = piece.as_ref().as_ptr();
        let bytes = piece.into_bytes(3);
        let other = Piece::take();
        assert_ne!(other.as_ref().as_ptr(), place);
        assert_eq!(&bytes[..], b"one");

        drop(bytes);

        assert_eq!(Piece::take().as_ref().as_ptr(), place);
    }

    #[test]
    fn a_thread_keeps_so_many_and_no_more() {
        let many: Vec<Piece> = (0..3 * KEPT).map(|_| Piece::take()).collect();

        drop(many);

        assert_eq!(FREE.with(|free| free.borrow().len()), KEPT);
    }
}
