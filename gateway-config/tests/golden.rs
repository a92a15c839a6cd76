//! The broken configurations of `tests/config`: each gives exactly its findings.
//!
//! `NAME.toml` is loaded; what is found goes to `NAME.diagnostics.txt`, one first line and its
//! help each, or, where there is a `NAME.effective.toml`, the effective text goes there. With
//! `BLESS=1` in the environment the files are written instead of compared; review the difference.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use gateway_config::capability::unserved;
use gateway_config::{Capability, Diagnostic, Sources, effective, load_source};

#[test]
fn every_configuration_gives_exactly_its_findings() {
    let mut cases: Vec<PathBuf> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_case(path))
        .collect();
    cases.sort();
    assert!(cases.len() >= 20, "the cases are missing");
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_of_a_configuration_file_has_a_case() {
    let mut said = String::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".diagnostics.txt") {
            said.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    // Met on the command line, in files that are not text, or when something is renamed: their own
    // tests have them.
    let elsewhere = [
        "G0005", "G0006", "G0408", "G0409", "G0601", "G0602", "G0603", "G0604", "G0605", "G0606",
        "G0607",
    ];
    let missing: Vec<String> = gateway_config::codes::CODES
        .iter()
        .map(|entry| entry.code.to_string())
        .filter(|code| !elsewhere.contains(&code.as_str()) && !said.contains(&format!("[{code}]")))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/config")
}

fn is_case(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.ends_with(".toml")
        && !name.ends_with(".effective.toml")
        && !name.ends_with(".cluster.toml")
}

fn difference(case: &Path) -> Option<String> {
    let stem = case.file_stem().unwrap().to_string_lossy().into_owned();
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", fs::read_to_string(case).unwrap());
    let cluster = case.with_file_name(format!("{stem}.cluster.toml"));
    if let Ok(text) = fs::read_to_string(cluster) {
        sources.add("cluster.toml", text);
    }
    let (found, text) = match load_source(id, &mut sources) {
        Ok(loaded) => {
            let text = effective::to_toml(loaded.snapshot.model());
            let served = [
                Capability::StreamedBodies,
                Capability::Tls,
                Capability::Http2,
            ];
            let mut found = loaded.warnings.clone();
            // The one case that is about what an engine cannot do.
            if stem == "unserved" {
                found.extend(unserved(&loaded, &served, &sources));
            }
            (found, Some(text))
        }
        Err(found) => (found, None),
    };
    let findings = same(case, "diagnostics.txt", &shown(&found, &sources));
    let has_effective = case
        .with_file_name(format!("{stem}.effective.toml"))
        .exists();
    match text.filter(|_| has_effective) {
        Some(text) => findings.or_else(|| same(case, "effective.toml", &text)),
        None => findings,
    }
}

fn shown(found: &[Diagnostic], sources: &Sources) -> String {
    let mut text = String::new();
    for one in found {
        writeln!(text, "{}", one.first_line(sources)).unwrap();
        for label in &one.labels {
            let (line, column) = sources.line_column(label.place.source, label.place.span.start);
            let written = sources
                .text(label.place.source)
                .get(label.place.span.clone())
                .unwrap();
            let written = written.lines().next().unwrap_or("");
            let name = sources.name(label.place.source);
            writeln!(text, "  {name}:{line}:{column}: `{written}` {}", label.text).unwrap();
        }
        if let Some(help) = &one.help {
            writeln!(text, "  help: {help}").unwrap();
        }
    }
    text
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one switch of this test: write, not compare"
)]
fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn same(case: &Path, extension: &str, is: &str) -> Option<String> {
    let path = case.with_extension(extension);
    if is_blessing() {
        fs::write(&path, is).unwrap();
        return None;
    }
    let should = fs::read_to_string(&path).unwrap_or_default();
    (should != is).then(|| format!("{}:\n{is}--- instead of ---\n{should}", case.display()))
}
