//! Whether handshakes can be made of the certificates and keys that a configuration names.
//!
//! Asked before anything starts and by whoever only checks; says of each pair what
//! `tls` would stumble over, and what clients would. A file that cannot be read is
//! passed over: [`check_files`](gateway_config::check_files) has said so.
//!
//! Source: adr/0028.

use std::time::{SystemTime, UNIX_EPOCH};

use gateway_config::{Diagnostic, FileRole, NamedFile, codes, pairs};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use x509_parser::certificate::X509Certificate;

use crate::fault::Fault;
use crate::{clock, tls};

/// Looks at every chain with its key, and at every file of certificates to trust.
#[must_use]
pub fn check_certificates(files: &[NamedFile]) -> Vec<Diagnostic> {
    check_at(files, clock::wall())
}

fn check_at(files: &[NamedFile], now: SystemTime) -> Vec<Diagnostic> {
    let roots = files.iter().filter(|file| file.role == FileRole::Ca);
    let mut found: Vec<Diagnostic> = roots.filter_map(trusted).collect();
    for (chain, key) in pairs(files) {
        let Ok(certificates) = tls::certificates(&chain.path) else {
            continue;
        };
        match parsed(&certificates) {
            Ok(parsed) => {
                found.extend(parsed.iter().filter_map(|one| out_of_time(chain, one, now)));
                let misfit = fit(chain, &certificates, key);
                // An authority's certificate in front is often the reason why a key does not fit.
                let first = parsed.first();
                found.extend(misfit.or_else(|| authority(chain, first?)));
            }
            Err(because) => found.push(unusable(chain, "certificate", &because)),
        }
    }
    Diagnostic::sort(&mut found);
    // Two profiles may name one file; a finding is at the place, so each is told.
    found.dedup();
    found
}

/// Certificates to trust are read as they will be.
fn trusted(file: &NamedFile) -> Option<Diagnostic> {
    let pem = std::fs::read(&file.path).ok()?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    if all.is_ok_and(|all| all.is_empty()) {
        return None;
    }
    match tls::roots(&file.path, &pem) {
        Err(Fault::Certificate { because, .. }) => Some(unusable(file, "certificate", &because)),
        _ => None,
    }
}

fn parsed<'c>(chain: &'c [CertificateDer<'_>]) -> Result<Vec<X509Certificate<'c>>, String> {
    let one = |der: &'c CertificateDer<'_>| {
        let (_, parsed) =
            x509_parser::parse_x509_certificate(der).map_err(|why| why.to_string())?;
        Ok(parsed)
    };
    chain.iter().map(one).collect()
}

/// Whether the key is that of the first certificate.
fn fit(chain: &NamedFile, all: &[CertificateDer<'static>], key: &NamedFile) -> Option<Diagnostic> {
    let private = PrivateKeyDer::from_pem_file(&key.path).ok()?;
    let signing = match ring::default_provider()
        .key_provider
        .load_private_key(private)
    {
        Ok(signing) => signing,
        Err(why) => return Some(unusable(key, "key", &why.to_string())),
    };
    let fits = |one: &CertificateDer<'static>| {
        CertifiedKey::new(vec![one.clone()], signing.clone()).keys_match()
    };
    match fits(all.first()?) {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => None,
        Err(Error::InconsistentKeys(_)) => {
            let at = all.iter().position(|one| fits(one).is_ok());
            Some(misfit(chain, key, at))
        }
        Err(why) => Some(unusable(chain, "certificate", &why.to_string())),
    }
}

/// `at`: which certificate of the chain the key belongs to, when it is one of the others.
fn misfit(chain: &NamedFile, key: &NamedFile, at: Option<usize>) -> Diagnostic {
    let (key_path, chain_path) = (key.path.display(), chain.path.display());
    let title = format!("the key {key_path} does not fit the certificate {chain_path}");
    let found = Diagnostic::error(codes::KEY_MISFIT, title);
    match at {
        Some(at) => found
            .at(
                &chain.place,
                "the server's own certificate is not the first one in this file",
            )
            .at(&key.place, format!("fits certificate {} of it", at + 1))
            .help("put the server's own certificate first, then those that lead to the authority"),
        None => found
            .at(&key.place, "belongs to no certificate of the chain")
            .at(&chain.place, "the first certificate in this file is shown"),
    }
}

fn out_of_time(
    chain: &NamedFile,
    one: &X509Certificate<'_>,
    now: SystemTime,
) -> Option<Diagnostic> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(since).unwrap_or(i64::MAX);
    let (first, last) = (one.validity().not_before, one.validity().not_after);
    let (what, label) = match (now < first.timestamp(), now > last.timestamp()) {
        (true, _) => ("is not valid yet", format!("valid from {first}")),
        (_, true) => ("has expired", format!("was valid until {last}")),
        _ => return None,
    };
    let title = format!(
        "the certificate of `{}` in {} {what}",
        one.subject(),
        chain.path.display()
    );
    Some(Diagnostic::warning(codes::OUT_OF_TIME, title).at(&chain.place, label))
}

fn authority(chain: &NamedFile, first: &X509Certificate<'_>) -> Option<Diagnostic> {
    let title = format!(
        "{} begins with an authority's certificate",
        chain.path.display()
    );
    first.is_ca().then(|| {
        Diagnostic::warning(codes::AUTHORITY_SHOWN, title)
            .at(&chain.place, "many clients refuse it as a server's own")
            .help("let it sign a certificate for the server's names, and put that one first")
    })
}

fn unusable(file: &NamedFile, what: &str, because: &str) -> Diagnostic {
    let title = format!("the {what} in {} cannot be used", file.path.display());
    Diagnostic::error(codes::UNUSABLE_PEM, title).at(&file.place, because)
}
