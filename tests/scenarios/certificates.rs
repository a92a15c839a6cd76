//! Which certificate a name is shown, and what may be agreed on for it.

use std::time::Duration;

use gateway_tests::certs::{Authority, Identity};
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::hello::Hello;
use gateway_tests::http2::Http2;
use gateway_tests::message::Request;
use gateway_tests::scratch::set_mode;
use gateway_tests::second_hello::offers_http2_once;
use gateway_tests::{clock, wait};
use rustls::version::{TLS12, TLS13};

use crate::renewal::scrape;

/// A listener with profiles under these names, shown by sites of these hosts; `own` is the listener's.
pub(crate) struct House {
    pub(crate) authority: Authority,
    pub(crate) text: String,
    pub(crate) files: Vec<(String, String)>,
}

impl House {
    pub(crate) fn new() -> (Self, Identity) {
        let authority = Authority::new();
        let own = authority.signs(&["own.test", "unknown.test", "x.y.w.test", "w.test"]);
        let mut house = House {
            authority,
            text: "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"own\"\n".into(),
            files: Vec::new(),
        };
        house.profile("own", &own, "");
        (house, own)
    }

    /// A profile of this certificate.
    pub(crate) fn profile(&mut self, name: &str, identity: &Identity, settings: &str) {
        let pair = self.files_of(name, identity);
        self.text += &format!("[tls.{name}]\n{pair}{settings}\n");
    }

    /// A further certificate for the profile that was named last.
    pub(crate) fn also(&mut self, name: &str, identity: &Identity) {
        let pair = self.files_of(name, identity);
        self.text += &format!("[[tls.{}.also]]\n{pair}", name.trim_end_matches('2'));
    }

    pub(crate) fn files_of(&mut self, name: &str, identity: &Identity) -> String {
        for (kind, pem) in [("pem", &identity.cert_pem), ("key", &identity.key_pem)] {
            self.files.push((format!("{name}.{kind}"), pem.clone()));
        }
        format!("chain = \"{name}.pem\"\nkey = \"{name}.key\"\n")
    }

    /// A site of these hosts with a profile.
    pub(crate) fn site(&mut self, name: &str, hosts: &[&str], profile: &str) {
        self.text += &format!(
            "[sites.{name}]\nlistener = \"edge\"\nhosts = {hosts:?}\ntls = \"{profile}\"\n\
             routes.all = {{ path = \"/\", answer = {{ status = 200, body = \"{name}\" }} }}\n"
        );
    }

    pub(crate) fn opens(&self) -> Door {
        let plan = Plan::configured(&self.text);
        for (name, pem) in &self.files {
            std::fs::write(plan.path(name), pem).unwrap();
            set_mode(&plan.path(name), 0o600);
        }
        plan.opens()
    }

    pub(crate) fn hello(&self, name: &str) -> Hello {
        Hello::to(name, &self.authority.trust())
    }
}

#[test]
fn each_name_is_shown_the_certificate_of_its_site_and_others_the_listeners() {
    let (mut house, own) = House::new();
    let exact = house.authority.signs(&["a.test", "b.w.test"]);
    let wild = house.authority.signs(&["*.w.test"]);
    house.profile("exact", &exact, "");
    house.profile("wild", &wild, "");
    house.site("exact", &["a.test", "b.w.test"], "exact");
    house.site("wild", &["*.w.test"], "wild");
    let door = house.opens();

    for (name, shown) in [
        ("a.test", &exact),
        ("A.TEST", &exact),
        ("b.w.test", &exact),
        ("c.w.test", &wild),
        ("x.y.w.test", &own),
        ("w.test", &own),
        ("unknown.test", &own),
    ] {
        let shaken = house.hello(name).shakes(door.addr()).unwrap();
        assert!(shaken.shows(shown), "{name}");
    }
    let nameless = house.hello("own.test").without_a_name();
    assert!(nameless.shakes(door.addr()).unwrap().shows(&own));
    let mut client = house
        .hello("c.w.test")
        .shakes(door.addr())
        .unwrap()
        .converses();
    let asked = Request::get("/").to("c.w.test");
    assert_eq!(client.asks(&asked).is(200).text(), "wild");
}

