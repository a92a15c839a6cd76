//! A path template: literal segments and captured names, matched by position.
//!
//! Source: adr/0013.
use std::sync::Arc;

/// Literal segments and captured names, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

/// One position of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Any legal name.
    Capture(Arc<str>),
    /// Exactly this text, after decoding.
    Literal(Arc<str>),
}
