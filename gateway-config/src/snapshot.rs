//! One validated configuration, immutable, known by its content.

use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::capability::{self, Capability};
use crate::diagnostic::Diagnostic;
use crate::effective;
use crate::files::NamedFile;
use crate::hosts::{FoundBy, HostTable, Hosts};
use crate::model::{Model, Segments, Site};
use crate::routing::{Capturing, Routing};
use crate::source::Origin;

/// A snapshot that may be applied, and what somebody should know about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Findings that do not refuse it.
    pub warnings: Vec<Diagnostic>,
    /// The files it names, for [`check_files`](crate::check_files).
    pub files: Vec<NamedFile>,
    /// The texts it was read from; none for a front door made of flags.
    pub origin: Origin,
}

/// One validated configuration. Equal content has an equal hash, whatever its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    model: Model,
    hash: String,
    number: u64,
    hosts: HostTable,
}

/// A site found under a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<'a> {
    /// The site.
    pub site: &'a Site,
    /// By what it was found.
    pub by: FoundBy,
}

impl Snapshot {
    /// Names a model by its content; its number is 0 until it is applied.
    #[must_use]
    pub fn new(mut model: Model) -> Self {
        let hash = hash(&effective::to_toml(&model));
        let normalised = |site: &&mut Site| site.segments == Segments::Normalised;
        for site in model.sites.iter_mut().filter(normalised) {
            site.routing = Routing::of(&site.routes);
            for route in &mut site.routes {
                route.capturing = Capturing::of(route);
            }
        }
        let hosts = HostTable::of(&model);
        Self {
            model,
            hash,
            number: 0,
            hosts,
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

    /// The text that its hash is made of: the whole content, and nothing else.
    #[must_use]
    pub fn canonical(&self) -> String {
        effective::to_toml(&self.model)
    }

    /// The site that a listener serves under a host, as the client wrote it, without a port.
    ///
    /// `None` when the listener has no such site and none for other names either: 421.
    #[must_use]
    pub fn site(&self, listener: &str, host: &str) -> Option<Found<'_>> {
        let found = self.hosts(listener)?.find(host)?;
        let site = self.model.sites.get(found.site)?;
        Some(Found { site, by: found.by })
    }

    /// The names of a listener, which outlive the snapshot as long as somebody asks for them.
    #[must_use]
    pub fn hosts(&self, listener: &str) -> Option<&Arc<Hosts>> {
        self.hosts.of_listener(listener)
    }

    /// What an engine has to be able to do for this content, each once.
    #[must_use]
    pub fn capabilities(&self) -> Vec<Capability> {
        let mut all: Vec<Capability> = capability::needs(&self.model)
            .into_iter()
            .map(|need| need.capability)
            .collect();
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
