//! Decides whether a request is sent on to another address before any route is looked at.
//!
//! Another name of the site, its name with or without `www`, and HTTPS are one step together: the
//! answer leads to the last of them at once. Leaves the answer, a 308 with path and query as they
//! came, to the caller.
//!
//! Source: RFC 9110 §15.4.9, RFC 6797 §7.2.

use crate::model::{Listener, Site, Www};
use crate::snapshot::Snapshot;

/// Another address for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Scheme and authority; path and query of the request go behind it.
    pub to: String,
    /// Everything that is otherwise there; at least one.
    pub why: Vec<WhyMoved>,
}

/// What is otherwise at the other address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyMoved {
    /// The name asked for is an alias.
    Alias,
    /// It came in clear text.
    Https,
    /// The name has `www` and should not, or the other way round.
    Www,
}

impl Snapshot {
    /// Where a request for a host of a site is sent on to; `None`: it stays.
    ///
    /// `port` is the one the client wrote, if it did. `is_https` is what the client spoke, whoever
    /// took the TLS off.
    #[must_use]
    pub fn moved(
        &self,
        (listener, site): (&Listener, &Site),
        host: &str,
        port: Option<u16>,
        is_https: bool,
    ) -> Option<Moved> {
        let mut why = Vec::new();
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let named = name(site, host, &mut why);
        let secure = match is_https || !(site.https || listener.redirect_to_https) {
            true => None,
            false => self.secure_port(site),
        };
        if secure.is_some() {
            why.push(WhyMoved::Https);
        }
        let scheme = if is_https || secure.is_some() {
            "https"
        } else {
            "http"
        };
        let port = secure.or(port).filter(|port| *port != usual(scheme));
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        (!why.is_empty()).then(|| Moved {
            to: format!("{scheme}://{named}{port}"),
            why,
        })
    }

    /// Where a site is served over HTTPS.
    fn secure_port(&self, site: &Site) -> Option<u16> {
        let mut all = self.model().listeners.iter();
        let is_it =
            |one: &&Listener| one.tls.is_some() && site.listeners().any(|name| *name == one.name);
        all.find(is_it).map(|one| one.bind.port())
    }
}

/// The name that stands for a name of a site.
fn name(site: &Site, asked: String, why: &mut Vec<WhyMoved>) -> String {
    let is_alias = site.aliases.iter().any(|alias| **alias == *asked);
    let named = match &site.primary {
        Some(primary) if is_alias => {
            why.push(WhyMoved::Alias);
            primary.to_string()
        }
        Some(_) | None => asked,
    };
    let other = match (site.www, named.strip_prefix("www.")) {
        (Www::Add, None) => format!("www.{named}"),
        (Www::Remove, Some(bare)) => bare.to_owned(),
        (Www::Add | Www::Keep | Www::Remove, _) => return named,
    };
    let has = |name: &str| site.hosts.iter().any(|host| **host == *name);
    if !has(&named) && !has(&other) {
        return named;
    }
    why.push(WhyMoved::Www);
    other
}

fn usual(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, Tls};

    fn snapshot(change: impl FnOnce(&mut Model)) -> Snapshot {
        let mut model = Model::new();
        let listener =
            |name: &str, port: u16| Listener::new(name.into(), ([127, 0, 0, 1], port).into());
        let mut secure = listener("secure", 8443);
        secure.tls = Some(Tls::new("t".into(), "c".into(), "k".into()));
        model.listeners = vec![listener("clear", 80), secure];
        let mut site = Site::new("s".into(), "clear".into());
        site.hosts = vec!["shop.example".into()];
        site.also_on = vec!["secure".into()];
        model.sites.push(site);
        change(&mut model);
        Snapshot::new(model)
    }

    fn moved(snapshot: &Snapshot, host: &str, port: Option<u16>, is_https: bool) -> Option<String> {
        let model = snapshot.model();
        let listener = &model.listeners[usize::from(is_https)];
        let moved = snapshot.moved((listener, &model.sites[0]), host, port, is_https)?;
        Some(format!("{} {:?}", moved.to, moved.why))
    }

    #[test]
    fn a_request_that_asks_for_what_there_is_stays() {
        let plain = snapshot(|_| {});
        assert_eq!(moved(&plain, "shop.example", None, false), None);
        let strict = snapshot(|model| {
            model.sites[0].https = true;
            model.sites[0].www = Www::Remove;
        });
        assert_eq!(moved(&strict, "Shop.example.", Some(8443), true), None);
        assert_eq!(moved(&strict, "www.other.example", Some(8443), true), None);
    }

    #[test]
    fn everything_that_is_otherwise_is_one_step() {
        let all = snapshot(|model| {
            let site = &mut model.sites[0];
            site.https = true;
            site.www = Www::Add;
            site.aliases = vec!["old.example".into()];
            site.primary = Some("shop.example".into());
        });
        assert_eq!(
            moved(&all, "old.example", Some(80), false).unwrap(),
            "https://www.shop.example:8443 [Alias, Www, Https]"
        );
        let name = snapshot(|model| model.sites[0].www = Www::Remove);
        assert_eq!(
            moved(&name, "www.shop.example", Some(81), false).unwrap(),
            "http://shop.example:81 [Www]"
        );
    }

    #[test]
    fn the_usual_port_is_not_written() {
        let usual = snapshot(|model| {
            model.listeners[0].redirect_to_https = true;
            model.listeners[1].bind.set_port(443);
        });
        assert_eq!(
            moved(&usual, "shop.example", Some(80), false).unwrap(),
            "https://shop.example [Https]"
        );
    }
}
