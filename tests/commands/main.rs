//! What the commands around a configuration say: one claim per test, the name is the claim.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by stopping"
)]

mod documented;
mod named_files;
mod refused;
mod secrets;
mod several_files;
