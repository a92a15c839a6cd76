//! What a secret setting holds is shown nowhere: not in a text for people, not in a finding.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use gateway_config::settings::SETTINGS;
use gateway_config::{HIDDEN, Origins, Sources, effective, load_source};

const HEAD: &str = "[listeners.a]\nbind = \"127.0.0.1:1\"\n[pools.p]\nnodes = [\"127.0.0.1:2\"]\n";
const SECRET: &str = "s3cr3t";

/// A table that has the secret setting in it, for each there is.
const SAMPLES: &[(&str, &str)] = &[
    (
        "sites.*.request_edits.set",
        "request_edits = { set = { authorization = \"s3cr3t\" } }",
    ),
    (
        "sites.*.response_edits.set",
        "response_edits.set = { set-cookie = 's3cr3t' }",
    ),
    (
        "sites.*.routes.*.when.headers",
        "routes.r = { path = \"/\", when = { headers = { x-token = \"s3cr3t\", x = true } } }",
    ),
    (
        "sites.*.routes.*.when.query",
        "routes.r = { path = \"/\", when = { query = { token = \"s3cr3t\" } } }",
    ),
    (
        "sites.*.routes.*.when.cookies",
        "routes.r = { path = \"/\", when.cookies.session = \"\"\"s3cr3t\"\"\" }",
    ),
];

fn file(site: &str) -> String {
    format!("{HEAD}[sites.s]\nlistener = \"a\"\npool = \"p\"\n{site}\n")
}

fn name(sample: &str) -> &str {
    ["authorization", "set-cookie", "x-token", "token", "session"]
        .into_iter()
        .find(|name| sample.contains(name))
        .unwrap()
}

#[test]
fn every_setting_that_is_marked_has_a_sample() {
    let marked: Vec<&str> = SETTINGS
        .iter()
        .filter(|one| one.is_secret)
        .map(|one| one.path)
        .collect();
    let samples: Vec<&str> = SAMPLES.iter().map(|(path, _)| *path).collect();
    assert_eq!(samples, marked);
}

#[test]
fn the_text_for_people_has_names_and_no_secrets_and_does_not_load() {
    for (path, sample) in SAMPLES {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", file(sample));
        let loaded = load_source(id, &mut sources).unwrap();
        let model = loaded.snapshot.model();

        let whole = effective::to_toml(model);
        assert!(whole.contains(SECRET), "{path}");
        let id = sources.add("whole.toml", whole);
        assert_eq!(
            load_source(id, &mut sources).unwrap().snapshot,
            loaded.snapshot
        );

        let shown = effective::to_shown_toml(model);
        let expected = format!("{} = \"{HIDDEN}\"", name(sample));
        assert!(
            !shown.contains(SECRET) && shown.contains(&expected),
            "{path}: {shown}"
        );
        let id = sources.add("shown.toml", shown);
        let refused = load_source(id, &mut sources).unwrap_err();
        assert_eq!(refused.len(), 1, "{path}: {refused:?}");
        assert!(refused[0].labels[0].text.contains("write the value itself"));
    }
}

#[test]
fn a_text_that_was_read_shows_no_secret_and_is_still_toml() {
    for (path, sample) in SAMPLES {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", file(sample));
        let loaded = load_source(id, &mut sources).unwrap();
        assert!(
            !sources.text(id).contains(SECRET),
            "{path}: {}",
            sources.text(id)
        );
        let origins = Origins::read(&loaded.origin, &sources);
        let place = origins.place(&["sites".to_owned(), "s".to_owned()]);
        assert!(place.is_some(), "{path}: {}", sources.text(id));
    }
}

#[test]
fn neither_does_one_that_is_refused() {
    for (path, sample) in SAMPLES {
        for broken in [
            // Not TOML, before it and behind it.
            format!("x = \n{}", file(sample)),
            format!("{}[sites\n", file(sample)),
            file(&sample.replacen("s3cr3t", "\ns3cr3t", 1)),
            file(&sample.replace("s3cr3t\"", "s3cr3t")),
            // Misspelled, at each level.
            file(sample).replace("[sites.s]", "[site.s]"),
            file(&sample.replacen("_edits", "_edit", 1)),
            file(&sample.replacen("set =", "sets =", 1)),
            file(&sample.replacen("when", "wenn", 1)),
            // Of a wrong kind.
            file(&sample.replace("\"s3cr3t\"", "[\"s3cr3t\"]")),
            file("request_edits = \"authorization: s3cr3t\""),
            file("request_edits = { set = [\"authorization: s3cr3t\"] }"),
            file("routes = { r = { path = \"/\", when = \"s3cr3t\" } }"),
            format!("{HEAD}sites = {{ s = \"s3cr3t\" }}\n"),
            // Not to be sent.
            file(&sample.replace("s3cr3t", "s3cr3t é")),
        ] {
            let mut sources = Sources::default();
            let id = sources.add("gateway.toml", broken.clone());
            let Err(found) = load_source(id, &mut sources) else {
                continue;
            };
            let told = format!("{found:?}");
            assert!(!told.contains(SECRET), "{path}: {told}");
            for label in found.iter().flat_map(|one| &one.labels) {
                // Whoever draws a finding draws whole lines.
                let text = sources.text(id);
                let start = text[..label.place.span.start].rfind('\n').unwrap_or(0);
                let end = text[label.place.span.end..].find('\n');
                let end = end.map_or(text.len(), |at| at + label.place.span.end);
                assert!(!text[start..end].contains(SECRET), "{path}: {broken}");
            }
        }
    }
}

