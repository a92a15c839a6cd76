//! `sbom`: what the gateway is made of, as CycloneDX 1.5 in JSON.
//!
//! Leaves to [`resolved`] what is in it. Sums are those of `Cargo.lock`. It carries no time and no
//! number of its own, so the same commit gives the same text.
//!
//! Source: CycloneDX 1.5; the package URL specification, type `cargo`; adr/0054.

mod resolved;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use toml::Table;

use crate::Result;
use crate::commit;
use crate::process::{capture, program};
use crate::report::print;
use crate::vendor::{self, patches::Patch};
use resolved::{Key, Resolved};

const PRODUCT: &str = "gatewayd";

/// The command: to the terminal, or into the file named.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    let text = format!("{:#}\n", of(root)?);
    match arguments {
        [] => print(&text)?,
        [word, file] if word == "--output" => {
            fs::write(file, text).map_err(|why| format!("{file}: {why}"))?;
        }
        _ => return Err("sbom takes no argument but --output FILE".to_owned()),
    }
    Ok(())
}

/// The document.
pub(crate) fn of(root: &Path) -> Result<Value> {
    vendor::ensure(root)?;
    let line = ["metadata", "--locked", "--format-version", "1"];
    let metadata = capture(&mut program(root, "cargo", &line))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|why| format!("cargo metadata: {why}"))?;
    // What was patched is in the lock file of its pins, as it was released.
    let mut released = sums(&read(root, &format!("{}/Cargo.lock", vendor::PINS))?)?;
    released.extend(sums(&read(root, "Cargo.lock")?)?);
    let known = Known {
        packages: packages(&metadata)?,
        released,
        patches: vendor::patches::read(&root.join(vendor::PATCHES))?,
    };
    document(&Resolved::of(root)?, &known, &commit::of(root)?)
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).map_err(|why| format!("{path}: {why}"))
}

/// What is known of packages, by name and version.
struct Known<'a> {
    packages: BTreeMap<Key, Package<'a>>,
    /// The sum of each release.
    released: BTreeMap<Key, String>,
    patches: Vec<Patch>,
}

/// What cargo's metadata says of one.
struct Package<'a> {
    license: Option<&'a str>,
    is_ours: bool,
}

fn packages(metadata: &Value) -> Result<BTreeMap<Key, Package<'_>>> {
    let list = |key| {
        metadata
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let members: BTreeSet<&str> = list("workspace_members")
        .filter_map(Value::as_str)
        .collect();
    let known = list("packages").map(|package| {
        let key = (
            word(package, "name")?.to_owned(),
            word(package, "version")?.to_owned(),
        );
        let license = package.get("license").and_then(Value::as_str);
        let is_ours = members.contains(word(package, "id")?);
        Ok((key, Package { license, is_ours }))
    });
    known.collect()
}

/// The sum of each release, by name and version.
fn sums(lock: &str) -> Result<BTreeMap<Key, String>> {
    let lock: Table = lock.parse().map_err(|why| format!("Cargo.lock: {why}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let mut sums = BTreeMap::new();
    for package in packages.into_iter().flatten() {
        let word = |key| package.get(key).and_then(toml::Value::as_str);
        if let (Some(name), Some(version), Some(sum)) =
            (word("name"), word("version"), word("checksum"))
        {
            sums.insert((name.to_owned(), version.to_owned()), sum.to_owned());
        }
    }
    Ok(sums)
}

/// The product, and what it is made of.
fn document(resolved: &Resolved, known: &Known<'_>, commit: &str) -> Result<Value> {
    let mut components = Vec::new();
    let mut main = None;
    let mut dependencies = Vec::new();
    for (key, needs) in &resolved.edges {
        let mut component = known.component(key)?;
        let on: Result<BTreeSet<String>> = needs.iter().map(|one| known.reference(one)).collect();
        dependencies.push(json!({ "ref": known.reference(key)?, "dependsOn": on? }));
        if *key == resolved.product {
            component.insert("type".to_owned(), json!("application"));
            let commit = json!([{ "name": format!("{PRODUCT}:commit"), "value": commit }]);
            component.insert("properties".to_owned(), commit);
            main = Some(component);
            continue;
        }
        let scope = match resolved.shipped.contains(key) {
            true => "required",
            // Runs while building, and is not in the binary.
            false => "excluded",
        };
        component.insert("scope".to_owned(), json!(scope));
        components.push(component);
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": main },
        "components": components,
        "dependencies": dependencies,
    }))
}

impl Known<'_> {
    fn package(&self, key: &Key) -> Result<&Package<'_>> {
        let (name, version) = key;
        let found = self.packages.get(key);
        found.ok_or_else(|| format!("cargo metadata does not describe {name} {version}"))
    }

    /// What the document calls a package: a package URL, or for ours its name and version.
    fn reference(&self, key: &Key) -> Result<String> {
        let (name, version) = key;
        Ok(match self.package(key)?.is_ours {
            true => format!("{name}@{version}"),
            false => url(key),
        })
    }

    fn component(&self, key: &Key) -> Result<Map<String, Value>> {
        let package = self.package(key)?;
        let (name, _) = key;
        let mut component = library(key);
        let mut say = |key: &str, value: Value| component.insert(key.to_owned(), value);
        say("bom-ref", json!(self.reference(key)?));
        if let Some(license) = package.license {
            // Some still write it as it was before SPDX had `OR`.
            let expression = license.replace('/', " OR ").replace("  OR  ", " OR ");
            say("licenses", json!([{ "expression": expression }]));
        }
        if package.is_ours {
            return Ok(component);
        }
        say("purl", json!(url(key)));
        let sum = self.released.get(key);
        let hashes = sum.map(|sum| json!([{ "alg": "SHA-256", "content": sum }]));
        let on_it = self.patches.iter();
        let on_it = on_it.filter(|patch| patch.crates.contains(name));
        let on_it: Vec<Value> = on_it.map(patched_by).collect();
        if on_it.is_empty() {
            hashes.map(|hashes| say("hashes", hashes));
            return Ok(component);
        }
        let mut before = library(key);
        before.insert("purl".to_owned(), json!(url(key)));
        hashes.map(|hashes| before.insert("hashes".to_owned(), hashes));
        say(
            "pedigree",
            json!({ "ancestors": [before], "patches": on_it }),
        );
        Ok(component)
    }
}

fn library((name, version): &Key) -> Map<String, Value> {
    let words = [("type", "library"), ("name", name), ("version", version)];
    words
        .map(|(key, word)| (key.to_owned(), json!(word)))
        .into_iter()
        .collect()
}

/// `+` is the one character of a version that a package URL writes otherwise.
fn url((name, version): &Key) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn patched_by(patch: &Patch) -> Value {
    let url = format!("{}/{}", vendor::PATCHES, patch.name);
    json!({ "type": "unofficial", "diff": { "url": url } })
}

fn word<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let found = value.get(key).and_then(Value::as_str);
    found.ok_or_else(|| format!("cargo metadata has no {key}"))
}

#[cfg(test)]
mod tests;
