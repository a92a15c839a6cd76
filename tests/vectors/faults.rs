//! `faults/`: every fault that must not come back has something that goes red when it does.

use std::fs;
use std::path::Path;

use gateway_tests::vector::{self, Vector};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    shown_by: Vec<String>,
}

#[test]
fn every_fault_not_inherited_is_shown_by_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(vector::of::<Fault>("faults").len(), 11);
    vector::each("faults", |vector: &Vector<Fault>| {
        for shown in &vector.content.shown_by {
            let (file, name) = shown.split_once(": ").ok_or("no `FILE: NAME`")?;
            let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
            let stands = text.contains(&format!("fn {name}("))
                || text.contains(&format!("claim = \"{name}\""));
            if !stands {
                return Err(format!("{file} has no {name:?}"));
            }
        }
        Ok(())
    });
}
