//! One loop per topic: each reads its data files and holds the built binary to them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests: whatever is missing is a failed vector"
)]

mod differential;
mod edge;
mod endpoints;
mod failures;
mod faults;
mod flags;
mod framing;
mod headers;
mod health;
mod matching;
mod preset;
mod proxied;
mod retries;
mod routes;
