//! `docs/mistakes.md`: the same mistakes, and what nginx, HAProxy and Caddy say to them.

use std::fmt::Write;
use std::fs;

use gateway_tests::case;
use serde::Deserialize;

use crate::goldens::Golden;
use crate::incumbents::{self, Incumbent};

/// A mistake that all are asked about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mistake {
    /// The configuration with it, and the folder with the others' files.
    pub(crate) case: String,
    title: String,
    remark: String,
    wrong: Wrong,
}

/// How many pieces are wrong in the file of each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    gatewayd: usize,
    nginx: usize,
    haproxy: usize,
    caddy: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mistake: Vec<Mistake>,
}

const HEAD: &str = "# Ten mistakes\n\n\
    What we say to a mistake, beside what nginx, HAProxy and Caddy say to the same one. Made by\n\
    `cargo xtask generate`; do not edit. Our part is made anew each time. Theirs was printed by the\n\
    versions named, asked to check a file of `tests/config/incumbents`; times, process ids and lines\n\
    about the start are left out. `cargo xtask generate --incumbents` asks those that are installed\n\
    again.\n\n\
    The table counts what was told, out of the pieces that are wrong in the file, and has the exit\n\
    code. Who tells more than there is tells what follows from a mistake.\n";

/// Every mistake, in the order of the page.
pub(crate) fn all() -> Result<Vec<Mistake>, String> {
    let path = case::directory().join("incumbents/mistakes.toml");
    let text = fs::read_to_string(path).map_err(|why| format!("mistakes.toml: {why}"))?;
    let file: File = toml::from_str(&text).map_err(|why| format!("mistakes.toml: {why}"))?;
    Ok(file.mistake)
}

/// The page.
pub(crate) fn page(goldens: &[Golden]) -> Result<String, String> {
    let mut table =
        "\n| mistake | gatewayd | nginx | HAProxy | Caddy |\n|---|---|---|---|---|\n".to_owned();
    let mut text = String::new();
    for (number, mistake) in (1..).zip(all()?) {
        let golden = goldens
            .iter()
            .find(|golden| golden.case.name == mistake.case);
        let golden = golden.ok_or(format!("no configuration `{}`", mistake.case))?;
        let told = golden.findings().len();
        // Writing to a String does not fail.
        let _ = write!(
            table,
            "| {} | {told} of {}, exit 1 ",
            mistake.title, mistake.wrong.gatewayd
        );
        let _ = writeln!(
            text,
            "\n## {number}. {}\n\n{}",
            mistake.title, mistake.remark
        );
        let shown = golden.case.shown();
        let _ = writeln!(
            text,
            "\ngatewayd, of {shown}:\n\n```text\n{}```",
            golden.said
        );
        for incumbent in &incumbents::ALL {
            let said = incumbent.said(&mistake)?;
            let _ = write!(table, "| {} ", cell(incumbent, &mistake, &said));
            let (version, said) = said.split_once('\n').unwrap_or_default();
            let version = version
                .split(" https")
                .next()
                .unwrap_or_default()
                .trim_end_matches(" -");
            let name = incumbent.name;
            let _ = writeln!(text, "\n{name} (`{version}`):\n\n```text\n{said}```");
        }
        table.push_str("|\n");
    }
    Ok(format!("{HEAD}{table}{text}"))
}

/// How much of a mistake was told, and how it ended.
fn cell(incumbent: &Incumbent, mistake: &Mistake, said: &str) -> String {
    let told = said
        .lines()
        .filter(|line| (incumbent.is_finding)(line))
        .count();
    let exit = said.lines().last().unwrap_or_default();
    let wrong = match incumbent.program {
        "nginx" => mistake.wrong.nginx,
        "haproxy" => mistake.wrong.haproxy,
        _ => mistake.wrong.caddy,
    };
    format!("{told} of {wrong}, {exit}")
}
