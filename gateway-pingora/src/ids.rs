//! Makes request ids: 128 bits as 32 hexadecimal digits, different for every request.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderName, HeaderValue};

/// The field with a request's id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over from a client, in bytes.
const LONGEST: usize = 128;

/// Whether an id of a client is taken over: it can be written anywhere as it is.
pub(crate) fn is_usable(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=LONGEST).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}

/// Makes request ids.
pub(crate) struct Ids {
    keys: RandomState,
    next: AtomicU64,
}

impl Ids {
    /// Ids that no other process makes, since the keys are random.
    pub(crate) fn new() -> Self {
        Ids {
            keys: RandomState::new(),
            next: AtomicU64::new(0),
        }
    }

    /// The next id.
    pub(crate) fn make(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut digits = [0; 32];
        let (high, low) = digits.split_at_mut(16);
        write_hex(self.keys.hash_one(number), high);
        write_hex(self.keys.hash_one(!number), low);
        // Digits are always a value; the other arm is for the types only.
        HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static(""))
    }
}

/// Four bits a digit, the highest first.
fn write_hex(number: u64, digits: &mut [u8]) {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        let four = (rest & 0xf) as u8;
        *digit = four + if four < 10 { b'0' } else { b'a' - 10 };
        rest >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_32_digits_and_differ() {
        let ids = Ids::new();
        let made: std::collections::HashSet<_> = (0..1000).map(|_| ids.make()).collect();
        assert_eq!(made.len(), 1000);
        let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        assert!(
            made.iter()
                .all(|id| id.len() == 32 && id.as_bytes().iter().all(hex))
        );
    }

    #[test]
    fn digits_are_hexadecimal() {
        let mut digits = [0; 16];
        write_hex(0x0123_4567_89ab_cdef, &mut digits);
        assert_eq!(&digits, b"0123456789abcdef");
    }
}
