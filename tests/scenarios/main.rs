//! One claim per test, its name the claim: the rules of the front door that no vector file holds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests: whatever is missing is a failed claim"
)]

mod access_log;
mod admin;
mod answers;
mod authority;
mod bodies;
mod certificates;
mod clients;
mod clock;
mod closing;
mod compression;
mod connections;
mod control;
mod cuts;
mod delivery;
mod descriptors;
mod disks;
mod drained;
mod ending;
mod endpoints;
mod faults;
mod foreign;
mod general;
mod generations;
mod group;
mod handshakes;
mod health;
mod hostile;
mod http2;
mod http2_bounds;
mod http2_frames;
mod http2_nodes;
mod http2_rest;
mod identity;
mod lifecycle;
mod logs;
mod metrics;
mod names;
mod node_times;
mod node_tls;
mod paths;
mod pools;
mod refusals;
mod reload;
mod renewal;
mod replays;
mod retry;
mod rotation;
mod selection;
mod slow_reload;
mod state;
mod streams;
mod supervision;
mod tls;
mod tls_policy;
mod trace;
mod upgrade;
mod uploads;
