//! Handshakes by `openssl s_client`: what is agreed on by name, what is refused and how, who is resumed.

use std::ffi::OsString;

use crate::ground::Ground;
use crate::table::Row;
use crate::tool::{Said, Tools};

const TOOL: &str = "openssl";
/// Alerts by their numbers (RFC 8446 §6).
const ALERTS: [(&str, &str); 5] = [
    ("40", "handshake_failure"),
    ("70", "protocol_version"),
    ("80", "internal_error"),
    ("112", "unrecognized_name"),
    ("120", "no_application_protocol"),
];

/// Listener, what it is asked with, and what is wanted.
const HELLOS: [(&str, &str, &str); 14] = [
    (
        "edge",
        "-servername wide.test -alpn h2,http/1.1",
        "TLSv1.3, TLS_AES_256_GCM_SHA384, ALPN h2, key ECDSA, 0 (ok)",
    ),
    (
        "edge",
        "-servername wide.test -alpn http/1.1",
        "TLSv1.3, TLS_AES_256_GCM_SHA384, ALPN http/1.1, key ECDSA, 0 (ok)",
    ),
    (
        "edge",
        "-servername wide.test -alpn h3",
        "alert no_application_protocol",
    ),
    (
        "edge",
        "-servername wide.test -tls1_2",
        "TLSv1.2, ECDHE-ECDSA-AES256-GCM-SHA384, no ALPN, key ECDSA, 0 (ok)",
    ),
    (
        "edge",
        "-servername wide.test -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256",
        "TLSv1.2, ECDHE-RSA-AES128-GCM-SHA256, no ALPN, key RSA-PSS, 0 (ok)",
    ),
    (
        "edge",
        "-servername wide.test -sigalgs rsa_pss_rsae_sha256",
        "TLSv1.3, TLS_AES_256_GCM_SHA384, no ALPN, key RSA-PSS, 0 (ok)",
    ),
    (
        "edge",
        "-servername wide.test -tls1_1 -cipher DEFAULT@SECLEVEL=0",
        "alert handshake_failure",
    ),
    (
        "edge",
        "-servername new.test -alpn h2,http/1.1",
        "TLSv1.3, TLS_AES_128_GCM_SHA256, ALPN h2, key ECDSA, 0 (ok)",
    ),
    (
        "edge",
        "-servername new.test -alpn h2 -tls1_2",
        "alert protocol_version",
    ),
    (
        "edge",
        "-servername new.test -alpn http/1.1",
        "alert no_application_protocol",
    ),
    (
        "edge",
        "-servername new.test",
        "alert no_application_protocol",
    ),
    (
        "edge",
        "-servername old.test -alpn h2,http/1.1",
        "TLSv1.2, ECDHE-ECDSA-AES256-GCM-SHA384, ALPN http/1.1, key ECDSA, 0 (ok)",
    ),
    (
        "named",
        "-servername nobody.test",
        "alert unrecognized_name",
    ),
    ("named", "-noservername", "alert unrecognized_name"),
];

/// A session of this name, brought to another: what is wanted.
const SESSIONS: [(&str, &str, &str); 4] = [
    ("wide.test", "wide.test", "Reused, TLSv1.3"),
    ("wide.test", "other.test", "New, TLSv1.3"),
    ("old.test", "old.test", "Reused, TLSv1.2"),
    ("new.test", "new.test", "no session to bring"),
];

/// What it finds.
pub(crate) fn rows(ground: &Ground, tools: &Tools) -> Vec<Row> {
    if tools.get(TOOL).is_none() {
        return Vec::new();
    }
    let hellos = HELLOS.iter().map(|(listener, words, wanted)| {
        let said = s_client(ground, tools, (listener, words), b"");
        let shown = match *listener {
            "named" => format!("`s_client {words}`, under `strict_sni`"),
            _ => format!("`s_client {words}`"),
        };
        let old = "the library misses the algorithms of signatures first";
        let because = words.contains("-tls1_1").then_some(old);
        Row::new(TOOL, shown, agreed(&said), wanted).because(because)
    });
    let mut rows: Vec<Row> = hellos.collect();
    rows.extend(SESSIONS.iter().map(|(first, second, wanted)| {
        let shown = format!("a session of `{first}`, brought to `{second}`");
        Row::new(TOOL, shown, resumed(ground, tools, first, second), wanted)
    }));
    let said = s_client(ground, tools, ("edge", "-servername wide.test"), b"");
    let nothing = "No client certificate CA names sent";
    let asks = match said.text.contains(nothing) {
        true => "no",
        false => "yes",
    };
    let asked = "whether a certificate of the client is asked for";
    rows.push(Row::new(TOOL, asked, asks.to_owned(), "no"));
    rows
}

fn s_client(ground: &Ground, tools: &Tools, (listener, words): (&str, &str), input: &[u8]) -> Said {
    let call = tools.get(TOOL).expect("looked for");
    let to = ground.addr(listener).to_string();
    let call = call.words("s_client -connect").word(to).word("-CAfile");
    let call = call.word(ground.path("ca.pem")).words(words);
    call.says(input)
}

/// What a handshake came to, in one line.
fn agreed(said: &Said) -> String {
    if let Some(number) = said.behind("SSL alert number ") {
        let known = ALERTS.iter().find(|alert| alert.0 == number);
        return format!("alert {}", known.map_or(number, |alert| alert.1));
    }
    let begun = said.behind("New, ").unwrap_or("nothing agreed on");
    let (version, suite) = begun.split_once(", Cipher is ").unwrap_or((begun, ""));
    let alpn = match said.behind("ALPN protocol: ") {
        Some(protocol) => format!("ALPN {protocol}"),
        None => "no ALPN".to_owned(),
    };
    let key = said.behind("Peer signature type: ").unwrap_or("unknown");
    let verified = said.behind("Verify return code: ").unwrap_or("unknown");
    format!("{version}, {suite}, {alpn}, key {key}, {verified}")
}

/// What a session of one name comes to, brought to another.
fn resumed(ground: &Ground, tools: &Tools, first: &str, second: &str) -> String {
    let file = ground.path(&format!("{first}.session"));
    let alpn = match first {
        "new.test" => "h2",
        _ => "http/1.1",
    };
    let talk = |name: &str, option: &str| {
        let file = OsString::from(&file);
        let call = tools.get(TOOL).expect("looked for");
        let to = ground.addr("edge").to_string();
        let call = call.words("s_client -ign_eof -connect").word(to);
        let call = call.words("-alpn").word(alpn);
        let call = call.words("-servername").word(name).word(option).word(file);
        let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        call.says(request.as_bytes())
    };
    let _ = std::fs::remove_file(&file);
    let _ = talk(first, "-sess_out");
    if !file.exists() {
        return "no session to bring".to_owned();
    }
    let said = talk(second, "-sess_in");
    let kinds = ["Reused, ", "New, "];
    let kind = kinds.into_iter().find(|kind| said.text.contains(kind));
    let Some((kind, rest)) = kind.and_then(|kind| Some((kind, said.behind(kind)?))) else {
        return "nothing agreed on".to_owned();
    };
    let version = rest.split_once(',').map_or(rest, |(version, _)| version);
    format!("{kind}{version}")
}
