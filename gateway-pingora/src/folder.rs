//! A directory whose files a route shows: opened when a snapshot is prepared, and looked up again now
//! and then, since a release is often a link that is turned to another directory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gateway_config::model::{Action, Files, Route, Site};
use gateway_files::{Asked, Root};

use crate::clock;
use crate::fault::Fault;

/// How long a directory is taken for the one that its path leads to.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A directory whose files a route shows.
pub(crate) struct Folder {
    /// What is shown of it, and how.
    pub(crate) files: Files,
    /// Segments of a path that are the route's own.
    pub(crate) prefix: usize,
    root: ArcSwap<Root>,
    /// When its path was followed last, in milliseconds since the start.
    looked: AtomicU64,
}

impl Folder {
    /// Opens the directory of a route; `None` for a route that shows no files.
    ///
    /// # Errors
    /// [`Fault::Folder`].
    pub(crate) fn of(site: &Site, route: &Route) -> Result<Option<Self>, Fault> {
        let Action::Files(files) = &route.action else {
            return Ok(None);
        };
        let root = open(&files.root).map_err(|because| Fault::Folder {
            site: Arc::clone(&site.name),
            route: Arc::clone(&route.name),
            path: files.root.clone(),
            because,
        })?;
        Ok(Some(Folder {
            files: (**files).clone(),
            prefix: Asked::prefix_of(&route.pattern),
            root: ArcSwap::from_pointee(root),
            looked: AtomicU64::new(millis(clock::now())),
        }))
    }

    /// The directory, as its path leads to it now or did a second ago. One that has gone is kept until
    /// there is another: what is being replaced goes on being served.
    pub(crate) fn root(&self, now: Instant) -> Arc<Root> {
        let now = millis(now);
        let stale = |looked: u64| {
            let age = Duration::from_millis(now.saturating_sub(looked));
            (age >= LOOK_AGAIN).then_some(now)
        };
        let looked = self
            .looked
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, stale);
        if looked.is_ok()
            && let Ok(root) = open(&self.files.root)
        {
            self.root.store(Arc::new(root));
        }
        self.root.load_full()
    }
}

fn open(path: &Path) -> Result<Root, String> {
    Root::open(path).map_err(|fault| fault.to_string())
}

fn millis(at: Instant) -> u64 {
    u64::try_from(clock::since_start(at).as_millis()).unwrap_or(u64::MAX)
}
