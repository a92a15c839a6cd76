//! Mutual TLS for peers over TCP: none is heard without a certificate that we know the signer of.

use std::path::Path;
use std::sync::Arc;

use gateway_config::{FileRole, read_certificates, read_pem};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::NotBound;
use crate::cli;

/// What the interface does handshakes with.
///
/// # Errors
/// [`NotBound::File`] names the file that cannot be used.
pub(super) fn config(settings: &cli::Control) -> Result<Arc<ServerConfig>, NotBound> {
    let path = |path: &Option<std::path::PathBuf>| path.clone().unwrap_or_default();
    let (cert, key, ca) = (
        path(&settings.cert),
        path(&settings.key),
        path(&settings.ca),
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for root in read_certificates(&ca).map_err(|why| file("ca", &ca, &why))? {
        roots.add(root).map_err(|why| file("ca", &ca, &why))?;
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|why| file("ca", &ca, &why))?;
    let chain = read_certificates(&cert).map_err(|why| file("cert", &cert, &why))?;
    let secret = read_pem(&key, FileRole::Key).map_err(|why| file("key", &key, &why))?;
    let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|why| file("key", &key, &why))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| file("cert", &cert, &why))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, secret)
        .map_err(|why| file("cert", &cert, &why))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn file(flag: &'static str, path: &Path, why: &dyn std::fmt::Display) -> NotBound {
    NotBound::File {
        flag,
        path: path.display().to_string(),
        why: why.to_string(),
    }
}
