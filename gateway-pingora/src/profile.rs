//! A TLS profile as one listener shows it: what may be agreed on, and the certificates.
//!
//! Each has ticket keys of its own, made when it is made: a session that was begun under it is resumed
//! under it, and under no other. One that stays as it is over a reload keeps them.
//!
//! Source: GATEWAY §7; adr/0053.

use std::sync::Arc;

use gateway_config::model::{Listener, Name, Protocols, Tls};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, NoServerSessionStorage, ServerConnection};
use rustls::sign::SingleCertAndKey;
use rustls::{
    CipherSuite, ProtocolVersion, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    version,
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
pub(crate) struct Certificate {
    /// The certificate.
    pub(crate) pair: Arc<Pair>,
    /// What handshakes are done with.
    pub(crate) config: Arc<ServerConfig>,
}

impl Policy {
    fn of(tls: &Tls, listener: &Listener) -> Self {
        let of_listener = Protocols {
            http1: listener.http1,
            http2: listener.http2,
        };
        Policy {
            tls12: tls.tls12,
            tls13: tls.tls13,
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
        version && protocol && agreed.suite.is_some_and(|suite| self.has(suite))
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

    /// What handshakes are done with, but for the certificate.
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
        Ok(config)
    }
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
        }
    }
}

impl Profile {
    /// A profile with what is known of its certificates, or the one `before` where nothing differs.
    ///
    /// # Errors
    /// [`Fault::Profile`]: no handshake can be done under it.
    pub(crate) fn new(
        tls: &Tls,
        listener: &Listener,
        pairs: &Pairs,
        before: Option<&Arc<Profile>>,
    ) -> Result<Arc<Self>, Fault> {
        let policy = Policy::of(tls, listener);
        let known = tls.certificates();
        let shown = known.filter_map(|files| pairs.get(&files)?.shown.clone());
        let shown: Vec<Arc<Pair>> = shown.collect();
        if let Some(before) = before.filter(|before| before.is(tls, &policy, &shown)) {
            return Ok(Arc::clone(before));
        }
        let fault = |why: rustls::Error| Fault::Profile {
            profile: Arc::clone(&tls.name),
            because: why.to_string(),
        };
        let tickets = policy.resumption.then(ring::Ticketer::new);
        let tickets = tickets.transpose().map_err(fault)?;
        let with_config = |pair: Arc<Pair>| {
            let mut config = policy.config(&pair)?;
            if let Some(tickets) = &tickets {
                config.ticketer = Arc::clone(tickets);
            }
            let config = Arc::new(config);
            Ok(Certificate { pair, config })
        };
        let certificates: Result<_, _> = shown.into_iter().map(with_config).collect();
        Ok(Arc::new(Profile {
            name: Arc::clone(&tls.name),
            certificates: certificates.map_err(fault)?,
            policy,
        }))
    }

    fn is(&self, tls: &Tls, policy: &Policy, shown: &[Arc<Pair>]) -> bool {
        let own = self.certificates.iter().map(|one| &one.pair);
        self.name == tls.name
            && self.policy == *policy
            && self.certificates.len() == shown.len()
            && own.zip(shown).all(|(own, shown)| Arc::ptr_eq(own, shown))
    }

    /// The first certificate that a client can take, or, where it can take none, the first, which it
    /// may tell us itself. `None`: none can be used.
    pub(crate) fn choose(&self, hello: &ClientHello<'_>) -> Option<&Certificate> {
        let mut all = self.certificates.iter();
        let fits = all.find(|one| one.fits(hello));
        fits.or_else(|| self.certificates.first())
    }

    /// Its name.
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }
}

impl Certificate {
    /// Whether a signature of this key can be agreed on: in TLS 1.3 by its scheme alone, before by a
    /// suite that takes it as well (RFC 8446 §4.2.3, RFC 5246 §7.4.3).
    fn fits(&self, hello: &ClientHello<'_>) -> bool {
        let key = &self.pair.certified.key;
        let offered = hello.signature_schemes();
        let suites = &self.config.crypto_provider().cipher_suites;
        let mut common = suites
            .iter()
            .filter(|one| hello.cipher_suites().contains(&one.suite()));
        common.any(|one| match one {
            SupportedCipherSuite::Tls12(suite) => {
                let schemes = suite.resolve_sig_schemes(offered);
                key.choose_scheme(&schemes).is_some()
            }
            SupportedCipherSuite::Tls13(_) => key.choose_scheme(offered).is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_was_agreed_on_is_held_to_version_suite_and_protocol() {
        let mut tls = Tls::new("t".into(), PathBuf::new(), PathBuf::new());
        let listener = Listener::new("l".into(), ([127, 0, 0, 1], 0).into());
        let agreed = |version, suite, protocol| Agreed {
            name: None,
            version: Some(version),
            suite: Some(suite),
            protocol,
        };
        let old = agreed(
            ProtocolVersion::TLSv1_2,
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            Protocol::Http1,
        );
        let new = agreed(
            ProtocolVersion::TLSv1_3,
            CipherSuite::TLS13_AES_256_GCM_SHA384,
            Protocol::Http1,
        );
        let http2 = Agreed {
            protocol: Protocol::Http2,
            ..new.clone()
        };
        let mut allows = |change: fn(&mut Tls)| {
            change(&mut tls);
            let policy = Policy::of(&tls, &listener);
            [&old, &new, &http2].map(|agreed| policy.allows(agreed))
        };

        assert_eq!(allows(|_| ()), [true, true, false]);
        assert_eq!(allows(|tls| tls.tls12 = false), [false, true, false]);
        let offer = |tls: &mut Tls| {
            tls.alpn = Some(Protocols {
                http1: false,
                http2: true,
            });
        };
        assert_eq!(allows(offer), [false, false, true]);
        let other = |tls: &mut Tls| tls.suites = Some(vec!["TLS_AES_128_GCM_SHA256"]);
        assert_eq!(allows(other), [false, false, false]);
        let same = |tls: &mut Tls| tls.suites = Some(vec!["TLS_AES_256_GCM_SHA384"]);
        assert_eq!(allows(same), [false, false, true]);
    }
}
