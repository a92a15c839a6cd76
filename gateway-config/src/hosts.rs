//! Which site a host name leads to, on which listener.
//!
//! An exact name goes before a wildcard, which stands for one label; names that nobody has go to
//! the listener's default site, if there is one. Redirects from one name to another are left to
//! the caller, who finds the alias's own site here.
//!
//! Source: RFC 3986 §3.2.2 (case), RFC 6125 §6.4.3 (one label).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::{Listener, Model, Site, Www};

/// Longest host name there is, without the dot at its end (RFC 1035 §2.3.4).
const LONGEST: usize = 253;

/// The names of every listener. Equal for equal models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostTable {
    listeners: HashMap<Box<str>, Arc<Hosts>>,
}

/// The names of one listener.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts {
    exact: HashMap<Box<str>, u32>,
    /// By the parent: `shop.example` for `*.shop.example`.
    wildcards: HashMap<Box<str>, u32>,
    others: Option<u32>,
}

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundAt {
    /// The place of the site in the model.
    pub site: usize,
    /// By what it was found.
    pub by: FoundBy,
}

/// By what a site was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// It takes the names that nobody has.
    Default,
    /// It has this name, or redirects it.
    Exact,
    /// It has a wildcard that covers the name.
    Wildcard,
}

impl HostTable {
    /// The table of a model. A listener that sends everybody on to HTTPS has the names of those it
    /// sends them to.
    pub(crate) fn of(model: &Model) -> Self {
        let names = |is_one: fn(&Listener) -> bool| -> HashSet<&str> {
            let all = model.listeners.iter().filter(|one| is_one(one));
            all.map(|one| &*one.name).collect()
        };
        let encrypted = names(|one| one.tls.is_some());
        let senders = names(|one| one.redirect_to_https);
        let mut served: HashMap<&str, Vec<Indexed<'_>>> = HashMap::new();
        for (index, site) in model.sites.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let own = site.listeners().map(|name| &**name);
            let is_encrypted = site.listeners().any(|name| encrypted.contains(&**name));
            let sent = senders.iter().copied().filter(|_| is_encrypted);
            for listener in own.chain(sent) {
                served.entry(listener).or_default().push((index, site));
            }
        }
        let made = served.into_iter();
        let listeners = made.map(|(name, sites)| (name.into(), Arc::new(Hosts::of(&sites))));
        Self {
            listeners: listeners.collect(),
        }
    }

    /// The names of a listener; `None`: it has no site.
    pub(crate) fn of_listener(&self, listener: &str) -> Option<&Arc<Hosts>> {
        self.listeners.get(listener)
    }
}

/// A site, and its place in the model.
type Indexed<'a> = (u32, &'a Site);

impl Hosts {
    /// The names of some sites. One that the file gives to a site goes before one that `www` adds.
    fn of(sites: &[Indexed<'_>]) -> Self {
        let mut hosts = Self::default();
        for (index, site) in sites {
            for host in site.hosts.iter().chain(&site.aliases) {
                match host.strip_prefix("*.") {
                    Some(parent) => hosts.wildcards.insert(parent.into(), *index),
                    None => hosts.exact.insert((&**host).into(), *index),
                };
            }
            if site.is_default {
                hosts.others = Some(*index);
            }
        }
        for (index, site) in sites.iter().filter(|(_, site)| site.www != Www::Keep) {
            for host in site.hosts.iter().filter(|host| !host.starts_with("*.")) {
                let twin: Box<str> = match host.strip_prefix("www.") {
                    Some(bare) => bare.into(),
                    None => format!("www.{host}").into(),
                };
                hosts.exact.entry(twin).or_insert(*index);
            }
        }
        hosts
    }

    /// Where a name leads; the name is as a client wrote it, without a port. `None`: nobody has it,
    /// and no site takes such names.
    #[must_use]
    pub fn find(&self, host: &str) -> Option<FoundAt> {
        let others = || {
            let site = usize::try_from(self.others?).ok()?;
            Some(FoundAt {
                site,
                by: FoundBy::Default,
            })
        };
        if self.exact.is_empty() && self.wildcards.is_empty() {
            return others();
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let mut folded = [0_u8; LONGEST];
        let Some(room) = folded.get_mut(..host.len()) else {
            return others();
        };
        room.copy_from_slice(host.as_bytes());
        room.make_ascii_lowercase();
        let Ok(name) = std::str::from_utf8(room) else {
            return others();
        };
        let wildcard = || {
            if self.wildcards.is_empty() {
                return None;
            }
            let (label, parent) = name.split_once('.')?;
            self.wildcards.get(parent).filter(|_| !label.is_empty())
        };
        let found = match self.exact.get(name) {
            Some(site) => Some((site, FoundBy::Exact)),
            None => wildcard().map(|site| (site, FoundBy::Wildcard)),
        };
        let at = found.and_then(|(site, by)| Some((usize::try_from(*site).ok()?, by)));
        match at {
            Some((site, by)) => Some(FoundAt { site, by }),
            None => others(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> HostTable {
        let mut model = Model::new();
        let site = |name: &str, hosts: &[&str]| {
            let mut site = Site::new(name.into(), "a".into());
            site.hosts = hosts.iter().map(|host| (*host).into()).collect();
            site.is_default = hosts.is_empty();
            site
        };
        model.sites.push(site("exact", &["b.shop.example"]));
        model.sites.push(site("wild", &["*.shop.example"]));
        model.sites.push(site("www", &["x.example"]));
        model.sites[2].www = Www::Remove;
        model.sites.push(site("rest", &[]));
        model.sites[3].also_on.push("b".into());
        HostTable::of(&model)
    }

    #[test]
    fn exact_names_go_before_wildcards_and_those_before_the_rest() {
        let table = table();
        let find = |host: &str| Some(table.of_listener("a")?.find(host)?.site);
        assert_eq!(find("b.shop.example"), Some(0));
        assert_eq!(find("B.Shop.EXAMPLE."), Some(0));
        assert_eq!(find("c.shop.example"), Some(1));
        for host in [
            "a.b.shop.example",
            "shop.example",
            ".shop.example",
            "",
            ".",
            "é",
        ] {
            assert_eq!(find(host), Some(3), "{host}");
        }
        assert_eq!(find("www.x.example"), Some(2));
        assert_eq!(find(&"x".repeat(9_999)), Some(3));
        let by = |listener: &str, host: &str| Some(table.of_listener(listener)?.find(host)?.by);
        assert_eq!(by("b", "b.shop.example"), Some(FoundBy::Default));
        assert_eq!(by("a", "b.shop.example"), Some(FoundBy::Exact));
        assert_eq!(by("a", "c.shop.example"), Some(FoundBy::Wildcard));
        assert_eq!(table.of_listener("c"), None);
    }
}
