//! A set of IP networks: who may come in, who is believed.
//!
//! Reads one network or address of a list; what a list means when it is absent or empty is left to
//! whoever holds it. Asked once per connection or request, so it is sorted and searched.
//!
//! Invariant: sorted, and no network lies within another; a set is kept once, whoever names it.
//!
//! Source: RFC 4632 §3.1, RFC 4291 §2.3.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IP networks, some of them in sets that have a name. Cheap to clone: a set is shared by all lists
/// that name it. Equal for two that hold the same as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    own: Sorted,
    /// By name, each once.
    sets: Arc<[Arc<NetworkSet>]>,
}

/// IP networks under a name.
#[derive(Debug, PartialEq, Eq)]
pub struct NetworkSet {
    name: Arc<str>,
    all: Sorted,
}

/// Networks that can be searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sorted(Arc<[IpNet]>);

impl Networks {
    /// The networks, sorted, without those that lie within another.
    #[must_use]
    pub fn new(all: Vec<IpNet>) -> Self {
        Self::with(all, Vec::new())
    }

    /// The same, and sets.
    pub(crate) fn with(own: Vec<IpNet>, mut sets: Vec<Arc<NetworkSet>>) -> Self {
        sets.sort_by(|one, other| one.name.cmp(&other.name));
        sets.dedup_by(|one, other| one.name == other.name);
        Self {
            own: Sorted::new(own),
            sets: sets.into(),
        }
    }

    /// Whether an address lies in one of them; an IPv4 address written as IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.own.contains(address) || self.sets.iter().any(|set| set.all.contains(address))
    }

    /// The sets that it holds, by name.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &Arc<NetworkSet>> {
        self.sets.iter()
    }

    /// What it holds, as a list names it: sets by their names, then networks in their order.
    pub fn written(&self) -> impl Iterator<Item = String> {
        let sets = self.sets.iter().map(|set| format!("@{}", set.name));
        sets.chain(self.own.written())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.0.is_empty() && self.sets.is_empty()
    }
}

impl NetworkSet {
    /// Gives networks a name.
    pub(crate) fn new(name: &str, all: Vec<IpNet>) -> Self {
        Self {
            name: name.into(),
            all: Sorted::new(all),
        }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its networks, in order.
    pub(crate) fn written(&self) -> impl Iterator<Item = String> {
        self.all.written()
    }
}

impl Sorted {
    fn new(mut all: Vec<IpNet>) -> Self {
        all.sort_by_key(|net| (net.network(), net.prefix_len()));
        let mut kept: Vec<IpNet> = Vec::with_capacity(all.len());
        for net in all {
            if !kept.last().is_some_and(|last| last.contains(&net)) {
                kept.push(net);
            }
        }
        Self(kept.into())
    }

    fn contains(&self, address: IpAddr) -> bool {
        let before = self.0.partition_point(|net| net.network() <= address);
        before
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
            .is_some_and(|net| net.contains(&address))
    }

    fn written(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }
}

/// Why a text is no network.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NetworkError {
    /// The smallest wrong piece, in bytes of the text.
    pub(crate) at: Range<usize>,
    /// What is wrong with it.
    pub(crate) why: &'static str,
    /// What to write instead, where that is clear.
    pub(crate) instead: Option<String>,
}

/// Reads `ADDRESS/PREFIX`, or an address alone, which stands for itself.
///
/// # Errors
/// The smallest wrong piece; an address with bits behind its prefix is refused, since it could
/// mean either of two things.
pub(crate) fn read(text: &str) -> Result<IpNet, NetworkError> {
    let (host, prefix) = match text.split_once('/') {
        Some((host, prefix)) => (host, Some(prefix)),
        None => (text, None),
    };
    let Ok(address) = host.parse::<IpAddr>() else {
        return Err(NetworkError {
            at: 0..host.len(),
            why: "not an IP address",
            instead: None,
        });
    };
    if let (IpAddr::V6(written), Some(prefix)) = (address, prefix)
        && let Some(meant) = written.to_ipv4_mapped()
    {
        return Err(mapped(text, meant, prefix));
    }
    let address = address.to_canonical();
    let most: u8 = if address.is_ipv4() { 32 } else { 128 };
    let Some(prefix) = prefix else {
        return Ok(IpNet::from(address));
    };
    let bits = prefix.parse::<u8>().ok().filter(|bits| *bits <= most);
    let is_number = prefix.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = prefix.len() > 1 && prefix.starts_with('0');
    let Some(bits) = bits.filter(|_| is_number && !is_padded) else {
        return Err(NetworkError {
            at: host.len()..text.len(),
            why: match prefix {
                "" => "the number of bits is missing",
                _ if !is_number => "a prefix is a number of bits",
                _ if is_padded => "a number of bits has no zero before it",
                _ if most == 32 => "an IPv4 prefix is at most /32",
                _ => "an IPv6 prefix is at most /128",
            },
            instead: mask(prefix)
                .or(bits.filter(|_| is_number).map(u32::from))
                .map(|bits| format!("`{address}/{bits}`")),
        });
    };
    let net = match address {
        IpAddr::V4(address) => Ipv4Net::new(address, bits).map(IpNet::V4),
        IpAddr::V6(address) => Ipv6Net::new(address, bits).map(IpNet::V6),
    };
    match net {
        Ok(net) if net.trunc() == net => Ok(net),
        Ok(net) => Err(NetworkError {
            at: 0..text.len(),
            why: "there are bits behind the prefix",
            instead: Some(format!("`{}`, or `{address}` alone", net.trunc())),
        }),
        Err(_) => Err(NetworkError {
            at: host.len()..text.len(),
            why: "not a prefix",
            instead: None,
        }),
    }
}

