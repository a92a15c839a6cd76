//! The document, made of a small resolution, and of the project's own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{document, of, sums};
use crate::vendor::patches::parse;

/// The product needs `a` and, to build, `b`; a test of `a` needs `c`.
fn small() -> Value {
    let package = |name: &str, license: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": license });
    let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
    json!({
        "packages": [
            package("gatewayd", "Apache-2.0"),
            package("pingora-core", "MIT/Apache-2.0"),
            package("b", "MIT OR Apache-2.0"),
            package("c", "MIT"),
        ],
        "resolve": { "nodes": [
            { "id": "gatewayd", "deps": [dep("pingora-core", Value::Null), dep("b", json!("build"))] },
            { "id": "pingora-core", "deps": [dep("c", json!("dev"))] },
            { "id": "b", "deps": [] },
            { "id": "c", "deps": [] },
        ]},
    })
}

#[test]
fn what_is_shipped_what_builds_and_what_only_tests() {
    let sums: BTreeMap<_, _> = [(("b".to_owned(), "1.0.0".to_owned()), "5u".to_owned())].into();
    let patch = parse(
        "0001-x.patch".to_owned(),
        "--- a/pingora-core/x\n+++ b/pingora-core/x\n".to_owned(),
    );
    let found = document(&small(), &sums, &[patch.unwrap()]).unwrap();
    assert_eq!(found["metadata"]["component"]["name"], "gatewayd");
    assert_eq!(found["metadata"]["component"]["type"], "application");
    let components = found["components"].as_array().unwrap();
    let [b, core] = &components[..] else {
        panic!("{components:?}");
    };
    assert_eq!((&b["name"], &b["scope"]), (&json!("b"), &json!("excluded")));
    assert_eq!(b["hashes"][0]["content"], "5u");
    assert_eq!(core["scope"], "required");
    assert_eq!(core["purl"], "pkg:cargo/pingora-core@1.0.0");
    assert_eq!(core["licenses"][0]["expression"], "MIT OR Apache-2.0");
    let diff = &core["pedigree"]["patches"][0]["diff"]["url"];
    assert_eq!(diff, "vendor/pingora-patches/0001-x.patch");
}

#[test]
fn sums_are_the_lock_files() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"f00\"\n\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
    let found = sums(lock).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "f00");
}

/// What the standard asks of a document, and what a reader of ours would look for.
#[test]
fn the_projects_own_document_is_whole() {
    let found = of(&crate::tree::root().unwrap()).unwrap();
    assert_eq!(found["bomFormat"], "CycloneDX");
    assert_eq!(found["specVersion"], "1.5");
    let components = found["components"].as_array().unwrap();
    let main = &found["metadata"]["component"];
    let mut refs = BTreeSet::new();
    for component in components.iter().chain([main]) {
        let name = component["name"].as_str().unwrap();
        assert!(
            refs.insert(component["bom-ref"].as_str().unwrap()),
            "{name} twice"
        );
        assert!(!component["version"].as_str().unwrap().is_empty());
        assert!(
            component["licenses"][0]["expression"].is_string(),
            "{name}: no license"
        );
        let is_ours = name.starts_with("gateway");
        let is_patched = component["pedigree"].is_object();
        assert_eq!(component["purl"].is_null(), is_ours, "{name}");
        assert_eq!(
            component["hashes"].is_null(),
            is_ours || is_patched,
            "{name}"
        );
    }
    for dependency in found["dependencies"].as_array().unwrap() {
        assert!(refs.contains(dependency["ref"].as_str().unwrap()));
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(refs.contains(on.as_str().unwrap()), "{on}");
        }
    }
    let is_there = |name: &str| components.iter().any(|one| one["name"] == name);
    assert!(is_there("pingora-core") && is_there("gateway-core"));
    assert!(is_there("rustls") && !is_there("proptest") && !is_there("gateway-tests"));
}
