//! Each guard seen red on a sample, and quiet on its neighbour.

use super::rules::{Crate, Peers, Word};
use super::{Source, away_from_home, between_peers, forbidden, modules};
use crate::tree::File;

fn source(path: &str, text: &str) -> Source {
    Source::from(File::new(path, text))
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn room() -> Crate {
    Crate {
        folder: "gateway-core".to_owned(),
        never: Vec::new(),
        order: texts(&["failure", "health", "pool"]),
        despite: Vec::new(),
    }
}

#[test]
fn an_arrow_upward_is_red() {
    let upward = source("gateway-core/src/health.rs", "use crate::pool::Pool;\n");
    assert_eq!(modules::judge(&room(), &[upward]).len(), 1);
    let in_braces = source(
        "gateway-core/src/health/fall.rs",
        "use crate::{failure::{A, B}, pool};\n",
    );
    assert_eq!(modules::judge(&room(), &[in_braces]).len(), 1);
}

#[test]
fn arrows_downward_and_within_are_free() {
    let downward = source(
        "gateway-core/src/pool.rs",
        "use crate::health::Health;\nuse crate::pool::pick;\n",
    );
    let in_test = source(
        "gateway-core/src/failure.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::pool::Pool;\n}\n// crate::pool\n",
    );
    assert!(modules::judge(&room(), &[downward, in_test]).is_empty());
}

#[test]
fn a_known_arrow_upward_is_free_until_it_is_gone() {
    let room = Crate {
        despite: texts(&["health -> pool"]),
        ..room()
    };
    let upward = source("gateway-core/src/health.rs", "use crate::pool::Pool;\n");
    assert!(modules::judge(&room, &[upward]).is_empty());
    assert_eq!(modules::judge(&room, &[]).len(), 1);
}

#[test]
fn a_module_without_a_place_is_red_once() {
    let files = [
        source("gateway-core/src/retry.rs", ""),
        source("gateway-core/src/retry/table.rs", ""),
    ];
    assert_eq!(modules::judge(&room(), &files).len(), 1);
}

#[test]
fn a_forbidden_dependency_is_red() {
    let manifest = "[dependencies]\ntokio = \"1\"\npingora-core = \"1\"\nserde = \"1\"\n"
        .parse()
        .unwrap();
    assert_eq!(
        forbidden(&manifest, &texts(&["tokio*", "pingora*"])).len(),
        2
    );
}

#[test]
fn a_step_that_names_another_is_red() {
    let peers = Peers {
        folder: "gateway-pingora/src/step".to_owned(),
        why: String::new(),
    };
    let files = [
        source("gateway-pingora/src/step/admit.rs", "use super::route;\n"),
        source(
            "gateway-pingora/src/step/route.rs",
            "fn f() { crate::step::admit::run() }\n",
        ),
        source(
            "gateway-pingora/src/step/send.rs",
            "use super::Step;\nfn route() {}\n",
        ),
    ];
    assert_eq!(between_peers(&peers, &files).len(), 2);
}

#[test]
fn a_word_away_from_home_is_red() {
    let clock = Word {
        words: texts(&["Instant::now"]),
        files: texts(&["gateway-*/src/*"]),
        home: texts(&["*/clock.rs"]),
        why: String::new(),
    };
    let files = [
        source("gateway-core/src/pool.rs", "let now = Instant::now();\n"),
        source(
            "gateway-pingora/src/clock.rs",
            "let now = Instant::now();\n",
        ),
        source("tests/stage.rs", "let now = Instant::now();\n"),
    ];
    assert_eq!(away_from_home(&clock, &files).len(), 1);
}
