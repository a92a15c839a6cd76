//! Certificates made for the test: an authority, what it signs, and the two ends of TLS.

use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};

use crate::clock;

/// A certificate authority that only the test that made it trusts.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    trust: Trust,
    pem: String,
    key_pem: String,
}

/// What a party needs to trust an authority.
#[derive(Clone, Debug)]
pub struct Trust {
    root: CertificateDer<'static>,
}

/// A certificate with its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The chain, PEM.
    pub cert_pem: String,
    /// The key, PEM.
    pub key_pem: String,
    certificate: CertificateDer<'static>,
    config: Arc<ServerConfig>,
}

impl Authority {
    /// Makes one.
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = parameters(&[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let cert = params.self_signed(&key).expect("a self-signed certificate");
        let (root, pem) = (cert.der().clone(), cert.pem());
        let key_pem = key.serialize_pem();
        Self {
            key_pem,
            issuer: Issuer::new(params, key),
            trust: Trust { root },
            pem,
        }
    }

    /// What a party that trusts it is given.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its own key, PEM.
    #[must_use]
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// Signs a certificate for these names.
    #[must_use]
    pub fn signs(&self, names: &[&str]) -> Identity {
        self.signs_what(parameters(names))
    }

    /// The same for a key of RSA: one that is well known, since to make one takes its time.
    #[must_use]
    pub fn signs_rsa(&self, names: &[&str]) -> Identity {
        let key = KeyPair::from_pem(include_str!("certs/rsa.key")).expect("a key");
        self.signs_key(parameters(names), &key)
    }

    /// The same, valid from yesterday until so much from now.
    #[must_use]
    pub fn signs_until(&self, names: &[&str], ends: Duration) -> Identity {
        let mut params = parameters(names);
        let now = clock::wall();
        params.not_before = (now - Duration::from_secs(86_400)).into();
        params.not_after = (now + ends).into();
        self.signs_what(params)
    }

    /// The same, valid from the first day of one year to the first day of another.
    #[must_use]
    pub fn signs_for(&self, names: &[&str], years: Range<i32>) -> Identity {
        let mut params = parameters(names);
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        self.signs_what(params)
    }

    /// The same for the key of another.
    #[must_use]
    pub fn signs_again(&self, names: &[&str], years: Range<i32>, of: &Identity) -> Identity {
        let mut params = parameters(names);
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        self.signs_key(params, &KeyPair::from_pem(&of.key_pem).expect("a key"))
    }

    fn signs_what(&self, params: CertificateParams) -> Identity {
        self.signs_key(params, &KeyPair::generate().expect("a key"))
    }

    fn signs_key(&self, mut params: CertificateParams, key: &KeyPair) -> Identity {
        // Under the default, its issuer's, some clients take it for a self-signed one.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "signed");
        let cert = params
            .signed_by(key, &self.issuer)
            .expect("a signed certificate");
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], private)
            .expect("a server configuration");
        Identity {
            cert_pem: cert.pem(),
            key_pem: key.serialize_pem(),
            certificate: cert.der().clone(),
            config: Arc::new(config),
        }
    }

    /// What others need to trust it.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.trust.clone()
    }
}

fn parameters(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("names for a certificate")
}

impl Trust {
    /// A client's end of TLS that trusts this authority only.
    #[must_use]
    pub fn client(
        &self,
        name: &str,
        socket: TcpStream,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        self.client_offering(&[], name, socket)
    }

    /// The same, offering these protocols by ALPN.
    #[must_use]
    pub fn client_offering(
        &self,
        protocols: &[&[u8]],
        name: &str,
        socket: TcpStream,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut config = self.config();
        config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
        let connection =
            ClientConnection::new(Arc::new(config), Self::name(name)).expect("a client");
        StreamOwned::new(connection, socket)
    }

    /// It and nobody else.
    #[must_use]
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).expect("our own authority");
        roots
    }

    pub(crate) fn config(&self) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_root_certificates(self.roots())
            .with_no_client_auth()
    }

    /// A name as the library takes it.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn name(name: &str) -> ServerName<'static> {
        ServerName::try_from(name.to_owned()).expect("a server name")
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    /// The certificate itself.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The configuration of a server that shows it.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The same, asking every client for a certificate of this authority, and serving those too that
    /// show none.
    #[must_use]
    pub fn config_asking(&self, authority: &Authority) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots
            .add(authority.trust.root.clone())
            .expect("our own authority");
        let asks = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .expect("a verifier");
        let chain = CertificateDer::pem_slice_iter(self.cert_pem.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_client_cert_verifier(asks)
            .with_single_cert(chain.map(Result::unwrap).collect(), key.expect("a key"));
        Arc::new(config.expect("a server configuration"))
    }

    /// The same, offering these protocols by ALPN.
    #[must_use]
    pub fn config_offering(&self, protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let mut config = (*self.config).clone();
        config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
        Arc::new(config)
    }
}
