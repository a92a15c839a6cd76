//! Looks at the files that a configuration names: the second pass.
//!
//! Apart from [`check`](crate::check), so that a configuration can be checked on a machine that
//! does not have the files. Never shows what is in them. What certificates and keys say, and
//! whether they fit, is left to the data plane, which knows what it can serve.
//!
//! Source: adr/0028.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::source::{Place, Placed, open_regular};
use crate::value;

/// Most bytes of a page for failures.
pub const MAX_PAGE: u64 = 1024 * 1024;

/// A file that the configuration names, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its path, seen from the working directory.
    pub path: PathBuf,
    /// What it has to be.
    pub role: FileRole,
    /// Where it is named.
    pub place: Place,
}

/// What a named file has to be, or to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRole {
    /// Certificates to trust.
    Ca,
    /// A certificate chain.
    Chain,
    /// A directory whose files are sent.
    Directory,
    /// A private key; it stands right behind the chain it belongs to.
    Key,
    /// A file that lines are appended to; it may have to be made first.
    Log,
    /// A page for failures, which is held in memory.
    Page,
    /// A file that is sent as it is.
    Sent,
}

impl NamedFile {
    /// A path where it was written, and what has to be there.
    pub(crate) fn new(path: &Placed<PathBuf>, role: FileRole) -> Self {
        Self {
            path: path.value.clone(),
            role,
            place: path.place.clone(),
        }
    }
}

/// Each chain with its key.
pub fn pairs(files: &[NamedFile]) -> impl Iterator<Item = (&NamedFile, &NamedFile)> {
    files.windows(2).filter_map(|two| match two {
        [chain, key] if (chain.role, key.role) == (FileRole::Chain, FileRole::Key) => {
            Some((chain, key))
        }
        _ => None,
    })
}

/// Looks at every named file: it is there, can be read, holds what it should, and a key is its
/// owner's.
#[must_use]
pub fn check_files(files: &[NamedFile]) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    let is_swapped = |(chain, key): &(&NamedFile, &NamedFile)| is_swapped(chain, key);
    let swapped: Vec<_> = pairs(files).filter(is_swapped).collect();
    let is_told = |file: &&NamedFile| {
        let is_it = |other: &NamedFile| std::ptr::eq(*file, other);
        swapped
            .iter()
            .any(|(chain, key)| is_it(chain) || is_it(key))
    };
    for found in files
        .iter()
        .filter(|file| !is_told(file))
        .filter_map(check_file)
    {
        findings.push(found);
    }
    for (chain, key) in swapped {
        let title = "the files of the chain and of its key are swapped";
        findings.push(
            Diagnostic::error(codes::NOTHING_IN_FILE, title)
                .at(&chain.place, "holds the private key")
                .at(&key.place, "holds the certificate")
                .help("name each where the other one is now"),
        );
    }
    findings.into_sorted()
}

/// Whether a key is where its chain should be, and the chain where the key should be.
fn is_swapped(chain: &NamedFile, key: &NamedFile) -> bool {
    let (Ok(of_chain), Ok(of_key)) = (read(chain), read(key)) else {
        return false;
    };
    let is_key = |bytes: &[u8]| PrivateKeyDer::from_pem_slice(bytes).is_ok();
    is_key(&of_chain)
        && !is_key(&of_key)
        && holds_certificates(&of_key)
        && CertificateDer::from_pem_slice(&of_chain).is_err()
}

fn check_file(file: &NamedFile) -> Option<Diagnostic> {
    let looked = match file.role {
        FileRole::Ca | FileRole::Chain => pem(file, "certificate", holds_certificates),
        FileRole::Directory => fs::read_dir(&file.path).map(|_| None),
        FileRole::Key => key(file),
        FileRole::Log => appendable(&file.path).map(|()| None),
        FileRole::Page => page(file, MAX_PAGE),
        FileRole::Sent => page(file, u64::MAX),
    };
    looked.unwrap_or_else(|why| {
        let title = match file.role {
            FileRole::Log => format!("nothing can be appended to {}", file.path.display()),
            _ => format!("{} cannot be read", file.path.display()),
        };
        Some(Diagnostic::error(codes::UNREADABLE_FILE, title).at(&file.place, why.to_string()))
    })
}

type Looked = io::Result<Option<Diagnostic>>;

