//! The form of every file in the state directory: one line with a checksum over all that follows.
//!
//! The line is a comment in TOML, so a snapshot is a configuration file as well.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// No file of ours is larger.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// How every file begins.
const MARK: &str = "# gatewayd state 1 ";

/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// A file whose every byte is as it was written.
#[derive(Debug)]
pub(super) struct Sealed {
    /// What it is.
    pub(super) label: String,
    /// What it says.
    pub(super) body: String,
}

/// Why a file gives nothing.
#[derive(Debug)]
pub(super) enum Unread {
    /// There is none.
    Absent,
    /// What is there is not what we wrote.
    Damaged(String),
    /// The system does not let us read it, which need not last.
    Failed(io::Error),
}

/// The file with this content.
pub(super) fn seal(label: &str, body: &str) -> String {
    let sealed = format!(" {label}\n{body}");
    format!("{MARK}{}{sealed}", checksum(&sealed))
}

/// Reads a file, if nobody but us can have written it and every byte is ours.
pub(super) fn read(path: &Path) -> Result<Sealed, Unread> {
    let damaged = |why: &str| Unread::Damaged(why.to_owned());
    let seen = fs::symlink_metadata(path).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => Unread::Absent,
        _ => Unread::Failed(why),
    })?;
    if !seen.is_file() {
        return Err(damaged("it is not a regular file"));
    }
    let mode = seen.permissions().mode() & 0o7777;
    if mode != 0o600 {
        let said = format!("its mode is {mode:04o} instead of 0600");
        return Err(Unread::Damaged(said));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(Unread::Failed)?;
    if bytes.is_empty() {
        return Err(damaged("it is empty"));
    }
    if bytes.len() as u64 > LARGEST {
        return Err(damaged("it is too large"));
    }
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8"))?;
    unseal(&text).map_err(damaged)
}

impl Sealed {
    /// What it says, if it is what it is taken for.
    pub(super) fn labelled(self, label: &str) -> Result<String, Unread> {
        if self.label == label {
            Ok(self.body)
        } else {
            let said = format!("it says of itself: {}", self.label);
            Err(Unread::Damaged(said))
        }
    }
}

fn unseal(text: &str) -> Result<Sealed, &'static str> {
    let Some(rest) = text.strip_prefix(MARK) else {
        return Err("it does not begin like a state file of this version");
    };
    let Some((sum, sealed)) = rest.split_at_checked(DIGITS) else {
        return Err("it is cut off");
    };
    if sum != checksum(sealed) {
        return Err("its checksum is wrong");
    }
    let said = sealed.strip_prefix(' ').and_then(|s| s.split_once('\n'));
    let Some((label, body)) = said else {
        return Err("it does not say what it is");
    };
    Ok(Sealed {
        label: label.to_owned(),
        body: body.to_owned(),
    })
}

fn checksum(sealed: &str) -> String {
    let digest = Sha256::digest(sealed.as_bytes());
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
