//! `sbom`: what the gateway is made of, as CycloneDX 1.5 in JSON.
//!
//! Made from cargo's own resolution for the platform that is shipped, and from the sums in
//! `Cargo.lock`. It carries no time and no number of its own, so the same tree gives the same text.
//!
//! Source: CycloneDX 1.5; the package URL specification, type `cargo`; adr/0054.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use toml::Table;

use crate::Result;
use crate::process::{capture, program};
use crate::report::print;
use crate::vendor::{self, patches::Patch};

const PRODUCT: &str = "gatewayd";
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

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
    let mut cargo = program(root, "cargo", &line);
    let metadata = capture(cargo.args(["--filter-platform", PLATFORM]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|why| format!("cargo metadata: {why}"))?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).map_err(|why| why.to_string())?;
    let patches = vendor::patches::read(&root.join(vendor::PATCHES))?;
    document(&metadata, &sums(&lock)?, &patches)
}

/// The sum of each release, by name and version.
fn sums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
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

/// What of cargo's metadata is in the product, as a document.
fn document(
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
    patches: &[Patch],
) -> Result<Value> {
    let graph = Graph::new(metadata)?;
    let shipped = graph.reached(&[Edge::Normal]);
    let all = graph.reached(&[Edge::Normal, Edge::Build]);
    let mut components = Vec::new();
    let mut main = None;
    for id in &all {
        let package = graph.package(id)?;
        let mut component = component(package, sums, patches)?;
        if id == &graph.product {
            component.insert("type".to_owned(), json!("application"));
            main = Some(component);
            continue;
        }
        let scope = match shipped.contains(id) {
            true => "required",
            // Runs while building, and is not in the binary.
            false => "excluded",
        };
        component.insert("scope".to_owned(), json!(scope));
        components.push(component);
    }
    let mut dependencies = Vec::new();
    for id in &all {
        let on: Result<BTreeSet<String>> = graph
            .edges(id)
            .filter(|(_, kinds)| kinds.contains(&Edge::Normal) || kinds.contains(&Edge::Build))
            .map(|(to, _)| reference(graph.package(to)?))
            .collect();
        dependencies.push(json!({ "ref": reference(graph.package(id)?)?, "dependsOn": on? }));
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

fn component(
    package: &Value,
    sums: &BTreeMap<(String, String), String>,
    patches: &[Patch],
) -> Result<Map<String, Value>> {
    let (name, version) = (word(package, "name")?, word(package, "version")?);
    let mut component = Map::new();
    let mut say = |key: &str, value: Value| component.insert(key.to_owned(), value);
    say("type", json!("library"));
    say("bom-ref", json!(reference(package)?));
    say("name", json!(name));
    say("version", json!(version));
    if let Some(license) = package.get("license").and_then(Value::as_str) {
        // Some still write it as it was before SPDX had `OR`.
        let expression = license.replace('/', " OR ").replace("  OR  ", " OR ");
        say("licenses", json!([{ "expression": expression }]));
    }
    if !is_ours(name) {
        say("purl", json!(reference(package)?));
    }
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        say("hashes", json!([{ "alg": "SHA-256", "content": sum }]));
    }
    let on_it = patches
        .iter()
        .filter(|patch| patch.crates.iter().any(|one| one == name));
    let on_it: Vec<Value> = on_it.map(patched_by).collect();
    if !on_it.is_empty() {
        say("pedigree", json!({ "patches": on_it }));
    }
    Ok(component)
}

fn patched_by(patch: &Patch) -> Value {
    let url = format!("{}/{}", vendor::PATCHES, patch.name);
    json!({ "type": "unofficial", "diff": { "url": url } })
}

/// What the document calls a package: a package URL, or for ours its name and version.
fn reference(package: &Value) -> Result<String> {
    let (name, version) = (word(package, "name")?, word(package, "version")?);
    Ok(match is_ours(name) {
        true => format!("{name}@{version}"),
        // `+` is the one character of a version that a package URL writes otherwise.
        false => format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
    })
}

fn is_ours(name: &str) -> bool {
    name == PRODUCT || name.starts_with("gateway-")
}

fn word<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let found = value.get(key).and_then(Value::as_str);
    found.ok_or_else(|| format!("cargo metadata has no {key}"))
}

/// What one package needs another for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Build,
    Normal,
    Test,
}

/// Cargo's resolution.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    nodes: BTreeMap<&'a str, &'a Value>,
    product: String,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Result<Self> {
        let list = |value: Option<&'a Value>| value.and_then(Value::as_array);
        let by_id = |all: Option<&'a Vec<Value>>| -> Result<BTreeMap<&'a str, &'a Value>> {
            let all = all.into_iter().flatten();
            all.map(|one| Ok((word(one, "id")?, one))).collect()
        };
        let packages = by_id(list(metadata.get("packages")))?;
        let nodes = by_id(list(metadata.pointer("/resolve/nodes")))?;
        let mut found = packages.iter();
        let product = found
            .find(|(_, package)| package.get("name").and_then(Value::as_str) == Some(PRODUCT))
            .map(|(id, _)| (*id).to_owned())
            .ok_or_else(|| format!("cargo metadata has no {PRODUCT}"))?;
        Ok(Self {
            packages,
            nodes,
            product,
        })
    }

    fn package(&self, id: &str) -> Result<&'a Value> {
        let found = self.packages.get(id).copied();
        found.ok_or_else(|| format!("cargo metadata does not describe {id}"))
    }

    /// What this package needs, and for what.
    fn edges(&self, id: &str) -> impl Iterator<Item = (&'a str, Vec<Edge>)> {
        let deps = self.nodes.get(id).and_then(|node| node.get("deps"));
        let deps = deps.and_then(Value::as_array).into_iter().flatten();
        deps.filter_map(|dep| {
            let kinds = dep.get("dep_kinds").and_then(Value::as_array)?;
            let kinds = kinds.iter().map(|kind| match kind.get("kind") {
                Some(Value::String(kind)) if kind == "build" => Edge::Build,
                Some(Value::String(_)) => Edge::Test,
                _ => Edge::Normal,
            });
            Some((dep.get("pkg")?.as_str()?, kinds.collect()))
        })
    }

    /// Everything the product needs, along edges of these kinds.
    fn reached(&self, kinds: &[Edge]) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut left = vec![self.product.clone()];
        while let Some(id) = left.pop() {
            if reached.insert(id.clone()) {
                let edges = self.edges(&id);
                let wanted = edges.filter(|(_, of)| of.iter().any(|kind| kinds.contains(kind)));
                left.extend(wanted.map(|(to, _)| to.to_owned()));
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests;
