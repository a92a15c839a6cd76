//! What is made to last of a change, and what is said where that fails.
//!
//! Source: adr/0032, adr/0034.

use super::{Refused, Reload};
use crate::state::{Kept, Overrides};

impl Reload {
    /// The snapshots that are kept, the newest first.
    ///
    /// # Errors
    /// [`Refused::NoStateDir`], [`Refused::NotListed`].
    pub(crate) fn kept(&self) -> Result<Vec<Kept>, Refused> {
        let state = self.state.as_ref().ok_or(Refused::NoStateDir)?;
        state.snapshots().map_err(Refused::NotListed)
    }

    /// Whether a snapshot is not kept, or not as it was said last: the same content may have been said
    /// otherwise, and its files be read again from elsewhere.
    pub(super) fn is_kept_otherwise(&self, number: u64, text: Option<&str>) -> bool {
        let kept = self.kept().unwrap_or_default();
        let found = kept.iter().find(|one| one.number == number);
        self.status().not_kept.is_some() || found.map(|one| one.text.as_str()) != text
    }

    /// Makes a snapshot last. Where files or flags have it, it lasts there, and a full disk does
    /// not keep it from being served; nor one that is served already. It is tried again with the next
    /// reload, whatever that brings.
    pub(super) fn keep(&self, kept: &Kept) -> Result<(), Refused> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        let is_new = kept.number > self.status().active.number;
        let not_kept = match state.keep(kept) {
            Ok(()) => None,
            Err(why) if self.who.takes_apply() && is_new => return Err(Refused::NotKept(why)),
            Err(why) => Some(why.to_string()),
        };
        if let Some(why) = &not_kept {
            tracing::error!(why, "the snapshot is not kept");
        }
        self.status().not_kept = not_kept;
        Ok(())
    }

    /// Makes last what was told to the process. Where that fails it is done all the same, and would be
    /// forgotten at the next start: better than not done.
    pub(super) fn remember(&self, overrides: &Overrides) {
        let Some(state) = &self.state else {
            return;
        };
        let kept = state.set_overrides(overrides);
        let why = kept.err().map(|why| why.to_string());
        if let Some(why) = &why {
            tracing::error!(why, "what was told is not kept");
        }
        self.status().not_remembered = why;
    }
}
