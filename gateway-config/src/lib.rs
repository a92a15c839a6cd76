//! The configuration of a gateway: from TOML to a checked, immutable model.
//!
//! Knows no engine, no clock and no network.
pub mod model;
mod segment;
pub mod target;
pub mod template;
