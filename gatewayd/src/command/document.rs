//! `gatewayd document`: the settings table as the page in `docs/`.
//!
//! Hidden, since it is for `cargo xtask generate`, which writes the page and holds it to the table.

use std::fmt::Write;

use gateway_config::capability::unserved_of;
use gateway_config::cost::Cost;
use gateway_config::schema::{default, range};
use gateway_config::settings::{Kind, SETTINGS};
use gateway_pingora::CAPABILITIES;

use super::print;
use crate::exit::Exit;

const HEAD: &str = "# Settings\n\n\
    Made by `cargo xtask generate` from the settings table; do not edit. `*` stands for a name of\n\
    yours, or for an entry of a list. The last column says what a change needs.\n\n\
    | setting | what it does | default | takes | a change needs |\n|---|---|---|---|---|\n";

/// Prints the page.
pub(super) fn run() -> Exit {
    print(&text())
}

fn text() -> String {
    let mut text = HEAD.to_owned();
    for one in SETTINGS {
        let default = default(one.kind).map_or_else(String::new, |value| format!("`{value}`"));
        let range = match one.short() {
            Kind::Integer { min, max, .. } | Kind::Integers { min, max } => {
                format!("{min} to {max}")
            }
            Kind::Word { words, .. } | Kind::Words { words, .. } => words.join(", "),
            kind => range(kind).unwrap_or_default(),
        };
        let path: Vec<String> = one.path.split('.').map(str::to_owned).collect();
        let note = unserved_of(one.path, CAPABILITIES).map(|note| format!(" *{note}*"));
        let sentence = one.sentence.to_owned() + &note.unwrap_or_default();
        let sentence = sentence.replace('|', "\\|");
        let cost = match one.kind {
            _ if one.path.starts_with("front_door") => "what its listener, site or pool needs",
            Kind::Table | Kind::Tables => "",
            _ => Cost::of(&path).title(),
        };
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {sentence} | {default} | {range} | {cost} |",
            one.path
        );
    }
    text
}
