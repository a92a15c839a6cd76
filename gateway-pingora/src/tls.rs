//! How connections to nodes are encrypted.
//!
//! There is no client certificate anywhere: none is asked of a client, none is shown to a node, and
//! nothing here could load one (DESIGN: deliberately absent).

use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use gateway_config::canonical::split_port;
use gateway_config::model::{NodeTls, Pool, TlsName};
use gateway_config::{certificates, read_certificates};
use pingora_core::protocols::tls::CaType;
use pingora_core::utils::tls::{WrappedX509, parse_x509};
use rustls::pki_types::{CertificateDer, ServerName};

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
    /// [`Fault::Certificate`] names the file that cannot be read.
    pub(crate) fn new(tls: &NodeTls) -> Result<Self, Fault> {
        let (is_tls, is_verified, roots) = match tls {
            NodeTls::Clear => (false, false, None),
            NodeTls::System => (true, true, Some(system_roots()?)),
            NodeTls::Unverified => (
                true,
                false,
                Some(roots(Path::new("nobody"), certificates(NOBODY))?),
            ),
            NodeTls::Verified(path) => (true, true, Some(roots(path, read_certificates(path))?)),
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

/// The name checked in a node's certificate: its own setting, else what its pool says.
pub(crate) fn name<'a>(pool: &'a Pool, node: &'a str, addr: &'a str) -> &'a str {
    let told = pool.nodes.iter().find(|one| *one.name == *node);
    match (
        told.and_then(|told| told.tls_name.as_deref()),
        &pool.tls_name,
    ) {
        (Some(name), _) => name,
        (None, TlsName::Address) => host(addr),
        (None, TlsName::Literal(name)) => name,
        (None, TlsName::Node) => node,
    }
}

/// The host of `HOST:PORT`, without the brackets of an IPv6 address.
fn host(addr: &str) -> &str {
    let (host, _) = split_port(addr);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Sees to it that each node of a pool has a name that can be checked: without one Pingora checks
/// nothing, and a `_` in it would be taken for a `-`.
///
/// # Errors
/// [`Fault::NodeName`] names the first that has none.
pub(crate) fn check_names(pool: &Pool) -> Result<(), Fault> {
    let is_such = |name: &str| !name.contains('_') && ServerName::try_from(name).is_ok();
    for node in &pool.nodes {
        let name = name(pool, &node.name, &node.addr);
        if !is_such(name) {
            return Err(Fault::NodeName {
                pool: Arc::clone(&pool.name),
                node: Arc::clone(&node.name),
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

/// Whom the system trusts, as OpenSSL would find it: in `SSL_CERT_FILE` and `SSL_CERT_DIR` where the
/// process is told of them. One certificate of many that cannot be used is left out, as others leave it.
fn system_roots() -> Result<Arc<CaType>, Fault> {
    let place = Path::new("the certificates of the system");
    let found = rustls_native_certs::load_native_certs()
        .map_err(|error| Fault::certificate(place, error))?;
    let usable = found
        .into_iter()
        .filter_map(|certificate| root(&certificate).ok());
    let roots: Vec<WrappedX509> = usable.collect();
    match roots.is_empty() {
        true => Err(Fault::certificate(place, "there are none")),
        false => Ok(roots.into()),
    }
}

/// A certificate that both readers take that will see it later: one of them panics.
fn root(certificate: &CertificateDer<'static>) -> Result<WrappedX509, String> {
    rustls::RootCertStore::empty()
        .add(certificate.clone())
        .map_err(|error| error.to_string())?;
    x509_parser::parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
    Ok(WrappedX509::new(certificate.to_vec(), parse_x509))
}

/// Whom a connection is to trust: the certificates of a file.
///
/// # Errors
/// [`Fault::Certificate`]: they could not be read, or one of them cannot be used.
pub(crate) fn roots(
    path: &Path,
    read: io::Result<Vec<CertificateDer<'static>>>,
) -> Result<Arc<CaType>, Fault> {
    let all = read.map_err(|why| Fault::certificate(path, why))?;
    let roots: Result<Vec<_>, _> = all.iter().map(root).collect();
    Ok(roots.map_err(|why| Fault::certificate(path, why))?.into())
}
