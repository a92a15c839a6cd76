//! The configuration of a gateway: from TOML to a checked, immutable model.
pub mod model;
pub mod template;
