//! Why a change was refused; everything is as it was then.

use std::time::Duration;

use gateway_config::{Diagnostic, Loaded, Origins, Sources, codes};
use gateway_pingora::Fault;

use crate::around::NotHad;
use crate::render;
use crate::state::StateError;

/// Why a change was refused; everything is as it was then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// A change before it takes its time.
    #[error("another change has been under way for {} s", .0.as_secs())]
    Busy(Duration),
    /// A fault of ours.
    #[error("this is a bug of ours: {0}")]
    Bug(String),
    /// The configuration cannot be served.
    #[error("{}", .0.lines())]
    Configuration(Findings),
    /// The process is about to end.
    #[error("the process is about to end")]
    Draining,
    /// The data plane does not take it.
    #[error("{0}")]
    Fault(Fault),
    /// Somebody else's change came first.
    #[error("the active snapshot is {active}, not {expected}: somebody else changed it meanwhile")]
    Moved {
        /// The hash of what is active.
        active: String,
        /// The hash that was expected.
        expected: String,
    },
    /// There is nowhere to keep anything.
    #[error("without --state-dir no snapshot is kept")]
    NoStateDir,
    /// The snapshot is not there.
    #[error("there is no snapshot {0}")]
    NoSuchSnapshot(u64),
    /// It could not be made to last.
    #[error("it is not served, since it could not be kept: {0}")]
    NotKept(StateError),
    /// What is kept cannot be listed.
    #[error("the snapshots that are kept cannot be listed: {0}")]
    NotListed(StateError),
    /// There is none to go back to.
    #[error("there is no snapshot before the active one")]
    NothingBefore,
    /// A document has a name or a line that a document may not have.
    #[error(
        "the document `{0}` has a line that begins with `#:document `, or a name of several lines"
    )]
    OddDocument(String),
    /// Files or flags say what is served.
    #[error("what is served is said by {0}: change that, and reload")]
    Owned(String),
    /// Not a number of workers.
    #[error("{0} workers are not possible: 1 to 256 are")]
    Workers(u32),
}

/// Findings, with the texts they point into.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// The findings.
    pub(crate) found: Vec<Diagnostic>,
    /// The texts.
    pub(crate) sources: Sources,
}

impl Refused {
    /// Its findings, where it has any.
    pub(crate) fn findings(&self) -> Option<&Findings> {
        match self {
            Self::Configuration(findings) => Some(findings),
            Self::Busy(_)
            | Self::Bug(_)
            | Self::Draining
            | Self::Fault(_)
            | Self::Moved { .. }
            | Self::NoStateDir
            | Self::NoSuchSnapshot(_)
            | Self::NotKept(_)
            | Self::NotListed(_)
            | Self::NothingBefore
            | Self::OddDocument(_)
            | Self::Owned(_)
            | Self::Workers(_) => None,
        }
    }

    /// What the data plane refuses of a configuration: with its place, where it has one.
    pub(crate) fn of_fault(fault: Fault, loaded: &Loaded, sources: &Sources) -> Self {
        let mut found = match &fault {
            Fault::Bind {
                listener,
                addr,
                source,
            } => {
                let title = format!("listener `{listener}`: {addr} cannot be bound: {source}");
                let found = Diagnostic::error(codes::NOT_BOUND, title);
                let path = ["listeners", &**listener, "bind"].map(str::to_owned);
                let origins = Origins::read(&loaded.origin, sources);
                let written = origins.text(&path, &addr.to_string());
                match written.or_else(|| origins.nearest(&path)) {
                    Some(place) => found.at(place, "asked for here"),
                    None => found,
                }
            }
            Fault::ErrorPage { site, status, .. } => {
                let found = Diagnostic::error(codes::UNREADABLE_FILE, fault.to_string());
                let path = ["sites", site, "error_pages", &status.to_string()];
                asked_for_at(found, &path, loaded, sources)
            }
            Fault::Folder { site, route, .. } => {
                let found = Diagnostic::error(codes::UNREADABLE_FILE, fault.to_string());
                let path = ["sites", site, "routes", route, "files"];
                asked_for_at(found, &path, loaded, sources)
            }
            Fault::Certificate { .. } => {
                Diagnostic::error(codes::UNREADABLE_FILE, fault.to_string())
            }
            Fault::Draining => return Self::Draining,
            Fault::NodeName { pool, .. } => {
                let found = Diagnostic::error(codes::BAD_NAME, fault.to_string());
                let found = found.help("give the node a `tls_name`, or its pool a `tls.name`");
                asked_for_at(found, &["pools", pool, "nodes"], loaded, sources)
            }
            Fault::Profile { profile, .. } => {
                let found = Diagnostic::error(codes::NO_VERSION, fault.to_string());
                asked_for_at(found, &["tls", profile], loaded, sources)
            }
            Fault::NotServed { .. } => Diagnostic::error(codes::NOT_SERVED, fault.to_string()),
            Fault::Metric(_) | Fault::Unknown { .. } | Fault::Worker(_) => {
                return Self::Fault(fault);
            }
        };
        if let Fault::Bind { source, .. } = &fault
            && source.kind() == std::io::ErrorKind::AddrInUse
        {
            found = found.help("another process has it, or another listener of this one");
        }
        Self::Configuration(Findings {
            found: vec![found],
            sources: sources.clone(),
        })
    }
}

impl Refused {
    /// What a snapshot says beside the data plane cannot be had.
    pub(super) fn of_around(why: &NotHad, loaded: &Loaded, sources: &Sources) -> Self {
        let (code, path) = match why {
            NotHad::AccessLog(_) => (codes::UNREADABLE_FILE, ["logs", "access"]),
            NotHad::Admin(_) => (codes::NOT_BOUND, ["admin", "bind"]),
        };
        let found = Diagnostic::error(code, why.to_string());
        Self::Configuration(Findings {
            found: vec![asked_for_at(found, &path, loaded, sources)],
            sources: sources.clone(),
        })
    }
}

/// A finding at the place of a setting, where the setting is in a file.
fn asked_for_at(
    found: Diagnostic,
    path: &[&str],
    loaded: &Loaded,
    sources: &Sources,
) -> Diagnostic {
    let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
    match Origins::read(&loaded.origin, sources).nearest(&path) {
        Some(place) => found.at(place, "asked for here"),
        None => found,
    }
}

impl Findings {
    /// The first line of each, as the log carries them.
    pub(crate) fn lines(&self) -> String {
        render::lines(&self.found, &self.sources)
    }

    /// The first line of one of them.
    pub(crate) fn line(&self, one: &Diagnostic) -> String {
        one.first_line(&self.sources).to_string()
    }

    /// As people read them.
    pub(crate) fn drawn(&self) -> String {
        render::text(&self.found, &self.sources, false)
    }
}
