//! Keeps what has been passed on of a request body, for as long as the request may go to another node.
//!
//! Copied, since a piece of a few bytes may hold on to the whole buffer it was read into. How much all
//! requests keep is bounded by [`body_memory`](crate::body_memory); whether the request may be sent
//! again is decided by [`retry`](gateway_core::retry).
//!
//! Source: GATEWAY §6; adr/0016.

use bytes::{Bytes, BytesMut};

use crate::body_memory::Held;

/// The body so far.
pub(crate) struct Replay {
    /// As it was sent to another node before.
    sent: Bytes,
    /// What came after that.
    more: BytesMut,
    held: Held,
    /// Bytes that are kept at most.
    most: usize,
}

impl Replay {
    /// Nothing so far, and at most `most` bytes of it; counted in `held`.
    pub(crate) fn new(held: Held, most: usize) -> Self {
        Replay {
            sent: Bytes::new(),
            more: BytesMut::new(),
            held,
            most,
        }
    }

    /// Keeps one more piece; whether it may, and there is memory for it.
    pub(crate) fn keep(&mut self, piece: &[u8]) -> bool {
        self.more.extend_from_slice(piece);
        let kept = self.sent.len() + self.more.capacity();
        self.sent.len() + self.more.len() <= self.most && self.held.grow_to(kept as u64)
    }

    /// All of it, in one piece.
    pub(crate) fn whole(&mut self) -> Bytes {
        if self.sent.is_empty() {
            self.sent = self.more.split().freeze();
        } else if !self.more.is_empty() {
            self.sent = [&self.sent[..], &self.more].concat().into();
        }
        self.more = BytesMut::new();
        self.sent.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_memory::BodyMemory;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_is_always_all_that_came_whenever_it_is_asked_for(
            pieces in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..300), any::<bool>()),
                0..20,
            ),
        ) {
            let mut replay = Replay::new(BodyMemory::default().hold(1 << 20), usize::MAX);
            let mut all = Vec::new();
            for (piece, is_asked) in pieces {
                prop_assert!(replay.keep(&piece));
                all.extend_from_slice(&piece);
                if is_asked {
                    prop_assert_eq!(&replay.whole()[..], &all[..]);
                }
            }
            prop_assert_eq!(&replay.whole()[..], &all[..]);
        }
    }

    #[test]
    fn more_than_is_kept_or_there_is_memory_for_is_told() {
        for (memory, most) in [(1_000, usize::MAX), (1 << 20, 1_000)] {
            let mut replay = Replay::new(BodyMemory::default().hold(memory), most);
            assert!(replay.keep(&[7; 600]));
            assert!(!replay.keep(&[7; 600]));
            assert_eq!(replay.whole().len(), 1_200);
        }
    }
}
