//! Decides which bytes of a representation are sent.
//!
//! A part is sent for one range. Several ranges, and whatever is not a range of bytes, get the
//! whole representation, which every client has to understand (§14.2): no multipart answers,
//! whose cost a client could multiply.
//!
//! Source: RFC 9110 §14.1, §14.2.

use http::HeaderMap;
use http::header::RANGE;

/// What of a representation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// Some bytes of it, at least one.
    Part {
        /// The first one.
        from: u64,
        /// How many.
        length: u64,
    },
    /// None: the range begins behind the end.
    Unsatisfiable,
    /// All of it.
    Whole,
}

/// What the `Range` of a request asks for, of so many bytes.
pub(crate) fn asked(fields: &HeaderMap, length: u64) -> Span {
    let mut lines = fields.get_all(RANGE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Span::Whole;
    };
    let only = line.to_str().ok().and_then(only_range);
    only.and_then(|range| span(range, length))
        .unwrap_or(Span::Whole)
}

/// The one range of a field; nothing where there are more, or none of bytes.
fn only_range(value: &str) -> Option<&str> {
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut ranges = set.split(',').map(str::trim).filter(|one| !one.is_empty());
    let only = ranges.next()?;
    ranges.next().is_none().then_some(only)
}

/// The bytes a range names; nothing where it is none, or names all there is of nothing.
fn span(range: &str, length: u64) -> Option<Span> {
    let (first, last) = range.split_once('-')?;
    if first.is_empty() {
        let asked = number(last)?;
        return match (asked, length) {
            (0, _) => Some(Span::Unsatisfiable),
            // The end of nothing is nothing, which no `Content-Range` can say.
            (_, 0) => None,
            _ => {
                let sent = asked.min(length);
                let from = length.saturating_sub(sent);
                Some(Span::Part { from, length: sent })
            }
        };
    }
    let from = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if last < from {
        return None;
    }
    if from >= length {
        return Some(Span::Unsatisfiable);
    }
    let end = last.saturating_add(1).min(length);
    let length = end.saturating_sub(from);
    Some(Span::Part { from, length })
}

/// Digits only; what is larger than any file is as large as one can be.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_unit_has_no_space_around_it() {
        for (set, expected) in [
            ("bytes=0-0", Span::Part { from: 0, length: 1 }),
            ("Bytes=0-0", Span::Part { from: 0, length: 1 }),
            ("bytes =0-0", Span::Whole),
            (" bytes=0-0", Span::Whole),
            ("bytes\t=0-0", Span::Whole),
        ] {
            let fields = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(set))]);
            assert_eq!(asked(&fields, 9), expected, "{set:?}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_whole(
            set in "[bB]ytes ?= ?[0-9]{0,20}-[0-9]{0,20}(, ?[0-9]{0,2}-)?",
            length in prop_oneof![0_u64..30, any::<u64>()],
        ) {
            let fields = HeaderMap::from_iter([(RANGE, HeaderValue::from_str(&set).unwrap())]);
            if let Span::Part { from, length: sent } = asked(&fields, length) {
                prop_assert!(sent > 0 && from < length);
                prop_assert!(sent <= length - from);
            }
        }
    }
}
