//! What leads requests to the same node again: the hash of what the pool says it is to depend on.
//!
//! Where a hash leads is decided by the pool; see [`gateway_core::key`].
//!
//! Source: GATEWAY §6; adr/0049.

use std::net::IpAddr;

use gateway_config::model::{Balance, HashBy};
use gateway_config::target::cookies;
use http::HeaderMap;
use http::header::COOKIE;

/// The key of a request; `None`: the pool asks for none, or the request has nothing of the kind.
pub(crate) fn of(
    balance: &Balance,
    fields: &HeaderMap,
    client: IpAddr,
    path_and_query: &str,
) -> Option<u32> {
    let Balance::Hash(by) = balance else {
        return None;
    };
    match by {
        HashBy::Client => Some(match client.to_canonical() {
            IpAddr::V4(address) => gateway_core::key(&address.octets()),
            IpAddr::V6(address) => gateway_core::key(&address.octets()),
        }),
        HashBy::Cookie(name) => {
            let lines = fields
                .get_all(COOKIE)
                .iter()
                .map(http::HeaderValue::as_bytes);
            cookies(lines, name).next().map(gateway_core::key)
        }
        HashBy::Header(name) => fields
            .get(&**name)
            .map(|value| gateway_core::key(value.as_bytes())),
        HashBy::Uri => Some(gateway_core::key(path_and_query.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn key(by: HashBy, lines: &[(&'static str, &'static str)], target: &str) -> Option<u32> {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(*name, value.parse().unwrap());
        }
        of(&Balance::Hash(by), &fields, CLIENT, target)
    }

    #[test]
    fn the_same_leads_to_the_same_and_nothing_to_nothing() {
        let cookie = || HashBy::Cookie("sid".into());
        let one = key(
            cookie(),
            &[("cookie", "a=1"), ("cookie", "sid=7; b=2")],
            "/",
        );
        assert_eq!(one, key(cookie(), &[("cookie", "sid=7")], "/x"));
        assert_ne!(one, key(cookie(), &[("cookie", "sid=8")], "/"));
        assert_eq!(key(cookie(), &[("cookie", "side=7")], "/"), None);
        let field = || HashBy::Header("x-user".into());
        assert_eq!(
            key(field(), &[("X-User", "u")], "/"),
            key(field(), &[("x-user", "u")], "/y")
        );
        assert_eq!(key(field(), &[], "/"), None);
        assert_ne!(key(HashBy::Uri, &[], "/a?b"), key(HashBy::Uri, &[], "/a"));
        assert!(key(HashBy::Client, &[], "/").is_some());
        assert_eq!(of(&Balance::Random, &HeaderMap::new(), CLIENT, "/"), None);
    }

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
        let by = Balance::Hash(HashBy::Client);
        let fields = HeaderMap::new();
        assert_eq!(of(&by, &fields, CLIENT, ""), of(&by, &fields, mapped, ""));
    }
}
