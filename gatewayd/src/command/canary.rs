//! No output shows a secret, wherever somebody wrote it.

use std::fmt::Write;

use gateway_config::settings::{Kind, SETTINGS, Setting};
use gateway_config::{Snapshot, Sources, load_sources};

use super::{diff, effective};
use crate::render;

const CANARY: &str = "c4n4ry";
const BASE: &str =
    "[listeners.a]\nbind = \"127.0.0.1:80\"\n[pools.p]\nnodes = [\"127.0.0.1:81\"]\n";
const SITE: &str = "[sites.s]\nlistener = \"a\"\npool = \"p\"\n";

/// Logins, each with the canary for its password, or for the whole of it.
const LOGINS: &[&str] = &[
    "https://user:c4n4ry@host.example/x",
    "https://c4n4ry@host.example:80",
    "user:c4n4ry@host.example:80",
    "user:c4'n4ry/c4n4ry@127.0.0.1",
    "/x/password=c4n4ry",
    "Authorization: Bearer c4n4ry",
    "user\\u003ac4n4ry\\u0040host",
    "u:12/c4n4ry@o:1",
    "u:a c4n4ry@h:1",
    "c4n4ry@o:1",
    "o:1 password=c4n4ry",
    "https://o:1?user=u&password=c4n4ry",
];

/// Names that no table has, and under which one expects a secret.
const NAMES: &[&str] = &[
    "password",
    "db_passwd",
    "passphrase",
    "token",
    "X-Auth-Token",
    "secret",
    "client_secret",
    "api_key",
    "apikey",
    "credentials",
    "private-key",
    "auth",
    "auth_pass",
    "pwd",
];

/// Everything that is ever shown of a configuration.
fn shown(texts: &[&str]) -> String {
    let mut sources = Sources::default();
    let named = texts.iter().enumerate();
    let ids: Vec<_> = named
        .map(|(at, text)| sources.add(&format!("{at}.toml"), (*text).to_owned()))
        .collect();
    let (loaded, found) = match load_sources(&ids, &mut sources) {
        Ok(mut loaded) => {
            let warnings = std::mem::take(&mut loaded.warnings);
            (Some(loaded), warnings)
        }
        Err(found) => (None, found),
    };
    let mut all = render::text(&found, &sources, false) + &render::json(&found, &sources);
    all.push_str(&render::lines(&found, &sources));
    if let Some(loaded) = loaded {
        all.push_str(&effective::annotated(&loaded, &sources));
        for (old, new) in [(&plain(), &loaded.snapshot), (&loaded.snapshot, &plain())] {
            let changes = crate::changes::between(old, new)
                .into_iter()
                .map(Into::into)
                .collect::<Vec<_>>();
            all.push_str(&(diff::text(&changes) + &diff::document(&changes)));
        }
    }
    all
}

fn plain() -> Snapshot {
    let mut sources = Sources::default();
    let id = sources.add("plain.toml", format!("{BASE}{SITE}"));
    load_sources(&[id], &mut sources).unwrap().snapshot
}

fn hides(texts: &[&str]) {
    let shown = shown(texts);
    assert!(!shown.contains(CANARY), "{}\n{shown}", texts.concat());
}

/// The texts as they are, and as what nobody can read.
fn hides_broken_too(text: &str) {
    hides(&[text]);
    for broken in [
        format!("{text}[\n"),
        format!("x = \n{text}"),
        format!("{text}{text}"),
        text.replace("c4n4ry\"", "c4n4ry"),
        text.replacen('"', "", 1),
    ] {
        hides(&[&broken]);
    }
}