/// The rights on a key, where others than its owner have any.
fn too_open(key: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt;

    let mode = key.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// The bytes of a chain or a key, of 4 MiB at the most.
///
/// # Errors
/// The file cannot be read, is longer, is no regular file, or is a key that others may read: judged by the file
/// opened, so that nobody can swap it between.
pub fn read_pem(path: &Path, role: FileRole) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    if role == FileRole::Key
        && let Some(mode) = too_open(&file)?
    {
        let why = format!(
            "others may read it, its mode is {mode:03o}: chmod 600 {}",
            path.display()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    let mut bytes = Vec::new();
    if file.take(MAX_BYTES + 1).read_to_end(&mut bytes)? as u64 > MAX_BYTES {
        let why = format!("it is longer than {}", value::write_size(MAX_BYTES));
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

/// The certificates of a file, in their order; one at least.
///
/// # Errors
/// As [`read_pem`], or what [`certificates`] says of it.
pub fn read_certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    certificates(&read_pem(path, FileRole::Chain)?)
}

/// How two blocks meet (RFC 7468 §5.1) where files were put together of which the first has no last line break.
const GLUED: &[u8] = b"----------BEGIN CERTIFICATE-----";

/// The certificates of a text, in their order; one at least.
///
/// # Errors
/// There is none, or a block of the text is damaged, or begins on the line on which another ends.
pub fn certificates(pem: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let invalid = |why: &str| io::Error::new(ErrorKind::InvalidData, why);
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|why| {
        invalid(match why {
            pem::Error::MissingSectionEnd { .. } => "a block of it has no end",
            pem::Error::IllegalSectionStart { .. } => "the first line of a block is damaged",
            pem::Error::Base64Decode(_) => "a block of it is no base64",
            _ => "it cannot be read as PEM",
        })
    })?;
    if found.is_empty() {
        return Err(invalid("it holds no certificate"));
    }
    // The reader would pass over it.
    match is_glued(pem) {
        true => Err(invalid(
            "a certificate of it begins on the line on which another block ends",
        )),
        false => Ok(found),
    }
}

fn is_glued(pem: &[u8]) -> bool {
    pem.windows(GLUED.len()).any(|part| part == GLUED)
}

fn key(file: &NamedFile) -> Looked {
    let Some(mode) = too_open(&open_regular(&file.path)?)? else {
        let holds_key = |bytes: &[u8]| PrivateKeyDer::from_pem_slice(bytes).is_ok();
        return pem(file, "private key", holds_key);
    };
    let shown = file.path.display();
    let title = format!("others may read the private key {shown}");
    Ok(Some(
        Diagnostic::error(codes::KEY_TOO_OPEN, title)
            .at(&file.place, format!("its mode is {mode:03o}"))
            .help(format!("chmod 600 {shown}")),
    ))
}

/// Largest certificate, key or CA file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

fn read(file: &NamedFile) -> io::Result<Vec<u8>> {
    read_pem(&file.path, FileRole::Chain)
}

fn pem(file: &NamedFile, what: &str, holds: impl Fn(&[u8]) -> bool) -> Looked {
    let bytes = read(file)?;
    let title = format!("{} holds no {what}", file.path.display());
    Ok((!holds(&bytes))
        .then(|| Diagnostic::error(codes::NOTHING_IN_FILE, title).at(&file.place, instead(&bytes))))
}

/// What a file holds that does not hold what it should. Only the markers of PEM are shown.
fn instead(bytes: &[u8]) -> String {
    const BEGIN: &str = "-----BEGIN ";
    let text = String::from_utf8_lossy(bytes);
    let (before, first) = text.split_once(BEGIN).unwrap_or_default();
    let kind = first.split("-----").next().unwrap_or_default();
    let is_encrypted = kind == "ENCRYPTED PRIVATE KEY" || first.contains("Proc-Type: 4,ENCRYPTED");
    let is_kind = |kind: &str| {
        let is_word = |c: char| c.is_ascii_uppercase() || c == ' ' || c.is_ascii_digit();
        !kind.is_empty() && kind.len() < 40 && kind.chars().all(is_word)
    };
    match (bytes, kind) {
        ([], _) => "the file is empty".to_owned(),
        ([0x30, ..], "") => "this is DER; the text form, PEM, is needed".to_owned(),
        _ if is_encrypted => "the key is encrypted, and nobody is asked".to_owned(),
        ([0xfe, 0xff, ..] | [0xff, 0xfe, ..], _) => "this is UTF-16; PEM is plain ASCII".to_owned(),
        _ if before.ends_with('\u{feff}') => {
            "a byte order mark stands before `-----BEGIN`: remove it".to_owned()
        }
        _ if is_glued(bytes) => {
            "a certificate begins on the line on which another block ends: break that line"
                .to_owned()
        }
        _ if text.matches(BEGIN).count() > text.matches("-----END ").count() => {
            "a block has no end: the file is cut off".to_owned()
        }
        (_, kind) if is_kind(kind) => format!("no readable block of that kind; one is {kind}"),
        _ => "no readable PEM block of that kind".to_owned(),
    }
}

fn page(file: &NamedFile, most: u64) -> Looked {
    let size = open_regular(&file.path)?.metadata()?.len();
    let shown = file.path.display();
    let found = if size == 0 {
        let title = format!("{shown} is empty");
        Diagnostic::warning(codes::NOTHING_IN_FILE, title).at(&file.place, "sent as it is")
    } else if size > most {
        let title = format!("{shown} cannot be held in memory");
        let label = format!("a page has at most {}", value::write_size(most));
        Diagnostic::error(codes::UNREADABLE_FILE, title).at(&file.place, label)
    } else {
        return Ok(None);
    };
    Ok(Some(found))
}

/// Whether lines can be appended; nothing is made and nothing written to find out.
fn appendable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        // A pipe would be waited for.
        Ok(it) if !it.is_file() && !it.is_dir() => Ok(()),
        Ok(_) => File::options().append(true).open(path).map(|_| ()),
        Err(why) if why.kind() == ErrorKind::NotFound => match path.parent().map(Path::is_dir) {
            Some(true) => Ok(()),
            _ => Err(io::Error::new(why.kind(), "its directory is not there")),
        },
        Err(why) => Err(why),
    }
}

