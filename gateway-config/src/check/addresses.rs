//! Reads addresses to listen on, and finds those that the system does not give out together.
//!
//! Sockets of one process share a port only when all of them ask for it (`SO_REUSEPORT`, socket(7));
//! then a connection goes to the more exact address. An IPv6 address that stands for all holds those
//! of IPv4 too unless its socket is of IPv6 alone (RFC 3493 §5.3), and an IPv4 address written as
//! IPv6 is the same socket as that address.
//!
//! Source: adr/0025.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use toml::Spanned;

use super::{Context, Parts};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::raw::{self, each};
use crate::source::Place;
use crate::value;

/// Reads an address to listen on.
///
/// # Errors
/// A few words, with the cure for the commonest mistakes.
pub(crate) fn listen_address(text: &str, v6only: bool) -> Result<SocketAddr, String> {
    let address = value::listen_address(text)?;
    let meant = address.ip().to_canonical();
    if v6only && meant != address.ip() {
        let meant = SocketAddr::new(meant, address.port());
        return Err(format!("IPv4 written as IPv6; write `{meant}`"));
    }
    Ok(address)
}

/// What the address of a node comes to: equal for two that lead to the same place.
pub(super) fn meaning(node: &str) -> String {
    let (host, port) = node.rsplit_once(':').unwrap_or((node, ""));
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match (bare.parse::<IpAddr>(), port.parse::<u16>()) {
        (Ok(address), Ok(port)) => SocketAddr::new(address.to_canonical(), port).to_string(),
        _ => node.to_ascii_lowercase(),
    }
}

impl Context<'_> {
    /// An address to listen on; a finding when it is none.
    pub(super) fn listen(&mut self, leaf: &Spanned<String>, v6only: bool) -> Option<SocketAddr> {
        let text = leaf.get_ref();
        match listen_address(text, v6only) {
            Ok(address) => Some(address),
            Err(why) => {
                let title = format!("`{}` is no address to listen on", text.escape_debug());
                self.refuse(codes::BAD_ADDRESS, title, leaf, &why);
                None
            }
        }
    }
}

/// A socket that a configuration asks for.
struct Asked<'a> {
    /// The listener; `None` is the operators'.
    listener: Option<&'a str>,
    address: SocketAddr,
    v6only: bool,
    reuse_port: bool,
    place: Place,
}

/// Refuses listeners that could not listen together.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let mut ports: BTreeMap<u16, Vec<Asked<'_>>> = BTreeMap::new();
    for one in asked(cx, file, parts) {
        ports.entry(one.address.port()).or_default().push(one);
    }
    ports.remove(&0);
    for on_port in ports.values_mut() {
        on_port.sort_by_key(|one| (one.place.source, one.place.span.start));
        let mut seen: BTreeMap<(IpAddr, u32), &Asked<'_>> = BTreeMap::new();
        for one in &*on_port {
            if let Some(first) = seen.get(&one.socket()) {
                cx.push(twice(one, first));
                continue;
            }
            seen.insert(one.socket(), one);
        }
        let wide: Vec<_> = seen.values().filter(|one| one.is_all()).collect();
        for narrow in seen.values() {
            if let Some(wide) = wide.iter().find(|wide| wide.holds(narrow)) {
                cx.push(within(wide, narrow));
            }
        }
    }
}

impl Asked<'_> {
    fn ip(&self) -> IpAddr {
        self.address.ip().to_canonical()
    }

    /// Equal for two that would be the same socket.
    fn socket(&self) -> (IpAddr, u32) {
        match self.address {
            SocketAddr::V6(address) if self.ip().is_ipv6() => (self.ip(), address.scope_id()),
            _ => (self.ip(), 0),
        }
    }

    fn is_all(&self) -> bool {
        self.ip().is_unspecified()
    }

    /// Whether this one, which stands for all, keeps the system from giving out the other one. Of
    /// two that stand for all, the one of IPv6 does.
    fn holds(&self, other: &Asked<'_>) -> bool {
        let is_among = match (self.ip(), other.ip()) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => !other.is_all(),
            (IpAddr::V6(_), IpAddr::V4(_)) => !self.v6only,
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        };
        is_among && !(self.reuse_port && other.reuse_port)
    }

    fn who(&self) -> String {
        match self.listener {
            Some(name) => format!("listener `{name}`"),
            None => "the operators' listener".to_owned(),
        }
    }
}

fn twice(one: &Asked<'_>, first: &Asked<'_>) -> Diagnostic {
    let address = SocketAddr::new(one.ip(), one.address.port());
    let title = match (one.listener, first.listener) {
        (Some(_), Some(_)) => format!("two listeners have the address {address}"),
        _ => format!(
            "{} and {} have the address {address}",
            first.who(),
            one.who()
        ),
    };
    Diagnostic::error(codes::SAME_ADDRESS, title).at_both(&one.place, &first.place)
}

fn within(wide: &Asked<'_>, narrow: &Asked<'_>) -> Diagnostic {
    let title = format!(
        "{} lies within {}, and the system gives out one of the two",
        narrow.address, wide.address
    );
    let is_shared = wide.listener.is_some() && narrow.listener.is_some();
    let is_other_family = wide.ip().is_ipv6() != narrow.ip().is_ipv6();
    let found = Diagnostic::error(codes::SAME_ADDRESS, title)
        .at(&narrow.place, format!("{} has this one …", narrow.who()))
        .at(&wide.place, format!("… and {} has all", wide.who()));
    found.help(match (is_shared, is_other_family) {
        (true, false) => "take one of them out, or say `reuse_port = true` for both: then the more exact address has its connections",
        (true, true) => "take `v6only = false` out, or say `reuse_port = true` for both: then the more exact address has its connections",
        (false, _) => "choose another port",
    })
}

/// The sockets that a configuration asks for, in the order of the listeners' names.
fn asked<'a>(cx: &Context<'_>, file: &'a raw::File, parts: &'a Parts) -> Vec<Asked<'a>> {
    let mut all = Vec::new();
    for one in &parts.listeners {
        let written = file.listeners.get(&*one.name);
        let mut places = written.map(|raw| each(&raw.bind)).unwrap_or_default();
        places.retain(|leaf| listen_address(leaf.get_ref(), one.v6only).is_ok());
        let door = file.front_door.get_key_value(&*one.name);
        let of_door = door.map(|(key, raw)| match &raw.listen {
            Some(leaf) => cx.place(leaf),
            None => cx.place(key),
        });
        let of_file = places.iter().map(|leaf| cx.place(leaf));
        for (address, place) in one.addresses().zip(of_file.chain(of_door)) {
            all.push(Asked {
                listener: Some(&one.name),
                address,
                v6only: one.v6only,
                reuse_port: one.reuse_port,
                place,
            });
        }
    }
    let bind = file
        .admin
        .as_ref()
        .and_then(|raw| raw.get_ref().bind.as_ref());
    all.extend(bind.and_then(|leaf| {
        Some(Asked {
            listener: None,
            address: listen_address(leaf.get_ref(), true).ok()?,
            v6only: true,
            reuse_port: false,
            place: cx.place(leaf),
        })
    }));
    all
}
