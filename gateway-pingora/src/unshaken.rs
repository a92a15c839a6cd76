//! Why no handshake with a node comes about, as far as that is for somebody to know.
//!
//! A certificate that is not as it should be is for somebody to mend, so each reason is said once, and
//! again when handshakes came about meanwhile: of a node of which they do and do not in turn, once a
//! minute at most.
//!
//! Source: adr/0037.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gateway_config::model::Name;

/// How long after it was said a reason is not said again.
const QUIET: Duration = Duration::from_secs(60);

/// Most reasons that are said of a node.
const MAX_REASONS: usize = 8;

/// What was said, of each node by its pool and its name.
#[derive(Default)]
pub(crate) struct Unshaken(Mutex<BTreeMap<(Name, Name), Reasons>>);

/// What was said of one node.
#[derive(Default)]
struct Reasons(BTreeMap<String, Said>);

/// When a reason was said.
struct Said {
    at: Instant,
    /// A handshake came about since.
    is_mended: bool,
}

impl Unshaken {
    /// Says why no handshake with a node came about, unless that was said.
    pub(crate) fn say(&self, pool: &Name, node: &Name, why: &str, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(pool), Arc::clone(node));
        if all.entry(key).or_default().is_news(why, now) {
            let (pool, node) = (&**pool, &**node);
            tracing::warn!(pool, node, why, "no handshake with a node");
        }
    }

    /// A handshake with a node came about.
    pub(crate) fn is_mended(&self, pool: &Name, node: &Name) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = all.get_mut(&(Arc::clone(pool), Arc::clone(node))) {
            said.are_mended();
        }
    }

    /// Forgets the nodes that fit, by pool and name.
    pub(crate) fn forget(&self, fits: impl Fn(&Name, &Name) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(pool, node), _| !fits(pool, node));
    }
}

impl Reasons {
    /// Whether it is to be said; it counts as said then.
    fn is_news(&mut self, why: &str, now: Instant) -> bool {
        self.0
            .retain(|_, said| !said.is_mended || now < said.at + QUIET);
        // How long a certificate has been over is another number each time.
        let reason: String = why.chars().filter(|one| !one.is_ascii_digit()).collect();
        let is_news = self.0.len() < MAX_REASONS && !self.0.contains_key(&reason);
        if is_news {
            let (at, is_mended) = (now, false);
            self.0.insert(reason, Said { at, is_mended });
        }
        is_news
    }

    fn are_mended(&mut self) {
        for said in self.0.values_mut() {
            said.is_mended = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn a_reason_is_said_once_until_it_is_mended_and_once_a_minute_at_most() {
        let (begun, mut reasons) = (clock::now(), Reasons::default());
        let mut is_said = |second, why| reasons.is_news(why, begun + Duration::from_secs(second));
        assert!(is_said(0, "over for 3 days"));
        assert!(!is_said(600, "over for 4 days"));
        assert!(is_said(600, "another name"));

        // It comes and goes.
        let mut said = Vec::new();
        for second in 600..780 {
            reasons.are_mended();
            if reasons.is_news("another name", begun + Duration::from_secs(second)) {
                said.push(second);
            }
        }
        assert_eq!(said, [660, 720]);

        // It went within the minute and stays away: it is said when the minute is over, and never again.
        reasons.are_mended();
        let said = (780..1_000)
            .filter(|second| reasons.is_news("another name", begun + Duration::from_secs(*second)));
        assert_eq!(Vec::from_iter(said), [780]);
    }

    #[test]
    fn a_node_has_so_many_reasons_and_no_more() {
        let (now, mut reasons) = (clock::now(), Reasons::default());
        let words = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let count = |reasons: &mut Reasons, now| {
            words.iter().filter(|why| reasons.is_news(why, now)).count()
        };
        assert_eq!(count(&mut reasons, now), MAX_REASONS);
        reasons.are_mended();
        assert_eq!(count(&mut reasons, now), 0);
        assert_eq!(count(&mut reasons, now + QUIET), MAX_REASONS);
    }
}
