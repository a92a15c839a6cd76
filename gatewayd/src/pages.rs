//! What operators may read of a running process: whether it runs, whether it is ready, what it
//! counts, and how it stands.
//!
//! Reads what the [`reload`](crate::reload) and the data plane say of themselves at that moment, and
//! changes nothing. Who may read it is left to [`admin`](crate::admin).
//!
//! Source: adr/0039.

use std::sync::{Arc, Weak};

use crate::admin::{Page, Pages};
use crate::reload::Reload;

mod metrics;
mod readiness;
mod standing;
mod vitals;

const PLAIN: &str = "text/plain; charset=utf-8";
const SCRAPED: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The pages of one process.
pub(crate) struct Seen {
    /// Holds the pages, so that these cannot hold it.
    reload: Weak<Reload>,
}

impl Seen {
    /// What can be seen of it.
    pub(crate) fn of(reload: &Arc<Reload>) -> Arc<dyn Pages> {
        Arc::new(Seen {
            reload: Arc::downgrade(reload),
        })
    }
}

impl Pages for Seen {
    fn page(&self, path: &str) -> Option<Page> {
        let reload = self.reload.upgrade()?;
        let (status, kind, text) = match path {
            "/" => (200, PLAIN, standing::text(&reload)),
            "/livez" => (200, PLAIN, "ok\n".to_owned()),
            "/metrics" => (200, SCRAPED, metrics::text(&reload)),
            "/readyz" => {
                let (status, text) = readiness::of(&reload).said();
                (status, PLAIN, text)
            }
            _ => return None,
        };
        Some(Page { status, kind, text })
    }
}
