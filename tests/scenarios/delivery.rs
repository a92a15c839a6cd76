//! What lies in `deploy/`: configurations that are served, and names of series that there are.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::scratch::{Scratch, set_mode};
use gateway_tests::wait;

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

/// A sample with other words for its addresses, nodes and files.
fn moved(sample: &str, words: &[(&str, &str)]) -> String {
    let mut text = read(&format!("deploy/samples/{sample}.toml"));
    for (from, to) in words {
        assert!(text.contains(from), "{sample} has no {from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn the_sample_of_an_edge_serves_a_pool_a_folder_and_a_redirect() {
    let cluster = Cluster::of(&["a", "b"]);
    let nodes = ["a", "b"].map(|name| cluster[name].addr().to_string());
    let authority = Authority::new();
    let identity = authority.signs(&["shop.example", "docs.shop.example"]);
    let text = moved(
        "edge",
        &[
            ("0.0.0.0:80", "127.0.0.1:0"),
            ("0.0.0.0:443", "127.0.0.1:0"),
            (", \"[::]:80\"", ""),
            (", \"[::]:443\"", ""),
            ("127.0.0.1:9090", "127.0.0.1:0"),
            ("/etc/gateway/tls/shop", "t"),
            ("/srv/shop/", ""),
            ("/srv/", ""),
            ("10.0.0.21:8080", &nodes[0]),
            ("10.0.0.22:8080", &nodes[1]),
            ("/healthz", "/schema"),
        ],
    );
    let plan = Plan::configured(&text);
    for (name, text) in [("t.pem", &identity.cert_pem), ("t.key", &identity.key_pem)] {
        fs::write(plan.path(name), text).unwrap();
    }
    set_mode(&plan.path("t.key"), 0o600);
    for (folder, file) in [("assets", "logo.svg"), ("docs", "index.html")] {
        fs::create_dir(plan.path(folder)).unwrap();
        fs::write(plan.path(folder).join(file), folder).unwrap();
    }
    let door = plan.without_waiting().opens();

    let https = door.seen_as("https").addr();
    let of = |host: &str, target: &str| {
        let mut client = Conversation::open_tls(https, &authority.trust(), host);
        client.asks(&Request::get(target).to(host))
    };
    wait::until("a node", wait::SOON, || {
        of("shop.example", "/schema").status == 200
    });
    assert_eq!(
        of("shop.example", "/assets/logo.svg").is(200).text(),
        "assets"
    );
    assert_eq!(of("docs.shop.example", "/").is(200).text(), "docs");
    let clear = door
        .seen_as("http")
        .ask(&Request::get("/x").to("shop.example"));
    assert_eq!(
        clear.is(308).field("location"),
        Some("https://shop.example/x")
    );
}

#[test]
fn the_sample_behind_a_balancer_serves_who_the_balancer_names() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let nodes = ["a", "b", "c"].map(|name| cluster[name].addr().to_string());
    let text = moved(
        "behind-a-balancer",
        &[
            ("0.0.0.0:8080", "127.0.0.1:0"),
            ("0.0.0.0:9090", "127.0.0.1:0"),
            ("10.0.1.0/24", "127.0.0.0/8"),
            ("10.0.0.21:8080", &nodes[0]),
            ("10.0.0.22:8080", &nodes[1]),
            ("10.0.0.23:8080", &nodes[2]),
            ("/healthz", "/schema"),
        ],
    );
    let door = Plan::configured(&text).without_waiting().opens();

    wait::until("a node", wait::SOON, || {
        let mut balancer = Conversation::open(door.addr());
        balancer.says("PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n");
        balancer.asks(&Request::get("/schema")).status == 200
    });
    let line = door.access_line(|line| *line.field("status") == 200);
    assert_eq!(line.text("client"), "203.0.113.7");
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

/// Of a gateway that has one of everything (a door, a site, a pool, a certificate), what the operators'
/// listener and what the door counts.
fn everything() -> [BTreeSet<String>; 2] {
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
    [
        scraped(admin.text("addr").parse().unwrap()),
        scraped(door.seen_as("door").addr()),
    ]
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
    let [admin, door] = everything();
    let counted: BTreeSet<String> = admin.union(&door).cloned().collect();
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
    // What is picked is an address, and the door's families have another one than the rest.
    let picked = named(&board["templating"].to_string());
    for (from, counted) in [("the operators' listener", &admin), ("the door", &door)] {
        let is_there = picked.iter().any(|family| counted.contains(family));
        assert!(is_there, "{picked:?}: no address of {from} can be picked");
    }
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
