//! What holds for every file: nothing panics, places lie in their text, order changes nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use gateway_config::{Loaded, Sources, effective, load_source};
use proptest::prelude::*;

/// Tables that belong together; any of them may be left out, and their order is free.
const TABLES: &[&str] = &[
    "[listeners.web]\nbind = \"127.0.0.1:8080\"\n",
    "[listeners.tls]\nbind = \"127.0.0.1:8443\"\ntls = \"shop\"\nalpn = [\"h2\"]\n",
    "[tls.shop]\nchain = \"/c.pem\"\nkey = \"/k.pem\"\n",
    "[sites.shop]\nlistener = \"web\"\nhosts = [\"B.example\", \"a.example\"]\npool = \"shop\"\n",
    "[sites.shop.routes.api]\npath = \"/api/\"\nmethods = [\"POST\", \"GET\"]\ntimeouts = { response = \"5s\" }\n",
    "[sites.shop.routes.item]\ntemplate = \"/item/{id}\"\nquery = [\"b\", \"a\"]\nupgrade = true\n",
    "[sites.rest]\nlistener = \"tls\"\npool = \"shop\"\nfailures = \"json\"\n",
    "[pools.shop]\nnodes = [\"10.0.0.1:80\", { addr = \"10.0.0.2:80\", name = \"é\" }]\n",
    "[pools.shop.probe]\nevery = \"5s\"\ntimeout = \"6s\"\n",
    "[pools.other]\nnodes = [\"[::1]:80\"]\nretry = { attempts = 0 }\ntls = { ca = \"/ca.pem\" }\n",
    "[limits]\nbody_memory = \"1 GiB\"\n",
    "[logs]\naccess = \"off\"\n",
    "[drain]\ndeadline = \"1m\"\n",
    "[front_door.db]\nlisten = \"127.0.0.1:7650\"\nupstreams = { a = \"localhost:1\" }\n",
];

fn loads(text: &str) -> (Sources, Result<Loaded, Vec<gateway_config::Diagnostic>>) {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    let result = load_source(id, &mut sources);
    (sources, result)
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

/// A sound file with some bytes of it replaced, removed or doubled.
fn damaged() -> impl Strategy<Value = String> {
    let hits = prop::collection::vec((any::<prop::sample::Index>(), ".{0,3}"), 0..4);
    (tables(), hits).prop_map(|(text, hits)| {
        let mut all: Vec<String> = text.chars().map(String::from).collect();
        for (index, put) in hits {
            if !all.is_empty() {
                *index.get_mut(&mut all) = put;
            }
        }
        all.concat()
    })
}

fn tables() -> impl Strategy<Value = String> {
    prop::sample::subsequence(TABLES, 0..=TABLES.len())
        .prop_shuffle()
        .prop_map(|tables| tables.concat())
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
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        places_lie_in_their_text(&text)?;
    }

    #[test]
    fn no_damage_panics(text in damaged()) {
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
    fn the_effective_text_loads_to_an_equal_model(tables in tables()) {
        if let (_, Ok(first)) = loads(&tables) {
            let text = effective::to_toml(first.snapshot.model());
            let (_, again) = loads(&text);
            prop_assert_eq!(again.unwrap().snapshot, first.snapshot);
        }
    }
}

#[test]
fn a_number_names_nothing() {
    let (_, loaded) = loads(&sound().concat());
    let first = loaded.unwrap().snapshot;
    let later = first.clone().with_number(7);
    assert_eq!((later.number(), later.hash()), (7, first.hash()));
    assert_eq!(first.hash().len(), 32);
}
