//! A TLS profile as one listener shows it: what may be agreed on, and the certificates.
//!
//! Each certificate of each has ticket keys of its own: a session that was begun under it is resumed
//! under it, and under no other. One that is shown over a reload under the same rules keeps them.
//!
//! Source: GATEWAY §7; adr/0053.

use std::sync::Arc;

use gateway_config::model::{Listener, Name, Protocols, Tls};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, NoServerSessionStorage, ServerConnection};
use rustls::sign::{SigningKey, SingleCertAndKey};
use rustls::{
    CipherSuite, HandshakeKind, NamedGroup, ProtocolVersion, ServerConfig, SignatureScheme,
    SupportedCipherSuite, SupportedProtocolVersion, version,
};

use crate::fault::Fault;
use crate::pairs::{Pair, Pairs};

/// What may be agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    tls12: bool,
    tls13: bool,
    /// By their IANA names; `None`: all there are.
    suites: Option<Vec<&'static str>>,
    protocols: Protocols,
    resumption: bool,
}

/// What a handshake came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The name that was asked for.
    pub(crate) name: Option<Box<str>>,
    version: Option<ProtocolVersion>,
    suite: Option<CipherSuite>,
    protocol: Protocol,
    is_resumed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// A profile as a listener shows it.
pub(crate) struct Profile {
    name: Name,
    /// What may be agreed on.
    pub(crate) policy: Policy,
    /// In the order in which they are shown; empty: none of them can be used.
    certificates: Vec<Certificate>,
}

/// One of the certificates of a profile, and the configuration that shows it.
#[derive(Clone)]
pub(crate) struct Certificate {
    /// The certificate.
    pub(crate) pair: Arc<Pair>,
    /// What handshakes are done with.
    pub(crate) config: Arc<ServerConfig>,
}

impl Policy {
    fn of(tls: &Tls, of_listener: Protocols) -> Self {
        // A version without a suite is not spoken. Those of TLS 1.3 name no key exchange.
        let has = |is_old: bool| {
            let all = tls.suites.as_ref();
            all.is_none_or(|all| all.iter().any(|one| one.contains("_WITH_") == is_old))
        };
        Policy {
            tls12: tls.tls12 && has(true),
            tls13: tls.tls13 && has(false),
            suites: tls.suites.clone(),
            protocols: tls.alpn.unwrap_or(of_listener),
            resumption: tls.resumption,
        }
    }

    /// Whether a handshake under it could have come to this.
    pub(crate) fn allows(&self, agreed: &Agreed) -> bool {
        let version = match agreed.version {
            Some(ProtocolVersion::TLSv1_2) => self.tls12,
            Some(ProtocolVersion::TLSv1_3) => self.tls13,
            _ => false,
        };
        let protocol = match agreed.protocol {
            Protocol::Http1 => self.protocols.http1,
            Protocol::Http2 => self.protocols.http2,
        };
        let kind = self.resumption || !agreed.is_resumed;
        version && protocol && kind && agreed.suite.is_some_and(|suite| self.has(suite))
    }

    /// Whether a client may speak HTTP/1.1.
    pub(crate) fn speaks_http1(&self) -> bool {
        self.protocols.http1
    }

    fn has(&self, suite: CipherSuite) -> bool {
        let all = self.suites.as_ref();
        all.is_none_or(|all| iana(suite).is_some_and(|name| all.contains(&&*name)))
    }

    fn provider(&self) -> CryptoProvider {
        let mut provider = ring::default_provider();
        provider.cipher_suites.retain(|one| match one {
            SupportedCipherSuite::Tls12(_) => self.tls12 && self.has(one.suite()),
            SupportedCipherSuite::Tls13(_) => self.tls13 && self.has(one.suite()),
        });
        provider
    }

    fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let all = [(self.tls13, &version::TLS13), (self.tls12, &version::TLS12)];
        let spoken = all.into_iter().filter(|(is_spoken, _)| *is_spoken);
        spoken.map(|(_, version)| version).collect()
    }

    fn alpn(&self) -> Vec<Vec<u8>> {
        let all = [
            (self.protocols.http2, &b"h2"[..]),
            (self.protocols.http1, b"http/1.1"),
        ];
        let offered = all.into_iter().filter(|(is_offered, _)| *is_offered);
        offered.map(|(_, name)| name.to_vec()).collect()
    }

    /// What handshakes are done with that show this certificate.
    ///
    /// # Errors
    /// What the library says.
    fn config(&self, pair: &Pair) -> Result<ServerConfig, rustls::Error> {
        let shows = SingleCertAndKey::from(Arc::clone(&pair.certified));
        let mut config = ServerConfig::builder_with_provider(Arc::new(self.provider()))
            .with_protocol_versions(&self.versions())?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(shows));
        config.alpn_protocols = self.alpn();
        // Tickets do it all: nothing is kept here of clients that have gone.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        // A second ticket costs 5 % of a handshake and is hardly ever used (adr/0014).
        config.send_tls13_tickets = usize::from(self.resumption);
        if self.resumption {
            config.ticketer = ring::Ticketer::new()?;
        }
        Ok(config)
    }
}

/// Whether a profile has a suite under which this key can sign.
pub(crate) fn has_suite_for(tls: &Tls, key: &dyn SigningKey) -> bool {
    let either = Protocols {
        http1: true,
        http2: true,
    };
    let suites = Policy::of(tls, either).provider().cipher_suites;
    suites
        .iter()
        .any(|one| one.usable_for_signature_algorithm(key.algorithm()))
}

