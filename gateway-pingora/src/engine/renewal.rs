//! Looks at the files of certificates again, while they are shown.
//!
//! Files are read before the lock of changes is taken: a disk that does not answer keeps nobody from
//! draining a node or reloading. A look is dropped when what it began from has changed meanwhile, since
//! whoever changed it has read the files as well.
//!
//! Source: adr/0053.

use std::path::Path;
use std::time::SystemTime;

use super::*;
use crate::pairs::News;

impl Engine {
    /// Looks at the files of certificates again: what has come into them is shown from here on. Says
    /// what was not said before. Reads files, and so may wait for a disk; nothing else waits meanwhile.
    pub fn renew_certificates(&self) {
        self.renew(Pairs::read);
    }

    fn renew(&self, read: impl FnOnce(&Model, &Pairs, SystemTime) -> Pairs) {
        // In this order: a change turns to its snapshot first, and then to its pairs.
        let before = self.pairs.load_full();
        let (snapshot, now) = (self.snapshot(), clock::wall());
        let mut pairs = read(snapshot.model(), &before, now);
        let _alone = self.change();
        if !Arc::ptr_eq(&before, &self.pairs.load()) {
            return;
        }
        if pairs.is_otherwise(&before)
            && let Err(why) = self.show(&snapshot, &pairs)
        {
            // The next look begins where this one did, and tries again.
            tracing::error!(%why, "certificates are shown as before");
            return;
        }
        for (chain, news) in pairs.news(&before, now) {
            say(chain, &news);
        }
        self.pairs.store(Arc::new(pairs));
    }

    /// Shows them in the next handshakes.
    ///
    /// # Errors
    /// [`Fault::Profile`]; everything is shown as before then.
    fn show(&self, snapshot: &Snapshot, pairs: &Pairs) -> Result<(), Fault> {
        let listening = self.generations().listening();
        let wanted = wanted(snapshot, pairs, &listening)?;
        for ((listener, shown), one) in wanted.into_iter().zip(&listening) {
            debug_assert_eq!(listener.name, one.name);
            one.show(shown);
        }
        Ok(())
    }

    /// What cannot be used of the files of certificates, a sentence each.
    #[must_use]
    pub fn broken_certificates(&self) -> Vec<String> {
        self.pairs.load().broken().collect()
    }
}

/// Says what is new of a pair.
fn say(chain: &Path, news: &News) {
    let certificate = chain.display();
    match news {
        News::Broken(why) => tracing::warn!(%certificate, why, "a certificate cannot be used"),
        News::Ended => tracing::error!(%certificate, "a certificate has ended"),
        News::Ends(0) => tracing::error!(%certificate, "a certificate ends within a day"),
        News::Ends(days) => tracing::warn!(%certificate, days, "a certificate ends soon"),
        News::Mended => tracing::info!(%certificate, "a certificate can be used again"),
        News::Shown => tracing::info!(%certificate, "a certificate is shown that was not before"),
    }
}

#[cfg(test)]
mod tests;
