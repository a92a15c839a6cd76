//! Decides which ready codings of a file a client takes, and whether it takes HTML.
//!
//! Source: RFC 9110 §12.5.1, §12.5.3; adr/0036.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING};

use crate::quality::{FULL, Weight, members};

/// Those of the `ready` codings that go before the plain file for this client, the best one first.
///
/// A client that says nothing gets the plain file, and so does one that takes no coding at all and
/// not the plain file either: an answer it may not like is better than none (§12.5.3).
#[must_use]
pub fn preferred(fields: &HeaderMap, ready: &[&'static str]) -> Vec<&'static str> {
    let Some(wanted) = members(fields, &ACCEPT_ENCODING) else {
        return Vec::new();
    };
    let plain = stated(&wanted, "identity").unwrap_or_default();
    let mut chosen: Vec<(&'static str, Weight)> = ready
        .iter()
        .map(|coding| (*coding, weight(&wanted, coding)))
        .filter(|(_, weight)| *weight > 0 && *weight >= plain)
        .collect();
    // Stable: among equals the order of the setting stays.
    chosen.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    chosen.into_iter().map(|(coding, _)| coding).collect()
}

/// How the name of a file ends that holds another one in this coding.
pub(crate) fn suffix(coding: &str) -> &'static str {
    match coding {
        "gzip" => ".gz",
        "zstd" => ".zst",
        _ => ".br",
    }
}

/// Whether a client takes HTML; one that says nothing takes anything.
pub(crate) fn takes_html(fields: &HeaderMap) -> bool {
    let Some(wanted) = members(fields, &ACCEPT) else {
        return true;
    };
    ["text/html", "text/*", "*/*"]
        .iter()
        .find_map(|range| stated(&wanted, range))
        .is_some_and(|weight| weight > 0)
}

fn weight(wanted: &[(&str, Weight)], coding: &str) -> Weight {
    // §8.4.1.3: `x-gzip` is `gzip`.
    let alias = (coding == "gzip").then_some("x-gzip");
    [Some(coding), alias, Some("*")]
        .into_iter()
        .flatten()
        .find_map(|name| stated(wanted, name))
        .unwrap_or_default()
        .min(FULL)
}

fn stated(wanted: &[(&str, Weight)], name: &str) -> Option<Weight> {
    let found = wanted
        .iter()
        .find(|(one, _)| one.eq_ignore_ascii_case(name));
    found.map(|(_, weight)| *weight)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn said(name: http::HeaderName, value: Option<&'static str>) -> HeaderMap {
        let lines = value.map(|value| (name, HeaderValue::from_static(value)));
        lines.into_iter().collect()
    }

    #[test]
    fn the_heaviest_coding_goes_first_and_the_plain_file_may_go_before_all() {
        for (value, codings) in [
            (None, &[][..]),
            (Some(""), &[]),
            (Some("gzip, br"), &["br", "gzip"]),
            (Some("gzip, br;q=0.9"), &["gzip", "br"]),
            (Some("GZIP"), &["gzip"]),
            (Some("x-gzip"), &["gzip"]),
            (Some("gzip;q=0, *"), &["br"]),
            (Some("*;q=0"), &[]),
            (Some("br;q=0.5, identity"), &[]),
            (Some("br;q=0.5, identity;q=0.5"), &["br"]),
            (Some("identity;q=0"), &[]),
            (Some("br;q=nonsense"), &[]),
            (Some("deflate"), &[]),
        ] {
            let fields = said(ACCEPT_ENCODING, value);
            assert_eq!(preferred(&fields, &["br", "gzip"]), codings, "{value:?}");
        }
    }

    #[test]
    fn html_is_taken_unless_the_client_says_otherwise() {
        for (value, taken) in [
            (None, true),
            (Some("text/html"), true),
            (Some("image/png, */*;q=0.1"), true),
            (Some("TEXT/*"), true),
            (Some("application/json"), false),
            (Some("text/html;q=0, */*"), false),
            (Some("text/*;q=0, */*"), false),
            (Some(""), false),
        ] {
            assert_eq!(takes_html(&said(ACCEPT, value)), taken, "{value:?}");
        }
    }
}
