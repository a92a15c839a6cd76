//! `gatewayd explain [CODE]`: why something is refused, in a paragraph.

use std::fmt::Write;

use gateway_config::codes::{CODES, Code};

use super::print;
use crate::cli::Explain;
use crate::exit::Exit;

/// Prints the title and the explanation of a code, or the titles of all.
pub(super) fn run(explain: &Explain) -> Exit {
    let Some(code) = &explain.code else {
        return print(&titles());
    };
    match Code::find(code) {
        Some(entry) => print(&format!(
            "{}: {}\n\n{}\n",
            entry.code, entry.title, entry.explanation
        )),
        None => {
            eprintln!(
                "gatewayd: there is no code `{}`; `gatewayd explain` lists them",
                code.escape_debug()
            );
            Exit::Usage
        }
    }
}

fn titles() -> String {
    CODES.iter().fold(String::new(), |mut text, entry| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}: {}", entry.code, entry.title);
        text
    })
}
