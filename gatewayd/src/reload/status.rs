//! What the process says of its own state, and what changes of it.

use std::time::SystemTime;

use gateway_pingora::Applied;

use super::refused::{Findings, Refused};
use super::took::Took;
use crate::state::Overrides;

/// What the process says of its own state.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    /// What is served.
    pub(crate) active: Active,
    /// What was told to the process, against the configuration.
    pub(crate) overrides: Overrides,
    /// Why the configuration that is served is not the one that should be; empty when it is.
    pub(crate) not_as_said: Vec<String>,
    /// Why what is served would not outlive the process.
    pub(crate) not_kept: Option<String>,
    /// Why what was told to the process would not outlive it.
    pub(crate) not_remembered: Option<String>,
    /// Why nothing would be kept at this moment: the state directory is not where it was.
    pub(crate) away: Option<String>,
    /// Why access lines are lost.
    pub(crate) access_log: Option<String>,
    /// What cannot be used of the files of certificates.
    pub(crate) certificates: Vec<String>,
    /// The last refusal.
    pub(crate) refusal: Option<Refusal>,
    /// Changes that were applied.
    pub(super) applied: u64,
    /// Changes that brought what was served before.
    pub(super) unchanged: u64,
}

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Active {
    /// Its number; 0: nothing was ever applied.
    pub(crate) number: u64,
    /// Its hash.
    pub(crate) hash: String,
    /// Since when.
    pub(crate) since: SystemTime,
    /// It is not what its owner said when it was last asked.
    pub(crate) differs: bool,
}

/// A change that was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// Counts them.
    pub(crate) number: u64,
    /// When.
    pub(crate) at: SystemTime,
    /// Why, in a line or a few.
    pub(crate) message: String,
    /// Its findings as people read them; empty where it has none.
    pub(crate) drawn: String,
    /// A change was applied, or found to be served already, since.
    pub(crate) is_past: bool,
}

/// What came of a change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// What is served.
    pub(crate) active: Active,
    /// The content is what it was before.
    pub(crate) is_unchanged: bool,
    /// What came of it in the data plane.
    pub(crate) applied: Applied,
    /// How long its parts took.
    pub(crate) took: Took,
    /// What somebody should know.
    pub(crate) warnings: Findings,
    /// Why the process is not as it should be after it; empty when it is.
    pub(crate) degraded: Vec<String>,
}

/// The end, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// When what is left is cut.
    pub(crate) deadline: SystemTime,
    /// Connections open.
    pub(crate) connections: u32,
    /// Requests that a node has.
    pub(crate) in_flight: u32,
}

/// Something that changed, for whoever watches.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A snapshot was applied, or the same one again.
    Applied(Change),
    /// The process ends.
    Ending(Ending),
    /// What is told to the process, against the configuration, is otherwise.
    Overrides(Overrides),
    /// A change was refused.
    Refused(Refusal),
}

impl Status {
    /// Why the process is not as it should be; empty when it is.
    pub(crate) fn degraded(&self) -> Vec<String> {
        self.not_as_said
            .iter()
            .chain(&self.not_kept)
            .chain(&self.not_remembered)
            .chain(&self.away)
            .chain(&self.access_log)
            .chain(&self.certificates)
            .cloned()
            .collect()
    }

    /// Whether the last change was refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusal.as_ref().is_some_and(|last| !last.is_past)
    }

    /// How often a change was applied, brought nothing new, or was refused, since the start.
    pub(crate) fn counted(&self) -> [(&'static str, u64); 3] {
        let refused = self.refusal.as_ref().map_or(0, |last| last.number);
        [
            ("applied", self.applied),
            ("refused", refused),
            ("unchanged", self.unchanged),
        ]
    }

    pub(super) fn took(&mut self, change: &Change) {
        self.active = change.active.clone();
        match change.is_unchanged {
            true => self.unchanged += 1,
            false => self.applied += 1,
        }
        if let Some(refusal) = &mut self.refusal {
            refusal.is_past = true;
        }
    }

    pub(super) fn refused(&mut self, refused: &Refused, at: SystemTime) -> Refusal {
        let refusal = Refusal {
            number: self.refusal.as_ref().map_or(1, |last| last.number + 1),
            at,
            message: refused.to_string(),
            drawn: refused.findings().map(Findings::drawn).unwrap_or_default(),
            is_past: false,
        };
        self.refusal = Some(refusal.clone());
        refusal
    }
}
