//! One mistake is one finding, and hides no other.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use std::fs;
use std::path::Path;

use gateway_config::{Sources, load_all, load_source, load_sources};

const HEAD: &str = "[listeners.a]\nbind = \"127.0.0.1:1\"\n";
const POOL: &str = "[pools.p]\nnodes = [\"127.0.0.1:2\"]\n";
const SITE: &str = "[sites.s]\nlistener = \"a\"\n";

/// What is said of several texts: each finding's first line.
fn said(texts: &[&str]) -> Vec<String> {
    let mut sources = Sources::default();
    let names = ["a.toml", "b.toml", "c.toml"];
    let ids: Vec<_> = texts
        .iter()
        .zip(names)
        .map(|(text, name)| sources.add(name, (*text).to_owned()))
        .collect();
    let found = match load_sources(&ids, &mut sources) {
        Ok(loaded) => loaded.warnings,
        Err(found) => found,
    };
    found
        .iter()
        .map(|one| one.first_line(&sources).to_string())
        .collect()
}

fn codes(texts: &[&str]) -> Vec<String> {
    let code = |line: &String| line.split(['[', ']']).nth(1).unwrap().to_owned();
    said(texts).iter().map(code).collect()
}

#[test]
fn what_is_never_closed_is_one_finding_where_it_begins() {
    for (setting, at) in [
        ("in_flight = { max = 1", "4:13"),
        ("in_flight = { max = { a = 1 }", "4:13"),
        ("bind = [\"127.0.0.1:1\"", "4:8"),
        ("bind = [\n\"127.0.0.1:1\",\n\"127.0.0.1:2\"", "4:8"),
        ("bind = [[1], [2]", "4:8"),
    ] {
        let text = format!(
            "{POOL}[listeners.a]\n{setting}\nidle = \"1s\"\nalpn = [\"h2\"]\n\n[sites.s]\nx = {{}}\n"
        );
        let said = said(&[&text]);
        assert_eq!(said.len(), 1, "{text}{said:?}");
        assert!(
            said[0].starts_with(&format!("a.toml:{at}: error[G0001]")),
            "{said:?}"
        );
    }
}

#[test]
fn nesting_is_told_of_where_it_passes_the_limit() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (text, column) in [
        (format!("{HEAD}x = {deep}\n"), 85),
        (format!("{HEAD}x = {}1\n", "{ a = ".repeat(200)), 5),
        (format!("{HEAD}{}x = 1\n", "a.".repeat(200)), 160),
    ] {
        let said = said(&[&text]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with(&format!("a.toml:3:{column}: error[G0001]")),
            "{said:?}"
        );
    }
}

