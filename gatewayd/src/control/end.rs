//! The end of the interface: calls under way are answered first, and nobody waits long for it.

use tokio::sync::watch;

/// Waits for it.
#[derive(Clone, Debug)]
pub(super) struct End(watch::Receiver<bool>);

/// Brings it about.
#[derive(Debug)]
pub(super) struct Ends(watch::Sender<bool>);

/// An end that has not come.
pub(super) fn pair() -> (Ends, End) {
    let (sender, receiver) = watch::channel(false);
    (Ends(sender), End(receiver))
}

impl Ends {
    /// It has come.
    pub(super) fn come(&self) {
        self.0.send_replace(true);
    }
}

impl End {
    /// Returns when it has come.
    ///
    /// Cancel-safe: yes.
    pub(super) async fn comes(&mut self) {
        // Without anybody to bring it about, it has.
        let _ = self.0.wait_for(|has_come| *has_come).await;
    }
}
