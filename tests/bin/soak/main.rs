//! `cargo xtask soak`: the built gateway under load, through reloads and faults, and a count of what
//! failed and need not have.
//!
//! Clients are in [`clients`], what we do to the gateway in [`reloads`] and [`troubles`], and what a
//! client may see of it in [`judge`]. Three counts have to be zero: requests that failed and need not
//! have, writes that nodes saw twice, bytes that differ.
//!
//! Source: RUNTIME §6.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed stage is a failed soak"
)]

use std::process::ExitCode;

mod acts;
mod bodies;
mod clients;
mod dice;
mod house;
mod judge;
mod ledger;
mod nodes;
mod options;
mod reloads;
mod remote;
mod report;
mod running;
mod scene;
mod shape;
mod sockets;
mod troubles;
mod vitals;
mod weather;

use options::Options;
use report::{Played, Report};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == [remote::NAME] {
        return remote::serve();
    }
    match Options::parse(&arguments) {
        Ok(options) => play(options),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn play(options: Options) -> ExitCode {
    eprintln!(
        "soak: seed {}, {:?} under faults",
        options.seed, options.length
    );
    let mut house = house::House::opens();
    let weather = weather::Weather::calm();
    let mut acts = Vec::new();
    let mut played = |act, ledger: ledger::Ledger| {
        let counts = ledger.counts();
        acts.push(Played { act, counts });
    };
    played(
        "faults",
        acts::faults::play(&mut house, &weather, options.length, options.seed),
    );
    played("steady", acts::steady::play());
    played("scarce", acts::scarce::play());
    played("end", acts::end::play(&house));
    let report = Report::on(options.seed, acts);
    match options.is_json {
        true => report.prints_json(),
        false => report.prints_table(),
    }
    if report.is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
