//! `gatewayd`: an edge gateway and a front door for database clusters, with Pingora as its data plane.
//!
//! Reads the command line, hands over to one command and turns what it says into the exit code.

use mimalloc::MiMalloc;

use crate::exit::Exit;

mod access_file;
mod admin;
mod around;
mod changes;
mod cli;
mod clock;
mod command;
mod control;
mod entries;
mod exit;
mod lines;
mod log;
mod origin;
mod pages;
mod process;
mod proto;
mod release;
mod reload;
mod render;
mod signals;
mod state;
mod systemd;
mod trace;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> Exit {
    exit::own_up_to_panics();
    match cli::read(std::env::args_os()) {
        Ok(command) => command::dispatch(command),
        Err(refused) => exit::usage(&refused),
    }
}
