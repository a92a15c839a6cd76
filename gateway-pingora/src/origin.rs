//! Who asks, and how: the client behind proxies that are believed.
//!
//! Nothing that a peer says about somebody else counts, unless the listener trusts the peer. Then the
//! client is the rightmost address that is not itself trusted, counted from the peer back: what
//! stands further left was written by that client, or by somebody it let write.
//!
//! Source: RFC 7239 §5.2 and §8.1, whose reasons hold for the older fields too.

use std::net::{IpAddr, SocketAddr};

use gateway_config::model::Listener;
use http::HeaderMap;
use http::header::FORWARDED;

use crate::forwarded;

/// The usual field with the addresses of those before us.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// The usual field with the scheme that the client spoke.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Who asks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The client's address.
    pub(crate) client: IpAddr,
    /// Whether the client speaks HTTPS.
    pub(crate) is_https: bool,
    /// Whether the peer is believed.
    pub(crate) is_trusted: bool,
}

impl Origin {
    /// Where a request of this peer comes from.
    pub(crate) fn of(listener: &Listener, peer: IpAddr, fields: &HeaderMap) -> Self {
        let peer = peer.to_canonical();
        let is_tls = listener.tls.is_some();
        if listener.trusted_proxies.is_empty() || !listener.trusted_proxies.contains(peer) {
            return Origin {
                client: peer,
                is_https: is_tls,
                is_trusted: false,
            };
        }
        Origin {
            client: claimed(listener, peer, fields),
            is_https: is_https(fields).unwrap_or(is_tls),
            is_trusted: true,
        }
    }
}

/// The client that a peer speaks for: by the field of the listener, else by the usual one, else by the
/// standard's own.
fn claimed(listener: &Listener, peer: IpAddr, fields: &HeaderMap) -> IpAddr {
    let usual = Some(FORWARDED_FOR).filter(|usual| fields.contains_key(*usual));
    match listener.client_ip_header.as_deref().or(usual) {
        Some(field) if !field.eq_ignore_ascii_case(FORWARDED.as_str()) => {
            let entries = from_the_right(fields, field);
            client(listener, peer, entries.map(address))
        }
        Some(_) | None => {
            let elements = forwarded::from_the_right(fields, "for");
            client(
                listener,
                peer,
                elements.map(|node| address(node.as_deref()?)),
            )
        }
    }
}

/// Whether the client of a peer speaks HTTPS, where the peer says so: the one asked last counts.
fn is_https(fields: &HeaderMap) -> Option<bool> {
    let is = |proto: &[u8]| proto.eq_ignore_ascii_case(b"https");
    let usual = from_the_right(fields, FORWARDED_PROTO).next().map(is);
    usual.or_else(|| {
        let element = forwarded::from_the_right(fields, "proto").next()?;
        element.as_deref().map(is)
    })
}

/// The first address that is not trusted; where one cannot be read, who had written it.
fn client(
    listener: &Listener,
    peer: IpAddr,
    entries: impl Iterator<Item = Option<IpAddr>>,
) -> IpAddr {
    let mut last = peer;
    for entry in entries {
        let Some(address) = entry else {
            return last;
        };
        if !listener.trusted_proxies.contains(address) {
            return address;
        }
        last = address;
    }
    last
}

/// The members of a list, over all its lines, the last one first.
fn from_the_right<'a>(fields: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a [u8]> {
    let lines: Vec<&[u8]> = fields
        .get_all(name)
        .iter()
        .map(|line| line.as_bytes())
        .collect();
    let members = |line: &'a [u8]| line.rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    lines.into_iter().rev().flat_map(members)
}

