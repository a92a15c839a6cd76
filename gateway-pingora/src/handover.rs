//! The order in which two posts accept on one socket: the next begins when the one before has taken
//! what was queued for it. Whoever asked for the change waits until what is closed for it is closed, too.
//!
//! Nobody says a word: whoever hands over holds a [`Handing`], then a [`Closing`], and is done when the last
//! one is dropped, also by a worker that has ended. Source: RUNTIME §1; adr/0035.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::watch;

/// Held by those who still take what is queued.
#[derive(Clone, Debug)]
pub(crate) struct Handing {
    _sender: Arc<watch::Sender<Option<Infallible>>>,
    closing: Closing,
}

/// Held by those who still have sockets to close.
#[derive(Clone, Debug)]
pub(crate) struct Closing(
    #[expect(dead_code, reason = "it is only held")] mpsc::Sender<Infallible>,
);

/// Waits for those, on a worker.
#[derive(Clone, Debug)]
pub(crate) struct Handed(watch::Receiver<Option<Infallible>>);

/// Waits for those, outside of any runtime.
#[derive(Debug)]
pub(crate) struct Outcome(mpsc::Receiver<Infallible>);

/// One handover.
pub(crate) fn handover() -> (Handing, Handed, Outcome) {
    let (sender, receiver) = watch::channel(None);
    let (closing, outcome) = mpsc::channel();
    let handing = Handing {
        _sender: Arc::new(sender),
        closing: Closing(closing),
    };
    (handing, Handed(receiver), Outcome(outcome))
}

impl Handing {
    /// What was queued has been taken.
    pub(crate) fn has_taken(self) -> Closing {
        self.closing
    }
}

impl Outcome {
    /// Blocks until the last [`Handing`] and [`Closing`] has been dropped, but no longer than `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        let _ = self.0.recv_timeout(limit);
    }
}

impl Handed {
    /// Returns when the last [`Handing`] has been dropped.
    ///
    /// Cancel-safe: yes.
    pub(crate) async fn end(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}
