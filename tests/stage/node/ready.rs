//! What a stand-in node answers to a probe: every shape the contract names, and wrong ones.

use std::time::Duration;

use serde_json::{Value, json};

/// The answer to `GET /ready`.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) delay: Duration,
    pub(super) ending: Ending,
}

/// How the answer to a probe ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// In the middle of the body.
    BrokenOff,
    /// Never: half of it is sent and the connection kept.
    Hanging,
    /// With its last byte.
    Whole,
}

impl Ready {
    /// A readiness document with a `serving` field of any JSON type.
    #[must_use]
    pub fn serving(name: &str, serving: impl Into<Value>) -> Self {
        let mut document = document(name);
        document["serving"] = serving.into();
        Self::text(document.to_string())
    }

    /// A readiness document without the field.
    #[must_use]
    pub fn without_serving(name: &str) -> Self {
        Self::text(document(name).to_string())
    }

    /// Any body at all, with status 200.
    #[must_use]
    pub fn text(body: impl AsRef<[u8]>) -> Self {
        Self {
            status: 200,
            body: body.as_ref().to_vec(),
            delay: Duration::ZERO,
            ending: Ending::Whole,
        }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same, but not before so much time has gone by.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The same, half of it.
    #[must_use]
    pub fn broken_off(mut self) -> Self {
        self.ending = Ending::BrokenOff;
        self
    }

    /// The same, half of it and then silence.
    #[must_use]
    pub fn hanging(mut self) -> Self {
        self.ending = Ending::Hanging;
        self
    }
}

fn document(name: &str) -> Value {
    json!({
        "status": "ready", "node": name, "shards": "0..64", "wire": 7, "version": "1.4.2",
        "tables": 3,
    })
}
