//! `cargo xtask tls-tools`: the built gateway, asked by tools that are not ours what it agrees on by name
//! and whether it can be harmed; what they found is `docs/tls-tools.md`.
//!
//! Where `sslyze` lies is told by `GATEWAY_SSLYZE`; the others are found by their names.
//! `--check` writes nothing, leaves out what takes long, and names what is not as the page says. A tool
//! that is not there, or not of the version that the page was made with, is said; the page is written by all
//! of them or not at all.
//!
//! Source: GATEWAY §7, §8; adr/0053.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed stage is a failed check; what JSON does not have is null; the environment says where tools lie"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

mod ground;
mod http;
mod openssl;
mod scanners;
mod table;
mod tool;

use ground::Ground;
use table::Row;
use tool::Tools;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => write(),
        ["--check"] => check(),
        _ => Err("usage: cargo xtask tls-tools [--check]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Every row whose tool is there.
fn rows(tools: &Tools, is_quick: bool) -> Vec<Row> {
    let ground = Ground::opens();
    let mut rows = openssl::rows(&ground, tools);
    rows.extend(http::rows(&ground, tools));
    rows.extend(scanners::rows(&ground, tools, is_quick));
    rows
}

fn write() -> Result<(), String> {
    let tools = Tools::found();
    let absent = tools.absent();
    if !absent.is_empty() {
        return Err(format!("not written without {}", absent.join(", ")));
    }
    let rows = rows(&tools, false);
    let text = table::page(&tools, &rows);
    fs::write(page(), text).map_err(|why| format!("{}: {why}", page().display()))?;
    println!("docs/tls-tools.md: {} rows", rows.len());
    as_wanted(&rows)
}

fn check() -> Result<(), String> {
    let tools = Tools::found();
    for name in tools.absent() {
        println!("NOT CHECKED: {name} is not there");
    }
    let written = fs::read_to_string(page()).unwrap_or_default();
    let (rows, others): (Vec<Row>, Vec<Row>) = rows(&tools, true)
        .into_iter()
        .partition(|row| tools.is_of(row.tool(), &written));
    for row in &others {
        let told = row.complaint().unwrap_or_else(|| row.line());
        println!(
            "NOT CHECKED, for the page was made with another {}: {told}",
            row.tool()
        );
    }
    as_wanted(&rows)?;
    let stale: Vec<String> = rows.iter().map(Row::line).collect();
    let stale: Vec<String> = stale
        .into_iter()
        .filter(|line| !written.contains(line.as_str()))
        .collect();
    match stale.is_empty() {
        true => {
            println!("{} rows are as docs/tls-tools.md says", rows.len());
            Ok(())
        }
        false => Err(format!(
            "not in docs/tls-tools.md:\n{}run `cargo xtask tls-tools`, and review the difference",
            stale.concat()
        )),
    }
}

/// What was found otherwise than it is wanted.
fn as_wanted(rows: &[Row]) -> Result<(), String> {
    let others: Vec<String> = rows.iter().filter_map(Row::complaint).collect();
    match others.is_empty() {
        true => Ok(()),
        false => Err(others.join("\n")),
    }
}

fn page() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().unwrap_or(package);
    root.join("docs/tls-tools.md")
}
