//! How connections to nodes are encrypted, and the certificates of a file.
//!
//! There is no client certificate anywhere: none is asked of a client, none is shown to a node, and
//! nothing here could load one (DESIGN: deliberately absent).

use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use gateway_config::model::NodeTls;
use pingora_core::protocols::tls::CaType;
use pingora_core::utils::tls::{WrappedX509, parse_x509};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::fault::Fault;

/// A root that has signed nothing and whose key is gone. A TLS client is never without a root,
/// not even where nobody checks.
const NOBODY: &[u8] = include_bytes!("tls/nobody.pem");

/// How the connections of a pool are encrypted.
#[derive(Clone)]
pub(crate) struct Transport {
    /// Whether they are.
    pub(crate) is_tls: bool,
    /// Whether chain and name are checked.
    pub(crate) is_verified: bool,
    /// Whom they trust; nobody else is trusted.
    pub(crate) roots: Option<Arc<CaType>>,
}

impl Transport {
    /// Reads what a pool needs.
    ///
    /// # Errors
    /// [`Fault::Certificate`] names the file that cannot be read; [`Fault::NotServed`].
    pub(crate) fn new(tls: &NodeTls) -> Result<Self, Fault> {
        let (is_tls, is_verified, roots) = match tls {
            NodeTls::Clear => (false, false, None),
            // Refused before this is reached: it is no capability of ours.
            NodeTls::System => {
                let what = "trust in the system's roots".to_owned();
                return Err(Fault::NotServed { what });
            }
            NodeTls::Unverified => (true, false, Some(roots(Path::new("nobody"), NOBODY)?)),
            NodeTls::Verified(path) => {
                let pem = std::fs::read(path).map_err(|error| fault(path, error))?;
                (true, true, Some(roots(path, &pem)?))
            }
        };
        Ok(Transport {
            is_tls,
            is_verified,
            roots,
        })
    }
}

impl Transport {
    /// Feeds whom these connections trust to a hash: a connection made under other roots is not
    /// taken from the pool.
    pub(crate) fn hash_roots(&self, hasher: &mut impl Hasher) {
        for root in self.roots.iter().flat_map(|roots| roots.iter()) {
            root.borrow_raw_cert().hash(hasher);
        }
    }
}

/// Whom a connection is to trust.
pub(crate) fn roots(path: &Path, pem: &[u8]) -> Result<Arc<CaType>, Fault> {
    let mut store = rustls::RootCertStore::empty();
    let mut roots = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| fault(path, error))?;
        // Both readers that will see it later are asked first: one of them panics.
        store
            .add(certificate.clone())
            .map_err(|error| fault(path, error))?;
        x509_parser::parse_x509_certificate(&certificate).map_err(|error| fault(path, error))?;
        roots.push(WrappedX509::new(certificate.to_vec(), parse_x509));
    }
    match roots.is_empty() {
        true => Err(fault(path, "it holds no certificate")),
        false => Ok(roots.into()),
    }
}

/// The certificates of a chain, as they stand in its file.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let pem = std::fs::read(path).map_err(|error| fault(path, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|error| fault(path, error))?;
    match found.is_empty() {
        true => Err(fault(path, "it holds no certificate")),
        false => Ok(found),
    }
}

fn fault(path: &Path, because: impl ToString) -> Fault {
    Fault::Certificate {
        path: path.to_owned(),
        because: because.to_string(),
    }
}
