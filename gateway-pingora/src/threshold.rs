//! A start and the end that may meet it: one of them comes first, and the other one knows.
//!
//! Before it nobody is connected, so the process may end at once; after it the end is a drain.
//! Source: adr/0043.

use std::sync::OnceLock;

/// Where a start becomes something that clients see. Crossed once, or shut once.
#[derive(Debug, Default)]
pub struct Threshold(OnceLock<First>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    End,
    Start,
}

impl Threshold {
    /// Crosses it, unless the end came first; says whether it is crossed.
    pub(crate) fn is_crossed(&self) -> bool {
        *self.0.get_or_init(|| First::Start) == First::Start
    }

    /// The end has come; says whether it came first, and nobody will ever be connected.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        *self.0.get_or_init(|| First::End) == First::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_both_decides_for_good() {
        let (crossed, shut) = (Threshold::default(), Threshold::default());
        assert!(crossed.is_crossed() && !crossed.is_shut() && crossed.is_crossed());
        assert!(shut.is_shut() && !shut.is_crossed() && shut.is_shut());
    }
}