fn holds_certificates(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        // The block behind the mark would be passed over.
        return false;
    }
    certificates(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use crate::source::Sources;

    const CHAIN: &str = "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n";

    fn found(path: &Path, role: FileRole) -> Vec<String> {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", "key".to_owned());
        let place = sources.place(id, 0..3);
        check_files(&[NamedFile {
            path: path.to_owned(),
            role,
            place,
        }])
        .iter()
        .map(|one| one.code.to_string())
        .collect()
    }

    #[test]
    fn certificates_that_were_put_together_without_a_line_break_are_not_half_of_a_chain() {
        let (two, glued) = ([CHAIN, CHAIN].concat(), [CHAIN.trim_end(), CHAIN].concat());
        assert_eq!(certificates(two.as_bytes()).unwrap().len(), 2);
        let refused = certificates(glued.as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("on the line"), "{refused}");
        assert!(instead(glued.as_bytes()).ends_with("break that line"));
        assert!(!holds_certificates(glued.as_bytes()));
        let cut = certificates(&glued.as_bytes()[..40]).unwrap_err();
        assert_eq!(cut.to_string(), "a block of it has no end");
    }

    #[test]
    fn a_key_has_to_be_its_owners_and_a_file_has_to_hold_what_it_should() {
        let dir = std::env::temp_dir().join(format!("gateway-files-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = dir.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let closed = write("closed.pem", KEY, 0o600);
        let open = write("open.pem", KEY, 0o640);
        let chain = write("chain.pem", CHAIN, 0o644);
        let empty = write("empty.pem", "", 0o600);

        assert!(found(&closed, FileRole::Key).is_empty());
        assert_eq!(found(&open, FileRole::Key), ["G0601"]);
        assert!(found(&chain, FileRole::Chain).is_empty());
        assert_eq!(found(&closed, FileRole::Chain), ["G0603"]);
        assert_eq!(found(&empty, FileRole::Key), ["G0603"]);
        assert_eq!(found(&dir.join("absent"), FileRole::Ca), ["G0602"]);
        assert_eq!(found(&dir, FileRole::Ca), ["G0602"]);
        for (size, role, code) in [
            (MAX_PAGE, FileRole::Page, None),
            (MAX_PAGE + 1, FileRole::Page, Some("G0602")),
            (MAX_PAGE + 1, FileRole::Sent, None),
            (0, FileRole::Sent, Some("G0603")),
        ] {
            let page = dir.join("page.html");
            File::create(&page).unwrap().set_len(size).unwrap();
            assert_eq!(found(&page, role), Vec::from_iter(code), "{size}");
        }
        for (path, role) in [
            (&closed, FileRole::Key),
            (&chain, FileRole::Chain),
            (&chain, FileRole::Ca),
        ] {
            let long = File::options().append(true).open(path).unwrap();
            long.set_len(MAX_BYTES).unwrap();
            assert!(found(path, role).is_empty(), "{role:?}");
            assert!(read_pem(path, role).is_ok(), "{role:?}");
            // What it holds comes first: cut there, it would be taken for whole.
            long.set_len(MAX_BYTES + 1).unwrap();
            assert_eq!(found(path, role), ["G0602"], "{role:?}");
            let why = read_pem(path, role).unwrap_err().to_string();
            assert_eq!(why, "it is longer than 4 MiB", "{role:?}");
        }
        assert_eq!(found(&dir.join("absent"), FileRole::Page), ["G0602"]);
        assert_eq!(found(&dir, FileRole::Page), ["G0602"]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
