//! The throw-away workspace: this project's files beside another Pingora.
//!
//! Laid out anew each time, but a file that stays the same is not written again, so that the next
//! build only does what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::Table;

use super::verdict::{self, Verdict};
use crate::process::{capture, program};
use crate::vendor::patches::Patch;
use crate::vendor::{self, PLACE, copy};
use crate::{Result, tree};

/// Where a Pingora comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A checkout of its repository.
    Checkout(PathBuf),
    /// The release that is pinned.
    Registry,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry => f.write_str("the pinned release"),
            Self::Checkout(folder) => {
                let head = ["log", "-1", "--format=%H of %cs"];
                let head = capture(&mut program(folder, "git", &head));
                match (head, folder.join(".git").exists()) {
                    (Ok(head), true) => write!(f, "Pingora at {}", head.trim()),
                    _ => f.write_str("a checkout of Pingora"),
                }
            }
        }
    }
}

/// What was laid out.
#[derive(Debug)]
pub(crate) struct Laid {
    /// Pingora's crates that the workspace names.
    pub(crate) versions: BTreeMap<String, String>,
    /// What the workspace asks for where it is not a throw-away one.
    pub(crate) pinned: String,
    /// Each patch, in its order.
    pub(crate) verdicts: Vec<(String, Verdict)>,
}

/// A folder below `target/`: the workspace, what is built of it, and the logs.
pub(crate) struct Ground {
    place: PathBuf,
}

impl Ground {
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        Self {
            place: root.join("target").join(name),
        }
    }

    /// The log of one step.
    pub(crate) fn log(&self, step: &str) -> PathBuf {
        self.place.join(format!("{step}.log"))
    }

    /// `cargo` in the workspace.
    pub(crate) fn cargo(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split(' ').collect();
        let mut cargo = program(&self.place.join("tree"), "cargo", &words);
        cargo.env("CARGO_TARGET_DIR", self.place.join("build"));
        cargo
    }

    /// Makes the workspace; the patches named in `left_out` are not laid on.
    pub(crate) fn lay_out(
        &self,
        root: &Path,
        source: &Source,
        patches: &[Patch],
        left_out: &[&str],
    ) -> Result<Laid> {
        let staging = self.place.join("staging");
        if staging.exists() {
            fs::remove_dir_all(&staging).map_err(failed(&staging))?;
        }
        for path in tree::paths(root)? {
            let (from, to) = (root.join(&path), staging.join(&path));
            // Deleted, and not yet committed.
            if from.is_file() {
                copy_file(&from, &to)?;
            }
        }
        let engine = staging.join(PLACE);
        take(root, source, patches, &engine)?;
        let wanted = patches.iter();
        let wanted = wanted.filter(|patch| !left_out.contains(&patch.name.as_str()));
        let wanted: Vec<&Patch> = wanted.collect();
        let verdicts = verdict::lay(&engine, &wanted)?;
        let names = wanted.iter().map(|patch| patch.name.clone());
        let verdicts = names.zip(verdicts).collect();
        let manifest = staging.join("Cargo.toml");
        let text = read(&manifest)?;
        let versions = versions(&text, &engine)?;
        let mut beside: BTreeSet<&String> =
            patches.iter().flat_map(|patch| &patch.crates).collect();
        beside.extend(versions.keys());
        fs::write(&manifest, repinned(&text, &versions, &beside)).map_err(failed(&manifest))?;
        sync(&staging, &self.place.join("tree"))?;
        Ok(Laid {
            versions,
            pinned: pinned(&text),
            verdicts,
        })
    }
}

/// Puts Pingora below `engine`; what a patch touches and a checkout does not have is the pinned one.
fn take(root: &Path, source: &Source, patches: &[Patch], engine: &Path) -> Result {
    if let Source::Checkout(folder) = source {
        copy::folder(folder, engine, &[".git", "target"]).map_err(failed(folder))?;
    }
    for (name, source) in vendor::registry_sources(root, patches)? {
        let place = engine.join(name);
        if !place.exists() {
            copy::tree(&source, &place)?;
        }
    }
    Ok(())
}

/// The version of each crate below `engine` that the workspace names.
fn versions(workspace: &str, engine: &Path) -> Result<BTreeMap<String, String>> {
    let manifest: Table = workspace
        .parse()
        .map_err(|why| format!("Cargo.toml: {why}"))?;
    let named = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(toml::Value::as_table);
    let mut versions = BTreeMap::new();
    for name in named.into_iter().flat_map(Table::keys) {
        let file = engine.join(name).join("Cargo.toml");
        if name.starts_with("pingora-") && file.is_file() {
            versions.insert(name.clone(), version(&read(&file)?, engine)?);
        }
    }
    Ok(versions)
}

/// The version of Pingora that the workspace's manifest asks for.
fn pinned(workspace: &str) -> String {
    let mut lines = workspace.lines();
    let line = lines.find(|line| line.starts_with("pingora-core = "));
    let behind = line.and_then(|line| Some(line.split_once("\"=")?.1));
    let version = behind.and_then(|behind| behind.split('"').next());
    version.unwrap_or("none").to_owned()
}

