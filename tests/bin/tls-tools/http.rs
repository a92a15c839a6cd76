//! Requests by `curl`, `nghttp` and `h2load`: which HTTP is spoken, what is misdirected, and whether many
//! streams all come to their end.

use crate::ground::Ground;
use crate::table::Row;
use crate::tool::{Said, Tools};

/// What `curl` is asked, with what is wanted.
const CURL: [(&str, &str); 7] = [
    ("https://wide.test/", "HTTP/2, 200"),
    ("--http1.1 https://wide.test/", "HTTP/1.1, 200"),
    ("--tls-max 1.2 https://wide.test/", "HTTP/2, 200"),
    ("https://new.test/", "HTTP/2, 200"),
    ("--http1.1 https://new.test/", "HTTP/0, 000, exit code 35"),
    ("-H Host:old.test https://wide.test/", "HTTP/2, 421"),
    (
        "--http1.1 -H Host:new.test https://wide.test/",
        "HTTP/1.1, 421",
    ),
];

/// What `h2load` is asked, with what is wanted.
const H2LOAD: [(&str, &str); 4] = [
    ("-m 100", "2000 succeeded, h2, TLSv1.3"),
    ("-m 1", "2000 succeeded, h2, TLSv1.3"),
    ("--h1", "2000 succeeded, http/1.1, TLSv1.3"),
    // 100 streams may be open at a time, and a client that asks for more waits.
    ("-m 300", "2000 succeeded, h2, TLSv1.3"),
];

/// What they find.
pub(crate) fn rows(ground: &Ground, tools: &Tools) -> Vec<Row> {
    let mut rows = Vec::new();
    if tools.get("curl").is_some() {
        rows.extend(CURL.iter().map(|(words, wanted)| {
            let found = curl(ground, tools, words);
            Row::new("curl", format!("`curl {words}`"), found, wanted)
        }));
    }
    if tools.get("nghttp").is_some() {
        let name = ":authority: wide.test";
        let settings =
            "200, SETTINGS_MAX_CONCURRENT_STREAMS 100, SETTINGS_MAX_HEADER_LIST_SIZE 86144";
        let url = format!("https://{}/", ground.addr("edge"));
        let found = nghttp(tools, &["-nv", "-H", name, &url]);
        let asked = "`nghttp -nv https://wide.test/`";
        rows.push(Row::new("nghttp", asked, found, settings));
        let url = format!("http://{}/", ground.addr("clear"));
        let found = nghttp(tools, &["-nv", &url]);
        let asked = "`nghttp -nv`, in clear text by prior knowledge (`h2c`)";
        rows.push(Row::new("nghttp", asked, found, settings));
    }
    if tools.get("h2load").is_some() {
        rows.extend(H2LOAD.iter().map(|(words, wanted)| {
            let found = h2load(ground, tools, words);
            let asked = format!("`h2load -n 2000 -c 10 {words} https://wide.test/`");
            Row::new("h2load", asked, found, wanted)
        }));
    }
    rows
}

fn curl(ground: &Ground, tools: &Tools, words: &str) -> String {
    let call = tools.get("curl").expect("looked for");
    let to = format!("::{}", ground.addr("edge"));
    let call = call.words("-s -o /dev/null --connect-to").word(to);
    let call = call.word("--cacert").word(ground.path("ca.pem"));
    let call = call.words("-w").word("HTTP/%{http_version}, %{http_code}");
    let said = call.words(words).says(b"");
    match said.code {
        0 => said.text,
        code => format!("{}, exit code {code}", said.text),
    }
}

/// The status, and the settings that the server announces.
fn nghttp(tools: &Tools, words: &[&str]) -> String {
    let mut call = tools.get("nghttp").expect("looked for");
    for word in words {
        call = call.word(*word);
    }
    let said = call.says(b"");
    let status = said.behind(":status: ").unwrap_or("no status");
    format!("{status}{}", settings(&said))
}

fn settings(said: &Said) -> String {
    let first = said.text.split("recv SETTINGS frame").nth(1);
    let lines = first.unwrap_or_default().lines().skip(1);
    let own = lines.take_while(|line| line.starts_with(' '));
    let each = own.filter_map(|line| {
        let (name, value) = line.trim().strip_prefix('[')?.split_once('(')?;
        let value = value.split_once(':')?.1.strip_suffix(']')?;
        Some(format!(", {name} {value}"))
    });
    each.collect()
}

fn h2load(ground: &Ground, tools: &Tools, words: &str) -> String {
    let call = tools.get("h2load").expect("looked for");
    let to = format!("--connect-to={}", ground.addr("edge"));
    let call = call.words("-n 2000 -c 10").words(words).word(to);
    let said = call.word("https://wide.test/").says(b"");
    let succeeded = said
        .text
        .split(", ")
        .find(|part| part.ends_with(" succeeded"));
    format!(
        "{}, {}, {}",
        succeeded.unwrap_or("none succeeded"),
        said.behind("Application protocol: ").unwrap_or("no ALPN"),
        said.behind("TLS Protocol: ").unwrap_or("no TLS")
    )
}
