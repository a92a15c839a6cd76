//! The document, made of a small resolution, and of the project's own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::resolved::Resolved;
use super::{Known, document, of, packages, sums};
use crate::vendor::patches::parse;

/// The product needs `pingora-core` and one that is called like ours; `b` makes text of it.
const BUILDS: &str = "\
0gatewayd v1.0.0 (/x/gatewayd)
1gateway-stranger v1.0.0
2b v1.0.0 (proc-macro)
1pingora-core v1.0.0 (/x/vendor)
2gateway-stranger v1.0.0 (*)
";
const SHIPPED: &str = "\
0gatewayd v1.0.0 (/x/gatewayd)
1gateway-stranger v1.0.0
1pingora-core v1.0.0 (/x/vendor)
";

#[test]
fn what_is_shipped_and_what_only_builds() {
    let package = |name: &str, license: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": license });
    let metadata = json!({
        "workspace_members": ["gatewayd"],
        "packages": [
            package("gatewayd", "Apache-2.0"),
            package("pingora-core", "MIT/Apache-2.0"),
            package("b", "MIT OR Apache-2.0"),
            package("gateway-stranger", "MIT"),
        ],
    });
    let sum = |name: &str, sum: &str| ((name.to_owned(), "1.0.0".to_owned()), sum.to_owned());
    let patch = "--- a/pingora-core/x\n+++ b/pingora-core/x\n".to_owned();
    let known = Known {
        packages: packages(&metadata).unwrap(),
        released: BTreeMap::from([sum("b", "5u"), sum("pingora-core", "c0")]),
        patches: vec![parse("0001-x.patch".to_owned(), patch).unwrap()],
    };
    let resolved = Resolved::new(BUILDS, SHIPPED).unwrap();
    let found = document(&resolved, &known, "f00").unwrap();
    let main = &found["metadata"]["component"];
    assert_eq!(
        (&main["name"], &main["type"]),
        (&json!("gatewayd"), &json!("application"))
    );
    assert_eq!(
        main["properties"],
        json!([{ "name": "gatewayd:commit", "value": "f00" }])
    );
    let components = found["components"].as_array().unwrap();
    let [b, stranger, core] = &components[..] else {
        panic!("{components:?}");
    };
    assert_eq!((&b["name"], &b["scope"]), (&json!("b"), &json!("excluded")));
    assert_eq!(b["hashes"][0]["content"], "5u");
    assert_eq!(stranger["purl"], "pkg:cargo/gateway-stranger@1.0.0");
    assert_eq!(core["scope"], "required");
    assert_eq!(core["licenses"][0]["expression"], "MIT OR Apache-2.0");
    let diff = &core["pedigree"]["patches"][0]["diff"]["url"];
    assert_eq!(diff, "vendor/pingora-patches/0001-x.patch");
    let before = &core["pedigree"]["ancestors"][0];
    assert_eq!(before["purl"], "pkg:cargo/pingora-core@1.0.0");
    assert_eq!(
        (&before["hashes"][0]["content"], &core["hashes"]),
        (&json!("c0"), &json!(null))
    );
    let needs = |at: usize| found["dependencies"][at]["dependsOn"].clone();
    assert_eq!(
        needs(2),
        json!([
            "pkg:cargo/gateway-stranger@1.0.0",
            "pkg:cargo/pingora-core@1.0.0"
        ])
    );
    assert_eq!(needs(3), json!(["pkg:cargo/gateway-stranger@1.0.0"]));
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
        let before = &component["pedigree"]["ancestors"][0];
        let released = if is_patched { before } else { component };
        assert_eq!(released["hashes"].is_null(), is_ours, "{name}");
    }
    for dependency in found["dependencies"].as_array().unwrap() {
        assert!(refs.contains(dependency["ref"].as_str().unwrap()));
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(refs.contains(on.as_str().unwrap()), "{on}");
        }
    }
    let is_there = |name: &str| components.iter().any(|one| one["name"] == name);
    assert!(is_there("pingora-core") && is_there("gateway-core"));
    let scope = |name: &str| {
        components
            .iter()
            .find(|one| one["name"] == name)
            .map(|one| &one["scope"])
    };
    assert_eq!(scope("rustls"), Some(&json!("required")));
    // What tests ask of a library is not in the binary, nor is what writes code while building.
    for only_builds in [
        "logos",
        "matchers",
        "miette",
        "syn",
        "quote",
        "serde_derive",
    ] {
        assert_ne!(
            scope(only_builds),
            Some(&json!("required")),
            "{only_builds}"
        );
    }
    assert!(main["properties"][0]["value"].is_string());
    assert!(!is_there("proptest") && !is_there("gateway-tests"));
}
