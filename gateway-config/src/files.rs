//! Looks into the certificate, key and CA files that a configuration names: the second pass.
//!
//! Apart from [`check`](crate::check), so that a configuration can be checked on a machine that
//! does not have the files. Never shows what is in them. Whether a key fits its certificate is
//! left to whoever builds TLS from them.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::source::Place;

/// A file that the configuration names, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its path, seen from the working directory.
    pub path: PathBuf,
    /// What it has to hold.
    pub role: FileRole,
    /// Where it is named.
    pub place: Place,
}

/// What a named file has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRole {
    /// Certificates to trust.
    Ca,
    /// A certificate chain.
    Chain,
    /// A private key.
    Key,
    /// A page that is sent as it is.
    Page,
}

/// Looks into every named file: it is readable, holds what it should, and a key is its owner's.
#[must_use]
pub fn check_files(files: &[NamedFile]) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    for file in files {
        if let Some(found) = check_file(file) {
            findings.push(found);
        }
    }
    findings.into_sorted()
}

fn check_file(file: &NamedFile) -> Option<Diagnostic> {
    let shown = file.path.display();
    let bytes = match read(file) {
        Ok(Content::Readable(bytes)) => bytes,
        Ok(Content::TooOpen(mode)) => {
            let title = format!("others may read the private key {shown}");
            return Some(
                Diagnostic::error(codes::KEY_TOO_OPEN, title)
                    .at(&file.place, format!("its mode is {mode:03o}"))
                    .help(format!("chmod 600 {shown}")),
            );
        }
        Err(why) => {
            let title = format!("{shown} cannot be read");
            return Some(
                Diagnostic::error(codes::UNREADABLE_FILE, title).at(&file.place, why.to_string()),
            );
        }
    };
    let (holds, what) = match file.role {
        FileRole::Ca | FileRole::Chain => (holds_certificates(&bytes), "certificate"),
        FileRole::Key => (PrivateKeyDer::from_pem_slice(&bytes).is_ok(), "private key"),
        FileRole::Page => return None,
    };
    (!holds).then(|| {
        let title = format!("{shown} holds no {what}");
        Diagnostic::error(codes::NOTHING_IN_FILE, title)
            .at(&file.place, "no readable PEM block of that kind")
    })
}

enum Content {
    Readable(Vec<u8>),
    TooOpen(u32),
}

/// Reads a file; the mode judged is that of the file opened, so that nobody can swap it between.
fn read(file: &NamedFile) -> io::Result<Content> {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    /// Largest certificate, key or CA file that is read.
    const MAX_BYTES: u64 = 4 * 1024 * 1024;

    if !fs::metadata(&file.path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let opened = File::open(&file.path)?;
    let mode = opened.metadata()?.permissions().mode() & 0o777;
    if file.role == FileRole::Key && mode & 0o077 != 0 {
        return Ok(Content::TooOpen(mode));
    }
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Content::Readable(bytes))
}

fn holds_certificates(bytes: &[u8]) -> bool {
    let mut all = CertificateDer::pem_slice_iter(bytes).peekable();
    all.peek().is_some() && all.all(|one| one.is_ok())
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
        fs::remove_dir_all(&dir).unwrap();
    }
}
