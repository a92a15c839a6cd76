//! Says which state of a file an answer shows: its entity tag and its time.
//!
//! A tag is made of what the kernel changes whenever content changes. Nobody can set the change
//! time of a file, so a file put in the place of another one of the same size and modification
//! time, as reproducible builds make them, has another tag.
//!
//! Source: RFC 9110 §8.8; adr/0036.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// What a representation is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validators {
    /// The strong entity tag, quotes included.
    pub(crate) tag: String,
    /// Seconds since 1970 of the last modification; `None`: not known.
    pub(crate) modified: Option<u64>,
}

impl Validators {
    /// Those of a file as it is sent in this coding.
    pub(crate) fn of_file(file: &Metadata, coding: Option<&str>, now: SystemTime) -> Self {
        let mut hash = Sha256::new();
        for number in [file.dev(), file.ino(), file.size()] {
            hash.update(number.to_be_bytes());
        }
        for number in [
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        ] {
            hash.update(number.to_be_bytes());
        }
        hash.update(coding.unwrap_or_default());
        Self {
            tag: tag(hash),
            modified: modified(file.mtime(), now),
        }
    }

    /// Those of a text that is made for this answer.
    pub(crate) fn of_text(text: &[u8]) -> Self {
        Self {
            tag: tag(Sha256::new_with_prefix(text)),
            modified: None,
        }
    }
}

/// A point in time as it is sent.
pub(crate) fn date(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_SECOND)))
}

/// Seconds since 1970, rounded down; what was before is 0.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}

/// Hashed, so that nobody reads inode numbers or times out of it.
fn tag(hash: Sha256) -> String {
    let hash = hash.finalize();
    let nibbles = hash.iter().take(12).flat_map(|byte| [byte >> 4, byte & 15]);
    let mut tag = String::with_capacity(26);
    tag.push('"');
    tag.extend(nibbles.filter_map(|nibble| char::from_digit(u32::from(nibble), 16)));
    tag.push('"');
    tag
}

/// §8.8.2.1: never later than the answer. A time that build tools write in place of one is none:
/// a cache that guesses freshness by age would keep such a file for years (RFC 9111 §4.2.2).
fn modified(seconds_of_file: i64, now: SystemTime) -> Option<u64> {
    /// 2 January 1980; Unix begins in 1970 and zip archives do in 1980.
    const FIRST_REAL: u64 = 315_619_200;

    let modified = u64::try_from(seconds_of_file).ok()?;
    (modified >= FIRST_REAL).then(|| modified.min(seconds(now)))
}

/// The last second of the year 9999, beyond which HTTP has no dates.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_time_is_never_later_than_the_answer_and_never_a_placeholder() {
        let now = at(1_700_000_000);
        assert_eq!(modified(1_600_000_000, now), Some(1_600_000_000));
        assert_eq!(modified(1_800_000_000, now), Some(1_700_000_000));
        for placeholder in [i64::MIN, -1, 0, 1, 315_532_800] {
            assert_eq!(modified(placeholder, now), None);
        }
        assert_eq!(modified(i64::MAX, now), Some(1_700_000_000));
    }

    #[test]
    fn no_time_is_too_late_for_a_date() {
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(seconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }

    #[test]
    fn a_tag_differs_by_coding_and_with_every_change_even_within_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let tag_of = |coding| {
            let file = std::fs::metadata(&path).unwrap();
            Validators::of_file(&file, coding, at(1_700_000_000)).tag
        };
        std::fs::write(&path, "one").unwrap();
        let first = tag_of(None);
        assert_eq!(first, tag_of(None));
        assert_ne!(first, tag_of(Some("br")));

        let other = dir.path().join("g");
        std::fs::write(&other, "two").unwrap();
        let same_time = std::fs::metadata(&path).unwrap().modified().unwrap();
        let opened = std::fs::File::options().write(true).open(&other).unwrap();
        opened.set_modified(same_time).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(first, tag_of(None), "same size, same modification time");
    }
}