#[test]
fn a_name_with_a_dot_at_its_end_is_the_same_name() {
    let (mut house, own) = House::new();
    let exact = house.authority.signs(&["a.test"]);
    house.profile("exact", &exact, "");
    house.site("exact", &["a.test"], "exact");
    let door = house.opens();
    // In TLS 1.2 the certificate is shown before anything is encrypted.
    let trust = house.authority.trust();
    let hello = Hello::speaking("a.tests", &trust, &[&TLS12], |_| true);

    for (name, shown, hidden) in [("a.test.", &exact, &own), ("a.testx", &own, &exact)] {
        let mut client = Conversation::open(door.addr());
        client.says(hello.bytes_for(name)).half_closes();
        let heard = client.hears_the_rest();
        let has = |identity: &Identity| {
            let der = identity.certificate();
            heard.windows(der.len()).any(|part| part == &**der)
        };
        assert!(has(shown) && !has(hidden), "{name}");
    }
}

#[test]
fn a_strict_listener_shows_nothing_to_who_asks_for_a_name_that_no_site_has() {
    let (mut house, own) = House::new();
    let own_line = "tls = \"own\"\n";
    house.text = house
        .text
        .replace(own_line, &format!("{own_line}strict_sni = true\n"));
    let exact = house.authority.signs(&["a.test"]);
    house.profile("exact", &exact, "");
    house.site("exact", &["a.test"], "exact");
    house.site("own", &["own.test"], "own");
    let door = house.opens();

    for (name, shown) in [("a.test", &exact), ("own.test", &own)] {
        let shaken = house.hello(name).shakes(door.addr()).unwrap();
        assert!(shaken.shows(shown), "{name}");
    }
    let unknown = [
        house.hello("unknown.test"),
        house.hello("own.test").without_a_name(),
    ];
    for hello in unknown {
        let why = hello.fails(door.addr());
        assert!(why.contains("UnrecognisedName"), "{why}");
    }
}

#[test]
fn version_suites_and_protocols_are_those_of_the_name() {
    let (mut house, _) = House::new();
    let strict = house.authority.signs(&["strict.test"]);
    house.profile(
        "strict",
        &strict,
        "min = \"1.3\"\nsuites = [\"TLS_AES_128_GCM_SHA256\"]\nalpn = [\"h2\"]",
    );
    house.site("strict", &["strict.test"], "strict");
    let old = house.authority.signs(&["old.test"]);
    house.profile("old", &old, "max = \"1.2\"\nalpn = [\"http/1.1\"]");
    house.site("old", &["old.test"], "old");
    let door = house.opens();
    let both = ["h2", "http/1.1"];
    let agreed = |name: &str| {
        let shaken = house
            .hello(name)
            .offering(&both)
            .shakes(door.addr())
            .unwrap();
        let version = shaken.version().and_then(|one| one.as_str()).unwrap();
        let protocol = shaken.protocol().unwrap().to_owned();
        (version, shaken.suite().unwrap(), protocol)
    };

    assert_eq!(
        agreed("strict.test"),
        ("TLSv1_3", "TLS13_AES_128_GCM_SHA256", "h2".to_owned())
    );
    let (version, _, protocol) = agreed("old.test");
    assert_eq!((version, protocol.as_str()), ("TLSv1_2", "http/1.1"));
    assert_eq!(agreed("own.test").0, "TLSv1_3");
    let trust = house.authority.trust();
    let speaks = |name: &str, version, suite: fn(&str) -> bool| {
        Hello::speaking(name, &trust, &[version], suite).offering(&both)
    };
    let why = speaks("strict.test", &TLS12, |_| true).fails(door.addr());
    assert!(why.contains("ProtocolVersion"), "{why}");
    let other = |name: &str| name == "TLS13_AES_256_GCM_SHA384";
    let why = speaks("strict.test", &TLS13, other).fails(door.addr());
    assert!(why.contains("HandshakeFailure"), "{why}");
    let why = speaks("old.test", &TLS13, |_| true).fails(door.addr());
    assert!(why.contains("ProtocolVersion"), "{why}");
    let why = house
        .hello("strict.test")
        .offering(&["http/1.1"])
        .fails(door.addr());
    assert!(why.contains("NoApplicationProtocol"), "{why}");
    let _ = speaks("own.test", &TLS12, |_| true)
        .shakes(door.addr())
        .unwrap();
}

