//! Compares `crate::…` paths with the order of a crate's modules.

use std::collections::BTreeSet;

use super::Source;
use super::rules::Crate;
use crate::report::Finding;
use crate::rust_text::line_of;

const LIST: &str = "xtask/arch.toml";

/// Arrows of one crate that point upward, and modules whose place nobody decided.
pub(crate) fn judge(room: &Crate, files: &[Source]) -> Vec<Finding> {
    let inside = format!("{}/src/", room.folder);
    let mut findings = Vec::new();
    let mut unplaced = Vec::new();
    let mut known = BTreeSet::new();
    for file in files {
        let Some(rest) = file.path.strip_prefix(&inside) else {
            continue;
        };
        let module = rest.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "lib" | "main" | "bin") {
            continue;
        }
        let Some(place) = room.order.iter().position(|name| name == module) else {
            unplaced.push(module);
            continue;
        };
        for (at, named) in named_modules(&file.code) {
            let other = room.order.iter().position(|name| *name == named);
            if other.is_some_and(|other| other > place) {
                let arrow = format!("{module} -> {named}");
                if room.despite.contains(&arrow) {
                    known.insert(arrow);
                    continue;
                }
                findings.push(Finding {
                    path: file.path.clone(),
                    line: Some(line_of(&file.code, at)),
                    message: format!("`{module}` stands before `{named}` and must not name it"),
                });
            }
        }
    }
    let gone = room.despite.iter().filter(|arrow| !known.contains(*arrow));
    findings.extend(
        gone.map(|arrow| on_list(format!("{}: `{arrow}` is gone; take it out", room.folder))),
    );
    unplaced.dedup();
    findings.extend(unplaced.into_iter().map(|module| {
        on_list(format!(
            "{}: `{module}` has no place in the order",
            room.folder
        ))
    }));
    findings
}

fn on_list(message: String) -> Finding {
    Finding {
        path: LIST.to_owned(),
        line: None,
        message,
    }
}

/// Each module that a `crate::` path begins with, one list in braces included.
fn named_modules(code: &str) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = code.get(at + path.len()..).unwrap_or_default();
        match rest.strip_prefix('{') {
            Some(list) => named.extend(heads(list).into_iter().map(|name| (at, name))),
            None => named.push((at, word(rest))),
        }
    }
    named
}

/// The first words of the entries of a list that has just been opened.
fn heads(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut heads = Vec::new();
    let mut at_head = true;
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_head = true,
            c if at_head && !c.is_whitespace() => {
                heads.push(word(list.get(at..).unwrap_or_default()));
                at_head = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}
