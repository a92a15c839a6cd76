//! What a query says of a key, and which keys of it travel.
//!
//! A rule compares a key and its value as a node reads them; what travels of a list of keys is only
//! what is spelled as the list spells it, and nothing that is spelled otherwise travels.
//!
//! Source: `application/x-www-form-urlencoded` of the URL standard, §5.1; adr/0037.

use std::sync::Arc;

use super::Unrouted;
use crate::model::{RefusedKey, Route, Segments};
use crate::segment;

/// Whether a query has a key, with this value if one is given. A key without `=` has an empty one.
pub(super) fn has(query: Option<&[u8]>, key: &str, value: Option<&str>) -> bool {
    let pieces = query.unwrap_or_default().split(|byte| *byte == b'&');
    let mut pairs = pieces.filter(|piece| !piece.is_empty()).map(|piece| {
        let at = piece.iter().position(|byte| *byte == b'=');
        let (name, rest) = piece.split_at(at.unwrap_or(piece.len()));
        (name, rest.get(1..).unwrap_or_default())
    });
    pairs.any(|(name, is)| {
        segment::form_says(name, key) && value.is_none_or(|value| segment::form_says(is, value))
    })
}

/// Refuses a query with a key that the route refuses. Decoded segments, which carry no key but those of
/// a list, compare it raw: spelled otherwise it goes nowhere.
pub(super) fn refuse<'a>(
    route: &'a Route,
    segments: Segments,
    query: Option<&[u8]>,
) -> Result<(), Unrouted<'a>> {
    if route.refuse_query.is_empty() || query.is_none() {
        return Ok(());
    }
    let is_there = |one: &&RefusedKey| match segments {
        Segments::Decoded => pairs(query).any(|(key, _)| key == one.key.as_bytes()),
        Segments::Normalised => has(query, &one.key, None),
    };
    match route.refuse_query.iter().find(is_there) {
        Some(one) => Err(Unrouted::RefusedQuery {
            route: &route.name,
            because: &one.because,
        }),
        None => Ok(()),
    }
}

/// Puts behind a path what travels of a query.
pub(super) fn push(sent: &mut String, keys: Option<&[Arc<str>]>, query: Option<&[u8]>) {
    let Some(query) = query else { return };
    let Some(keys) = keys else {
        sent.push('?');
        segment::push_raw(sent, query);
        return;
    };
    let mut before = '?';
    for key in keys {
        let first = pairs(Some(query)).find(|(name, _)| *name == key.as_bytes());
        if let Some((_, value)) = first {
            sent.push(before);
            sent.push_str(key);
            sent.push('=');
            segment::push_value(sent, value);
            before = '&';
        }
    }
}

fn pairs(query: Option<&[u8]>) -> impl Iterator<Item = (&[u8], &[u8])> {
    query
        .unwrap_or_default()
        .split(|byte| *byte == b'&')
        .filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            Some((pair.get(..at)?, pair.get(at + 1..)?))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_a_node_reads() {
        for (query, key, value, is) in [
            ("token=1", "token", None, true),
            ("%74oken=1", "token", None, true),
            ("a=1&&to%6Ben=%31", "token", Some("1"), true),
            ("token", "token", None, true),
            ("token", "token", Some(""), true),
            ("token=a+b", "token", Some("a b"), true),
            ("token=a%2Bb", "token", Some("a+b"), true),
            ("to+ken=1", "to ken", None, true),
            ("token=2", "token", Some("1"), false),
            ("Token=1", "token", None, false),
            ("%2574oken=1", "token", None, false),
            ("xtoken=1", "token", None, false),
            ("", "token", None, false),
        ] {
            assert_eq!(has(Some(query.as_bytes()), key, value), is, "{query}");
        }
        assert!(!has(None, "token", None));
    }
}
