//! Reads what a node answered to a probe.
//!
//! What an observation does to the node is decided by [`health`](crate::health); asking the node,
//! and noticing that it did not answer, is the adapter's.
//!
//! Invariant: no answer makes this panic, recurse without bound or keep more than a few KiB.
//!
//! Source: the readiness table of the front door; RFC 8259 for JSON.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Longest answer to a probe that is read, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// What one probe found.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The node says it serves, or says nothing about serving.
    Good(Document),
    /// The node says it does not serve.
    NotServing(Document),
    /// An answer with a status other than 200.
    Status(u16),
    /// No complete answer in time. Made by the adapter.
    Timeout,
    /// The name did not resolve, or no connection came about. Made by the adapter.
    Unreachable,
    /// An answer that is no readiness document.
    Unreadable,
}

impl Observation {
    /// Why this observation speaks against the node; `None` when it does not.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        match self {
            Self::Good(_) => None,
            Self::NotServing(_) => Some(Why::NotServing),
            Self::Status(status) => Some(Why::Status(*status)),
            Self::Timeout => Some(Why::Timeout),
            Self::Unreachable => Some(Why::Unreachable),
            Self::Unreadable => Some(Why::Unreadable),
        }
    }

    /// What is seen of a node at two of its addresses: that one of them serves, else what says more.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let rank = |seen: &Self| match seen {
            Self::Good(_) => 0,
            Self::NotServing(_) => 1,
            Self::Status(_) => 2,
            Self::Unreadable => 3,
            Self::Timeout => 4,
            Self::Unreachable => 5,
        };
        match rank(&other) < rank(&self) {
            true => other,
            false => self,
        }
    }

    /// The document the node sent, when it sent one.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Good(document) | Self::NotServing(document) => Some(document),
            Self::Status(_) | Self::Timeout | Self::Unreachable | Self::Unreadable => None,
        }
    }
}

/// Why a node is out of rotation. Its text is a stable label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// `drained`: an operator has taken it out.
    Drained,
    /// `not_serving`: the node said so itself.
    NotServing,
    /// `removed`: the node has left the pool.
    Removed,
    /// `status_NNN`: it answered a probe with that status.
    Status(u16),
    /// `timeout`: a probe got no complete answer in time.
    Timeout,
    /// `unreachable`: no connection came about, or it broke before an answer.
    Unreachable,
    /// `unreadable`: its answer was no readiness document.
    Unreadable,
    /// `unresolved`: nobody probes it, and its name has not been resolved so far.
    Unresolved,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drained => f.write_str("drained"),
            Self::NotServing => f.write_str("not_serving"),
            Self::Removed => f.write_str("removed"),
            Self::Status(status) => write!(f, "status_{status:03}"),
            Self::Timeout => f.write_str("timeout"),
            Self::Unreachable => f.write_str("unreachable"),
            Self::Unreadable => f.write_str("unreadable"),
            Self::Unresolved => f.write_str("unresolved"),
        }
    }
}

/// What a node said about itself. Only `serving` decides anything; the rest is for display.
///
/// A display value is kept as the node wrote it and dropped when its JSON is longer than 1 KiB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Whether the node serves; `None` when it has no agreement to report.
    pub serving: Option<bool>,
    /// The name the node gives itself.
    pub node: Option<Value>,
    /// The shards it holds.
    pub shards: Option<Value>,
    /// The version of its wire format.
    pub wire: Option<Value>,
    /// Its build.
    pub version: Option<Value>,
}

/// Reads the complete answer to a probe.
///
/// Order, white space and further fields do not matter, and only the outermost object counts. A
/// field that decides (`status`, `serving`) and stands twice makes the document unreadable, since
/// RFC 8259 §4 leaves open which one is meant.
#[must_use]
pub fn read(status: u16, body: &[u8]) -> Observation {
    if status != 200 {
        return Observation::Status(status);
    }
    let Some(document) = document(body) else {
        return Observation::Unreadable;
    };
    match document.serving {
        Some(false) => Observation::NotServing(document),
        Some(true) | None => Observation::Good(document),
    }
}

fn document(body: &[u8]) -> Option<Document> {
    if body.len() > MAX_BODY {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    // The derived readers take an array for a struct; a readiness document is an object.
    if !text
        .trim_start_matches([' ', '\t', '\r', '\n'])
        .starts_with('{')
    {
        return None;
    }
    let verdict: Verdict<'_> = serde_json::from_str(text).ok()?;
    if verdict.status != "ready" {
        return None;
    }
    let display: Display = serde_json::from_str(text).unwrap_or_default();
    Some(Document {
        serving: verdict.serving,
        node: kept(display.node),
        shards: kept(display.shards),
        wire: kept(display.wire),
        version: kept(display.version),
    })
}

/// The fields that decide. Every other field is skipped without being built, however deep.
#[derive(Deserialize)]
struct Verdict<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    serving: Option<bool>,
}

/// The fields for display. What cannot be built here is left out; it decides nothing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Display {
    node: Option<Value>,
    shards: Option<Value>,
    wire: Option<Value>,
    version: Option<Value>,
}

/// A field that is there must be a boolean; `null` is not one.
fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(field).map(Some)
}

fn kept(value: Option<Value>) -> Option<Value> {
    value.filter(|value| value.to_string().len() <= MAX_DISPLAY)
}

const MAX_DISPLAY: usize = 1024;

#[cfg(test)]
mod tests;
