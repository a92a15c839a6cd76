//! What a snapshot is called: its file's name, and the line that says the same inside.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::sealed::{Sealed, Unread};
use super::{Kept, StateError};

/// Numbers stay below this, so that a name somebody made up cannot use them up.
const NUMBERS: u64 = 1 << 53;

/// A hash has so many digits at most.
const DIGITS: usize = 64;

/// Number and hash; sorted by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) number: u64,
    hash: String,
}

impl Name {
    /// The name of a snapshot that is to be kept.
    pub(super) fn of(kept: &Kept) -> Result<Self, StateError> {
        let name = Self {
            number: kept.number,
            hash: kept.hash.clone(),
        };
        match Self::parse(&name.to_string()) {
            Some(name) => Ok(name),
            None => Err(StateError::Name {
                number: name.number,
                hash: name.hash,
            }),
        }
    }

    /// Reads a name; `None` unless it is spelled as we would.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, hash) = text.strip_suffix(".toml")?.split_once('-')?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let name = Self {
            number: number.parse().ok()?,
            hash: hash.to_owned(),
        };
        let is_ours = name.number < NUMBERS
            && (1..=DIGITS).contains(&hash.len())
            && hash.bytes().all(is_digit)
            && name.to_string() == text;
        is_ours.then_some(name)
    }

    pub(super) fn is_of(&self, kept: &Kept) -> bool {
        self.number == kept.number && self.hash == kept.hash
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}.toml", self.number, self.hash)
    }
}

/// The file that a snapshot lies in.
pub(super) fn file_name(kept: &Kept) -> PathBuf {
    format!("{}-{}.toml", kept.number, kept.hash).into()
}

/// What a snapshot's file says of itself.
pub(super) fn label(kept: &Kept) -> String {
    let since = kept.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let Kept { number, hash, .. } = kept;
    format!("snapshot {number} {hash} {nanoseconds}")
}

/// The snapshot in a file of this name.
pub(super) fn kept(name: &Name, sealed: Sealed) -> Result<Kept, Unread> {
    let prefix = format!("snapshot {} {} ", name.number, name.hash);
    let nanoseconds = sealed.label.strip_prefix(&prefix).map(str::parse);
    let Some(Ok(nanoseconds)) = nanoseconds else {
        let said = format!("it says of itself: {}", sealed.label);
        return Err(Unread::Damaged(said));
    };
    Ok(Kept {
        number: name.number,
        hash: name.hash.clone(),
        text: sealed.body,
        at: SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds),
    })
}
