//! `gatewayd explain CODE`: why something is refused, in a paragraph.

use gateway_config::codes::Code;

use super::print;
use crate::cli::Explain;
use crate::exit::Exit;

/// Prints the title and the explanation of a code.
pub(super) fn run(explain: &Explain) -> Exit {
    match Code::find(&explain.code) {
        Some(entry) => print(&format!(
            "{}: {}\n\n{}\n",
            entry.code, entry.title, entry.explanation
        )),
        None => {
            eprintln!(
                "gatewayd: there is no code `{}`; codes look like G0302",
                explain.code.escape_debug()
            );
            Exit::Usage
        }
    }
}
