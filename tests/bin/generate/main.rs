//! `cargo xtask generate`: every file of the checkout that is made from the gateway.
//!
//! `--check` writes nothing and names the files that are stale. `--incumbents` first asks nginx,
//! HAProxy and Caddy again, those of them that are installed.
//!
//! Source: adr/0023.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gateway_tests::gateway::runs;

mod codes;
mod goldens;
mod incumbents;
mod manual;
mod mistakes;

/// A file as it should be; nothing, where there should be none.
type Page = (PathBuf, Option<String>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => write(),
        ["--check"] => check(),
        ["--incumbents"] => incumbents::ask().and_then(|()| write()),
        _ => Err("usage: cargo xtask generate [--check | --incumbents]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Every page, from what the gateway says at this moment.
fn pages() -> Result<Vec<Page>, String> {
    let goldens = goldens::all();
    let mut pages = vec![
        document("settings.md", &["document"]),
        document("gateway.schema.json", &["schema"]),
        (docs("diagnostics.md"), Some(codes::page(&goldens)?)),
        (docs("mistakes.md"), Some(mistakes::page(&goldens)?)),
    ];
    pages.extend(goldens::pages(&goldens));
    pages.extend(manual::pages()?);
    Ok(pages)
}

fn docs(name: &str) -> PathBuf {
    root().join("docs").join(name)
}

fn document(name: &str, command: &[&str]) -> Page {
    (docs(name), Some(runs(command).stdout + "\n"))
}

fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The pages that are not what they should be.
fn stale() -> Result<Vec<Page>, String> {
    let mut pages = pages()?;
    pages.retain(|page| fs::read_to_string(&page.0).ok() != page.1);
    Ok(pages)
}

fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.display().to_string()
}

fn check() -> Result<(), String> {
    let stale: Vec<String> = stale()?
        .iter()
        .map(|(path, _)| format!("stale: {}\n", shown(path)))
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}run `cargo xtask generate`, and review the difference",
        stale.concat()
    ))
}

fn write() -> Result<(), String> {
    for (path, content) in stale()? {
        let written = match content {
            Some(text) => path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, text)),
            None => fs::remove_file(&path),
        };
        written.map_err(|why| format!("{}: {why}", shown(&path)))?;
        println!("{}", shown(&path));
    }
    Ok(())
}
