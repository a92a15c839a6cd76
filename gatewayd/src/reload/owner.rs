//! Who says what is served: files, the flags of a front door, or the interface.
//!
//! The one place that differs between them; the reload asks an [`Owner`] and treats all alike.
//!
//! Source: adr/0034.

use std::path::PathBuf;

use gateway_config::Snapshot;
use gateway_config::model::PairFiles;

use super::bundle;
use super::took::Took;
use crate::cli::Given;
use crate::origin::{Document, Outcome};

/// Somebody who says what is served.
pub(crate) trait Owner: Send {
    /// Who it is.
    fn who(&self) -> Who;

    /// What it says at this moment, where these certificates are shown and stay so until others fit.
    fn says(&self, shown: &[PairFiles]) -> Said;

    /// It is to say this from here on. `false`: it cannot be told, and will say something else when
    /// it is asked again.
    fn is_told(&mut self, documents: &[Document]) -> bool;
}

/// Who says what is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever may call the interface.
    Api,
    /// These files, and folders of them.
    Files(Vec<PathBuf>),
    /// The flags of a front door.
    Flags,
}

/// What an owner says.
pub(crate) struct Said {
    /// What it comes to.
    pub(crate) outcome: Outcome,
    /// The documents it was read from, where those are to be kept and read again; otherwise the
    /// snapshot is kept as it is.
    pub(crate) documents: Option<Vec<Document>>,
    /// How long that took, and what comes after it.
    pub(super) took: Took,
}

/// A configuration out of files or flags.
pub(crate) struct Written(pub(crate) Given);

/// A configuration out of what was applied last.
#[derive(Default)]
pub(crate) struct Applied(Vec<Document>);

impl Who {
    /// Whether `Apply` may change it.
    pub(crate) fn takes_apply(&self) -> bool {
        matches!(self, Self::Api)
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Api => out.write_str("api"),
            Self::Files(files) => {
                let files: Vec<String> =
                    files.iter().map(|one| one.display().to_string()).collect();
                out.write_str(&files.join(", "))
            }
            Self::Flags => out.write_str("the command line"),
        }
    }
}

impl Said {
    /// What these documents say, where these certificates are shown.
    pub(crate) fn of(documents: Vec<Document>, shown: &[PairFiles]) -> Self {
        let read = || Outcome::of(&documents).for_serving(shown);
        Self::read(read, Some(documents.clone()))
    }

    fn read(read: impl FnOnce() -> Outcome, documents: Option<Vec<Document>>) -> Self {
        let mut took = Took::begins();
        let outcome = read();
        took.ends("read");
        Said {
            outcome,
            documents,
            took,
        }
    }

    /// What is kept of it.
    ///
    /// # Errors
    /// As [`bundle::text`].
    pub(super) fn kept(&self, snapshot: &Snapshot) -> Result<String, String> {
        match &self.documents {
            Some(documents) => bundle::text(documents),
            None => Ok(snapshot.canonical()),
        }
    }
}

impl Owner for Written {
    fn who(&self) -> Who {
        match &self.0 {
            Given::Files(files) => Who::Files(files.clone()),
            Given::FrontDoor(_) => Who::Flags,
        }
    }

    fn says(&self, shown: &[PairFiles]) -> Said {
        Said::read(|| self.0.load_for_serving(shown), None)
    }

    fn is_told(&mut self, _: &[Document]) -> bool {
        false
    }
}

impl Owner for Applied {
    fn who(&self) -> Who {
        Who::Api
    }

    fn says(&self, shown: &[PairFiles]) -> Said {
        Said::of(self.0.clone(), shown)
    }

    fn is_told(&mut self, documents: &[Document]) -> bool {
        documents.clone_into(&mut self.0);
        true
    }
}
