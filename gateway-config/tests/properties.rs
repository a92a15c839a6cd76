//! What holds for every file: nothing panics, places lie in their text, order changes nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use gateway_config::{Loaded, Sources, effective, load, load_all, load_source, load_sources};
use proptest::prelude::*;

#[path = "properties/tables.rs"]
mod tables;

use tables::{TABLES, tables};

fn loads(text: &str) -> (Sources, Result<Loaded, Vec<gateway_config::Diagnostic>>) {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    let result = load_source(id, &mut sources);
    (sources, result)
}

/// All tables but those that are wrong, each name with everything below it.
fn named() -> Vec<String> {
    let name = |table: &str| {
        let header = table.split(']').next().unwrap_or_default();
        header.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
    };
    let mut all: Vec<(String, String)> = Vec::new();
    for table in sound() {
        match all.iter_mut().find(|(known, _)| *known == name(table)) {
            Some((_, text)) => text.push_str(table),
            None => all.push((name(table), table.to_owned())),
        }
    }
    all.into_iter().map(|(_, text)| text).collect()
}

/// The same tables, cut into two files.
fn loads_as_a_folder(
    tables: &[String],
    cut: usize,
) -> Result<Loaded, Vec<gateway_config::Diagnostic>> {
    let mut sources = Sources::default();
    let (first, second) = tables.split_at(cut);
    let first = sources.add("conf.d/a.toml", first.concat());
    let second = sources.add("conf.d/b.toml", second.concat());
    load_sources(&[first, second], &mut sources)
}

fn places_lie_in_their_text(text: &str) -> Result<(), TestCaseError> {
    let (sources, result) = loads(text);
    let found = match result {
        Ok(loaded) => loaded.warnings,
        Err(found) => {
            prop_assert!(!found.is_empty());
            found
        }
    };
    for one in &found {
        prop_assert!(!one.labels.is_empty(), "{}", one.title);
        prop_assert!(!one.title.contains('\n'), "{}", one.title);
        for label in &one.labels {
            let whole = sources.text(label.place.source);
            prop_assert!(whole.get(label.place.span.clone()).is_some(), "{one:?}");
        }
    }
    Ok(())
}

/// A configuration, be it one of `tests/config`, with some characters of it replaced, removed or
/// doubled.
fn damaged() -> impl Strategy<Value = String> {
    let hits = prop::collection::vec((any::<prop::sample::Index>(), ".{0,3}"), 0..4);
    let base = prop_oneof![tables(), prop::sample::select(configurations())];
    (base, hits).prop_map(|(text, hits)| {
        let mut all: Vec<String> = text.chars().map(String::from).collect();
        for (index, put) in hits {
            if !all.is_empty() {
                *index.get_mut(&mut all) = put;
            }
        }
        all.concat()
    })
}

/// The texts of `tests/config`.
fn configurations() -> Vec<String> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/config");
    let files = std::fs::read_dir(directory).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

/// All tables but those that are wrong.
fn sound() -> Vec<&'static str> {
    let wrong = ["timeout = \"6s\"", "é"];
    TABLES
        .iter()
        .copied()
        .filter(|table| !wrong.iter().any(|word| table.contains(word)))
        .chain(["[pools.shop]\nnodes = [\"10.0.0.1:80\"]\n"])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_damage_panics(text in damaged()) {
        places_lie_in_their_text(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        places_lie_in_their_text(&text)?;
    }

    #[test]
    fn the_order_of_tables_changes_nothing(tables in Just(sound()).prop_shuffle()) {
        let (_, first) = loads(&sound().concat());
        let (_, second) = loads(&tables.concat());
        let (first, second) = (first.unwrap().snapshot, second.unwrap().snapshot);
        prop_assert_eq!(first.hash(), second.hash());
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_folder_says_what_one_file_says(tables in Just(named()).prop_shuffle(), cut in 0_usize..12) {
        let (_, whole) = loads(&sound().concat());
        let cut = loads_as_a_folder(&tables, cut.min(tables.len()));
        prop_assert_eq!(cut.unwrap().snapshot, whole.unwrap().snapshot);
    }

    #[test]
    fn the_effective_text_loads_to_an_equal_model(tables in tables()) {
        if let (_, Ok(first)) = loads(&tables) {
            let text = effective::to_toml(first.snapshot.model());
            let (_, again) = loads(&text);
            prop_assert_eq!(again.unwrap().snapshot, first.snapshot);
        }
    }
}

#[test]
fn a_name_that_two_files_define_is_refused_with_both_places() {
    let mut sources = Sources::default();
    let first = "[pools.shop]\nnodes = [\"a:1\"]\n[limits]\nconnections = 1\n";
    let second = "\"é\" = 1\n[pools.shop]\nnodes = [\"b:1\"]\n[limits]\nconnections = 2\n";
    let ids = [("a.toml", first), ("b.toml", second)]
        .map(|(name, text)| sources.add(name, text.to_owned()));
    let found = load_sources(&ids, &mut sources).unwrap_err();
    let said: Vec<String> = found
        .iter()
        .flat_map(|one| &one.labels)
        .map(|label| {
            let (line, column) = sources.line_column(label.place.source, label.place.span.start);
            let text = sources.text(label.place.source);
            let piece = &text[label.place.span.clone()];
            format!(
                "{}:{line}:{column} {piece}",
                sources.name(label.place.source)
            )
        })
        .collect();
    let twice = [
        "b.toml:2:8 shop",
        "a.toml:1:8 shop",
        "b.toml:5:1 connections",
        "a.toml:4:1 connections",
    ];
    for one in twice {
        assert!(
            said.iter().any(|line| line == one),
            "{one} is not in {said:?}"
        );
    }
}

#[test]
fn a_folder_is_read_by_the_names_of_its_files() {
    let dir = std::env::temp_dir().join(format!("gateway-folder-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("b.toml"), "[pools.shop]\nnodes = [\"a:1\"]\n").unwrap();
    std::fs::write(
        dir.join("a.toml"),
        "[listeners.a]\nbind = \"127.0.0.1:0\"\n",
    )
    .unwrap();
    let site = "[sites.a]\nlistener = \"a\"\npool = \"shop\"\nerror_pages = { 404 = \"x.html\" }\n";
    std::fs::write(dir.join("c.toml"), site).unwrap();
    // What editors and package managers leave behind.
    let left = [
        ".hidden.toml",
        ".a.toml.swp",
        "a.toml~",
        "#a.toml#",
        "a.toml.bak",
        "a.toml.dpkg-old",
    ];
    for name in left.iter().chain(&["notes.txt"]) {
        std::fs::write(dir.join(name), "broken").unwrap();
    }
    let loaded = load(&dir, &mut Sources::default()).unwrap();
    assert_eq!(loaded.files[0].path, dir.join("x.html"));
    let again = dir
        .join("../")
        .join(dir.file_name().unwrap())
        .join("b.toml");
    let twice = load_all(&[&dir, &again, &dir], &mut Sources::default()).unwrap();
    assert_eq!(twice.snapshot, loaded.snapshot);
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(load(&dir, &mut Sources::default()).is_err());
}

#[test]
fn a_number_names_nothing() {
    let (_, loaded) = loads(&sound().concat());
    let first = loaded.unwrap().snapshot;
    let later = first.clone().with_number(7);
    assert_eq!((later.number(), later.hash()), (7, first.hash()));
    assert_eq!(first.hash().len(), 32);
}
