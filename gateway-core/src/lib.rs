//! Decisions with memory: which node takes a request, whether it may be tried again, what a
//! node's health is, and what a client is told when nothing worked.
//!
//! Everything here takes values and the time, and returns values. There is no clock, no
//! runtime, no source of randomness, no log and no socket in this crate: the adapter brings
//! those and carries the decisions out.

pub mod crowd;
pub mod deadline;
pub mod drain;
pub mod failure;
pub mod health;
pub mod node;
pub mod pool;
pub mod queue;
pub mod ranges;
pub mod rate;
pub mod readiness;
pub mod retry;
pub mod rotation;
pub mod tally;
pub mod tried;
pub mod wait;

mod addresses;
mod balance;
mod client;
mod in_flight;
mod leaving;
mod roster;

pub use balance::ring::key;

/// The atomics that slots are counted with; the interleaving test has others in their place.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod in_flight_tests;
#[cfg(test)]
mod simulation;
