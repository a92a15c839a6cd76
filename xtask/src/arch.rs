//! `arch`: the arrows between crates, between modules, and the words that stay in one room.
//!
//! What is allowed stands in `xtask/arch.toml`; this file only compares. Arrows between crates
//! that carry Pingora are guarded a second time, with the whole tree in sight, by `deny.toml`.
//!
//! Source: adr/0001.

mod modules;
mod rules;

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::Result;
use crate::report::{Finding, settle};
use crate::rust_text::{code, line_of, occurrences, without_tests};
use crate::tree::{File, matches, rust_files};
use rules::{Crate, Peers, Rules, Word};

/// The command.
pub(crate) fn run(root: &Path) -> Result {
    let rules = rules::read(root)?;
    let files: Vec<Source> = rust_files(root)?
        .into_iter()
        .filter(|file| !file.is_test)
        .map(Source::from)
        .collect();
    settle("arch", &judge(root, &rules, &files)?)
}

/// A file whose comments, literals and tests are out of the way.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: String,
}

impl From<File> for Source {
    fn from(file: File) -> Self {
        Self {
            code: without_tests(&code(&file.text)),
            path: file.path,
        }
    }
}

fn judge(root: &Path, rules: &Rules, files: &[Source]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for room in &rules.crates {
        findings.extend(dependencies(root, room)?);
        findings.extend(modules::judge(room, files));
    }
    for peers in &rules.peers {
        findings.extend(between_peers(peers, files));
    }
    for word in &rules.words {
        findings.extend(away_from_home(word, files));
    }
    Ok(findings)
}

/// Packages that a crate names and must not.
fn dependencies(root: &Path, room: &Crate) -> Result<Vec<Finding>> {
    let path = format!("{}/Cargo.toml", room.folder);
    let text =
        fs::read_to_string(root.join(&path)).map_err(|e| format!("cannot read {path}: {e}"))?;
    let manifest: Table = text.parse().map_err(|error| format!("{path}: {error}"))?;
    Ok(forbidden(&manifest, &room.never)
        .into_iter()
        .map(|name| Finding {
            path: path.clone(),
            line: None,
            message: format!("{} must not depend on {name}", room.folder),
        })
        .collect())
}

fn forbidden(manifest: &Table, never: &[String]) -> Vec<String> {
    let named = ["dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(*section).and_then(Value::as_table))
        .flat_map(|section| section.keys());
    named
        .filter(|name| never.iter().any(|pattern| matches(pattern, name)))
        .cloned()
        .collect()
}

/// Files of one folder that name each other.
fn between_peers(peers: &Peers, files: &[Source]) -> Vec<Finding> {
    let inside = format!("{}/", peers.folder);
    let own = peers.folder.rsplit('/').next().unwrap_or_default();
    let name_of = |path: &str| {
        let rest = path.strip_prefix(&inside)?;
        Some(rest.split(['/', '.']).next().unwrap_or_default().to_owned())
    };
    let mut names: Vec<String> = files
        .iter()
        .filter_map(|file| name_of(&file.path))
        .collect();
    names.dedup();
    let mut findings = Vec::new();
    for file in files {
        let Some(this) = name_of(&file.path) else {
            continue;
        };
        for other in names.iter().filter(|other| **other != this) {
            for path in [format!("super::{other}"), format!("{own}::{other}")] {
                findings.extend(
                    occurrences(&file.code, &path)
                        .into_iter()
                        .map(|at| Finding {
                            path: file.path.clone(),
                            line: Some(line_of(&file.code, at)),
                            message: format!("`{this}` names `{other}`; {}", peers.why),
                        }),
                );
            }
        }
    }
    findings
}

/// Words in files where they are not at home.
fn away_from_home(word: &Word, files: &[Source]) -> Vec<Finding> {
    let is_meant = |file: &&Source| {
        word.files
            .iter()
            .any(|pattern| matches(pattern, &file.path))
            && !word.home.iter().any(|pattern| matches(pattern, &file.path))
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(is_meant) {
        for text in &word.words {
            findings.extend(occurrences(&file.code, text).into_iter().map(|at| Finding {
                path: file.path.clone(),
                line: Some(line_of(&file.code, at)),
                message: format!("`{text}` is not at home here: {}", word.why),
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
