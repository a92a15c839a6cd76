//! Whether the suites of a profile leave its keys anything to sign under.
//!
//! Source: RFC 5246 §7.4.2, RFC 8422 §5.3; adr/0028.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_config::model::{Name, Tls};
use gateway_config::{Diagnostic, FileRole, Loaded, NamedFile, codes, pairs, read_pem};
use rustls::SignatureAlgorithm;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;

use crate::pairs::profiles;
use crate::profile::has_suite_for;

/// Looks whether each key of each profile that is shown is of a kind that a suite of the profile takes.
/// What cannot be read is passed over: it has been told of.
#[must_use]
pub fn check_suites(loaded: &Loaded) -> Vec<Diagnostic> {
    let model = loaded.snapshot.model();
    let all: BTreeMap<&Name, &Tls> = profiles(model).map(|one| (&one.name, one)).collect();
    let mut found = Vec::new();
    for tls in all.into_values() {
        for certificate in tls.certificates() {
            let is_it = |chain: &NamedFile, key: &NamedFile| {
                chain.path == certificate.chain && key.path == certificate.key
            };
            let file = pairs(&loaded.files).find(|(chain, key)| is_it(chain, key));
            found.extend(file.and_then(|(_, key)| without_suite(tls, key)));
        }
    }
    Diagnostic::sort(&mut found);
    found
}

fn without_suite(tls: &Tls, file: &NamedFile) -> Option<Diagnostic> {
    let key = signing(file)?;
    let kind = match key.algorithm() {
        _ if has_suite_for(tls, &*key) => return None,
        SignatureAlgorithm::RSA => "an RSA key; no suite of TLS 1.2 listed has `_RSA_`",
        _ => "an ECDSA or Ed25519 key; no suite of TLS 1.2 listed has `_ECDSA_`",
    };
    let title = format!(
        "TLS profile `{}` has no suite for the key {}",
        tls.name,
        file.path.display()
    );
    let found = Diagnostic::error(codes::NO_VERSION, title).at(&file.place, kind);
    Some(
        found
            .help("list a suite of its kind in `suites`, or one of TLS 1.3, which takes every key"),
    )
}

fn signing(file: &NamedFile) -> Option<Arc<dyn SigningKey>> {
    let bytes = read_pem(&file.path, FileRole::Key).ok()?;
    let key = PrivateKeyDer::from_pem_slice(&bytes).ok()?;
    let provider = ring::default_provider().key_provider;
    provider.load_private_key(key).ok()
}
