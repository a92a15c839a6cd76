//! `gatewayd completions SHELL`: the script with which a shell completes the command line.

use super::print;
use crate::cli::{self, Completions};
use crate::exit::Exit;

/// Prints the script.
pub(super) fn run(completions: &Completions) -> Exit {
    print(&text(completions))
}

fn text(completions: &Completions) -> String {
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut cli::grammar(),
        "gatewayd",
        &mut script,
    );
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_shell_learns_the_commands_and_their_flags() {
        for &shell in Shell::value_variants() {
            let script = text(&Completions { shell });
            for word in ["front-door", "effective", "schema", "max-retries"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