/// RFC 7301 §3.2, RFC 9113 §3.2.
#[test]
fn where_http2_alone_is_offered_nobody_speaks_http_1_1() {
    let (mut house, _) = House::new();
    let own = "tls = \"own\"\n";
    house.text = house.text.replace(own, &format!("{own}alpn = [\"h2\"]\n"));
    let wide = house.authority.signs(&["a.test", "b.test"]);
    house.profile("both", &wide, "alpn = [\"h2\", \"http/1.1\"]");
    house.profile("http2", &wide, "alpn = [\"h2\"]");
    house.site("a", &["a.test"], "both");
    house.site("b", &["b.test"], "http2");
    house.site("own", &["own.test"], "own");
    let door = house.opens();
    let trust = house.authority.trust();

    for name in ["own.test", "b.test"] {
        let of_old = house.hello(name).offering(&["http/1.1", "http/1.0"]);
        for hello in [house.hello(name), of_old] {
            let why = hello.fails(door.addr());
            assert!(why.contains("NoApplicationProtocol"), "{name}: {why}");
        }
        let http2 = Http2::open(door.addr(), &trust, name);
        let head = http::Request::get(format!("https://{name}/"));
        let answer = http2.hears(http2.sends(head.body(()).unwrap(), b""));
        answer.unwrap().is(200);
    }
    let shaken = house.hello("a.test").shakes(door.addr()).unwrap();
    assert_eq!(shaken.protocol(), None);
    let mut client = shaken.converses();
    client.asks(&Request::get("/").to("a.test")).is(200);
    client.asks(&Request::get("/").to("b.test")).is(421);
}

/// RFC 8446 §4.1.2.
#[test]
fn who_offers_http2_at_first_and_then_nothing_is_not_served_where_http2_alone_is() {
    let (mut house, _) = House::new();
    let signed = house.authority.signs(&["a.test", "b.test"]);
    house.profile("http2", &signed, "alpn = [\"h2\"]");
    house.profile("both", &signed, "alpn = [\"h2\", \"http/1.1\"]");
    house.site("a", &["a.test"], "http2");
    house.site("b", &["b.test"], "both");
    house.text += "[admin]\nbind = \"127.0.0.1:0\"\n";
    let door = house.opens();
    let trust = house.authority.trust();
    let hears = |name: &str| {
        let asked = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        offers_http2_once(door.addr(), &trust, name, asked.as_bytes()).unwrap()
    };

    assert!(hears("b.test").starts_with(b"HTTP/1.1 200 "));
    assert_eq!(hears("a.test"), b"");

    let outcome = "outcome=\"nothing_in_common\"";
    let counted = format!("gateway_handshakes_total{{listener=\"edge\",{outcome}}}");
    // Its end is seen before it is counted.
    wait::until("the count", wait::SOON, || {
        scrape(&door).of(&counted) == Some(1.0)
    });
}

