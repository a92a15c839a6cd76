//! Decides whether one more request of a client is too many.
//!
//! A bucket per client leaks at the rate of the setting and holds as many requests as it allows at
//! once: the generic cell rate algorithm, of the `governor` crate. A client is an IPv4 address, or the
//! first 64 bits of an IPv6 one, since whoever has one address of such a network has them all.
//!
//! Invariant: within any time T no client gets more than `burst + requests · T / per` through, as
//! long as it is among the [`MOST`] that came last; memory is bounded whoever comes.
//!
//! Source: adr/0038.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_config::model::Rate;
use governor::clock::{Clock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use lru::LruCache;

use crate::client::Client;

/// Clients that are remembered; of more, those that were not seen for longest are forgotten.
pub const MOST: usize = 100_000;
/// Parts of the table, each under a lock of its own.
const SHARDS: usize = 16;

/// How many requests each client has made of late. Shared by all who serve a site.
#[derive(Debug)]
pub struct Rates {
    limiter: RateLimiter<Client, Table, Told, NoOpMiddleware<At>>,
    told: Told,
    rate: Rate,
}

impl Rates {
    /// Nobody has asked for anything yet.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let told = Told::default();
        Self {
            limiter: RateLimiter::new(quota(&rate), Table::default(), told.clone()),
            told,
            rate,
        }
    }

    /// What is allowed.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Counts a request, `now` after a moment that never changes.
    ///
    /// # Errors
    /// How long it is until the next one is taken. This one does not count then.
    pub fn take(&self, client: IpAddr, now: Duration) -> Result<(), Duration> {
        let now = self.told.tell(now);
        let taken = self.limiter.check_key(&Client::of(client));
        taken.map_err(|until| until.wait_time_from(now))
    }
}

fn quota(rate: &Rate) -> Quota {
    let requests = rate.requests.max(1);
    let each = (rate.per / requests).max(Duration::from_nanos(1));
    let burst = NonZeroU32::new(rate.burst).unwrap_or(NonZeroU32::MIN);
    let none = Quota::per_second(NonZeroU32::MIN);
    Quota::with_period(each).unwrap_or(none).allow_burst(burst)
}

/// When each client's bucket will be empty again.
#[derive(Debug)]
struct Table {
    keys: RandomState,
    shards: [Mutex<LruCache<Client, Nanos>>; SHARDS],
}

impl Default for Table {
    fn default() -> Self {
        Self {
            keys: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::new(LruCache::unbounded())),
        }
    }
}

impl StateStore for Table {
    type Key = Client;

    fn measure_and_replace<T, F, E>(&self, client: &Client, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let hash = self.keys.hash_one(client) % SHARDS as u64;
        let shard = usize::try_from(hash).unwrap_or_default();
        let Some(shard) = self.shards.get(shard) else {
            return decide(None).map(|(outcome, _)| outcome);
        };
        let mut known = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, until) = decide(known.get(client).copied())?;
        known.put(*client, until);
        if known.len() > MOST / SHARDS {
            known.pop_lru();
        }
        Ok(outcome)
    }
}

/// The time as callers told it: the latest there was. Nanoseconds.
#[derive(Clone, Debug, Default)]
struct Told(Arc<AtomicU64>);

impl Told {
    fn tell(&self, now: Duration) -> At {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        At(now.max(self.0.fetch_max(now, Ordering::AcqRel)))
    }
}

impl Clock for Told {
    type Instant = At;

    fn now(&self) -> At {
        At(self.0.load(Ordering::Acquire))
    }
}

/// Nanoseconds since a moment that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At(u64);

impl std::ops::Add<Nanos> for At {
    type Output = Self;

    fn add(self, more: Nanos) -> Self {
        Self(self.0.saturating_add(more.as_u64()))
    }
}

impl Reference for At {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, less: Nanos) -> Self {
        Self(self.0.checked_sub(less.as_u64()).unwrap_or(self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(requests: u32, per: Duration, burst: u32) -> Rates {
        Rates::new(Rate {
            requests,
            per,
            burst,
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let rates = rates(10, Duration::from_secs(1), 3);
        let client = address("192.0.2.1");
        let at = |millis: u64| Duration::from_millis(1_000 + millis);
        for _ in 0..3 {
            assert_eq!(rates.take(client, at(0)), Ok(()));
        }
        assert_eq!(rates.take(client, at(0)), Err(Duration::from_millis(100)));
        assert_eq!(rates.take(client, at(60)), Err(Duration::from_millis(40)));
        assert_eq!(rates.take(client, at(100)), Ok(()));
        assert_eq!(rates.take(address("192.0.2.2"), at(0)), Ok(()));
    }

    #[test]
    fn a_network_of_ipv6_is_one_client_and_a_mapped_address_is_its_own() {
        let rates = rates(1, Duration::from_secs(60), 1);
        let now = Duration::from_secs(5);
        assert!(rates.take(address("2001:db8::1"), now).is_ok());
        assert!(rates.take(address("2001:db8::2:1"), now).is_err());
        assert!(rates.take(address("2001:db8:0:1::1"), now).is_ok());
        assert!(rates.take(address("::ffff:192.0.2.1"), now).is_ok());
        assert!(rates.take(address("192.0.2.1"), now).is_err());
    }

    #[test]
    fn the_table_never_grows_past_its_bound() {
        let rates = rates(1, Duration::from_secs(60), 1);
        let now = Duration::from_secs(5);
        for number in 0..u32::try_from(2 * MOST).unwrap() {
            let _ = rates.take(std::net::Ipv4Addr::from(number).into(), now);
        }
        let table = rates.limiter.into_state_store();
        let held: usize = table
            .shards
            .iter()
            .map(|one| one.lock().unwrap().len())
            .sum();
        assert!(held <= MOST && held > MOST * 9 / 10, "{held}");
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(
            requests in 1_u32..50,
            burst in 1_u32..20,
            gaps in proptest::collection::vec(0_u64..200, 1..300),
        ) {
            let rates = rates(requests, Duration::from_secs(1), burst);
            let client = address("192.0.2.1");
            let (mut now, mut passed) = (Duration::from_secs(1), 0_u64);
            let start = now;
            for gap in gaps {
                now += Duration::from_millis(gap);
                passed += u64::from(rates.take(client, now).is_ok());
                let nanos = u64::try_from((now - start).as_nanos()).unwrap();
                let most = u64::from(burst) + nanos * u64::from(requests) / 1_000_000_000;
                prop_assert!(passed <= most + 1, "{passed} of {most}");
            }
        }
    }
}
