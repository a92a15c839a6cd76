//! What a snapshot says beside the data plane: where access lines go, who operators are, how much is
//! logged. All of it is made ready first and turned to last, so that a refusal changes nothing.
//!
//! Source: adr/0034, adr/0039.

use gateway_config::model::{LogLevel, Model};
use tracing_appender::non_blocking::NonBlocking;

use crate::access_file::{AccessError, AccessFile, Opened};
use crate::admin::{self, Admin};
use crate::log::Log;

/// Everything beside the data plane.
pub(crate) struct Around {
    /// Where access lines go.
    pub(crate) access_log: AccessFile,
    /// The operators' listener.
    pub(crate) admin: Admin,
    /// The log of the process.
    pub(crate) log: Log,
}

/// What it is to be next. Dropping it undoes everything.
pub(crate) struct Next {
    access_log: Option<Opened>,
    admin: admin::Next,
    level: LogLevel,
}

/// Why it cannot be that.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotHad {
    /// The access log.
    #[error(transparent)]
    AccessLog(#[from] AccessError),
    /// The operators' listener.
    #[error(transparent)]
    Admin(#[from] admin::NotBound),
}

impl Around {
    /// Nothing is written to, and nobody answered, yet.
    pub(crate) fn new(log: Log) -> Self {
        Around {
            access_log: AccessFile::default(),
            admin: Admin::default(),
            log,
        }
    }

    /// Makes ready what a snapshot says.
    ///
    /// # Errors
    /// [`NotHad`].
    pub(crate) fn next(&self, model: &Model) -> Result<Next, NotHad> {
        Ok(Next {
            access_log: self.access_log.next(&model.access_log)?,
            admin: self.admin.next(model.admin.as_ref())?,
            level: model.logs.level,
        })
    }

    /// It is that from here on; the data plane writes no access line to where they went before.
    pub(crate) fn turn_to(&self, next: Next) {
        if let Some(opened) = next.access_log {
            self.access_log.turn_to(opened);
        }
        self.admin.turn_to(next.admin);
        self.log.turn_to(next.level);
    }

    /// Nobody is answered and nothing is written any more.
    pub(crate) fn close(&self) {
        self.admin.close();
        self.access_log.close();
    }
}

impl Next {
    /// Takes access lines, where those go elsewhere than before; within that `None` where there is
    /// no access log.
    pub(crate) fn writer(&self) -> Option<Option<NonBlocking>> {
        self.access_log.as_ref().map(Opened::writer)
    }
}
