//! `check --files`: what is said of the files that a configuration names.

use std::fs;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Ended, runs};
use gateway_tests::scratch::{Scratch, set_mode};
use serde_json::Value;

const PLAIN: &str = "\
[listeners.web]
bind = \"127.0.0.1:8080\"

[sites.shop]
listener = \"web\"
hosts = [\"shop.test\"]
pool = \"shop\"

[pools.shop]
nodes = [\"127.0.0.1:9000\"]
";

/// A directory with good certificates, bad ones, and a configuration that names some of them.
struct Ground {
    scratch: Scratch,
}

impl Ground {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (authority, other) = (Authority::new(), Authority::new());
        let (shop, api) = (
            authority.signs(&["shop.test"]),
            authority.signs(&["api.test"]),
        );
        let old = authority.signs_for(&["shop.test"], 2001..2002);
        let new = authority.signs_for(&["shop.test"], 3001..3002);
        let wrong_order = authority.pem().to_owned() + &shop.cert_pem;
        let no_certificate = "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n";
        let no_key = "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n";
        let cut = shop.cert_pem.get(..200).unwrap();
        let encrypted = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAQID\n-----END EC PRIVATE KEY-----\n";
        let marked = format!("\u{feff}{}", shop.cert_pem);
        for (name, text) in [
            ("bom.pem", marked.as_str()),
            ("cut.pem", cut),
            ("encrypted.key", encrypted),
            ("shop.pem", shop.cert_pem.as_str()),
            ("shop.key", &shop.key_pem),
            ("api.pem", &api.cert_pem),
            ("api.key", &api.key_pem),
            ("old.pem", &old.cert_pem),
            ("old.key", &old.key_pem),
            ("new.pem", &new.cert_pem),
            ("new.key", &new.key_pem),
            ("wrong-order.pem", &wrong_order),
            ("authority.pem", authority.pem()),
            ("authority.key", authority.key_pem()),
            ("other.pem", other.pem()),
            ("open.key", &shop.key_pem),
            ("empty.pem", ""),
            ("words.pem", "not PEM at all"),
            ("bad.pem", no_certificate),
            ("bad.key", no_key),
        ] {
            let _ = scratch.file(name, text);
        }
        set_mode(&scratch.path().join("open.key"), 0o640);
        Self { scratch }
    }

    fn check(&self, text: &str, more: &[&str]) -> Ended {
        let file = self.scratch.file("gateway.toml", text);
        let mut arguments = vec!["check", "--files", file.to_str().unwrap()];
        arguments.extend(more);
        runs(&arguments)
    }

    /// The findings as `severity code line: title`, in which the directory is left out.
    fn finds(&self, text: &str) -> Vec<String> {
        let ended = self.check(text, &["--format", "json"]);
        let document: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        let is_refused = document["errors"].as_u64() > Some(0);
        assert_eq!(
            ended.status.code(),
            Some(i32::from(is_refused)),
            "{document:#}"
        );
        let directory = format!("{}/", self.scratch.path().display());
        let found = document["diagnostics"].as_array().unwrap().iter();
        found
            .map(|one| {
                let text = |key: &str| one[key].as_str().unwrap().replace(&directory, "");
                let place = format!("{}:{}", text("file"), one["line"]);
                format!(
                    "{} {} {place} {}",
                    text("severity"),
                    text("code"),
                    text("title")
                )
            })
            .collect()
    }

    /// What is found in a profile of this chain and key.
    fn finds_in_pair(&self, chain: &str, key: &str) -> Vec<String> {
        let profile = format!("\n[tls.shop]\nchain = \"{chain}\"\nkey = \"{key}\"\n");
        let text = PLAIN.replace(":8080\"", ":8080\"\ntls = \"shop\"") + &profile;
        self.finds(&text)
    }
}

#[test]
fn a_key_that_no_suite_of_its_profile_takes_is_an_error() {
    let ground = Ground::new();
    let rsa = Authority::new().signs_rsa(&["shop.test"]);
    let _ = ground.scratch.file("rsa.pem", &rsa.cert_pem);
    let _ = ground.scratch.file("rsa.key", &rsa.key_pem);
    let finds = |settings: &str| {
        let pair = "chain = \"shop.pem\"\nkey = \"shop.key\"";
        let also = "also = [{ chain = \"rsa.pem\", key = \"rsa.key\" }]";
        let profile = format!("\n[tls.shop]\n{pair}\n{also}\n{settings}\n");
        ground.finds(&(PLAIN.replace(":8080\"", ":8080\"\ntls = \"shop\"") + &profile))
    };
    let (of_rsa, of_ecdsa) = (
        "\"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\"",
        "\"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\"",
    );
    let told = |line: usize, key: &str| {
        let title = format!("TLS profile `shop` has no suite for the key {key}");
        [format!("error G0316 gateway.toml:{line} {title}")]
    };

    assert_eq!(finds(&format!("suites = [{of_rsa}]")), told(15, "shop.key"));
    let old = "max = \"1.2\"";
    let only = |suite: &str| {
        finds(&format!(
            "{old}\nsuites = [\"TLS_AES_128_GCM_SHA256\", {suite}]"
        ))
    };
    assert_eq!(only(of_ecdsa), told(16, "rsa.key"));
    for settings in [
        String::new(),
        old.to_owned(),
        format!("suites = [{of_rsa}, {of_ecdsa}]"),
        format!("suites = [{of_rsa}, \"TLS_AES_128_GCM_SHA256\"]"),
    ] {
        assert!(finds(&settings).is_empty(), "{settings}");
    }
}

#[test]
fn a_key_that_fits_its_certificate_is_nothing_to_talk_about() {
    let ground = Ground::new();
    assert!(ground.finds_in_pair("shop.pem", "shop.key").is_empty());
    let whole = "authority.pem";
    let pem = fs::read_to_string(ground.scratch.path().join(whole)).unwrap();
    let shop = fs::read_to_string(ground.scratch.path().join("shop.pem")).unwrap();
    let _ = ground.scratch.file("whole.pem", shop + &pem);
    assert!(ground.finds_in_pair("whole.pem", "shop.key").is_empty());
}

#[test]
fn a_pair_that_cannot_be_served_is_refused_with_the_reason() {
    let ground = Ground::new();
    for (chain, key, said) in [
        (
            "shop.pem",
            "api.key",
            "error G0604 gateway.toml:15 the key api.key does not fit the certificate shop.pem",
        ),
        (
            "wrong-order.pem",
            "shop.key",
            "error G0604 gateway.toml:14 the key shop.key does not fit the certificate wrong-order.pem",
        ),
        (
            "bad.pem",
            "shop.key",
            "error G0605 gateway.toml:14 the certificate in bad.pem cannot be used",
        ),
        (
            "shop.pem",
            "bad.key",
            "error G0605 gateway.toml:15 the key in bad.key cannot be used",
        ),
        (
            "shop.pem",
            "open.key",
            "error G0601 gateway.toml:15 others may read the private key open.key",
        ),
        (
            "shop.pem",
            "absent.key",
            "error G0602 gateway.toml:15 absent.key cannot be read",
        ),
        (
            "words.pem",
            "shop.key",
            "error G0603 gateway.toml:14 words.pem holds no certificate",
        ),
        (
            "shop.key",
            "shop.pem",
            "error G0603 gateway.toml:14 the files of the chain and of its key are swapped",
        ),
        (
            "bom.pem",
            "shop.key",
            "error G0603 gateway.toml:14 bom.pem holds no certificate",
        ),
        (
            "cut.pem",
            "shop.key",
            "error G0603 gateway.toml:14 cut.pem holds no certificate",
        ),
        (
            "shop.pem",
            "encrypted.key",
            "error G0603 gateway.toml:15 encrypted.key holds no private key",
        ),
        (
            "shop.key",
            "shop.key",
            "error G0603 gateway.toml:14 shop.key holds no certificate",
        ),
        (
            "shop.pem",
            "shop.pem",
            "error G0603 gateway.toml:15 shop.pem holds no private key",
        ),
        (
            "shop.pem",
            "empty.pem",
            "error G0603 gateway.toml:15 empty.pem holds no private key",
        ),
    ] {
        assert_eq!(ground.finds_in_pair(chain, key), [said], "{chain} {key}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told_in_words() {
    let ground = Ground::new();
    for (chain, key, said) in [
        ("bom.pem", "shop.key", "a byte order mark"),
        ("cut.pem", "shop.key", "the file is cut off"),
        ("bad.pem", "shop.key", "no certificate, or a part of one"),
        ("shop.pem", "encrypted.key", "the key is encrypted"),
        ("shop.pem", "bad.key", "ECDSA over P-256 or P-384"),
    ] {
        let profile = format!("\n[tls.shop]\nchain = \"{chain}\"\nkey = \"{key}\"\n");
        let text = PLAIN.replace(":8080\"", ":8080\"\ntls = \"shop\"") + &profile;
        let ended = ground.check(&text, &[]);
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
    }
}

#[test]
fn a_certificate_without_a_name_of_the_site_is_a_warning() {
    let ground = Ground::new();
    let text = |hosts: &[&str], site: &str| {
        PLAIN
            .replace(":8080\"", ":8080\"\ntls = \"shop\"")
            .replace("[\"shop.test\"]", &format!("{hosts:?}"))
            .replace("pool = \"shop\"\n\n", &format!("pool = \"shop\"\n{site}\n"))
            + "\n[tls.shop]\nchain = \"api.pem\"\nkey = \"api.key\"\n"
    };
    let said = |hosts: &str| {
        let said = "the certificate in api.pem does not cover hosts of site `shop`";
        [format!("warning G0608 gateway.toml:14 {said}: {hosts}")]
    };
    let one = ["shop.test"];
    assert_eq!(ground.finds(&text(&one, "")), said("shop.test"));
    let partly = text(&["www.api.test", "api.test", "*.api.test"], "");
    assert_eq!(ground.finds(&partly), said("*.api.test, www.api.test"));
    assert!(ground.finds(&text(&["api.test"], "")).is_empty());
    let own = "tls = \"own\"\n[tls.own]\nchain = \"shop.pem\"\nkey = \"shop.key\"";
    assert!(ground.finds(&text(&one, own)).is_empty());
}

#[test]
fn a_pair_that_clients_will_refuse_is_a_warning() {
    let ground = Ground::new();
    for (chain, key, said) in [
        ("old.pem", "old.key", "in old.pem has expired"),
        ("new.pem", "new.key", "in new.pem is not valid yet"),
        (
            "authority.pem",
            "authority.key",
            "warning G0607 gateway.toml:14 authority.pem begins with an authority's certificate",
        ),
    ] {
        let found = ground.finds_in_pair(chain, key);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("warning"), "{found:?}");
        assert!(found[0].ends_with(said), "{found:?}");
    }
}

#[test]
fn every_file_that_is_named_is_looked_at_in_one_run() {
    let ground = Ground::new();
    let _ = ground.scratch.file("empty.html", "");
    let text = "\
[listeners.web]
bind = \"127.0.0.1:8443\"
tls = \"shop\"

[tls.shop]
chain = \"shop.pem\"
key = \"api.key\"
also = [{ chain = \"absent.pem\", key = \"open.key\" }]

[sites.shop]
listener = \"web\"
pool = \"shop\"
error_pages = { 404 = \"absent.html\", 503 = \"empty.html\" }

[sites.shop.routes.files]
path = \"/files/\"
files = \"shop.pem\"

[sites.shop.routes.app]
path = \"/app/\"
files = { root = \".\", spa = \"absent.html\" }

[pools.shop]
nodes = [\"127.0.0.1:9000\"]
tls = { ca = \"words.pem\" }

[logs]
access = \"absent/access.log\"
";
    let found = ground.finds(text);
    assert_eq!(
        found,
        [
            "error G0604 gateway.toml:7 the key api.key does not fit the certificate shop.pem",
            "error G0602 gateway.toml:8 absent.pem cannot be read",
            "error G0601 gateway.toml:8 others may read the private key open.key",
            "error G0602 gateway.toml:13 absent.html cannot be read",
            "error G0602 gateway.toml:17 shop.pem cannot be read",
            "error G0602 gateway.toml:21 ./absent.html cannot be read",
            "error G0603 gateway.toml:25 words.pem holds no certificate",
            "error G0602 gateway.toml:28 nothing can be appended to absent/access.log",
            "warning G0603 gateway.toml:13 empty.html is empty",
        ]
    );
}

#[test]
fn without_being_asked_nobody_looks_at_files() {
    let ground = Ground::new();
    let text = "[front_door.db]\nupstreams = { a = \"127.0.0.1:9000\" }\n\
                [logs]\naccess = \"absent/access.log\"\n";
    assert_eq!(ground.finds(text).len(), 1);
    let file = ground.scratch.path().join("gateway.toml");
    let ended = runs(&["check", file.to_str().unwrap()]);
    assert_eq!(ended.stderr, "");
    assert!(ended.status.success());
}

#[test]
fn people_see_the_line_and_no_byte_of_a_key() {
    let ground = Ground::new();
    let profile = "\n[tls.shop]\nchain = \"shop.pem\"\nkey = \"api.key\"\n";
    let text = PLAIN.replace(":8080\"", ":8080\"\ntls = \"shop\"") + profile;
    let said = ground.check(&text, &[]).stderr;
    for words in [
        "error[G0604]",
        "15 | key = \"api.key\"",
        "belongs to no certificate of the chain",
        "14 | chain = \"shop.pem\"",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let key = fs::read_to_string(ground.scratch.path().join("api.key")).unwrap();
    let inside = key.lines().nth(1).unwrap();
    assert!(!said.contains(inside), "{said}");
}

#[test]
fn flags_are_pointed_at_as_lines_of_a_file_are() {
    let ground = Ground::new();
    let path = |name: &str| {
        ground
            .scratch
            .path()
            .join(name)
            .to_string_lossy()
            .into_owned()
    };
    let ended = runs(&[
        "check",
        "--files",
        "front-door",
        "--upstream",
        "a=127.0.0.1:9000",
        "--tls-cert",
        &path("shop.pem"),
        "--tls-key",
        &path("api.key"),
        "--access-log",
        &path("absent/access.log"),
    ]);
    assert_eq!(ended.status.code(), Some(1));
    for words in [
        "--tls-key ",
        "error[G0604]",
        "--access-log ",
        "error[G0602]",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn a_flag_that_names_no_file_is_refused_before_anybody_looks() {
    for (flag, value, words) in [
        ("--cluster", "", "it is empty"),
        ("--upstream-ca", "", "it is empty"),
        ("--access-log", "", "it is empty"),
        ("--access-log", "OFF", "did you mean `off`?"),
        ("--access-log", "access.log", "./access.log"),
        ("--access-log", "syslog://127.0.0.1", "sent nowhere"),
    ] {
        let node = "a=127.0.0.1:9000";
        let ended = runs(&["check", "front-door", "--upstream", node, flag, value]);
        assert_eq!(ended.status.code(), Some(1), "{flag} {value}");
        let findings = ended.stderr.matches("error[").count();
        assert_eq!(findings, 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("error[G0210]"), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn what_is_found_keeps_a_gateway_from_starting_unless_it_is_a_warning() {
    let ground = Ground::new();
    let path = |name: &str| {
        ground
            .scratch
            .path()
            .join(name)
            .to_string_lossy()
            .into_owned()
    };
    let ended = runs(&[
        "front-door",
        "127.0.0.1:0",
        "--upstream",
        "a=127.0.0.1:9000",
        "--tls-cert",
        &path("shop.pem"),
        "--tls-key",
        &path("api.key"),
    ]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.contains("error[G0604]"), "{}", ended.stderr);
}
