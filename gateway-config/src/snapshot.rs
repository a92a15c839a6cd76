//! One validated configuration, immutable, known by its content.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::diagnostic::Diagnostic;
use crate::effective;
use crate::files::NamedFile;
use crate::model::{Body, Model, NodeTls};

/// A snapshot that may be applied, and what somebody should know about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Findings that do not refuse it.
    pub warnings: Vec<Diagnostic>,
    /// The files it names, for [`check_files`](crate::check_files).
    pub files: Vec<NamedFile>,
}

/// One validated configuration. Equal content has an equal hash, whatever its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    model: Model,
    hash: String,
    number: u64,
}

/// Something an engine has to be able to do for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Reading a body whole before a node is chosen.
    BufferedBodies,
    /// HTTP/2 with clients.
    Http2,
    /// TLS to nodes.
    NodeTls,
    /// Passing a body on as it comes.
    StreamedBodies,
    /// TLS with clients.
    Tls,
    /// Tunnels after a 101.
    Upgrades,
}

impl Snapshot {
    /// Names a model by its content; its number is 0 until it is applied.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let hash = hash(&effective::to_toml(&model));
        Self {
            model,
            hash,
            number: 0,
        }
    }

    /// The same content under the number it was applied with.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// What is served.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// 32 hexadecimal digits that stand for the content and for nothing else.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Rises by one with every applied snapshot; 0 before.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What an engine has to be able to do for this content, each once.
    #[must_use]
    pub fn capabilities(&self) -> Vec<Capability> {
        let mut all = Vec::new();
        for listener in &self.model.listeners {
            all.extend(listener.tls.is_some().then_some(Capability::Tls));
            all.extend(listener.http2.then_some(Capability::Http2));
        }
        for route in self.model.sites.iter().flat_map(|site| &site.routes) {
            all.push(match route.body {
                Body::Buffer(_) => Capability::BufferedBodies,
                Body::Stream(_) => Capability::StreamedBodies,
            });
            all.extend(route.upgrade.then_some(Capability::Upgrades));
        }
        for pool in &self.model.pools {
            all.extend((pool.tls != NodeTls::Clear).then_some(Capability::NodeTls));
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The first half of a SHA-256, which is more than enough to tell configurations apart.
fn hash(canonical: &str) -> String {
    let digest = Sha256::digest(canonical.as_bytes());
    digest
        .iter()
        .take(16)
        .fold(String::new(), |mut text, byte| {
            // Writing to a String does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
