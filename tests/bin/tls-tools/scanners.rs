//! Two scanners that look for what can be harmed: `sslyze` and `testssl`.

use std::fs;

use serde_json::Value;

use crate::ground::Ground;
use crate::table::Row;
use crate::tool::{self, Tools};

/// Names, the recommendation of Mozilla that each is held to, and what is wanted. Nobody but us trusts
/// who signed.
const SSLYZE: [(&str, &str, &str); 3] = [
    (
        "wide.test",
        "intermediate",
        "TLS 1.2 (6 suites), TLS 1.3 (3 suites); curves X25519, secp256r1, secp384r1; no harm; \
         not as recommended: certificate_path_validation, maximum_certificate_lifespan",
    ),
    (
        "other.test",
        "modern",
        "TLS 1.3 (3 suites); curves X25519, secp256r1, secp384r1; no harm; \
         not as recommended: certificate_path_validation, maximum_certificate_lifespan",
    ),
    (
        "old.test",
        "intermediate",
        "TLS 1.2 (3 suites); curves secp256r1; no harm; \
         not as recommended: certificate_path_validation, maximum_certificate_lifespan",
    ),
];

/// What each version is called in the scanner's answer.
const VERSIONS: [(&str, &str); 6] = [
    ("ssl_2_0", "SSL 2.0"),
    ("ssl_3_0", "SSL 3.0"),
    ("tls_1_0", "TLS 1.0"),
    ("tls_1_1", "TLS 1.1"),
    ("tls_1_2", "TLS 1.2"),
    ("tls_1_3", "TLS 1.3"),
];

/// What must be so: where it stands in the scanner's answer.
const HARMLESS: [(&str, &str, bool); 7] = [
    ("tls_compression", "supports_compression", false),
    (
        "openssl_ccs_injection",
        "is_vulnerable_to_ccs_injection",
        false,
    ),
    ("heartbleed", "is_vulnerable_to_heartbleed", false),
    (
        "session_renegotiation",
        "is_vulnerable_to_client_renegotiation_dos",
        false,
    ),
    (
        "session_renegotiation",
        "supports_secure_renegotiation",
        true,
    ),
    ("tls_fallback_scsv", "supports_fallback_scsv", true),
    ("tls_extended_master_secret", "supports_ems_extension", true),
];

/// What is asked of `testssl`, what is wanted, why, and whether it takes long.
const TESTSSL: [(&str, &str, Option<&str>, bool); 3] = [
    (
        "--protocols --pfs",
        "fine: SSLv2, SSLv3, TLS1_2, TLS1_3, ALPN_HTTP2, PFS, PFS_ECDHE_curves",
        None,
        false,
    ),
    (
        "--server-preference --server-defaults",
        "fine: protocol_negotiated, cipher_negotiated, cert_signatureAlgorithm, cert_commonName, cert_trust, \
         cert_chain_of_trust, cert_expirationStatus, cert_notAfter, cert_keySize; \
         not fine: cipher_order, cert_validityPeriod, cert_revocation",
        Some(
            "of suites that are all strong the client has the choice; \
             an authority for a test signs for ever and revokes nothing",
        ),
        true,
    ),
    (
        "--vulnerable",
        "fine: heartbleed, CCS, ticketbleed, ROBOT, secure_renego, secure_client_renego, CRIME_TLS, BREACH, \
         POODLE_SSL, fallback_SCSV, SWEET32, FREAK, DROWN, LOGJAM, LOGJAM-common_primes, BEAST, LUCKY13",
        None,
        true,
    ),
];

/// What they find.
pub(crate) fn rows(ground: &Ground, tools: &Tools, is_quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if tools.get("sslyze").is_some() {
        rows.extend(SSLYZE.iter().map(|(name, level, wanted)| {
            let asked = format!("all about `{name}`, held to Mozilla's `{level}`");
            Row::new("sslyze", asked, sslyze(ground, tools, name, level), wanted).because(Some(
                "an authority for a test, whom nobody else trusts, signs for ever",
            ))
        }));
    }
    if tools.get("testssl").is_some() {
        let asked = TESTSSL.iter().filter(|one| !(is_quick && one.3));
        rows.extend(asked.map(|(words, wanted, why, _)| {
            let shown = format!("`testssl {words} wide.test`");
            let found = testssl(ground, tools, words);
            Row::new("testssl", shown, found, wanted).because(*why)
        }));
    }
    rows
}

