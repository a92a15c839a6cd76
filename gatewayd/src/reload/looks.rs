//! What is looked at again and again, though nobody asked for a change: files that others may touch, and
//! disks that others may fill.
//!
//! Source: adr/0032, adr/0053.

use super::*;

impl Reload {
    /// Whether there is a state directory.
    pub(crate) fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// Says when the state directory is not where it was any more, and when it is again.
    pub(crate) fn looks_after_state(&self) {
        let looked = self.state.as_ref().map(StateDir::is_at_home);
        let away = looked.and_then(Result::err).map(|why| why.to_string());
        let was = std::mem::replace(&mut self.status().away, away.clone());
        match (&was, &away) {
            (None, Some(why)) => tracing::error!(why, "the state directory is not where it was"),
            (Some(_), None) => tracing::info!("the state directory is where it was"),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Says when access lines cannot be written, and when they can be again.
    pub(crate) fn looks_after_access_log(&self) {
        let lost = self.around.access_log.looks();
        let was = std::mem::replace(&mut self.status().access_log, lost.clone());
        match (&was, &lost) {
            (None, Some(why)) => tracing::error!(why, "access lines are lost"),
            (Some(_), None) => tracing::info!("access lines are written again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Looks at the files of certificates again; what has come into them is shown from here on.
    pub(crate) fn looks_at_certificates(&self) {
        self.engine.renew_certificates();
        self.status().certificates = self.engine.broken_certificates();
    }
}
