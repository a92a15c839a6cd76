//! The stage: everything a scenario needs around the built `gatewayd`.
//!
//! It drives the binary over real sockets: [`gateway`] starts and stops it, [`node`] plays the
//! cluster behind it, [`client`] speaks to it byte for byte. Threads and blocking sockets only, so
//! that a scenario reads from top to bottom. Nothing in here knows how the gateway decides: every
//! expectation is written in the scenario or the vector, never computed here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support: a failed stage is a failed test"
)]

pub mod case;
pub mod certs;
pub mod client;
pub mod clock;
pub mod curtain;
pub mod disk;
pub mod dns;
pub mod foreign;
pub mod frames;
pub mod gateway;
pub mod hello;
pub mod http2;
pub mod http2_node;
pub mod inbox;
pub mod leash;
pub mod log;
pub mod message;
pub mod node;
pub mod ports;
pub mod scratch;
pub mod second_hello;
pub mod state_dir;
pub mod supervisor;
pub mod vector;
pub mod wait;
pub mod wire;

#[cfg(test)]
mod tests;
