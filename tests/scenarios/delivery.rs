//! What lies in `deploy/`: configurations that are served, and names of series that there are.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, runs};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::scratch::Scratch;

/// Beginnings of what a gateway counts.
const OURS: [&str; 3] = ["big_proxy_", "gateway_", "process_"];
/// What a histogram's name is followed by in a query.
const PARTS: [&str; 3] = ["_bucket", "_count", "_sum"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Every file below `deploy/` with one of these endings.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut folders = vec![root().join("deploy")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if endings
                .iter()
                .any(|end| path.to_string_lossy().ends_with(end))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The configurations inside a manifest: what stands, further in, below `NAME.toml: |`.
fn embedded(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = manifest.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.ends_with(".toml: |") {
            continue;
        }
        let depth = |line: &str| line.len() - line.trim_start().len();
        let outside = depth(line);
        let mut text = String::new();
        while let Some(inner) = lines.next_if(|one| one.is_empty() || depth(one) > outside) {
            text.push_str(inner.trim_start());
            text.push('\n');
        }
        found.push(text);
    }
    found
}

#[track_caller]
fn is_served(path: &Path) {
    let path = path.to_string_lossy().into_owned();
    let ended = runs(&["check", &path]);
    assert!(ended.status.success(), "{path}\n{}", ended.stderr);
    assert!(ended.stderr.is_empty(), "{path}\n{}", ended.stderr);
}

#[test]
fn every_configuration_passes_without_a_word() {
    let samples = files(&[".toml"]);
    assert!(samples.len() > 3, "{samples:?}");
    samples.iter().for_each(|sample| is_served(sample));

    let scratch = Scratch::new();
    let manifests = files(&[".yaml", ".yml"]);
    let inside: Vec<String> = manifests
        .iter()
        .flat_map(|file| embedded(&fs::read_to_string(file).unwrap()))
        .collect();
    assert_eq!(inside.len(), 1, "configurations inside manifests");
    for text in inside {
        is_served(&scratch.file("embedded.toml", &text));
    }
}

#[test]
fn the_socket_unit_holds_what_the_sample_binds() {
    let unit = read("deploy/systemd/gatewayd.socket");
    let held: BTreeSet<&str> = unit
        .lines()
        .filter_map(|line| line.strip_prefix("ListenStream="))
        .collect();
    let sample: toml::Table = read("deploy/samples/edge.toml").parse().unwrap();
    let listeners = sample["listeners"].as_table().unwrap();
    let binds = listeners
        .values()
        .map(|one| one["bind"].as_array().unwrap());
    let bound: BTreeSet<&str> = binds.flatten().filter_map(toml::Value::as_str).collect();
    assert_eq!(held, bound);
    // By default systemd would take IPv4 on `[::]` too, and 0.0.0.0 would be taken.
    assert!(unit.contains("\nBindIPv6Only=ipv6-only\n"), "{unit}");
}

fn scraped(addr: SocketAddr) -> BTreeSet<String> {
    let answer = Conversation::open(addr).asks(&Request::get("/metrics"));
    let text = answer.is(200).text();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names = families.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// A gateway that has one of everything: a door, a site, a pool, a certificate.
fn everything() -> BTreeSet<String> {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let identity = authority.signs(&["shop.test"]);
    let node = cluster["a"].addr();
    let text = format!(
        "[listeners.https]\nbind = \"127.0.0.1:0\"\ntls = \"shop\"\n\
         [tls.shop]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
         [sites.shop]\nlistener = \"https\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [\"{node}\"]\n\
         [front_door.door]\nlisten = \"127.0.0.1:0\"\nupstreams = {{ a = \"{node}\" }}\n\
         [admin]\nbind = \"127.0.0.1:0\"\n"
    );
    let door = Door::configured_over_tls(&text, &authority, &identity);
    let admin = door.log().waits_for("admin", |_| true);
    let mut all = scraped(admin.text("addr").parse().unwrap());
    all.extend(scraped(door.seen_as("door").addr()));
    all
}

/// The names of ours in a text, each as its family is called.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c == '_' || c == ':' || c.is_ascii_alphanumeric();
    let words = text.split(|c| !is_name(c));
    let ours = words.filter(|word| OURS.iter().any(|head| word.starts_with(head)));
    ours.map(|word| {
        let part = PARTS.iter().find_map(|part| word.strip_suffix(part));
        part.unwrap_or(word).to_owned()
    })
    .collect()
}

#[test]
fn rules_and_dashboard_name_what_is_counted() {
    let counted = everything();
    for path in [
        "deploy/prometheus/gatewayd.rules.yml",
        "deploy/prometheus/gatewayd.rules.test.yml",
        "deploy/grafana/gatewayd.json",
    ] {
        let named = named(&read(path));
        assert!(named.len() > 5, "{path}: {named:?}");
        let unknown: Vec<&String> = named.difference(&counted).collect();
        assert!(
            unknown.is_empty(),
            "{path} names {unknown:?}, which nothing counts"
        );
    }
    let board: serde_json::Value =
        serde_json::from_str(&read("deploy/grafana/gatewayd.json")).unwrap();
    assert!(board["panels"].as_array().unwrap().len() > 10);
}

#[test]
fn every_alert_is_tested_and_has_its_place_in_the_page_for_operators() {
    let rules = read("deploy/prometheus/gatewayd.rules.yml");
    let (tests, page) = (
        read("deploy/prometheus/gatewayd.rules.test.yml"),
        read("docs/operations.md"),
    );
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() > 5, "{alerts:?}");
    for alert in alerts {
        assert!(
            page.contains(&format!("\n### {alert}\n")),
            "{alert} is not explained"
        );
        assert!(
            tests.contains(&format!("alertname: {alert}\n")),
            "{alert} is not tested"
        );
    }
}

#[test]
fn the_page_for_those_who_come_from_elsewhere_names_settings_there_are() {
    let page = read("docs/migration.md");
    let settings = read("docs/settings.md");
    let words = page.split('`').skip(1).step_by(2);
    let named: Vec<&str> = words.filter(|word| word.contains(".*.")).collect();
    assert!(named.len() > 40, "{named:?}");
    for name in named {
        assert!(
            settings.contains(&format!("| `{name}` |")),
            "there is no {name}"
        );
    }
}

#[test]
fn the_version_says_which_commit_and_which_engine() {
    let said = runs(&["--version"]).stdout;
    let lock = read("Cargo.lock");
    let engine = lock
        .split("name = \"pingora-core\"\nversion = \"")
        .nth(1)
        .unwrap();
    let engine = engine.split('"').next().unwrap();
    let (_, rest) = said.split_once(" (").unwrap_or_else(|| panic!("{said}"));
    let (commit, rest) = rest.split_once(", ").unwrap();
    assert_eq!(rest, format!("Pingora {engine})"));
    let is_commit = commit.len() == 12 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    // Built from an archive, it says that instead.
    assert!(is_commit || commit == "unknown commit", "{said}");
}