/// An address as proxies write it: bare, in brackets, with a port or without.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let found = bare
        .unwrap_or(text)
        .parse::<IpAddr>()
        .or_else(|_| text.parse::<SocketAddr>().map(|whole| whole.ip()));
    found.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use gateway_config::networks::Networks;

    use super::*;

    fn listener() -> Listener {
        let mut listener = Listener::new("l".into(), "127.0.0.1:80".parse().unwrap());
        let all = ["10.0.0.0/8", "2001:db8::/32"].map(|net| net.parse().unwrap());
        listener.trusted_proxies = Networks::new(all.into());
        listener
    }

    fn client_of(peer: &str, lines: &[&str]) -> String {
        let mut fields = HeaderMap::new();
        for line in lines {
            fields.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let peer = peer.parse().unwrap();
        Origin::of(&listener(), peer, &fields).client.to_string()
    }

    #[test]
    fn what_a_peer_says_counts_only_where_it_is_trusted() {
        assert_eq!(client_of("192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
        assert_eq!(client_of("10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(
            client_of("::ffff:10.0.0.1", &["203.0.113.9"]),
            "203.0.113.9"
        );
    }

    #[test]
    fn case_36_the_client_is_the_rightmost_that_is_not_trusted() {
        for (lines, client) in [
            (&["1.2.3.4, 203.0.113.9, 10.0.0.2"][..], "203.0.113.9"),
            (&["1.2.3.4", "203.0.113.9", "10.0.0.2"], "203.0.113.9"),
            (&["1.2.3.4, , garbage"], "10.0.0.1"),
            (&["1.2.3.4, garbage, 10.0.0.7"], "10.0.0.7"),
            (&["::ffff:203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9:4711"], "203.0.113.9"),
            (&["[2001:db9::1]:4711, [2001:db8::1]"], "2001:db9::1"),
            (&["10.0.0.5, 10.0.0.4"], "10.0.0.5"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client_of("10.0.0.1", lines), client, "{lines:?}");
        }
        let many = vec!["10.0.0.9"; 200].join(",");
        assert_eq!(client_of("10.0.0.1", &[&many]), "10.0.0.9");
    }

    #[test]
    fn the_standards_own_field_is_read_as_the_standard_has_it() {
        let mut fields = HeaderMap::new();
        fields.append(FORWARDED_FOR, "198.51.100.1".parse().unwrap());
        let told = "for=203.0.113.9;proto=https, for=\"[2001:db8::7]:1\"";
        fields.append(FORWARDED, told.parse().unwrap());
        for name in ["Forwarded", "forwarded"] {
            let mut listener = listener();
            listener.client_ip_header = Some(name.into());
            let origin = Origin::of(&listener, "10.0.0.1".parse().unwrap(), &fields);
            assert_eq!(origin.client.to_string(), "203.0.113.9");
        }
    }

    #[test]
    fn the_scheme_is_what_a_trusted_peer_says_it_is() {
        let of = |peer: &str, proto: &str| {
            let mut fields = HeaderMap::new();
            fields.append(FORWARDED_PROTO, proto.parse().unwrap());
            Origin::of(&listener(), peer.parse().unwrap(), &fields).is_https
        };
        assert!(of("10.0.0.1", "HTTPS") && !of("10.0.0.1", "https, http"));
        assert!(!of("192.0.2.1", "https"));
    }

    #[test]
    fn the_standards_own_field_counts_where_the_usual_ones_are_not_there() {
        let of = |lines: &[(&'static str, &str)]| {
            let mut fields = HeaderMap::new();
            for (name, value) in lines {
                fields.append(*name, value.parse().unwrap());
            }
            let origin = Origin::of(&listener(), "10.0.0.1".parse().unwrap(), &fields);
            (origin.client.to_string(), origin.is_https)
        };
        let own = (
            "forwarded",
            "for=6.6.6.6, for=\"[2001:db9::1]:80\";proto=https, for=10.0.0.9;proto=https",
        );
        assert_eq!(of(&[own]), ("2001:db9::1".into(), true));
        let for_and_proto = [
            own,
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-proto", "http"),
        ];
        assert_eq!(of(&for_and_proto), ("203.0.113.9".into(), false));
        assert_eq!(
            of(&[("forwarded", "for=6.6.6.6, for=_hidden")]),
            ("10.0.0.1".into(), false)
        );
    }
}