#[test]
fn a_text_that_cannot_be_read_hides_nothing_in_the_others() {
    let other = format!(
        "{HEAD}idel = \"1s\"\n{SITE}pool = \"q\"\nallow_from = [\"@o\", \"10.0.0.0/33\"]\n"
    );
    for broken in [
        "x = \n",
        "[pools.q",
        "[pools.q]\nnodes = { \n",
        "a = \"\n[address_sets.o]\n",
    ] {
        for texts in [[broken, &other], [&other, broken]] {
            assert_eq!(
                codes(&texts).iter().filter(|code| *code == "G0001").count(),
                1
            );
            let mut others = codes(&texts);
            others.retain(|code| code != "G0001");
            others.sort();
            assert_eq!(others, ["G0002", "G0201"], "{broken}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_opened_hides_nothing_in_the_others() {
    let folder = std::env::temp_dir().join(format!("gateway-cascades-{}", std::process::id()));
    fs::create_dir_all(folder.join("dir.toml")).unwrap();
    fs::write(folder.join("bytes.toml"), b"[pools.q]\n# \xff\nnodes = [").unwrap();
    fs::write(
        folder.join("good.toml"),
        format!("{HEAD}idel = \"1s\"\n{SITE}pool = \"q\"\n"),
    )
    .unwrap();
    let absent = folder.join("absent.toml");
    let mut sources = Sources::default();
    let paths: [&Path; 2] = [&folder, &absent];
    let found = load_all(&paths, &mut sources).unwrap_err();
    fs::remove_dir_all(&folder).unwrap();
    let mut codes: Vec<String> = found.iter().map(|one| one.code.to_string()).collect();
    codes.sort();
    assert_eq!(codes, ["G0002", "G0005", "G0005", "G0005"]);
    let placed = found
        .iter()
        .find(|one| one.title.contains("UTF-8"))
        .unwrap();
    let place = &placed.labels[0].place;
    assert_eq!(sources.line_column(place.source, place.span.start), (2, 3));
}

#[test]
fn a_pool_that_a_refused_route_may_have_meant_is_not_unused() {
    for (routes, code) in [
        ("routes.r = { path = \"/\" }\n", "G0004"),
        (
            "routes.r = { path = \"/\", answer = { status = 204 }, redirect = \"/x\" }\n",
            "G0313",
        ),
        ("", "G0308"),
        ("routes.r = { path = \"/\", pool = \"x\" }\n", "G0104"),
    ] {
        let text = format!("{HEAD}{POOL}{SITE}{routes}");
        assert_eq!(codes(&[&text]), [code], "{text}");
    }
}

#[test]
fn a_name_in_two_files_is_told_with_its_table() {
    let text = format!("{HEAD}{SITE}pool = \"p\"\n{POOL}");
    let said = said(&[&text, POOL, "sites = { s = {} }\n"]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("`pools.p` is defined in two files"),
        "{said:?}"
    );
    assert!(
        said[1].contains("`sites.s` is defined in two files"),
        "{said:?}"
    );
}

#[test]
fn what_cannot_be_seen_is_where_the_caret_stands() {
    for (c, column) in [("\u{feff}", 1), ("\u{2028}", 1), ("\u{200b}", 1)] {
        let text = format!("{HEAD}{c}idle = 1\n");
        let mut sources = Sources::default();
        let id = sources.add("a.toml", text);
        let found = load_source(id, &mut sources).unwrap_err();
        let place = &found[0].labels[0].place;
        assert_eq!(sources.line_column(id, place.span.start), (3, column));
        assert!(found[0].cured_by().unwrap().contains("U+"), "{found:?}");
        assert!(!sources.text(id).contains(c), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn what_is_masked_keeps_its_name_and_its_caret() {
    let site = format!("{HEAD}{POOL}{SITE}pool = \"p\"\n");
    for (setting, at, name) in [
        (
            "routes.r = { path = \"/\", when = { headers = { a = \"x\", a = \"y\" } } }\n",
            "8:56",
            "`a`",
        ),
        (
            "request_edits = { set = { b = \"x\" }, remove = [\"c d\"] }\n",
            "8:48",
            "`c…`",
        ),
        (
            "request_edits = { set = { b = \"x\", \"c d\" = \"y\" } }\n",
            "8:36",
            "`c…`",
        ),
        (
            "request_edits.set.a = \"x\"\nrequest_edits.set.a = \"y\"\n",
            "9:19",
            ".set.a`",
        ),
    ] {
        let mut sources = Sources::default();
        let id = sources.add("a.toml", format!("{site}{setting}"));
        let found = load_source(id, &mut sources).unwrap_err();
        let line = found[0].first_line(&sources).to_string();
        assert!(line.starts_with(&format!("a.toml:{at}: ")), "{line}");
        assert!(line.contains(name), "{line}");
        let place = &found[0].labels[0].place;
        let shown = sources.text(id).get(place.span.clone()).unwrap();
        // A name is shown up to where it is none.
        let is_kept = !shown.contains('*') || matches!(shown, "\"c**\"");
        assert!(is_kept, "{line}: {shown}");
    }
}

#[test]
fn what_is_unknown_hides_nothing_that_it_cannot_explain() {
    let good = format!("{HEAD}{SITE}hosts = [\"h\"]\npool = \"p\"\n");
    let other = "[sites.t]\nlistener = \"a\"\nhosts = [\"h\"]\npool = \"q\"\n";
    let route = |name, body| format!("[sites.s.routes.{name}]\npath = \"/{name}\"\n{body}\n");
    let twice = route("a", "pool = \"p\"\nanswer = 200");
    for (what, text, expected) in [
        (
            "at the top",
            format!("zz = 1\n{good}{other}{POOL}"),
            &["G0002", "G0104", "G0304"][..],
        ),
        (
            "a table",
            format!("{good}{other}{POOL}[zz.y]\na = 1\n"),
            &["G0002", "G0104", "G0304"],
        ),
        (
            "a definition",
            format!("{good}{other}[pool.p]\n[pools.r]\nnodes = [\"127.0.0.1:2\"]\n"),
            &["G0002", "G0104", "G0304"],
        ),
        ("no listener", "listeners.a = 1\n".to_owned(), &["G0003"]),
        (
            "nothing but what is unknown",
            "a = 1\n".to_owned(),
            &["G0002"],
        ),
        ("no table", format!("{good}[pools]\np = 1\n"), &["G0003"]),
        (
            "no tables",
            format!("pools = 1\n{good}{other}"),
            &["G0003", "G0304"],
        ),
        (
            "in a route",
            format!("{good}{POOL}{twice}{}", route("b", "zz = 1\nanswer = 200")),
            &["G0002", "G0313"],
        ),
        (
            "of a wrong kind in a route",
            format!(
                "{good}{POOL}{twice}{}",
                route("b", "methods = 1\nanswer = 200")
            ),
            &["G0003", "G0313"],
        ),
        (
            "in the same route",
            format!("{good}{POOL}{twice}zz = 1\n"),
            &["G0002", "G0313"],
        ),
        (
            "in the site",
            format!("{good}zz = 1\n{POOL}{twice}"),
            &["G0002", "G0313"],
        ),
        (
            "what the site lacks",
            format!(
                "{HEAD}{SITE}hosts = [\"h\"]\npol = \"p\"\n{POOL}{}",
                route("a", "")
            ),
            &["G0002"],
        ),
        (
            "what the route lacks",
            format!("{good}{POOL}[sites.s.routes.a]\npth = \"/\"\n"),
            &["G0002"],
        ),
        (
            "in the other site",
            format!("{good}{POOL}{other}zz = 1\n"),
            &["G0002", "G0104", "G0304"],
        ),
        (
            "hosts of the other site",
            format!("{good}{POOL}{}", other.replace("hosts", "hots")),
            &["G0002", "G0104"],
        ),
    ] {
        let mut codes = codes(&[&text]);
        codes.sort();
        codes.dedup();
        assert_eq!(codes, expected, "{what}\n{text}");
    }
}

#[test]
fn only_what_was_handed_over_may_be_a_pipe() {
    let folder = std::env::temp_dir().join(format!("gateway-pipes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe.toml");
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, 0o600.into(), 0).unwrap();
    for path in [pipe, folder.clone(), "/dev/zero".into()] {
        let (told, found) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut sources = Sources::default();
            let found = load_all(&[&path], &mut sources).unwrap_err();
            let _ = told.send(found[0].title.clone());
        });
        let title = found
            .recv_timeout(std::time::Duration::from_secs(30))
            .unwrap();
        assert!(title.ends_with("cannot be read: not a file"), "{title}");
    }
    fs::remove_dir_all(&folder).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"zz = 1\n").unwrap();
    drop(writer);
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let found = load_all(&[Path::new(&path)], &mut Sources::default()).unwrap_err();
    assert!(found[0].title.contains("`zz`"), "{found:?}");
}
