//! What this binary is: its version, the commit it was built from, and the engine in it.
//!
//! Source: adr/0054.

/// The version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit, in its first twelve digits; words where neither git nor the builder said one.
pub(crate) const COMMIT: &str = env!("GATEWAYD_COMMIT");

/// The version of Pingora.
pub(crate) const ENGINE: &str = env!("GATEWAYD_ENGINE");

/// All of it, as `--version` says it.
pub(crate) const WORDS: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("GATEWAYD_COMMIT"),
    ", Pingora ",
    env!("GATEWAYD_ENGINE"),
    ")"
);