/// The version that a manifest says, or the workspace's it points to.
fn version(manifest: &str, engine: &Path) -> Result<String> {
    let version_in = |text: &str, path: &[&str]| {
        let table: Table = text.parse().ok()?;
        let mut value = table.get(*path.first()?)?;
        for key in path.get(1..)? {
            value = value.get(key)?;
        }
        value.as_str().map(str::to_owned)
    };
    let shared = || {
        let text = read(&engine.join("Cargo.toml")).ok()?;
        version_in(&text, &["workspace", "package", "version"])
    };
    version_in(manifest, &["package", "version"])
        .or_else(shared)
        .ok_or_else(|| "a crate of Pingora's says no version".to_owned())
}

/// The workspace's manifest, with these versions, and these crates taken from beside it.
fn repinned(
    manifest: &str,
    versions: &BTreeMap<String, String>,
    beside: &BTreeSet<&String>,
) -> String {
    let head = manifest
        .split("[patch.crates-io]")
        .next()
        .unwrap_or_default();
    let mut text = String::new();
    for line in head.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        match (versions.get(name), line.split_once("\"=")) {
            (Some(version), Some((before, rest))) => {
                let rest = rest.split_once('"').map_or("", |(_, rest)| rest);
                text.push_str(&format!("{before}\"={version}\"{rest}\n"));
            }
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text.push_str("[patch.crates-io]\n");
    for name in beside {
        text.push_str(&format!("{name} = {{ path = \"{PLACE}/{name}\" }}\n"));
    }
    text
}

/// Makes `to` what `from` is; what is the same stays untouched.
fn sync(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to).map_err(failed(to))?;
    for entry in entries(to)? {
        let name = entry.file_name().unwrap_or_default();
        // Cargo's own; the lock is carried on, for the next run to start from.
        if !from.join(name).exists() {
            let removed = match entry.is_dir() {
                true => fs::remove_dir_all(&entry),
                false => fs::remove_file(&entry),
            };
            removed.map_err(failed(&entry))?;
        }
    }
    for entry in entries(from)? {
        let target = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            sync(&entry, &target)?;
        } else if fs::read(&entry).ok() != fs::read(&target).ok() {
            copy_file(&entry, &target)?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(folder)
        .and_then(|all| all.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(failed(folder))
}

fn copy_file(from: &Path, to: &Path) -> Result {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    fs::copy(from, to).map(drop).map_err(failed(to))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |why| format!("{}: {why}", path.display())
}

#[cfg(test)]
mod tests {
    use super::{pinned, repinned, sync, version};
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_manifest_takes_another_pingora_whole() {
        let manifest = "[workspace.dependencies]\nlog = \"0.4\"\npingora-core = { version = \"=0.9.1\", features = [\"rustls\"] }\npingora-http = \"=0.9.1\"\n\n[patch.crates-io]\npingora-core = { path = \"x\" }\n";
        assert_eq!(pinned(manifest), "0.9.1");
        let versions =
            ["pingora-core", "pingora-http"].map(|name| (name.to_owned(), "1.0.0".into()));
        let versions = BTreeMap::from(versions);
        let http2 = "h2".to_owned();
        let beside: BTreeSet<&String> = versions.keys().chain([&http2]).collect();
        assert_eq!(
            repinned(manifest, &versions, &beside),
            "[workspace.dependencies]\nlog = \"0.4\"\npingora-core = { version = \"=1.0.0\", features = [\"rustls\"] }\npingora-http = \"=1.0.0\"\n\n[patch.crates-io]\nh2 = { path = \"vendor/pingora/h2\" }\npingora-core = { path = \"vendor/pingora/pingora-core\" }\npingora-http = { path = \"vendor/pingora/pingora-http\" }\n"
        );
    }

    #[test]
    fn a_version_may_be_the_workspaces() {
        let place = std::env::temp_dir().join(format!("xtask-version-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let workspace = "[workspace.package]\nversion = \"0.10.0\"\n";
        fs::write(place.join("Cargo.toml"), workspace).unwrap();
        let own = version("[package]\nversion = \"0.9.2\"\n", &place).unwrap();
        let shared = version("[package]\nversion.workspace = true\n", &place).unwrap();
        fs::remove_dir_all(&place).unwrap();
        assert_eq!([own, shared], ["0.9.2", "0.10.0"]);
        assert!(version("[package]\n", Path::new("nowhere")).is_err());
    }

    #[test]
    fn what_stays_the_same_is_not_written_again() {
        let place = std::env::temp_dir().join(format!("xtask-sync-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let (from, to) = (place.join("from"), place.join("to"));
        for (file, text) in [
            ("from/a/same", "1"),
            ("from/new", "2"),
            ("to/a/same", "1"),
            ("to/old/x", "3"),
        ] {
            let file = place.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let written = || fs::metadata(to.join("a/same")).unwrap().modified().unwrap();
        let before = written();
        sync(&from, &to).unwrap();
        assert_eq!(written(), before);
        assert_eq!(fs::read_to_string(to.join("new")).unwrap(), "2");
        assert!(!to.join("old").exists());
        fs::remove_dir_all(place).unwrap();
    }
}
