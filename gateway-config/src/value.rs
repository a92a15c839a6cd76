//! Reads and writes the small texts of a configuration: durations, sizes, addresses, names.
//!
//! Pure: a text in, a value or a few words on why not out. Placing those words is the caller's.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Reads a whole number with a unit: `ms`, `s`, `m`, `h` or `d`; at most 365 days.
///
/// # Errors
/// A few words that fit behind the offending text.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = split_unit(text)?;
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err("a duration needs a unit: ms, s, m, h or d"),
        _ if unit.contains(|c: char| c.is_ascii_digit()) => return Err(not_one_number(unit)),
        _ => return Err("the units of a duration are ms, s, m, h and d"),
    };
    number
        .checked_mul(factor)
        .filter(|millis| *millis <= 365 * 24 * 3_600_000)
        .map(Duration::from_millis)
        .ok_or("longer than 365 days")
}

/// As [`duration`], and a number without a unit is milliseconds.
///
/// # Errors
/// As [`duration`].
pub fn duration_or_millis(text: &str) -> Result<Duration, &'static str> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return duration(&format!("{text}ms"));
    }
    duration(text)
}

/// Reads a whole number with a unit: `B`, `KiB`, `MiB` or `GiB`.
///
/// # Errors
/// A few words that fit behind the offending text.
pub fn size(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = split_unit(text)?;
    let factor: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "" => return Err("a size needs a unit: B, KiB, MiB or GiB"),
        _ if unit.contains(|c: char| c.is_ascii_digit()) => return Err(not_one_number(unit)),
        _ => return Err("the units of a size are B, KiB, MiB and GiB"),
    };
    number
        .checked_mul(factor)
        .filter(|bytes| *bytes <= 1 << 50)
        .ok_or("larger than any machine")
}

/// Reads a whole number of per cent: `20%`.
///
/// # Errors
/// A few words that fit behind the offending text.
pub fn share(text: &str) -> Result<u64, &'static str> {
    match split_unit(text)? {
        (number, "%") => Ok(number),
        _ => Err("the unit of a share is %"),
    }
}

/// Writes a duration so that [`duration`] reads it back; milliseconds are the finest step.
#[must_use]
pub fn write_duration(value: Duration) -> String {
    let millis = value.as_millis();
    if millis > 0 && millis.is_multiple_of(3_600_000) {
        format!("{}h", millis / 3_600_000)
    } else if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

/// Writes a size so that [`size`] reads it back.
#[must_use]
pub fn write_size(value: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if value > 0 && value.trailing_zeros() >= shift {
            return format!("{} {unit}", value >> shift);
        }
    }
    format!("{value} B")
}

/// Most characters of a name.
pub(crate) const LONGEST_NAME: usize = 63;

/// Whether a text is a name: 1 to 63 characters of `A-Z a-z 0-9 - _ .`.
///
/// # Errors
/// Byte range of what is wrong, and a few words.
pub(crate) fn name(text: &str) -> Result<(), (std::ops::Range<usize>, &'static str)> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() {
        return Err((0..0, "a name may not be empty"));
    }
    if let Some((at, c)) = text.char_indices().find(|(_, c)| !legal(*c)) {
        return Err((
            at..at + c.len_utf8(),
            "only letters, digits, `-`, `_` and `.`",
        ));
    }
    if text.len() > LONGEST_NAME {
        return Err((LONGEST_NAME..text.len(), "at most 63 characters"));
    }
    Ok(())
}

/// Reads the address of a listener: an IP address and a port.
///
/// # Errors
/// A few words, with the cure for the commonest mistakes.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Some(why) = not_one_address(text) {
        return Err(why.to_owned());
    }
    let port = text.rsplit_once(':').map_or("", |(_, port)| port);
    let found = text.parse();
    match (found, not_a_port(port)) {
        (Ok(address), None) => return Ok(address),
        (Ok(_), Some(why)) => return Err(why.to_owned()),
        (Err(_), _) => {}
    }
    Err(match text.rsplit_once(':') {
        Some(("" | "*", port)) if not_a_port(port).is_none() => format!(
            "which addresses? `0.0.0.0:{port}` for all of IPv4, `[::]:{port}` for all of IPv6"
        ),
        Some((host, _)) if host.contains(':') && !host.starts_with('[') => {
            "an IPv6 address stands in brackets, `[::1]:7650`".to_owned()
        }
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => {
            format!("names are not looked up here; write `127.0.0.1:{port}`")
        }
        Some((_, port)) if not_a_port(port).is_some() => {
            not_a_port(port).unwrap_or_default().to_owned()
        }
        Some(_) => "an IP address and a port, `127.0.0.1:7650`".to_owned(),
        None => "the port is missing, `127.0.0.1:7650`".to_owned(),
    })
}