#[test]
fn what_nobody_knows_is_shown_by_its_name_alone_unless_a_known_one_was_meant() {
    for (text, is_shown) in [
        ("[tls]\nsay = \"s3cr3t\"\n", false),
        ("[pools]\nsay = \"s3cr3t\"\n", false),
        ("[pools.p]\nnodes = [\"h:1\"]\nprobe = \"s3cr3t\"\n", false),
        ("[sites.s]\nhmac = \"s3cr3t\"\n", false),
        (
            "[sites.s]\nlicense = [\"s3cr3t\", { x = \"s3cr3t\" }]\n",
            false,
        ),
        ("[sites.s.routes.r]\n\"X-Api\" = \"s3cr3t\"\n", false),
        (
            "[pools.p]\nnodes = [{ addr = \"h:1\", pin = \"s3cr3t\" }]\n",
            false,
        ),
        (
            "[sites.s.routes.r]\npath = \"/\"\nredirect = \"https://u:s3cr3t @h/\"\n",
            false,
        ),
        ("[pools.p]\nballance = \"s3cr3t\"\n", true),
        ("[sites.s]\nbalance = \"s3cr3t\"\n", true),
    ] {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let found = load_source(id, &mut sources).expect_err(text);
        assert!(!format!("{found:?}").contains(SECRET), "{found:?}");
        assert_eq!(sources.text(id).contains(SECRET), is_shown, "{text}");
    }
}

#[test]
fn a_name_that_two_files_define_does_not_show_it_either() {
    let mut sources = Sources::default();
    let site = format!("sites.s = {{ {} }}\n", SAMPLES[0].1);
    let ids = ["a.toml", "b.toml"].map(|name| sources.add(name, site.clone()));
    assert!(gateway_config::load_sources(&ids, &mut sources).is_err());
    for id in ids {
        assert!(!sources.text(id).contains(SECRET), "{}", sources.text(id));
    }
}

#[test]
fn fields_that_hold_no_secret_are_written_for_people_and_others_are_not() {
    let text = file(
        "request_edits.set = { Accept-Encoding = \"gzip\" }\n\
         response_edits.set = { cache-control = \"no-store\", X-Frame-Options = \"DENY\" }",
    );
    let mut sources = Sources::default();
    let id = sources.add("a.toml", text.clone());
    let first = load_source(id, &mut sources).unwrap().snapshot;
    let shown = effective::to_shown_toml(first.model());
    let again = sources.add("shown.toml", shown);
    let again = load_source(again, &mut sources).unwrap().snapshot;
    assert_eq!(again.hash(), first.hash());
    let more = text.replace("X-Frame-Options = \"DENY\"", "x-token = \"s3cr3t\"");
    let id = sources.add("b.toml", more);
    let loaded = load_source(id, &mut sources).unwrap().snapshot;
    let shown = effective::to_shown_toml(loaded.model());
    assert!(shown.contains("cache-control = \"no-store\""), "{shown}");
    assert!(
        !shown.contains(SECRET) && shown.contains("x-token"),
        "{shown}"
    );
}

#[test]
fn what_a_probe_asks_with_is_hidden_whatever_its_keys_are_called() {
    let probe = |path: &str| {
        format!(
            "{HEAD}probe = {{ kind = \"http\", path = \"{path}\" }}\n\
             [sites.s]\nlistener = \"a\"\npool = \"p\"\n"
        )
    };
    for (path, shown) in [
        ("/healthz?key=s3cr3t", "/healthz?key=…"),
        ("/h?x=1&k=s3cr3t&flag&e=", "/h?x=…&k=…&flag&e="),
        ("/h?a=s3cr3t?b=s3cr3t=", "/h?a=…"),
        ("/healthz?deep", "/healthz?deep"),
        ("/a=b", "/a=b"),
    ] {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", probe(path));
        let loaded = load_source(id, &mut sources).unwrap();
        let model = loaded.snapshot.model();
        assert!(effective::to_toml(model).contains(&format!("path = \"{path}\"")));
        let told = effective::to_shown_toml(model);
        assert!(told.contains(&format!("path = \"{shown}\"")), "{told}");
        let id = sources.add("shown.toml", told);
        let again = load_source(id, &mut sources);
        assert_eq!(again.is_ok(), path == shown, "{again:?}");
    }
    // A finding quotes its line.
    let mut sources = Sources::default();
    let broken = probe("/healthz?key=s3cr3t&session=s3cr3t") + "x = 1\n";
    let id = sources.add("gateway.toml", broken);
    assert!(load_source(id, &mut sources).is_err());
    assert!(!sources.text(id).contains(SECRET), "{}", sources.text(id));
}
