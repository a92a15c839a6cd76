//! For which hosts a client may take a certificate.
//!
//! A client may ask over one connection for every name that the certificate covers, and for no other:
//! whatever it said when the handshake began, only the names in the certificate count.
//!
//! Source: RFC 9110 §7.4, RFC 6125 §6.4; adr/0037.

use std::net::IpAddr;

use x509_parser::extensions::GeneralName;

/// The hosts that a certificate covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Lower case; one that begins with `*.` stands for one label.
    names: Vec<Box<str>>,
    addresses: Vec<IpAddr>,
}

impl Covered {
    /// The alternative names of a certificate. One that has none, or cannot be read, covers nothing
    /// that could be judged.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let mut covered = Covered::default();
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
            return covered;
        };
        let Ok(Some(extension)) = parsed.subject_alternative_name() else {
            return covered;
        };
        for name in &extension.value.general_names {
            match name {
                GeneralName::DNSName(name) => covered.names.push(name.to_ascii_lowercase().into()),
                GeneralName::IPAddress(bytes) => covered.addresses.extend(address(bytes)),
                _ => {}
            }
        }
        covered
    }

    /// Whether a host, as a client wrote it and without a port, is covered. Where no name is known
    /// nothing is judged: no client that checks has come this far.
    pub(crate) fn has(&self, host: &str) -> bool {
        let is_known = !self.names.is_empty() || !self.addresses.is_empty();
        !is_known || self.lists(host)
    }

    /// The names, and the addresses.
    pub(crate) fn all(&self) -> impl Iterator<Item = String> {
        let names = self.names.iter().map(ToString::to_string);
        names.chain(self.addresses.iter().map(ToString::to_string))
    }

    /// Whether a host is one of them. A host that begins with `*.` is only by itself.
    pub(crate) fn lists(&self, host: &str) -> bool {
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
            return self.addresses.contains(&address);
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let parent = host.split_once('.').filter(|(label, _)| !label.is_empty());
        self.names.iter().any(|name| match name.strip_prefix("*.") {
            Some(covered) => parent.is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(covered)),
            None => host.eq_ignore_ascii_case(name),
        })
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| sixteen()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_covered_by_its_name_one_label_of_a_star_or_its_address() {
        let covered = Covered {
            names: vec!["a.test".into(), "*.b.test".into()],
            addresses: vec!["192.0.2.1".parse().unwrap(), "::1".parse().unwrap()],
        };
        for host in [
            "a.test",
            "A.Test.",
            "x.b.test",
            "*.b.test",
            "192.0.2.1",
            "[::1]",
        ] {
            assert!(covered.has(host), "{host}");
        }
        for host in [
            "b.test",
            "x.y.b.test",
            ".b.test",
            "*.a.test",
            "*.test",
            "*.x.b.test",
            "a.test..",
            "192.0.2.2",
            "[::2]",
            "",
        ] {
            assert!(!covered.has(host), "{host}");
        }
        let nothing = Covered::default();
        assert!(nothing.has("a.test") && !nothing.lists("a.test"));
    }
}
