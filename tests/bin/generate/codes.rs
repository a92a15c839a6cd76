//! `docs/diagnostics.md`: each code with what it stands for and a finding as it is drawn.

use std::fmt::Write;

use gateway_tests::gateway::runs;

use crate::goldens::Golden;

const HEAD: &str = "# Diagnostics\n\n\
    Made by `cargo xtask generate` from the table of codes and the configurations in\n\
    `tests/config`; do not edit. `gatewayd explain CODE` prints the same paragraphs. A code is never\n\
    given to anything else.\n";

/// Codes of which no configuration here can have a finding, and why.
const WITHOUT: [(&str, &str); 2] = [
    (
        "G0006",
        "No setting is on its way to another name at present.",
    ),
    (
        "G0317",
        "The data plane of this version executes every setting there is.",
    ),
];

/// The page.
///
/// # Errors
/// A code that no configuration has a finding of.
pub(crate) fn page(goldens: &[Golden]) -> Result<String, String> {
    let listed = runs(&["explain"]).stdout;
    let mut text = HEAD.to_owned();
    for line in listed.lines() {
        let (code, title) = line.split_once(": ").unwrap_or((line, ""));
        let found = findings(code, goldens);
        // Writing to a String does not fail.
        let _ = writeln!(text, "\n## {code}: {title}\n");
        let _ = writeln!(text, "{}{}", severity(&found), explanation(code));
        let _ = match example(&found) {
            Some((golden, drawn)) => writeln!(
                text,
                "\n```text\n{drawn}\n```\n\nFrom {}.",
                golden.case.shown()
            ),
            None => writeln!(text, "\n{}", without(code)?),
        };
    }
    Ok(text)
}

type Finding<'g> = (&'g Golden, &'g str);

fn findings<'g>(code: &str, goldens: &'g [Golden]) -> Vec<Finding<'g>> {
    let all = goldens
        .iter()
        .filter(|golden| !golden.case.is_sound())
        .flat_map(|golden| golden.findings().into_iter().map(move |one| (golden, one)));
    all.filter(|(_, drawn)| drawn.contains(&format!("[{code}]: ")))
        .collect()
}

fn severity(found: &[Finding<'_>]) -> &'static str {
    let is = |word: &str| found.iter().any(|(_, drawn)| drawn.starts_with(word));
    match (is("error"), is("warning")) {
        (true, true) => "*Refused, or a warning.* ",
        (true, false) => "*Refused.* ",
        (false, true) => "*A warning.* ",
        (false, false) => "",
    }
}

fn explanation(code: &str) -> String {
    let said = runs(&["explain", code]).stdout;
    let (_, paragraph) = said.split_once("\n\n").unwrap_or_default();
    paragraph.trim_end().to_owned()
}

/// The finding that shows most in the fewest lines: one with a cure, as short as there is.
fn example<'g>(found: &[Finding<'g>]) -> Option<Finding<'g>> {
    let rank = |(golden, drawn): &Finding<'_>| {
        let has_cure = drawn.contains("= help: ");
        (!has_cure, drawn.lines().count(), golden.case.name.clone())
    };
    found.iter().copied().min_by_key(rank)
}

fn without(code: &str) -> Result<&'static str, String> {
    let known = WITHOUT.iter().find(|(one, _)| *one == code);
    known
        .map(|(_, why)| *why)
        .ok_or_else(|| format!("no configuration in tests/config has a finding {code}: add one"))
}
