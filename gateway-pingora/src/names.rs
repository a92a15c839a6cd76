//! Keeps what the names of nodes mean: asks again when the time of an answer has ended, and goes on with
//! the last good one while none comes.
//!
//! A name is asked once for all who want it, also across snapshots, and few are asked at a time. How it
//! is asked is [`resolver`](crate::resolver)'s; what follows for a node is its pool's.
//!
//! Source: GATEWAY §6; adr/0052.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};

use crate::resolver::{Answer, Resolver};

/// Names asked at the same time, so that a large configuration is no flood.
const AT_ONCE: usize = 16;
/// No name is asked more often, whatever the time its answer has.
const SHORTEST: Duration = Duration::from_secs(1);
/// Every name is asked as often, whatever the time its answer has.
const LONGEST: Duration = Duration::from_secs(300);
/// Longest wait after a question without an answer; the first one is the shortest, and they double.
const LONGEST_AFTER_FAILURE: Duration = Duration::from_secs(8);

/// The names that somebody wants to know.
#[derive(Clone)]
pub(crate) struct Names(Arc<Shared>);

struct Shared {
    control: Handle,
    resolver: Resolver,
    places: Semaphore,
    wanted: Mutex<HashMap<Arc<str>, Arc<watch::Sender<Meaning>>>>,
}

/// What a name means, as far as is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    /// Its addresses; the last ones, where it could not be asked since. Empty before the first answer.
    pub(crate) addresses: Arc<[IpAddr]>,
    /// Whether the last question had an answer with an address; `None` before the first.
    pub(crate) is_found: Option<bool>,
}

impl Names {
    /// Nobody wants to know anything yet. Questions are asked on `control`.
    pub(crate) fn new(control: Handle, servers: &[SocketAddr]) -> Self {
        Names(Arc::new(Shared {
            control,
            resolver: Resolver::new(servers),
            places: Semaphore::new(AT_ONCE),
            wanted: Mutex::default(),
        }))
    }

    /// From here on these name servers are asked; those of the system when there are none.
    pub(crate) fn turn_to(&self, servers: &[SocketAddr]) {
        self.0.resolver.turn_to(servers);
    }

    /// What this name means, from now on for as long as the receiver is there.
    pub(crate) fn follow(&self, name: &str) -> watch::Receiver<Meaning> {
        let mut wanted = self.0.wanted();
        if let Some(known) = wanted.get(name) {
            return known.subscribe();
        }
        let (sender, receiver) = watch::channel(Meaning::default());
        let (name, sender) = (Arc::<str>::from(name), Arc::new(sender));
        wanted.insert(Arc::clone(&name), Arc::clone(&sender));
        drop(wanted);
        let asks = ask_again(Arc::clone(&self.0), name, sender);
        self.0.control.spawn(asks);
        receiver
    }
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<watch::Sender<Meaning>>>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody wants to know this name any more; it is forgotten then.
    fn forgets(&self, name: &str, sender: &watch::Sender<Meaning>) -> bool {
        let mut wanted = self.wanted();
        let is_unwanted = sender.receiver_count() == 0;
        if is_unwanted {
            wanted.remove(name);
        }
        is_unwanted
    }
}

/// Asks a name for as long as somebody wants to know it.
async fn ask_again(shared: Arc<Shared>, name: Arc<str>, sender: Arc<watch::Sender<Meaning>>) {
    let mut failures = 0;
    loop {
        let answer = {
            let _place = shared.places.acquire().await;
            shared.resolver.ask(&name).await
        };
        report(&name, &answer, &sender.borrow());
        failures = match answer {
            Answer::Found(..) => 0,
            Answer::Failed(_) | Answer::Nothing => failures + 1,
        };
        let pause = pause(&answer, failures);
        sender.send_modify(|known| known.take(answer));
        tokio::time::sleep(pause).await;
        if shared.forgets(&name, &sender) {
            return;
        }
    }
}

impl Meaning {
    fn take(&mut self, answer: Answer) {
        self.is_found = Some(matches!(answer, Answer::Found(..)));
        if let Answer::Found(mut found, _) = answer {
            found.sort_unstable();
            found.dedup();
            self.addresses = found.into();
        }
    }
}

/// How long until a name is asked again, after so many questions in a row without an answer.
fn pause(answer: &Answer, failures: u32) -> Duration {
    match answer {
        Answer::Found(_, holds) => (*holds).clamp(SHORTEST, LONGEST),
        Answer::Failed(_) | Answer::Nothing => {
            let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
            let pause = SHORTEST.saturating_mul(doubled);
            pause.min(LONGEST_AFTER_FAILURE)
        }
    }
}

/// One line when a name means something else, and one when it could not be asked any more.
fn report(name: &str, answer: &Answer, before: &Meaning) {
    let why = match answer {
        Answer::Found(found, _) => {
            let mut addresses = found.clone();
            addresses.sort_unstable();
            addresses.dedup();
            if before.is_found != Some(true) || *before.addresses != *addresses {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                let addresses = addresses.join(" ");
                tracing::info!(name, addresses, "name resolved");
            }
            return;
        }
        Answer::Failed(why) => why.as_str(),
        Answer::Nothing => "there is no address of that name",
    };
    match before.is_found {
        Some(false) => tracing::debug!(name, why, "name not resolved"),
        Some(true) | None => {
            let kept = before.addresses.len();
            tracing::warn!(name, why, kept, "name not resolved");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(address: u8, holds: u64) -> Answer {
        let address = IpAddr::from([127, 0, 0, address]);
        Answer::Found(vec![address], Duration::from_secs(holds))
    }

    #[test]
    fn a_name_is_asked_again_when_its_time_ends_within_bounds() {
        let seconds = |holds| pause(&found(1, holds), 0).as_secs();
        assert_eq!((seconds(0), seconds(1), seconds(60)), (1, 1, 60));
        assert_eq!(seconds(86_400), 300);
    }

    #[test]
    fn without_an_answer_it_is_asked_less_and_less_often_but_soon() {
        let after = |failures| pause(&Answer::Nothing, failures).as_secs();
        let all: Vec<u64> = (1..7).map(after).collect();
        assert_eq!(all, [1, 2, 4, 8, 8, 8]);
        assert_eq!(after(u32::MAX), 8);
    }

    #[test]
    fn the_last_good_answer_is_kept() {
        let mut known = Meaning::default();
        known.take(Answer::Nothing);
        assert_eq!((known.is_found, known.addresses.len()), (Some(false), 0));
        known.take(found(1, 1));
        known.take(Answer::Failed("no".to_owned()));
        assert_eq!(known.is_found, Some(false));
        assert_eq!(*known.addresses, [IpAddr::from([127, 0, 0, 1])]);
        known.take(found(2, 1));
        assert_eq!(*known.addresses, [IpAddr::from([127, 0, 0, 2])]);
    }
}
