//! Reads the command line, under each of the two names of the binary.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, CommandFactory, FromArgMatches};

use super::{Cli, Command, ServedDoor};
use crate::release;

/// The name under which the binary is a front door and nothing else.
const DROP_IN: &str = "bigproxy";

/// Reads the command line.
///
/// # Errors
/// Usage, and what clap prints instead of going on: help and versions.
pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Command, clap::Error> {
    let arguments = completed(arguments.collect());
    let is_drop_in = is_drop_in(&arguments);
    let mut grammar = match is_drop_in {
        true => drop_in(),
        false => Cli::command(),
    };
    let found = grammar.try_get_matches_from_mut(arguments)?;
    let command = match is_drop_in {
        true => ServedDoor::from_arg_matches(&found).map(|door| Command::FrontDoor(Box::new(door))),
        false => Cli::from_arg_matches(&found).map(|all| all.command),
    };
    // The usage that is shown is the command's own.
    let said = found.subcommand_name().unwrap_or_default();
    let mut place = grammar.find_subcommand(said).unwrap_or(&grammar).clone();
    command
        .and_then(|command| command.makes_sense().map(|()| command))
        .map_err(|why| why.format(&mut place))
}

/// The flags of a front door, under the other name.
fn drop_in() -> clap::Command {
    let grammar = clap::Command::new(DROP_IN)
        .version(release::WORDS)
        .about("Put one address before a cluster");
    ServedDoor::augment_args(grammar)
}

fn is_drop_in(arguments: &[OsString]) -> bool {
    let called = arguments.first().map(Path::new).and_then(Path::file_name);
    called.is_some_and(|name| name == DROP_IN)
}

/// Adds the command that was left out before `--config`.
fn completed(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first = arguments.get(1).map(|one| one.to_string_lossy());
    let is_config = first.is_some_and(|one| one == "--config" || one.starts_with("--config="));
    if is_config && !is_drop_in(&arguments) {
        arguments.insert(1, "run".into());
    }
    arguments
}

impl Command {
    /// Refuses what can be read and does not fit together.
    fn makes_sense(&self) -> Result<(), clap::Error> {
        match self {
            Self::FrontDoor(served) => {
                served.door.absent.refuse()?;
                served.process.is_whole()
            }
            Self::Check(check) => check.subject.is_one(),
            Self::Diff(diff) => diff.is_one(),
            Self::Effective(effective) => {
                effective.subject.is_one()?;
                effective.is_of_one()
            }
            Self::Run(run) => {
                run.process.is_whole()?;
                run.has_state()
            }
            Self::Completions(_)
            | Self::Document
            | Self::Drain(_)
            | Self::Explain(_)
            | Self::Manual(_)
            | Self::Reload(_)
            | Self::Rollback(_)
            | Self::Schema
            | Self::Snapshots(_)
            | Self::Status(_)
            | Self::Stop(_)
            | Self::Trace(_)
            | Self::Undrain(_)
            | Self::Workers(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Command;
    use crate::cli::tests::reads;

    #[test]
    fn the_drop_in_name_is_a_front_door() {
        let called = reads("/usr/bin/bigproxy --upstream a=b:1").unwrap();
        assert!(matches!(called, Command::FrontDoor(served) if served.door.upstream == ["a=b:1"]));
        assert!(matches!(
            reads("gatewayd --config x.toml"),
            Ok(Command::Run(_))
        ));
    }

    #[test]
    fn what_is_refused_shows_the_usage_of_what_was_called() {
        for (line, usage) in [
            ("/usr/bin/bigproxy --nonsense", "Usage: bigproxy"),
            ("/usr/bin/bigproxy --cluster-id x", "Usage: bigproxy"),
            (
                "gatewayd front-door --cluster-id x",
                "Usage: gatewayd front-door",
            ),
            ("gatewayd run --config api", "Usage: gatewayd run"),
            ("gatewayd nonsense", "Usage: gatewayd"),
        ] {
            let refused = reads(line).unwrap_err().to_string();
            assert!(refused.contains(usage), "{line}: {refused}");
        }
        let version = reads("bigproxy --version").unwrap_err().to_string();
        assert!(version.starts_with("bigproxy 0."), "{version}");
    }
}