fn sslyze(ground: &Ground, tools: &Tools, name: &str, level: &str) -> String {
    let call = tools.get("sslyze").expect("looked for");
    let file = ground.path("sslyze.json");
    let call = call
        .words("--sni")
        .word(name)
        .word("--json_out")
        .word(&file);
    let call = call.word(format!("--mozilla_config={level}"));
    let said = call.word(ground.addr("edge").to_string()).says(b"");
    let text = fs::read_to_string(file).unwrap_or_default();
    let read: Value = serde_json::from_str(&without_keys(&text)).unwrap_or_default();
    let found = &read["server_scan_results"][0]["scan_result"];
    let verdict = said.text.split("COMPLIANCE AGAINST").nth(1);
    let against = verdict.unwrap_or_default().lines();
    let against = against.filter_map(|line| line.trim().strip_prefix("* ")?.split(':').next());
    let against: Vec<&str> = against.collect();
    let wrong = harms(found);
    format!(
        "{}; curves {}; {}; {}",
        versions(found).join(", "),
        curves(found).join(", "),
        match wrong.is_empty() {
            true => "no harm".to_owned(),
            false => format!("harm: {}", wrong.join(", ")),
        },
        match (verdict, against.is_empty()) {
            (None, _) => "not held to anything".to_owned(),
            (Some(_), true) => "as recommended".to_owned(),
            (Some(_), false) => format!("not as recommended: {}", against.join(", ")),
        }
    )
}

/// Without numbers that are longer than any that is looked for: keys of RSA are such, and fit no number.
fn without_keys(text: &str) -> String {
    let is_of_number = |one: char| one.is_ascii_digit();
    let mut short = String::new();
    for part in text.split_inclusive(|one| !is_of_number(one)) {
        let digits = part.trim_end_matches(|one| !is_of_number(one));
        match digits.len() > 18 {
            true => short.push('0'),
            false => short.push_str(digits),
        }
        short.push_str(part.get(digits.len()..).unwrap_or_default());
    }
    short
}

fn versions(found: &Value) -> Vec<String> {
    let one = |(key, shown): &(&str, &str)| {
        let suites = &found[format!("{key}_cipher_suites")]["result"]["accepted_cipher_suites"];
        let count = suites.as_array()?.len();
        (count > 0).then(|| format!("{shown} ({count} suites)"))
    };
    VERSIONS.iter().filter_map(one).collect()
}

fn curves(found: &Value) -> Vec<&str> {
    let all = found["elliptic_curves"]["result"]["supported_curves"].as_array();
    let names = all
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

/// What is not as it must be, or was not said.
fn harms(found: &Value) -> Vec<&'static str> {
    let is_wrong = |(part, key, wanted): &&(&str, &str, bool)| {
        let told = &found[*part]["result"][*key];
        told.as_bool() != Some(*wanted)
    };
    let mut wrong: Vec<&str> = HARMLESS.iter().filter(is_wrong).map(|one| one.1).collect();
    let robot = found["robot"]["result"]["robot_result"].as_str();
    if !robot.is_some_and(|robot| robot.starts_with("NOT_VULNERABLE")) {
        wrong.push("robot");
    }
    wrong
}

fn testssl(ground: &Ground, tools: &Tools, words: &str) -> String {
    let call = tools.get("testssl").expect("looked for");
    let file = ground.path("testssl.json");
    let _ = fs::remove_file(&file);
    let call = call.words("--quiet --color 0 --warnings batch --nodns none --fast");
    let openssl = tool::place("openssl").expect("what testssl asks with");
    let call = call.word("--openssl").word(openssl).word("--add-ca");
    let call = call.word(ground.path("ca.pem")).word("--jsonfile");
    let call = call.word(&file).words("--ip 127.0.0.1").words(words);
    let port = ground.addr("edge").port();
    let _ = call.word(format!("wide.test:{port}")).says(b"");
    let text = fs::read_to_string(file).unwrap_or_default();
    let read: Value = serde_json::from_str(&text).unwrap_or_default();
    let with = |fits: fn(&str) -> bool| -> String {
        let all = read.as_array().into_iter().flatten();
        let all = all.filter(|one| one["severity"].as_str().is_some_and(fits));
        let mut names: Vec<&str> = Vec::new();
        for one in all {
            // Of several certificates each is told by its number.
            let name = one["id"].as_str().and_then(|id| id.split(' ').next());
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names.join(", ")
    };
    let fine = with(|one| one == "OK");
    let other = with(|one| matches!(one, "LOW" | "MEDIUM" | "HIGH" | "CRITICAL"));
    match other.is_empty() {
        true => format!("fine: {fine}"),
        false => format!("fine: {fine}; not fine: {other}"),
    }
}
