//! Whether a request came under the name and the scheme that its site is served under, and else where
//! it is sent: one redirect, however much differs.
//!
//! Pure; which site it is has been decided by [`hosts`](crate::hosts). The target is kept as it came,
//! behind an authority, so that no path can become a host.
//!
//! Source: RFC 9110 §15.4.9 (308 keeps method and body), §7.2.

use crate::model::{Model, Site, Www};
use crate::segment;

/// How a request came.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// Host and port as the client wrote them.
    pub authority: &'a str,
    /// Whether the site has the name; a name that nobody has is never changed.
    pub is_named: bool,
    /// Whether the client speaks HTTPS, to us or to a proxy that is believed.
    pub is_https: bool,
    /// Whether the listener sends everybody on to HTTPS.
    pub is_sent_on: bool,
    /// Path and query as they came.
    pub target: &'a [u8],
}

/// Another address for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The whole address.
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

/// The port of HTTPS, which no address names.
const HTTPS: u16 = 443;

impl Model {
    /// The port on which a site speaks HTTPS: that of the first of its listeners that has TLS. 443
    /// where there is none, since then TLS ends before us, and for an address without a port of its own.
    #[must_use]
    pub fn https_port(&self, site: &Site) -> u16 {
        let mut own = self.listeners.iter().filter(|listener| {
            listener.tls.is_some() && site.listeners().any(|name| *name == listener.name)
        });
        let port = own.next().map_or(HTTPS, |listener| listener.bind.port());
        if port == 0 { HTTPS } else { port }
    }
}

impl Site {
    /// Where a request is sent instead of being served; `None`: it is served.
    #[must_use]
    pub fn moved(&self, came: &Came<'_>, https_port: u16) -> Option<Moved> {
        let (host, port) = split_port(came.authority);
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let mut why = Vec::new();
        let canonical = match came.is_named {
            true => self.canonical(&name, &mut why),
            false => None,
        };
        let to_https = !came.is_https && (self.https || came.is_sent_on);
        if name.is_empty() || (canonical.is_none() && !to_https) {
            return None;
        }
        if to_https {
            why.push(WhyMoved::Https);
        }
        let mut url = String::with_capacity(came.target.len() + 64);
        url.push_str(if came.is_https || to_https {
            "https://"
        } else {
            "http://"
        });
        url.push_str(canonical.as_deref().unwrap_or(&name));
        match port {
            _ if to_https && https_port == HTTPS => {}
            _ if to_https => {
                url.push(':');
                url.push_str(&https_port.to_string());
            }
            Some(port) => {
                url.push(':');
                url.push_str(port);
            }
            None => {}
        }
        if came.target.first() != Some(&b'/') {
            url.push('/');
        }
        segment::push_raw(&mut url, came.target);
        Some(Moved { to: url, why })
    }

    /// The name that stands for another one; `None`: it stands for itself.
    fn canonical(&self, name: &str, why: &mut Vec<WhyMoved>) -> Option<String> {
        let is_alias = self.aliases.iter().any(|alias| **alias == *name);
        let primary = self.primary.as_deref().filter(|_| is_alias);
        let chosen = primary.unwrap_or(name);
        if primary.is_some() {
            why.push(WhyMoved::Alias);
        }
        let (bare, has_www) = match chosen.strip_prefix("www.") {
            Some(bare) => (bare, true),
            None => (chosen, false),
        };
        // Only names that the file gives have twins: one that a wildcard takes has none.
        let has = |host: &str| self.hosts.iter().any(|one| **one == *host);
        let is_twin = || has(bare) || has(&format!("www.{bare}"));
        let made = match self.www {
            Www::Add if !has_www && is_twin() => format!("www.{bare}"),
            Www::Remove if has_www && is_twin() => bare.to_owned(),
            Www::Add | Www::Keep | Www::Remove => chosen.to_owned(),
        };
        if made != chosen {
            why.push(WhyMoved::Www);
        }
        (made != name).then_some(made)
    }
}

/// The host of an authority, and its port where one is written. RFC 3986 §3.2.2, §3.2.3.
#[must_use]
pub fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, Some(port).filter(|port| !port.is_empty()))
        }
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(www: Www) -> Site {
        let mut site = Site::new("s".into(), "l".into());
        site.hosts = vec!["*.w.test".into(), "a.test".into()];
        site.aliases = vec!["old.test".into()];
        site.primary = Some("a.test".into());
        site.www = www;
        site
    }

    fn came(authority: &str) -> Came<'_> {
        Came {
            authority,
            is_named: true,
            is_https: false,
            is_sent_on: false,
            target: b"/x?y",
        }
    }

    #[test]
    fn a_name_leads_to_the_one_that_stands_for_it() {
        for (www, authority, to) in [
            (Www::Keep, "a.test", None),
            (Www::Keep, "A.TEST.:81", None),
            (Www::Keep, "old.test:81", Some("http://a.test:81/x?y")),
            (Www::Keep, "x.w.test", None),
            (Www::Add, "a.test", Some("http://www.a.test/x?y")),
            (Www::Add, "OLD.test", Some("http://www.a.test/x?y")),
            (Www::Add, "www.a.test", None),
            (Www::Add, "x.w.test", None),
            (Www::Remove, "www.a.test", Some("http://a.test/x?y")),
            (Www::Remove, "www.w.test", None),
        ] {
            let moved = site(www).moved(&came(authority), 443);
            assert_eq!(moved.map(|moved| moved.to).as_deref(), to, "{authority}");
        }
    }

    #[test]
    fn scheme_and_name_change_in_one_step() {
        let mut site = site(Www::Add);
        site.https = true;
        let to = |port| site.moved(&came("old.test:8080"), port).unwrap().to;
        use WhyMoved::{Alias, Https, Www as OtherWww};
        let why = site.moved(&came("old.test"), 443).unwrap().why;
        assert_eq!(why, [Alias, OtherWww, Https]);
        assert_eq!(to(443), "https://www.a.test/x?y");
        assert_eq!(to(8443), "https://www.a.test:8443/x?y");
        let arrived = Came {
            is_https: true,
            ..came("www.a.test:8443")
        };
        assert_eq!(site.moved(&arrived, 8443), None);
    }

    #[test]
    fn a_name_that_nobody_has_is_kept() {
        let mut site = site(Www::Add);
        let stranger = Came {
            is_named: false,
            ..came("[::1]:80")
        };
        assert_eq!(site.moved(&stranger, 443), None);
        site.https = true;
        assert_eq!(site.moved(&stranger, 443).unwrap().to, "https://[::1]/x?y");
        assert_eq!(site.moved(&came(""), 443), None);
    }

    #[test]
    fn no_path_becomes_a_host() {
        let mut site = site(Www::Keep);
        site.https = true;
        for target in [
            "//evil.test/",
            "/\\evil.test",
            "/%5cevil.test",
            "/a\r\nb",
            "*",
            "",
        ] {
            let one = Came {
                target: target.as_bytes(),
                ..came("a.test")
            };
            let url = site.moved(&one, 443).unwrap().to;
            assert!(url.starts_with("https://a.test/"), "{url}");
            assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
        }
    }
}
