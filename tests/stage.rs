//! The stage.
