//! The order in which two posts accept on one socket: the next begins when the one before has taken
//! what was queued for it.
//!
//! Nobody says a word: whoever hands over holds a [`Handing`], and is done when the last one is dropped,
//! also by a worker that has ended. Source: RUNTIME §1; adr/0035.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::watch;

/// Held by those who still take what is queued.
#[derive(Clone, Debug)]
pub(crate) struct Handing {
    _sender: Arc<watch::Sender<Option<Infallible>>>,
    _outside: mpsc::Sender<Infallible>,
}

/// Waits for those, on a worker.
#[derive(Clone, Debug)]
pub(crate) struct Handed(watch::Receiver<Option<Infallible>>);

/// Waits for those, outside of any runtime.
#[derive(Debug)]
pub(crate) struct Outcome(mpsc::Receiver<Infallible>);

/// One handover.
pub(crate) fn handover() -> (Handing, Handed, Outcome) {
    let (sender, receiver) = watch::channel(None);
    let (_outside, outcome) = mpsc::channel();
    let _sender = Arc::new(sender);
    let handing = Handing { _sender, _outside };
    (handing, Handed(receiver), Outcome(outcome))
}

impl Outcome {
    /// Blocks until the last [`Handing`] has been dropped, but no longer than `limit`.
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
