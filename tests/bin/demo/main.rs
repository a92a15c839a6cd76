//! `cargo xtask demo`: three stand-in nodes, one front door before them, and a story.
//!
//! Without an argument it runs until Ctrl-C and lets the reader stop and start nodes; with `--once`
//! it plays the story of [`story`] and checks it.
#![allow(
    clippy::indexing_slicing,
    reason = "JSON that lacks a key reads as null"
)]

use std::process::ExitCode;

use gateway_tests::gateway::Door;
use gateway_tests::leash::Leash;
use gateway_tests::node::Cluster;

mod live;
mod story;

const NAMES: [&str; 3] = ["a", "b", "c"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let played = match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => std::panic::catch_unwind(live::run),
        ["--once"] => std::panic::catch_unwind(story::play),
        _ => {
            eprintln!("usage: demo [--once]");
            return ExitCode::from(2);
        }
    };
    match played {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(why)) => {
            eprintln!("failed: {why}");
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Three nodes over one store, and the door.
fn stage() -> (Cluster, Door, Leash) {
    let cluster = Cluster::of(&NAMES);
    let door = Door::before(&cluster)
        .set("--health-interval", "200")
        .opens();
    let leash = Leash::on(door.pid());
    (cluster, door, leash)
}