/// Reads the address of a name server: an IP address, and a port where it is not 53.
///
/// # Errors
/// A few words.
pub(crate) fn name_server(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, 53));
    }
    match listen_address(text)? {
        address if address.port() == 0 => Err("a port goes from 1 to 65535".to_owned()),
        address => Ok(address),
    }
}

/// Why a text is not the number of a port.
fn not_a_port(text: &str) -> Option<&'static str> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" => Some("the port is missing behind the `:`"),
        _ if !is_digits => Some("a port is digits and nothing else"),
        _ if text.len() > 1 && text.starts_with('0') => Some("a port has no zero before it"),
        _ if text.parse::<u16>().is_err() => Some("a port goes up to 65535"),
        _ => None,
    }
}

/// What is written where one address belongs, and is none for another reason than its parts.
fn not_one_address(text: &str) -> Option<&'static str> {
    match text {
        "" => Some("it is empty"),
        _ if text.contains("://") => Some("an address alone, without a scheme"),
        _ if text.starts_with("unix:") || text.starts_with('/') => {
            Some("a host and a port; sockets of files are not taken")
        }
        _ if text.contains("${") || text.starts_with('$') => {
            Some("variables are not replaced here")
        }
        _ if text.contains(['@', '/']) => Some("a host and a port, and nothing else"),
        _ if text.contains([' ', ',', ';']) => Some("one address, and nothing else"),
        _ => None,
    }
}

/// Checks the address of a node: a host and a port from 1 to 65535.
///
/// # Errors
/// A few words.
pub(crate) fn node_address(text: &str) -> Result<(), &'static str> {
    if let Some(why) = not_one_address(text) {
        return Err(why);
    }
    let (host, port) = text
        .rsplit_once(':')
        .ok_or("the port is missing, `HOST:PORT`")?;
    match not_a_port(port) {
        Some(why) => return Err(why),
        None if port == "0" => return Err("a port goes from 1 to 65535"),
        None => {}
    }
    if let Some(inner) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return match inner.parse::<std::net::Ipv6Addr>() {
            Ok(address) => of_one_machine(address.into()),
            Err(_) => Err("not an IPv6 address between the brackets"),
        };
    }
    if let Ok(address) = host.parse::<std::net::Ipv4Addr>() {
        return of_one_machine(address.into());
    }
    if host.contains(':') {
        return Err("an IPv6 address stands in brackets, `[::1]:7654`");
    }
    if host
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Err("not an IPv4 address");
    }
    match is_host(host) {
        true => Ok(()),
        false if is_alias(host) => Err("a name without the `.` at its end"),
        false => Err("not a host name"),
    }
}

/// Refuses an address that no single machine has: nobody answers there.
fn of_one_machine(address: IpAddr) -> Result<(), &'static str> {
    match address.to_canonical() {
        one if one.is_unspecified() => Err("it stands for any address, and a node has one"),
        one if one.is_multicast() => Err("it stands for a group of machines"),
        IpAddr::V4(one) if one.is_broadcast() => Err("it stands for all machines of a network"),
        _ => Ok(()),
    }
}

/// Whether a text is a host name: labels of letters, digits, `-` and `_` between dots.
#[must_use]
pub(crate) fn is_host(text: &str) -> bool {
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    text.len() <= 253
        && text
            .split('.')
            .all(|label| (1..=63).contains(&label.len()) && label.bytes().all(legal))
}

/// Whether a text is a host name, or `*.` before one, which stands for one label; a dot at its end
/// is none of it.
#[must_use]
pub(crate) fn is_site_host(text: &str) -> bool {
    is_alias(text.strip_prefix("*.").unwrap_or(text))
}

/// Whether a text is a host name, with a dot at its end or without.
#[must_use]
pub(crate) fn is_alias(text: &str) -> bool {
    is_host(without_dot(text))
}

