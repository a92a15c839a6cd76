//! Whether handshakes can be made of the certificates and keys that a configuration names.
//!
//! Asked before anything starts and by whoever only checks; says of each pair what
//! [`pairs`](crate::pairs) would stumble over, and what clients would. A file that cannot be read is
//! passed over: [`check_files`](gateway_config::check_files) has said so.
//!
//! Source: adr/0028, adr/0053.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gateway_config::model::{Listener, Name, PairFiles, Site, Tls};
use gateway_config::{
    Diagnostic, FileRole, Loaded, NamedFile, Severity, codes, pairs, read_certificates, read_pem,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;

use crate::covered::Covered;
use crate::fault::Fault;
use crate::pairs::{fits, parsed, signing};
use crate::{clock, tls};

mod suites;

pub use suites::check_suites;

/// Looks at every chain with its key, and at every file of certificates to trust.
#[must_use]
pub fn check_certificates(files: &[NamedFile]) -> Vec<Diagnostic> {
    check_at(files, clock::wall())
}

fn check_at(files: &[NamedFile], now: SystemTime) -> Vec<Diagnostic> {
    let roots = files.iter().filter(|file| file.role == FileRole::Ca);
    let mut found: Vec<Diagnostic> = roots.filter_map(trusted).collect();
    for (chain, key) in pairs(files) {
        let Ok(certificates) = read_certificates(&chain.path) else {
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
            Err(because) => found.push(unusable(chain, "certificate", because)),
        }
    }
    Diagnostic::sort(&mut found);
    // Two profiles may name one file; a finding is at the place, so each is told.
    found.dedup();
    found
}

/// What of this is lived with: where each listener can show another certificate, or one that is `shown`
/// already and stays so, one that cannot be used keeps nothing else from being served, and is a warning.
#[must_use]
pub fn live_with(loaded: &Loaded, found: Vec<Diagnostic>, shown: &[PairFiles]) -> Vec<Diagnostic> {
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
        all.any(|one| shown.contains(&one) || !broken.contains(&(&*one.chain, &*one.key)))
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

/// Looks whether the certificates that a site is served under cover each of its hosts.
#[must_use]
pub fn check_names(loaded: &Loaded) -> Vec<Diagnostic> {
    let model = loaded.snapshot.model();
    let mut known: BTreeMap<&Path, Option<Covered>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for site in model.sites.iter().filter(|site| !site.hosts.is_empty()) {
        let of_site = |one: &&Listener| site.listeners().any(|name| *name == one.name);
        for listener in model.listeners.iter().filter(of_site) {
            let Some(own) = listener.tls.as_ref() else {
                continue;
            };
            let profile = site.tls.as_deref().unwrap_or(own);
            for chain in chains(profile) {
                known.entry(chain).or_insert_with(|| covered(chain));
            }
            let all = chains(profile).map(|chain| known.get(chain)?.as_ref());
            // What cannot be read, or is an authority's, has been told of.
            let Some(all) = all.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let is_left_out = |host: &&Name| !all.iter().any(|one| one.lists(host));
            let left_out: Vec<&str> = site
                .hosts
                .iter()
                .filter(is_left_out)
                .map(|host| &**host)
                .collect();
            if !left_out.is_empty() && told.insert((&site.name, &profile.name)) {
                let named =
                    |file: &&NamedFile| file.role == FileRole::Chain && file.path == profile.chain;
                let file = loaded.files.iter().find(named);
                let names = all.iter().flat_map(|one| one.all()).collect();
                found.extend(file.map(|file| uncovered(file, site, &left_out, names)));
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

/// What the first certificate of a file covers, unless it is an authority's.
fn covered(chain: &Path) -> Option<Covered> {
    let all = read_certificates(chain).ok()?;
    let is_authority = parsed(&all).ok()?.first()?.is_ca();
    let first = all.first().filter(|_| !is_authority)?;
    Some(Covered::of(first))
}

fn uncovered(file: &NamedFile, site: &Site, left_out: &[&str], names: Vec<String>) -> Diagnostic {
    let title = format!(
        "the certificate in {} does not cover hosts of site `{}`: {}",
        file.path.display(),
        site.name,
        some(left_out)
    );
    let label = match &*names {
        [] => "it has no names of hosts".to_owned(),
        names => format!("made for {}", some(names)),
    };
    Diagnostic::warning(codes::NAMES_UNCOVERED, title)
        .at(&file.place, label)
        .help("give the site a profile of its own with `tls`, or the certificate the site's names")
}

/// As many of them as are worth reading, and how many more there are.
fn some<N: AsRef<str>>(names: &[N]) -> String {
    const SHOWN: usize = 8;

    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!(" and {more} more"));
    shown.join(", ") + &more.unwrap_or_default()
}

/// Certificates to trust are read as they will be.
fn trusted(file: &NamedFile) -> Option<Diagnostic> {
    let all = read_certificates(&file.path).ok()?;
    match tls::roots(&file.path, Ok(all)) {
        Err(Fault::Certificate { because, .. }) => Some(unusable(file, "certificate", &because)),
        _ => None,
    }
}

/// Whether the key is that of the first certificate. Who else may read it has been told of.
fn fit(chain: &NamedFile, all: &[CertificateDer<'static>], key: &NamedFile) -> Option<Diagnostic> {
    let private = read_pem(&key.path, FileRole::Chain).ok()?;
    let private = PrivateKeyDer::from_pem_slice(&private).ok()?;
    let Ok(signing) = signing(private) else {
        let because = "it is damaged, or of a kind that is not spoken here";
        return Some(unusable(key, "key", because).help(KINDS));
    };
    let of = |one: &CertificateDer<'static>| CertifiedKey::new(vec![one.clone()], signing.clone());
    match fits(&of(all.first()?)) {
        Ok(true) => None,
        Ok(false) => {
            let at = all.iter().position(|one| fits(&of(one)) == Ok(true));
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
    fn eight_names_are_enough() {
        let names: Vec<String> = (0..10).map(|count| format!("{count}.test")).collect();
        let eight = "0.test, 1.test, 2.test, 3.test, 4.test, 5.test, 6.test, 7.test";
        assert_eq!(some(&names[..1]), "0.test");
        assert_eq!(some(&names[..8]), eight);
        assert_eq!(some(&names), format!("{eight} and 2 more"));
    }
}