#[test]
fn of_several_certificates_the_one_is_shown_that_the_client_can_take() {
    let (mut house, _) = House::new();
    let ecdsa = house.authority.signs(&["a.test"]);
    let rsa = house.authority.signs_rsa(&["a.test", "more.test"]);
    house.profile("both", &ecdsa, "");
    house.also("both2", &rsa);
    house.site("both", &["a.test", "more.test"], "both");
    let door = house.opens();
    let trust = house.authority.trust();
    let shaken = |suite: fn(&str) -> bool| {
        let hello = Hello::speaking("a.test", &trust, &[&TLS12], suite);
        hello.shakes(door.addr()).unwrap()
    };
    let asked = Request::get("/").to("more.test");

    let of_rsa = shaken(|name| name.starts_with("TLS_ECDHE_RSA"));
    assert!(of_rsa.shows(&rsa));
    // What a connection may ask for goes by the certificate that it was shown.
    of_rsa.converses().asks(&asked).is(200);
    let of_ecdsa = shaken(|_| true);
    assert!(of_ecdsa.shows(&ecdsa));
    of_ecdsa.converses().asks(&asked).is(421);
    let newest = house.hello("a.test").shakes(door.addr()).unwrap();
    assert!(newest.shows(&ecdsa));
}

#[test]
fn a_session_is_resumed_under_the_profile_it_began_under_on_its_listener_and_no_other() {
    let (mut house, _) = House::new();
    let wide = house.authority.signs(&["a.test", "never.test"]);
    house.text += "[listeners.other]\nbind = \"127.0.0.1:0\"\ntls = \"own\"\n\
                   [listeners.again]\nbind = \"127.0.0.1:0\"\ntls = \"own\"\n\
                   [sites.other]\nlistener = \"other\"\nhosts = [\"a.test\"]\ntls = \"other\"\n\
                   routes.all = { path = \"/\", answer = 200 }\n";
    house.profile("a", &wide, "");
    house.profile("other", &wide, "");
    house.profile("never", &wide, "resumption = false");
    house.site("never", &["never.test"], "never");
    house.site("a", &["a.test"], "a");
    let of_both = "[sites.a]\nlistener = [\"edge\", \"again\"]";
    house.text = house
        .text
        .replace("[sites.a]\nlistener = \"edge\"", of_both);
    let door = house.opens();
    let at = |listener: &str| door.seen_as(listener).addr();
    for versions in [&[&TLS12][..], &[&TLS13]] {
        let trust = house.authority.trust();
        let begins = |name: &str| {
            let hello = Hello::speaking(name, &trust, versions, |_| true);
            hello.shakes(at("edge")).unwrap().ends();
            hello
        };
        let is_resumed =
            |hello: Hello, listener: &str| hello.shakes(at(listener)).unwrap().is_resumed();

        assert!(is_resumed(begins("a.test"), "edge"), "{versions:?}");
        assert!(!is_resumed(begins("never.test"), "edge"), "{versions:?}");
        // The client knows its session by the name, so it brings it to another listener, too.
        for listener in ["other", "again"] {
            let went_on = is_resumed(begins("a.test"), listener);
            assert!(!went_on, "{listener} {versions:?}");
        }
    }
}

#[test]
fn a_hello_in_crumbs_holds_a_place_until_its_time_is_over_and_no_longer() {
    let (mut house, _) = House::new();
    let own = "tls = \"own\"\n";
    house.text = house
        .text
        .replace(own, &format!("{own}handshake = \"2s\"\n"));
    house.text += "[limits]\nhandshakes = 1\n";
    house.site("own", &["own.test"], "own");
    let door = house.opens();
    let hello = house.hello("own.test");
    let mut slow = Conversation::open(door.addr());
    slow.says([22]);
    wait::until("no room", wait::SOON, || hello.shakes(door.addr()).is_err());

    let began = clock::now();
    let crumbs = [3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    for crumb in crumbs.into_iter().chain([0; 100]) {
        slow.says([crumb]);
        if slow.is_closed_within(Duration::from_millis(100)) {
            break;
        }
    }

    let took = clock::now() - began;
    assert!(took < Duration::from_secs(4), "{took:?}");
    let _ = hello.shakes(door.addr()).unwrap();
}
