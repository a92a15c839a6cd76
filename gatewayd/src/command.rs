//! One file for each command; this one hands over.

use gateway_config::{Diagnostic, Sources};

use crate::cli::{Command, Format};
use crate::exit::Exit;
use crate::render;

#[cfg(test)]
mod canary;
mod check;
mod completions;
mod ctl;
mod diff;
mod document;
mod effective;
mod explain;
mod front_door;
mod manual;
mod run;
mod schema;
mod trace;

/// Does what was asked.
pub(crate) fn dispatch(command: Command) -> Exit {
    match command {
        Command::Check(check) => check::run(check),
        Command::Completions(completions) => completions::run(&completions),
        Command::Diff(diff) => diff::run(diff),
        Command::Document => document::run(),
        Command::Drain(node) => ctl::drain(&node, true),
        Command::Effective(effective) => effective::run(effective),
        Command::Explain(explain) => explain::run(&explain),
        Command::FrontDoor(served) => front_door::run(*served),
        Command::Manual(manual) => manual::run(&manual),
        Command::Reload(reload) => ctl::reload(&reload),
        Command::Rollback(rollback) => ctl::rollback(&rollback),
        Command::Run(run) => run::run(&run),
        Command::Schema => schema::run(),
        Command::Snapshots(snapshots) => ctl::snapshots(&snapshots),
        Command::Status(status) => ctl::status(&status),
        Command::Stop(stop) => ctl::stop(&stop),
        Command::Trace(trace) => trace::run(&trace),
        Command::Undrain(node) => ctl::drain(&node, false),
        Command::Workers(workers) => ctl::workers(&workers),
    }
}

/// Tells why configurations are refused, each with its texts: for people, or for programs as `check`
/// does.
fn refused(all: &[(Vec<Diagnostic>, Sources)], format: Format) -> Exit {
    match format {
        Format::Json if print(&render::json_of(all)) == Exit::Usage => return Exit::Usage,
        Format::Json => {}
        Format::Text => all
            .iter()
            .for_each(|(found, sources)| render::show(found, sources)),
    }
    Exit::Configuration
}

/// Writes a command's result to the standard output; a reader that has gone is no fault.
fn print(text: &str) -> Exit {
    use std::io::{ErrorKind, Write};
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Fine,
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Exit::Fine,
        Err(why) => {
            eprintln!("gatewayd: the standard output cannot be written: {why}");
            Exit::Usage
        }
    }
}
