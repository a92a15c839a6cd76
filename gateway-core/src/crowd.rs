//! Decides whether one more connection of a client is too many.
//!
//! Invariant: holds one entry for each client that has a connection, so it is no larger than the bound on
//! connections, whoever comes.
//!
//! Source: the bounds of a listener; adr/0045.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::Client;

/// Parts of the table, each under a lock of its own.
const SHARDS: usize = 16;

/// What one client may hold of so many places that all share: a quarter, and one at least.
#[must_use]
pub fn share(places: u32) -> u32 {
    (places / 4).max(1)
}

/// How many connections, or whatever else is counted, each client has. Shared by all who accept for a listener.
#[derive(Debug, Default)]
pub struct Crowd {
    keys: RandomState,
    shards: [Mutex<HashMap<Client, u32>>; SHARDS],
}

/// A connection that is counted; until it is dropped.
#[derive(Debug)]
pub struct Member {
    crowd: Arc<Crowd>,
    client: Client,
}

impl Crowd {
    /// Counts a connection of a client, unless it has `most`.
    #[must_use]
    pub fn join(self: &Arc<Self>, address: IpAddr, most: u32) -> Option<Member> {
        let client = Client::of(address);
        let is_counted = self.change(&client, |known| {
            let count = known.entry(client).or_default();
            let is_free = *count < most;
            *count += u32::from(is_free);
            is_free
        });
        is_counted.then(|| Member {
            crowd: Arc::clone(self),
            client,
        })
    }

    fn change(&self, client: &Client, act: impl FnOnce(&mut HashMap<Client, u32>) -> bool) -> bool {
        let hash = self.keys.hash_one(client) % SHARDS as u64;
        let shard = usize::try_from(hash).unwrap_or_default();
        self.shards
            .get(shard)
            .is_some_and(|shard| act(&mut shard.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let client = self.client;
        self.crowd.change(&client, |known| {
            if let Some(count) = known.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    known.remove(&client);
                }
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_has_as_many_as_may_be_and_others_have_their_own() {
        let crowd = Arc::new(Crowd::default());
        let one = address("192.0.2.1");
        let held: Vec<Member> = (0..2).map_while(|_| crowd.join(one, 2)).collect();
        assert_eq!(held.len(), 2);
        assert!(crowd.join(address("::ffff:192.0.2.1"), 2).is_none());
        assert!(crowd.join(address("192.0.2.2"), 2).is_some());
        drop(held);
        assert!(crowd.join(one, 2).is_some());
    }

    proptest! {
        #[test]
        fn whoever_comes_and_goes_nobody_has_more_than_a_share_and_all_is_given_back(
            places in 0_u32..40,
            steps in proptest::collection::vec((0_u32..4, any::<bool>()), 0..200),
        ) {
            let (crowd, most) = (Arc::new(Crowd::default()), share(places));
            prop_assert!(most == 1 || most * 4 <= places);
            let mut held: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
            for (who, comes) in steps {
                let own = held.entry(who).or_default();
                match comes {
                    true => {
                        let had = own.len();
                        own.extend(crowd.join(IpAddr::V4(who.into()), most));
                        prop_assert_eq!(own.len(), (had + 1).min(most as usize));
                    }
                    false => drop(own.pop()),
                }
            }
            drop(held);
            let left = crowd.shards.iter().map(|shard| shard.lock().unwrap().len());
            prop_assert_eq!(left.sum::<usize>(), 0);
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let crowd = Arc::new(Crowd::default());
        let _held = crowd.join(address("2001:db8::1"), 1).unwrap();
        assert!(crowd.join(address("2001:db8::ffff:1"), 1).is_none());
        assert!(crowd.join(address("2001:db8:0:1::1"), 1).is_some());
    }

    #[test]
    fn nothing_is_left_of_those_who_have_gone() {
        let crowd = Arc::new(Crowd::default());
        for nth in 0..10_000_u32 {
            let member = crowd.join(IpAddr::V4(nth.into()), 1);
            assert!(member.is_some());
        }
        let left = crowd.shards.iter().map(|shard| shard.lock().unwrap().len());
        assert_eq!(left.sum::<usize>(), 0);
    }
}