/// An IPv4 network written as IPv6: its prefix counts bits that an IPv4 address does not have.
fn mapped(text: &str, meant: Ipv4Addr, prefix: &str) -> NetworkError {
    let bits = prefix
        .parse::<u8>()
        .ok()
        .and_then(|bits| bits.checked_sub(96));
    let net = bits.and_then(|bits| Ipv4Net::new(meant, bits).ok());
    NetworkError {
        at: 0..text.len(),
        why: "IPv4 written as IPv6; a network of IPv4 is written as one",
        instead: net.map(|net| format!("`{}`", net.trunc())),
    }
}

/// The number of bits of a mask as it is often written: `255.255.0.0`.
fn mask(text: &str) -> Option<u32> {
    let bits = u32::from(text.parse::<Ipv4Addr>().ok()?);
    (bits.leading_ones() + bits.trailing_zeros() == 32).then(|| bits.leading_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(all: &[&str]) -> Networks {
        Networks::new(all.iter().map(|text| read(text).unwrap()).collect())
    }

    #[test]
    fn an_address_is_in_the_network_that_holds_it() {
        let set = set(&["10.0.0.0/8", "10.1.0.0/16", "192.0.2.7", "2001:db8::/32"]);
        assert_eq!(set.written().count(), 3);
        let holds = |text: &str| set.contains(text.parse().unwrap());
        for text in ["10.0.0.0", "10.255.255.255", "192.0.2.7", "2001:db8::1"] {
            assert!(holds(text), "{text}");
        }
        assert!(holds("::ffff:10.2.3.4"));
        for text in ["9.255.255.255", "11.0.0.0", "192.0.2.8", "2001:db9::", "::"] {
            assert!(!holds(text), "{text}");
        }
        assert!(!Networks::default().contains("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_set_is_shared_by_those_who_name_it() {
        let named = |name| Arc::new(NetworkSet::new(name, vec![read("10.0.0.0/8").unwrap()]));
        let (b, a) = (named("b"), named("a"));
        let own = vec![read("192.0.2.7").unwrap()];
        let list = Networks::with(own, vec![b.clone(), a, b.clone()]);
        let written: Vec<String> = list.written().collect();
        assert_eq!(written, ["@a", "@b", "192.0.2.7/32"]);
        assert!(list.contains("10.1.2.3".parse().unwrap()));
        assert!(!list.contains("11.1.2.3".parse().unwrap()));
        assert_eq!(Arc::strong_count(&b), 2);
        assert!(!Networks::with(Vec::new(), vec![b]).is_empty());
    }

    #[test]
    fn the_smallest_wrong_piece_is_named() {
        let piece = |text: &str| text[read(text).unwrap_err().at].to_owned();
        assert_eq!(piece("2001:db8:42::/130"), "/130");
        assert_eq!(piece("10.0.0.0/+8"), "/+8");
        assert_eq!(piece("10.0.0/8"), "10.0.0");
        assert_eq!(piece("office"), "office");
        assert_eq!(piece("10.0.0.1/8"), "10.0.0.1/8");
        let instead = |text: &str| read(text).unwrap_err().instead;
        assert_eq!(instead("10.0.0.0/255.0.0.0").unwrap(), "`10.0.0.0/8`");
        assert_eq!(instead("10.0.0.0/255.0.0.255"), None);
    }
}
