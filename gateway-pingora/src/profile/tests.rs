//! What may be agreed on, and which certificate is shown.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use proptest::prelude::*;
use proptest::sample::subsequence;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{Accepted, Acceptor};
use rustls::sign::CertifiedKey;

use super::*;
use crate::covered::Covered;
use crate::hello::offer::{Offer, an_offer};

/// What a listener offers where its profile says nothing.
const HTTP1: Protocols = Protocols {
    http1: true,
    http2: false,
};

#[test]
fn what_was_agreed_on_is_held_to_version_suite_protocol_and_resumption() {
    let mut tls = Tls::new("t".into(), PathBuf::new(), PathBuf::new());
    let agreed = |version, suite, protocol| Agreed {
        name: None,
        version: Some(version),
        suite: Some(suite),
        protocol,
        is_resumed: false,
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
    let resumed = Agreed {
        is_resumed: true,
        ..http2.clone()
    };
    let mut allows = |change: fn(&mut Tls)| {
        change(&mut tls);
        let policy = Policy::of(&tls, HTTP1);
        [&old, &new, &http2, &resumed].map(|agreed| policy.allows(agreed))
    };

    assert_eq!(allows(|_| ()), [true, true, false, false]);
    assert_eq!(allows(|tls| tls.tls12 = false), [false, true, false, false]);
    let offer = |tls: &mut Tls| {
        tls.alpn = Some(Protocols {
            http1: false,
            http2: true,
        });
    };
    assert_eq!(allows(offer), [false, false, true, true]);
    let other = |tls: &mut Tls| tls.suites = Some(vec!["TLS_AES_128_GCM_SHA256"]);
    assert_eq!(allows(other), [false, false, false, false]);
    let same = |tls: &mut Tls| tls.suites = Some(vec!["TLS_AES_256_GCM_SHA384"]);
    assert_eq!(allows(same), [false, false, true, true]);
    let anew = |tls: &mut Tls| tls.resumption = false;
    assert_eq!(allows(anew), [false, false, true, false]);
}

/// The curve of a key that has to be among the groups of a client in TLS 1.2.
type Curve = Option<u16>;

/// Keys of each kind, with their curves.
static KEYS: LazyLock<[(Arc<Pair>, Curve); 4]> = LazyLock::new(|| {
    let made = |kind| KeyPair::generate_for(kind).unwrap().serialize_der();
    let made = |kind| PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made(kind)));
    let rsa = include_bytes!("../../../tests/stage/certs/rsa.key");
    [
        (pair(PrivateKeyDer::from_pem_slice(rsa).unwrap()), None),
        (pair(made(&PKCS_ECDSA_P256_SHA256)), Some(23)),
        (pair(made(&PKCS_ECDSA_P384_SHA384)), Some(24)),
        (pair(made(&PKCS_ED25519)), None),
    ]
});

/// Nobody here looks at the certificate itself.
fn pair(key: PrivateKeyDer<'static>) -> Arc<Pair> {
    let key = ring::default_provider().key_provider.load_private_key(key);
    let certified = CertifiedKey::new(vec![CertificateDer::from(vec![0])], key.unwrap());
    Arc::new(Pair {
        certified: Arc::new(certified),
        covered: Arc::new(Covered::default()),
        begins: UNIX_EPOCH,
        ends: UNIX_EPOCH,
    })
}

/// A profile of these keys; `None`: no handshake could be done under it.
fn profile(tls: &Tls, keys: &[usize], before: Option<&Profile>) -> Option<Profile> {
    let policy = Policy::of(tls, HTTP1);
    let shown = keys.iter().map(|at| Arc::clone(&KEYS[*at].0));
    Profile::showing(shown, &tls.name, policy, before).ok()
}

/// As the library reads it.
fn accepted(offer: &Offer) -> Accepted {
    let hello = offer.hello(usize::MAX);
    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut &hello[..]).unwrap();
    acceptor.accept().unwrap().unwrap()
}

/// Whether the library answers a hello with this certificate, and a strict client would take it.
fn works(offer: &Offer, certificate: &Certificate) -> bool {
    let config = Arc::clone(&certificate.config);
    let Ok(answered) = accepted(offer).into_connection(config) else {
        return false;
    };
    let is_it = |(pair, _): &&(Arc<Pair>, Curve)| Arc::ptr_eq(pair, &certificate.pair);
    let curve = KEYS.iter().find(is_it).unwrap().1;
    let is_new = answered.protocol_version() == Some(ProtocolVersion::TLSv1_3);
    is_new || curve.is_none_or(|curve| offer.groups.contains(&curve))
}

fn some_tls() -> impl Strategy<Value = Tls> {
    const SUITES: [&str; 5] = [
        "TLS_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ];

    let suites = proptest::option::of(subsequence(SUITES.to_vec(), 1..=SUITES.len()));
    let versions = prop_oneof![Just((true, true)), Just((true, false)), Just((false, true))];
    (suites, versions).prop_map(|(suites, (tls12, tls13))| {
        let mut tls = Tls::new("t".into(), PathBuf::new(), PathBuf::new());
        (tls.suites, tls.tls12, tls.tls13) = (suites, tls12, tls13);
        tls
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_first_certificate_is_shown_with_which_a_handshake_comes_to_its_end(
        offer in an_offer(),
        tls in some_tls(),
        keys in subsequence(vec![0, 1, 2, 3], 1..=4).prop_shuffle(),
    ) {
        let profile = profile(&tls, &keys, None);
        prop_assume!(profile.is_some());
        let profile = profile.unwrap();
        let first = profile.certificates.iter().find(|one| works(&offer, one));

        let knows_tls13 = offer.versions.as_ref().is_some_and(|all| all.contains(&0x0304));
        let chosen = profile.choose(&accepted(&offer).client_hello(), knows_tls13).unwrap();
        prop_assert!(first.is_none_or(|first| Arc::ptr_eq(&chosen.pair, &first.pair)));
    }
}

#[test]
fn a_session_is_resumed_under_the_certificate_it_began_under_for_as_long_as_that_is_shown() {
    let mut tls = Tls::new("t".into(), PathBuf::new(), PathBuf::new());
    let first = profile(&tls, &[0, 1], None).unwrap();
    let began = &first.certificates[1].config.ticketer;
    let ticket = began.encrypt(b"a session").unwrap();
    let resumed = |profile: &Profile| -> Vec<bool> {
        let all = profile.certificates.iter();
        let ticketers = all.map(|one| &one.config.ticketer);
        ticketers
            .map(|one| one.decrypt(&ticket).is_some())
            .collect()
    };

    assert_eq!(resumed(&first), [false, true]);
    let other = profile(&tls, &[2, 1], Some(&first)).unwrap();
    assert_eq!(resumed(&other), [false, true]);
    let again = profile(&tls, &[0, 2], Some(&other)).unwrap();
    assert_eq!(resumed(&again), [false, false]);
    tls.tls12 = false;
    let strict = profile(&tls, &[0, 1], Some(&first)).unwrap();
    assert_eq!(resumed(&strict), [false, false]);
    tls.resumption = false;
    let never = profile(&tls, &[0, 1], None).unwrap();
    assert!(!never.certificates[1].config.ticketer.enabled());
}
