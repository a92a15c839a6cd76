//! Whether handshakes can be made of the certificates and keys that a configuration names.
//!
//! Asked before anything starts and by whoever only checks; says of each pair what
//! `tls` would stumble over, and what clients would. A file that cannot be read is
//! passed over: [`check_files`](gateway_config::check_files) has said so.
//!
//! Source: adr/0028.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gateway_config::model::{Listener, Site, Tls};
use gateway_config::{Diagnostic, FileRole, Loaded, NamedFile, Severity, codes, pairs};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

use crate::fault::Fault;
use crate::{clock, tls};

mod suites;

pub use suites::check_suites;

/// Looks at every chain with its key, and at every file of certificates to trust.
#[must_use]
pub fn check_certificates(files: &[NamedFile]) -> Vec<Diagnostic> {
    check_at(files, clock::wall())
}

fn check_at(files: &[NamedFile], now: SystemTime) -> Vec<Diagnostic> {
    // Opening what is no file, a pipe say, may wait for ever.
    let is_file = |one: &NamedFile| one.path.is_file();
    let roots = files
        .iter()
        .filter(|file| file.role == FileRole::Ca && is_file(file));
    let mut found: Vec<Diagnostic> = roots.filter_map(trusted).collect();
    for (chain, key) in pairs(files).filter(|(chain, key)| is_file(chain) && is_file(key)) {
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

/// What of this is lived with: where each listener can show another certificate, one that cannot be used
/// keeps nothing else from being served, and is a warning.
#[must_use]
pub fn live_with(loaded: &Loaded, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let is_at =
        |one: &Diagnostic, file: &NamedFile| one.labels.iter().any(|at| at.place == file.place);
    let errors: Vec<&Diagnostic> = found.iter().filter(is_error).collect();
    let is_broken = |file: &NamedFile| errors.iter().any(|one| is_at(one, file));
    let all: Vec<_> = pairs(&loaded.files).collect();
    let broken = all
        .iter()
        .filter(|(chain, key)| is_broken(chain) || is_broken(key));
    let broken: BTreeSet<(&Path, &Path)> = broken
        .map(|(chain, key)| (&*chain.path, &*key.path))
        .collect();
    let model = loaded.snapshot.model();
    let mut encrypted = model.listeners.iter().filter(|one| one.tls.is_some());
    let shows_some = |listener: &Listener| {
        let is_here = |site: &&Site| site.listeners().any(|name| *name == listener.name);
        let of_sites = model.sites.iter().filter(is_here);
        let profiles = of_sites.filter_map(|site| site.tls.as_deref());
        let mut all = profiles.chain(&listener.tls).flat_map(Tls::certificates);
        all.any(|one| !broken.contains(&(&*one.chain, &*one.key)))
    };
    if !encrypted.all(shows_some) {
        return found;
    }
    let of_pairs: Vec<&NamedFile> = all
        .into_iter()
        .flat_map(|(chain, key)| [chain, key])
        .collect();
    let softened = |mut one: Diagnostic| {
        if of_pairs.iter().any(|file| is_at(&one, file)) {
            one.severity = Severity::Warning;
        }
        one
    };
    found.into_iter().map(softened).collect()
}

/// Looks whether the certificates that a site is served under have one of its names.
#[must_use]
pub fn check_names(loaded: &Loaded) -> Vec<Diagnostic> {
    let model = loaded.snapshot.model();
    let mut known: BTreeMap<&Path, Option<Vec<String>>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for site in model.sites.iter().filter(|site| !site.hosts.is_empty()) {
        let of_site = |one: &&Listener| site.listeners().any(|name| *name == one.name);
        for listener in model.listeners.iter().filter(of_site) {
            let Some(own) = listener.tls.as_ref() else {
                continue;
            };
            let profile = site.tls.as_deref().unwrap_or(own);
            let chains: Vec<&Path> = chains(profile).collect();
            for chain in &chains {
                known.entry(chain).or_insert_with(|| names_in(chain));
            }
            let names = chains.iter().map(|chain| known.get(chain)?.as_ref());
            // What cannot be read, or is an authority's, has been told of.
            let Some(names) = names.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let names = || names.iter().copied().flatten();
            let is_covered = site
                .hosts
                .iter()
                .any(|host| names().any(|name| covers(name, host)));
            if !is_covered && told.insert((&site.name, &profile.name)) {
                let named =
                    |file: &&NamedFile| file.role == FileRole::Chain && file.path == profile.chain;
                let file = loaded.files.iter().find(named);
                found.extend(file.map(|file| uncovered(file, site, names())));
            }
        }
    }
    found
}

/// The files of a profile's certificates.
fn chains(profile: &Tls) -> impl Iterator<Item = &Path> {
    let also = profile.also.iter().map(|one| one.chain.as_path());
    std::iter::once(profile.chain.as_path()).chain(also)
}

/// The names that the first certificate of a file is for.
fn names_in(chain: &Path) -> Option<Vec<String>> {
    if !chain.is_file() {
        return None;
    }
    let all = tls::certificates(chain).ok()?;
    let parsed = parsed(&all).ok()?;
    let first = parsed.first().filter(|first| !first.is_ca())?;
    let names = first.subject_alternative_name().ok()?;
    let names = names
        .into_iter()
        .flat_map(|names| &names.value.general_names);
    let dns = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    };
    Some(names.filter_map(dns).collect())
}

/// Whether a name of a certificate stands for a host (RFC 6125 §6.4.3); a host with a `*` is only by itself.
fn covers(name: &str, host: &str) -> bool {
    let below = name.strip_prefix("*.");
    name == host
        || below.is_some_and(|parent| {
            host.split_once('.')
                .is_some_and(|(label, rest)| label != "*" && rest == parent)
        })
}

fn uncovered<'n>(
    file: &NamedFile,
    site: &Site,
    names: impl Iterator<Item = &'n String>,
) -> Diagnostic {
    /// Most names that are worth reading.
    const SHOWN: usize = 8;

    let names: Vec<&str> = names.take(SHOWN).map(String::as_str).collect();
    let label = match names.as_slice() {
        [] => "it has no names of hosts".to_owned(),
        some => format!("made for {}", some.join(", ")),
    };
    let title = format!(
        "the certificate in {} has none of the hosts of site `{}`",
        file.path.display(),
        site.name
    );
    Diagnostic::warning(codes::NAMES_UNCOVERED, title)
        .at(&file.place, label)
        .help("give the site a profile of its own with `tls`, or the certificate the site's names")
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
        let (_, parsed) = x509_parser::parse_x509_certificate(der)
            .map_err(|_| "what the block holds is no certificate, or a part of one".to_owned())?;
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
        Err(_) => {
            let because = "it is damaged, or of a kind that is not spoken here";
            return Some(unusable(key, "key", because).help(KINDS));
        }
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

/// The keys that handshakes can be made with.
const KINDS: &str = "keys are RSA of 2048 to 4096 bits, ECDSA over P-256 or P-384, or Ed25519";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        for (name, host, is_covered) in [
            ("a.test", "a.test", true),
            ("*.test", "a.test", true),
            ("*.test", "a.b.test", false),
            ("*.test", "*.test", true),
            ("*.test", "test", false),
            ("*.b.test", "*.test", false),
            ("*.test", "*.b.test", false),
            ("a.test", "*.test", false),
        ] {
            assert_eq!(covers(name, host), is_covered, "{name} {host}");
        }
    }
}
