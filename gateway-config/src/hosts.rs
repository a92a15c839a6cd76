//! Which site a host name leads to, on which listener.
//!
//! An exact name goes before a wildcard, which stands for one label; names that nobody has go to
//! the listener's default site, if there is one. Redirects from one name to another are left to
//! the caller, who finds the alias's own site here.
//!
//! Source: RFC 3986 §3.2.2 (case), RFC 6125 §6.4.3 (one label).

use std::collections::HashMap;

use crate::model::{Model, Www};

/// Longest host name there is, without the dot at its end (RFC 1035 §2.3.4).
const LONGEST: usize = 253;

/// The names of every listener. Equal for equal models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostTable {
    listeners: HashMap<Box<str>, Hosts>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Hosts {
    exact: HashMap<Box<str>, u32>,
    /// By the parent: `shop.example` for `*.shop.example`.
    wildcards: HashMap<Box<str>, u32>,
    others: Option<u32>,
}

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundAt {
    /// The place of the site in the model.
    pub(crate) site: usize,
    /// By what it was found.
    pub(crate) by: FoundBy,
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
    /// The table of a model. A name that the file gives to a site goes before one that `www` adds.
    pub(crate) fn of(model: &Model) -> Self {
        let mut table = Self::default();
        for (index, site) in model.sites.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            for listener in site.listeners() {
                let hosts = table.listeners.entry((&**listener).into()).or_default();
                for host in site.hosts.iter().chain(&site.aliases) {
                    match host.strip_prefix("*.") {
                        Some(parent) => hosts.wildcards.insert(parent.into(), index),
                        None => hosts.exact.insert((&**host).into(), index),
                    };
                }
                if site.is_default {
                    hosts.others = Some(index);
                }
            }
        }
        for (index, site) in model
            .sites
            .iter()
            .enumerate()
            .filter(|(_, site)| site.www != Www::Keep)
        {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            for listener in site.listeners() {
                let hosts = table.listeners.entry((&**listener).into()).or_default();
                for host in site.hosts.iter().filter(|host| !host.starts_with("*.")) {
                    let twin: Box<str> = match host.strip_prefix("www.") {
                        Some(bare) => bare.into(),
                        None => format!("www.{host}").into(),
                    };
                    hosts.exact.entry(twin).or_insert(index);
                }
            }
        }
        table
    }

    /// Where a name leads on a listener; the name is as a client wrote it.
    pub(crate) fn find(&self, listener: &str, host: &str) -> Option<FoundAt> {
        let hosts = self.listeners.get(listener)?;
        let others = || {
            let site = usize::try_from(hosts.others?).ok()?;
            Some(FoundAt {
                site,
                by: FoundBy::Default,
            })
        };
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
            if hosts.wildcards.is_empty() {
                return None;
            }
            let (label, parent) = name.split_once('.')?;
            hosts.wildcards.get(parent).filter(|_| !label.is_empty())
        };
        let found = match hosts.exact.get(name) {
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
    use crate::model::Site;

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
        let find = |host: &str| table.find("a", host).map(|found| found.site);
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
        let by = |listener, host| table.find(listener, host).map(|found| found.by);
        assert_eq!(by("b", "b.shop.example"), Some(FoundBy::Default));
        assert_eq!(by("a", "b.shop.example"), Some(FoundBy::Exact));
        assert_eq!(by("a", "c.shop.example"), Some(FoundBy::Wildcard));
        assert_eq!(table.find("c", "b.shop.example"), None);
    }
}
