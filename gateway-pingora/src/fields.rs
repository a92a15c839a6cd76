//! Which fields belong to one connection only, and how the others are carried.
//!
//! Source: RFC 9110 §7.6.1.

use http::header::{
    ACCEPT, CONNECTION, EXPECT, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, StatusCode, Version};
use pingora_http::{RequestHeader, ResponseHeader};

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

    /// Whether one of those named is such.
    pub(crate) fn any(&self, is_such: impl Fn(&[u8]) -> bool) -> bool {
        self.0.iter().any(|name| is_such(name))
    }

    /// Whether a field was named.
    pub(crate) fn names(&self, name: &HeaderName) -> bool {
        let name = name.as_str().as_bytes();
        self.0.iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}

/// Whether a field says whom a request is for or whom it comes from, however it is spelled.
pub(crate) fn is_about_the_client(name: &[u8]) -> bool {
    const WHOLE: [&[u8]; 11] = [
        b"cf-connecting-ip",
        b"client-ip",
        b"fastly-client-ip",
        b"forwarded",
        b"forwarded-for",
        b"host",
        b"true-client-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-real-ip",
        b"x-request-id",
    ];
    const FAMILY: &[u8] = b"x-forwarded-";
    let begins = name.get(..FAMILY.len());
    WHOLE.iter().any(|whole| is_spelled(name, whole))
        || begins.is_some_and(|begin| is_spelled(begin, FAMILY))
}

/// Whether a name is one of ours, in any case and with `_` for `-`: some nodes take it for that.
pub(crate) fn is_spelled(name: &[u8], ours: &[u8]) -> bool {
    let is_same = |(byte, our): (&u8, &u8)| match byte {
        b'_' => *our == b'-',
        byte => byte.to_ascii_lowercase() == *our,
    };
    name.len() == ours.len() && name.iter().zip(ours).all(is_same)
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

/// The fields of a message that travel on: those of a list, or all but the ones that end
/// here.
pub(crate) fn carried<'a>(
    fields: &'a HeaderMap,
    listed: Option<&'a [HeaderName]>,
) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> {
    let nominated = Nominated::of(fields);
    let expects = expects_continue(fields);
    fields.iter().filter(move |(name, _)| {
        let is_met = expects && **name == EXPECT;
        !nominated.ends(name) && !is_met && listed.is_none_or(|listed| listed.contains(name))
    })
}

/// Whether a client waits for a word before it sends its body (RFC 9110 §10.1.1). It has that word from
/// us, so nodes are not asked for it.
pub(crate) fn expects_continue(fields: &HeaderMap) -> bool {
    let said = fields.get(EXPECT).map(HeaderValue::as_bytes);
    said.is_some_and(|said| said.eq_ignore_ascii_case(b"100-continue"))
}

/// Whom a request is for, as the client wrote it; empty where it does not say. RFC 9112 §3.2.2: the
/// authority of a target goes before `Host`.
pub(crate) fn authority(request: &RequestHeader) -> &str {
    match request.uri.authority() {
        Some(authority) => authority.as_str(),
        None => request
            .headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default(),
    }
}

/// Whether a sender takes trailers, and does not throw them away (RFC 9110 §10.1.4).
pub(crate) fn takes_trailers(fields: &HeaderMap) -> bool {
    let lines = fields.get_all(TE).iter();
    let mut members = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    members.any(|member| member.trim_ascii().eq_ignore_ascii_case(b"trailers"))
}

/// The protocols that a client asks to change to. RFC 9110 §7.8: what `Connection` does not name is
/// ignored. HTTP itself, in clear or within TLS, is none to change to: its requests would pass no rule
/// (RFC 9113 §3.1 has done away with `h2c`).
pub(crate) fn asked_to_upgrade(fields: &HeaderMap) -> Option<HeaderValue> {
    let all = all_lines(fields, &UPGRADE)?;
    if !Nominated::of(fields).names(&UPGRADE) {
        return None;
    }
    let is_other = |protocol: &&[u8]| {
        let name = protocol
            .split(|byte| *byte == b'/')
            .next()
            .unwrap_or_default();
        let http: [&[u8]; 5] = [b"h2", b"h2c", b"h3", b"http", b"tls"];
        !name.is_empty() && !http.iter().any(|one| name.eq_ignore_ascii_case(one))
    };
    let protocols = all.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let others: Vec<&[u8]> = protocols.filter(is_other).collect();
    let line = Some(others.join(&b", "[..])).filter(|line| !line.is_empty());
    line.and_then(|line| HeaderValue::from_bytes(&line).ok())
}

/// RFC 9110 §5.3: the lines of a list as one, in order; `None` where nothing is said.
pub(crate) fn all_lines(fields: &HeaderMap, name: &HeaderName) -> Option<Vec<u8>> {
    let lines = fields.get_all(name).iter().map(HeaderValue::as_bytes);
    let said: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(&b", "[..]))
}

/// Whether a client asks for HTML among others, as browsers do (RFC 9110 §12.5.1).
pub(crate) fn accepts_html(fields: &HeaderMap) -> bool {
    let lines = fields.get_all(ACCEPT).iter();
    let mut ranges = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    ranges.any(|range| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default();
        let is_refused = |part: &[u8]| {
            let weight = part
                .strip_prefix(b"q=")
                .or_else(|| part.strip_prefix(b"Q="));
            weight.is_some_and(|weight| weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
        };
        kind.eq_ignore_ascii_case(b"text/html") && !parts.any(is_refused)
    })
}

/// A head of an answer, from plain parts: Pingora's own setters parse each name again (adr/0014).
pub(crate) fn answer_head(status: StatusCode, fields: HeaderMap) -> ResponseHeader {
    let (mut parts, ()) = http::Response::new(()).into_parts();
    parts.status = status;
    parts.version = Version::HTTP_11;
    parts.headers = fields;
    parts.into()
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
    fn an_expectation_that_is_met_here_ends_here() {
        for (said, is_met) in [
            ("100-continue", true),
            ("100-Continue", true),
            ("x", false),
            ("100-continued", false),
            ("", false),
        ] {
            let fields = fields(&[("expect", said)]);
            assert_eq!(expects_continue(&fields), is_met, "{said}");
            assert_eq!(names(&fields, None).is_empty(), is_met, "{said}");
        }
    }

    #[test]
    fn trailers_are_for_those_who_ask_for_them() {
        for (te, takes) in [
            ("trailers", true),
            ("deflate;q=0.5 , Trailers", true),
            ("trailers-not", false),
            ("", false),
        ] {
            assert_eq!(takes_trailers(&fields(&[("te", te)])), takes, "{te}");
        }
    }

    #[test]
    fn html_is_for_those_who_ask_for_it() {
        for (accept, asks) in [
            ("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", true),
            ("Text/HTML; q=0.1", true),
            ("text/html;q=0.0, text/plain", false),
            ("*/*", false),
            ("text/htmlx", false),
        ] {
            assert_eq!(
                accepts_html(&fields(&[("accept", accept)])),
                asks,
                "{accept}"
            );
        }
    }

    #[test]
    fn a_list_carries_every_occurrence_and_nothing_else() {
        let fields = fields(&[("accept", "a"), ("x-a", "1"), ("accept", "b")]);
        let listed = [http::header::ACCEPT];
        assert_eq!(names(&fields, Some(&listed)), ["accept", "accept"]);
        assert!(names(&fields, Some(&[])).is_empty());
    }
}