/// A host name as names are compared: lower case, without the dot at its end (RFC 3986 §3.2.2).
#[must_use]
pub(crate) fn folded_host(text: &str) -> String {
    without_dot(text).to_ascii_lowercase()
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether a text is what a `Host` field holds: a host or IP address, with a port or without.
#[must_use]
pub(crate) fn is_authority(text: &str) -> bool {
    is_host(text)
        || node_address(text).is_ok()
        || (text.starts_with('[') && node_address(&format!("{text}:1")).is_ok())
}

/// Whether a text may be sent as the value of a field: visible ASCII, spaces and tabs inside.
#[must_use]
pub(crate) fn is_field_value(text: &str) -> bool {
    let legal = |c: u8| c.is_ascii_graphic() || c == b' ' || c == b'\t';
    text.bytes().all(legal) && text.trim() == text
}

/// Whether a checked node address leads to this machine, decided without looking up a name: a
/// loopback address or `localhost` does, everything else may not.
#[must_use]
pub(crate) fn is_on_this_machine(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) => is_loopback(ip),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Whether an address is a loopback address, also when it is an IPv4 one written as IPv6.
#[must_use]
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Whether a text is a `token` (RFC 9110 §5.6.2): a method or field name.
#[must_use]
pub(crate) fn is_token(text: &str) -> bool {
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !text.is_empty() && text.bytes().all(legal)
}

/// Whether a field says how a message is framed, where it leads, or something about one connection
/// alone (RFC 9110 §7.6.1, §7.2; RFC 9112 §6).
#[must_use]
pub(crate) fn is_framing(name: &str) -> bool {
    const FRAMING: &[&str] = &[
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    FRAMING.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Why what stands behind a number is no unit, when there are further digits in it.
fn not_one_number(unit: &str) -> &'static str {
    match unit.starts_with(['.', ',', '_']) {
        true => "a whole number is needed; for a part of one there are smaller units",
        false => "there is one number and one unit",
    }
}

/// Several lengths of time in a row, `1h30m`, as one number of the smallest unit among them.
pub(crate) fn in_one_unit(text: &str) -> Option<String> {
    let mut total: u64 = 0;
    let mut smallest = ("", u64::MAX);
    let mut rest = text.trim();
    let mut pieces = 0;
    while !rest.is_empty() {
        let (number, behind) = split_unit(rest).ok()?;
        let length = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, next) = behind.split_at_checked(length)?;
        let factor = u64::try_from(duration(&format!("1{unit}")).ok()?.as_millis()).ok()?;
        total = total.checked_add(number.checked_mul(factor)?)?;
        if factor < smallest.1 {
            smallest = (unit, factor);
        }
        rest = next.trim_start();
        pieces += 1;
    }
    let (unit, factor) = smallest;
    (pieces > 1).then_some(format!("{}{unit}", total.checked_div(factor)?))
}

fn split_unit(text: &str) -> Result<(u64, &str), &'static str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).unwrap_or_default();
    if number.is_empty() {
        return Err("a whole number and a unit are expected");
    }
    let number = number.parse().map_err(|_| "the number is too large")?;
    Ok((number, unit.trim_start_matches(' ')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2 m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration_or_millis("500"), Ok(Duration::from_millis(500)));
        for text in [
            "5",
            "",
            "s",
            "-5s",
            "1.5s",
            "5S",
            "99999999999999999999s",
            "999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn node_addresses_are_hosts_with_ports() {
        for text in [
            "a:1",
            "10.0.0.1:7654",
            "[::1]:65535",
            "node_a.x:9",
            "LOCALHOST:1",
        ] {
            assert_eq!(node_address(text), Ok(()), "{text}");
        }
        for text in [
            "a", "a:0", "a:65536", ":1", "::1:5", "[::1]", "a b:1", "1.2.3:4", "a:+5", "[x]:1",
        ] {
            assert!(node_address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn this_machine_is_known_without_asking_anybody() {
        for text in [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
            "localhost:1",
        ] {
            assert!(is_on_this_machine(text), "{text}");
        }
        for text in ["10.0.0.1:1", "0.0.0.0:1", "[::]:1", "localhost.x:1", "a:1"] {
            assert!(!is_on_this_machine(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in 0u64..31_536_000_000, bytes in 0u64..(1 << 50)) {
            let time = Duration::from_millis(millis);
            prop_assert_eq!(duration(&write_duration(time)), Ok(time));
            prop_assert_eq!(size(&write_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (duration(&text), size(&text), name(&text), node_address(&text));
            let _ = (listen_address(&text), is_on_this_machine(&text));
        }
    }
}
