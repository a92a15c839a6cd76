//! Which fields belong to one connection only, and how the others are carried.
//!
//! Source: RFC 9110 §7.6.1.

use http::HeaderMap;
use http::header::{CONNECTION, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// The fields of one message that its `Connection` field names.
pub(crate) struct Nominated<'a>(Vec<&'a [u8]>);

impl<'a> Nominated<'a> {
    /// Reads every `Connection` line.
    pub(crate) fn of(fields: &'a HeaderMap) -> Self {
        let lines = fields.get_all(CONNECTION).iter();
        let names = lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b','));
        Nominated(names.map(<[u8]>::trim_ascii).collect())
    }

    /// Whether a field ends with this connection: it always does, or it was named.
    pub(crate) fn ends(&self, name: &HeaderName) -> bool {
        is_hop_by_hop(name) || self.names(name)
    }

    /// Whether a field was named.
    pub(crate) fn names(&self, name: &HeaderName) -> bool {
        let name = name.as_str().as_bytes();
        self.0.iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    [
        CONNECTION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        HTTP2_SETTINGS,
    ]
    .contains(name)
}

/// The fields of a message that travel on: those of a list, or all but the ones that end here.
pub(crate) fn carried<'a>(
    fields: &'a HeaderMap,
    listed: Option<&'a [HeaderName]>,
) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> {
    let nominated = Nominated::of(fields);
    fields.iter().filter(move |(name, _)| {
        !nominated.ends(name) && listed.is_none_or(|listed| listed.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        fields
    }

    fn names(fields: &HeaderMap, listed: Option<&[HeaderName]>) -> Vec<String> {
        carried(fields, listed)
            .map(|(name, _)| name.to_string())
            .collect()
    }

    #[test]
    fn what_connection_names_ends_here_and_so_does_what_always_does() {
        let fields = fields(&[
            ("connection", "close, X-A"),
            ("connection", "\u{fc}, x-b"),
            ("x-a", "1"),
            ("x-b", "1"),
            ("x-c", "1"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("keep-alive", "1"),
        ]);
        assert_eq!(names(&fields, None), ["x-c"]);
    }

    #[test]
    fn a_list_carries_every_occurrence_and_nothing_else() {
        let fields = fields(&[("accept", "a"), ("x-a", "1"), ("accept", "b")]);
        let listed = [http::header::ACCEPT];
        assert_eq!(names(&fields, Some(&listed)), ["accept", "accept"]);
        assert!(names(&fields, Some(&[])).is_empty());
    }
}