/// Settings of a site in which a level around a secret was left out or has another name, or a secret
/// stands in the place of a name.
const MISPLACED: &[&str] = &[
    "request_edits = { Cookie = \"c4n4ry\" }",
    "request_edits.Cookie = \"c4n4ry\"",
    "request_edits = { x = [\"c4n4ry\"] }",
    "response_edits.Set-Cookie = 'c4n4ry'",
    "[sites.s.request_edits]\nadd = [\"Cookie: c4n4ry\"]",
    "[sites.s.request_edits]\n\"Cookie: c4n4ry\" = \"\"",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { cookie = \"c4n4ry\" }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { X-Key = \"c4n4ry\" }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen.cookies = { \"sid=c4n4ry\" = true }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen.headers = { \"x: c4n4ry\" = \"é\" }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen.query = { \"k=c4n4ry\" = 1 }",
    "[sites.s.request_edits.set]\n\"Cookie: c4n4ry\" = \"\"",
    "[sites.s.request_edits.set]\n\"Cookie: c4n4ry\" = \"\"\n\"cookie: c4n4ry\" = 1",
    "[sites.s.request_edits.set]\n\"Cookie: c4n4ry\" = \"\"\n\"cookie: c4n4ry\" = \"\"",
    "[sites.s.request_edits.sett]\n\"Cookie: c4n4ry\" = \"\"",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = [\"c4n4ry\"] }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = [\"Bearer c4n4ry\", \"Bearer c4n4ry\"] }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = [\"@x c4n4ry\", \"@x c4n4ry\"] }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = [\"10.0.0.0/c4n4ry\", 7] }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = \"c4n4ry\" }",
    "[sites.s.routes.r]\npath = \"/\"\nwhen = { client = { x = \"c4n4ry\" } }",
    "[sites.s.routes.r]\npath = \"/\"\nquery = [\"key: c4n4ry\", \"key: c4n4ry\"]",
    "[sites.s.routes.r]\npath = \"/\"\nrefuse_query = { \"key=c4n4ry\" = \"\" }",
    "[sites.s.routes.r]\npath = \"/\"\nrefuse_query = { \"key=c4n4ry\" = 1 }",
    "request_fields = [\"X-Key: c4n4ry\"]",
    "request_fields = [\"X-Key: c4n4ry\", \"x-key: c4n4ry\"]",
    "request_fields = \"X-Key: c4n4ry\"",
    "response_fields = [\"X-Key: c4n4ry\"]",
    "\n[logs]\nredact = [\"key=c4n4ry\", \"key=c4n4ry\"]",
    "\n[listeners.b]\nbind = \"127.0.0.1:82\"\nclient_ip_header = \"X-Key: c4n4ry\"",
    "\n[pools.q]\nnodes = [\"127.0.0.1:82\"]\nbalance = { by = \"header\", name = \"X-Key: c4n4ry\" }",
    "request_edits.remove = [\"Cookie: c4n4ry\"]",
    "request_edits.remove = [\"Cookie: c4n4ry\", \"Cookie: c4n4ry\"]",
    "request_edits.remove = \"Cookie: c4n4ry\"",
    "request_edits.remove = { Cookie = \"c4n4ry\" }",
];

#[test]
fn no_secret_is_shown_that_stands_beside_its_place() {
    for sample in MISPLACED {
        hides(&[&format!("{BASE}{SITE}{sample}\n")]);
        hides(&[&format!("{BASE}{SITE}{sample}\n{sample}\n")]);
    }
}

/// A private key that was pasted in without its first line, or into something else.
const KEYS: &[&str] = &[
    "key = \"CODE\nCODE\nc4n4ryQ==\n",
    "key = \"CODE\nCODE\nc4n4ryQ==\"\n",
    "key: |\n  CODE\n  CODE\n  c4n4ryQ==\n",
    "key = { pem = \"CODE\" }\n",
    "key = { pem = \"c4n4ry\" }\n",
    "key = [\"c4n4ry\"]\n",
    "chain = { pem = \"\"\"\nCODE\nc4n4ry\"\"\" }\n",
    "key_pem = \"CODE\"\n",
    "key_pem = \"c4n4ry\"\n",
    "keys = [\"CODE\"]\n",
    "\n[pools.q]\nnodes = [\"CODE\"]\n",
    "\n[sites.t]\npool = \"CODE\"\n",
];

#[test]
fn no_key_is_shown_however_it_was_pasted_in() {
    let first = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7c4n4ryAQabcd";
    let other = "q7BFUpkGp3+LQmlQ/0aZc4n4ryAQabcdBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA";
    for sample in KEYS {
        let code = sample.replacen("CODE", first, 1).replace("CODE", other);
        hides(&[&format!("{BASE}{SITE}[tls.t]\n{code}")]);
        hides(&[&format!("{BASE}{SITE}[tls.t]\n{code}[pools.z]\nidle = \n")]);
    }
}

#[test]
fn no_login_is_shown_whose_password_ends_the_text() {
    for value in ["\"u:p\"c4n4ry@h:1\"", "\"u:p\"c4n4ry\"x@h:1\""] {
        hides(&[&format!("{BASE}{SITE}[pools.q]\nnodes = [{value}]\n")]);
        hides(&[&format!("{BASE}{SITE}nodes = {value}\n")]);
    }
}

/// What is not TOML, with a secret in it.
const BROKEN: &[&str] = &[
    "request_edits: { set = { Cookie = \"c4n4ry\" } }",
    "request_edits { set = { Cookie = \"c4n4ry\" } }",
    "when { headers = { x = \"c4n4ry\" } }",
    "[sites.s.routes.r]\nwhen: { cookies: { x: \"c4n4ry\" } }",
    "request_edits.set.Cookie \"c4n4ry\"",
    "request_edits.set.Cookie: \"c4n4ry\"",
    "[sites.s.request_edits.set] Cookie = \"c4n4ry\"",
    "[sites.s.request_edits.set];\nCookie = \"c4n4ry\"",
    "[sites.s.request_edits.set] // c4n4ry\nCookie = \"c4n4ry\"",
    "[sites.s.request-edits.set]\nCookie = c4n4ry\"",
    "[sites.s.reqest_edits.set]\nCookie = c4n4ry\"",
    "request_edits = { set = { a = \"\"\"\n[pools.p]\nc4n4ry = \"\"\" } }",
    "request_edits = { set = { a = [\n[\"x\"]\nc4n4ry = \"c4n4ry\"",
    "\"passw\\u006frd\" = \"c4n4ry",
    "\"passw\\u006frd\" = c4n4ry",
];

#[test]
fn no_secret_is_shown_of_what_is_not_toml() {
    for sample in BROKEN {
        hides(&[&format!("{BASE}{SITE}{sample}\n")]);
        hides(&[&format!("{BASE}{SITE}x = \n{sample}\n[pools.q]\n[")]);
        hides(&[&format!("{BASE}[site.s]\n{sample}\n{sample}\n[pools.q]\n")]);
    }
}

#[test]
fn nothing_that_is_written_commands_a_terminal() {
    for odd in [
        "\u{9b}31m",
        "\u{85}",
        "\u{202e}",
        "\u{61c}",
        "\u{1b}[31m",
        "\\u202e",
        "\\u009b",
    ] {
        for text in [
            format!("{BASE}{SITE}pools = \"{odd}X\" # {odd}\n"),
            format!("{BASE}[sites.s]\nlistener = \"a\"\npool = \"{odd}X\" # {odd}\n"),
            format!(
                "{BASE}{SITE}routes.r = {{ path = \"/\", answer = {{ status = 200, body = \"{odd}\" }} }}\n"
            ),
        ] {
            let shown = shown(&[&text]);
            let is_odd = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{61c}".contains(c);
            assert!(!shown.contains(is_odd), "{shown:?}");
        }
    }
}

/// A setting with a value, as the one line of a file: what has names is called `x`.
fn line(path: &str, value: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let mut text = value.to_owned();
    for at in (1..parts.len()).rev() {
        let around = parts[..at].join(".");
        let kind = SETTINGS.iter().find(|one| one.path == around);
        let is_list = kind.is_some_and(|one| matches!(one.kind, Kind::TableList | Kind::Nodes));
        text = match parts[at] {
            "*" if is_list => format!("[{text}]"),
            "*" => format!("{{ x = {text} }}"),
            key => format!("{{ {key} = {text} }}"),
        };
    }
    format!("{} = {text}\n", parts[0])
}

#[test]
fn no_login_is_shown_wherever_it_stands() {
    for setting in SETTINGS {
        for login in LOGINS {
            for value in [
                format!("\"{login}\""),
                format!("[\"{login}\"]"),
                format!("{{ x = \"{login}\" }}"),
            ] {
                let line = line(setting.path, &value);
                hides(&[&line, BASE]);
                hides(&[&line, &line]);
                // Outside of quotes an escape is none.
                if !login.contains('\\') {
                    hides(&[&line.replacen('"', "", 1)]);
                }
                hides(&[&format!("{line}[")]);
            }
        }
    }
}

#[test]
fn no_login_is_shown_of_what_is_served() {
    for sample in [
        "routes.r = { path = \"/r\", redirect = \"LOGIN\" }",
        "routes.r = { path = \"/r\", redirect = { to = \"LOGIN\" } }",
        "routes.r = { path = \"/r\", files = \"LOGIN\" }",
        "routes.r = { exact = \"/a\", answer = { status = 200, body = \"LOGIN\" } }",
        "\n[logs]\naccess = \"LOGIN\"",
        "\n[tls.t]\nchain = \"LOGIN\"\nkey = \"LOGIN\"\n[listeners.b]\nbind = \"127.0.0.1:82\"\ntls = \"t\"",
    ] {
        let mut served = 0;
        for login in LOGINS {
            let text = format!("{BASE}{SITE}{}\n", sample.replace("LOGIN", login));
            let mut sources = Sources::default();
            let id = sources.add("x", text.clone());
            served += usize::from(load_sources(&[id], &mut sources).is_ok());
            hides(&[&text]);
        }
        assert!(served > 0, "{sample}");
    }
}

#[test]
fn what_an_unknown_setting_holds_is_not_shown_where_its_name_sounds_like_a_secret() {
    let is_table = |one: &&&Setting| matches!(one.kind, Kind::Table | Kind::TableOr(_));
    let mut tables: Vec<String> = SETTINGS
        .iter()
        .filter(is_table)
        .map(|one| one.path.to_owned())
        .collect();
    for setting in SETTINGS {
        if matches!(setting.kind, Kind::Tables | Kind::TableList | Kind::Nodes) {
            tables.push(format!("{}.*", setting.path));
        }
    }
    for name in NAMES {
        hides_broken_too(&format!("{name} = \"c4n4ry\"\n"));
        for table in &tables {
            for value in [
                "\"c4n4ry\"",
                "['c4n4ry']",
                "[{ x = \"c4n4ry\" }]",
                "\"\"\"\nc4n4ry\"\"\"",
            ] {
                hides_broken_too(&line(table, &format!("{{ {name} = {value} }}")));
            }
            let mut head = format!("[{}]\n", table.replace('*', "x"));
            let _ = writeln!(head, "{name} = \"c4n4ry\"");
            hides_broken_too(&head);
        }
    }
}
