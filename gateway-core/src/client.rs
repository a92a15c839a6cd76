//! Whom something is counted for: an IPv4 address, or the first 64 bits of an IPv6 one, since whoever has
//! one address of such a network has them all.

use std::net::IpAddr;

/// One client, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// One address.
    V4([u8; 4]),
    /// The first half of an address.
    V6([u8; 8]),
}

impl Client {
    /// The one that this address belongs to.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}