/// The registered name of a suite, which says nothing of the version.
fn iana(suite: CipherSuite) -> Option<String> {
    Some(suite.as_str()?.replacen("TLS13_", "TLS_", 1))
}

impl Agreed {
    /// What a handshake came to that has ended.
    pub(crate) fn of(connection: &ServerConnection) -> Self {
        let suite = connection.negotiated_cipher_suite();
        Agreed {
            name: connection.server_name().map(Into::into),
            version: connection.protocol_version(),
            suite: suite.map(|suite| suite.suite()),
            // Who offers none means HTTP/1.1 (RFC 9113 §3.2).
            protocol: match connection.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            },
            is_resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }
}

impl Profile {
    /// A profile with what is known of its certificates, each as it was `before` where nothing differs.
    ///
    /// # Errors
    /// [`Fault::Profile`]: no handshake can be done under it.
    pub(crate) fn new(
        tls: &Tls,
        listener: &Listener,
        pairs: &Pairs,
        before: Option<&Arc<Profile>>,
    ) -> Result<Arc<Self>, Fault> {
        let known = tls.certificates();
        let shown = known.filter_map(|files| pairs.get(&files)?.shown.clone());
        let of_listener = Protocols {
            http1: listener.http1,
            http2: listener.http2,
        };
        let policy = Policy::of(tls, of_listener);
        let profile = Profile::showing(shown, &tls.name, policy, before.map(|before| &**before));
        let profile = profile.map_err(|why| Fault::Profile {
            profile: Arc::clone(&tls.name),
            because: why.to_string(),
        })?;
        Ok(Arc::new(profile))
    }

    fn showing(
        shown: impl Iterator<Item = Arc<Pair>>,
        name: &Name,
        policy: Policy,
        before: Option<&Profile>,
    ) -> Result<Self, rustls::Error> {
        let before = before.filter(|before| before.policy == policy);
        let before = before.map_or(&[][..], |before| &before.certificates);
        let made = |pair: Arc<Pair>| {
            let same = before.iter().find(|one| Arc::ptr_eq(&one.pair, &pair));
            same.map_or_else(|| Certificate::new(&policy, pair), |same| Ok(same.clone()))
        };
        let certificates: Result<_, _> = shown.map(made).collect();
        Ok(Profile {
            name: Arc::clone(name),
            certificates: certificates?,
            policy,
        })
    }

    /// The first certificate that a client can take, or, where it can take none, the first, which it
    /// may tell us itself. `None`: none can be used.
    pub(crate) fn choose(&self, said: &ClientHello<'_>, knows_tls13: bool) -> Option<&Certificate> {
        let version = match self.policy.tls13 && knows_tls13 {
            true => ProtocolVersion::TLSv1_3,
            false => ProtocolVersion::TLSv1_2,
        };
        let schemes = schemes(said, version);
        let mut all = self.certificates.iter();
        let fits = all.find(|one| one.fits(said, version, &schemes));
        fits.or_else(|| self.certificates.first())
    }

    /// Its name.
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }
}

impl Certificate {
    /// A certificate with ticket keys of its own.
    ///
    /// # Errors
    /// What the library says.
    fn new(policy: &Policy, pair: Arc<Pair>) -> Result<Self, rustls::Error> {
        let config = Arc::new(policy.config(&pair)?);
        Ok(Certificate { pair, config })
    }

    /// Whether its key can sign under one of these, and with a suite in common: in TLS 1.2 one that is
    /// for its kind (RFC 5246 §7.4.2).
    fn fits(
        &self,
        said: &ClientHello<'_>,
        version: ProtocolVersion,
        schemes: &[SignatureScheme],
    ) -> bool {
        let key = &self.pair.certified.key;
        let suites = self.config.crypto_provider().cipher_suites.iter();
        let mut common = suites.filter(|one| {
            one.version().version == version && said.cipher_suites().contains(&one.suite())
        });
        common.any(|one| match one {
            SupportedCipherSuite::Tls12(suite) => {
                let schemes = suite.resolve_sig_schemes(schemes);
                key.choose_scheme(&schemes).is_some()
            }
            SupportedCipherSuite::Tls13(_) => key.choose_scheme(schemes).is_some(),
        })
    }
}

/// What a client takes for a signature under a version: in TLS 1.3 none of RSA as it was before (RFC
/// 8446 §4.2.3); in TLS 1.2 one over a curve only where it knows the curve (RFC 8422 §5.1), of which
/// here each has one scheme.
fn schemes(said: &ClientHello<'_>, version: ProtocolVersion) -> Vec<SignatureScheme> {
    let is_new = version == ProtocolVersion::TLSv1_3;
    let groups = said.named_groups();
    let knows = |group| is_new || groups.is_none_or(|groups| groups.contains(&group));
    let is_usable = |scheme: &SignatureScheme| match scheme {
        SignatureScheme::RSA_PKCS1_SHA256
        | SignatureScheme::RSA_PKCS1_SHA384
        | SignatureScheme::RSA_PKCS1_SHA512 => !is_new,
        SignatureScheme::ECDSA_NISTP256_SHA256 => knows(NamedGroup::secp256r1),
        SignatureScheme::ECDSA_NISTP384_SHA384 => knows(NamedGroup::secp384r1),
        _ => true,
    };
    let offered = said.signature_schemes().iter().copied();
    offered.filter(is_usable).collect()
}

#[cfg(test)]
mod tests;
