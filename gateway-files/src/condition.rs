//! Decides whether a client already has what it asks for, or asks for what is gone.
//!
//! Only for answers that would be 200 or 206, and only for GET and HEAD (§13.2.1).
//!
//! Source: RFC 9110 §13.1, §13.2.2.

use http::HeaderMap;
use http::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};

use crate::validator::{Validators, seconds};

/// What the conditions of a request say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// 412.
    Failed,
    /// 304.
    NotModified,
    /// All hold, or there are none.
    Proceed,
}

/// Evaluates the conditions in the order of §13.2.2, `If-Range` excepted.
pub(crate) fn judge(fields: &HeaderMap, current: &Validators) -> Verdict {
    let is_meant = if fields.contains_key(IF_MATCH) {
        matches_any(fields, &IF_MATCH, &current.tag, Comparison::Strong)
    } else {
        compared(fields, &IF_UNMODIFIED_SINCE, current).unwrap_or(true)
    };
    let is_known = if fields.contains_key(IF_NONE_MATCH) {
        matches_any(fields, &IF_NONE_MATCH, &current.tag, Comparison::Weak)
    } else {
        compared(fields, &IF_MODIFIED_SINCE, current).unwrap_or(false)
    };
    match (is_meant, is_known) {
        (false, _) => Verdict::Failed,
        (true, true) => Verdict::NotModified,
        (true, false) => Verdict::Proceed,
    }
}

/// Whether a part may be sent, as far as `If-Range` says: the client has the rest of this very
/// state, told by its strong tag, or by its time to the second.
///
/// A time is a strong validator only when that second is over (§8.8.2.2, §13.1.5).
pub(crate) fn is_part_wanted(fields: &HeaderMap, current: &Validators, now: u64) -> bool {
    let mut lines = fields.get_all(IF_RANGE).iter();
    match (lines.next(), lines.next()) {
        (None, _) => true,
        (Some(line), None) if line.as_bytes().contains(&b'"') => {
            line.as_bytes() == current.tag.as_bytes()
        }
        (Some(_), None) => {
            let held = date_of(fields, &IF_RANGE);
            held.is_some() && held == current.modified && held < Some(now)
        }
        (Some(_), Some(_)) => false,
    }
}

/// How tags are compared (§8.8.3.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

fn matches_any(fields: &HeaderMap, name: &HeaderName, current: &str, how: Comparison) -> bool {
    fields.get_all(name).iter().any(|line| {
        line.as_bytes().trim_ascii() == b"*"
            || tags(line.as_bytes()).iter().any(|(is_weak, tag)| {
                *tag == current.as_bytes() && (how == Comparison::Weak || !*is_weak)
            })
    })
}

/// The tags of a list with their quotes, and whether each is weak; the list ends where it is none.
fn tags(line: &[u8]) -> Vec<(bool, &[u8])> {
    let mut tags = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(behind) = rest.strip_prefix(b",") {
            rest = behind;
            continue;
        }
        let bare = rest.strip_prefix(b"W/");
        let quoted = bare.unwrap_or(rest);
        let Some(end) = end_of_quoted(quoted) else {
            return tags;
        };
        let (tag, behind) = quoted.split_at_checked(end).unwrap_or((quoted, b""));
        tags.push((bare.is_some(), tag));
        rest = behind;
    }
}

/// Where an opaque tag ends. There are no escapes in it (§8.8.3).
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"\"")?;
    let length = inner.iter().position(|byte| *byte == b'"')?;
    Some(length + 2)
}

/// Whether the representation is no younger than the date of a field; nothing where the field is
/// to be ignored: it is absent, no date, given twice, or the time of the file is not known.
fn compared(fields: &HeaderMap, name: &HeaderName, current: &Validators) -> Option<bool> {
    let date = date_of(fields, name)?;
    current.modified.map(|modified| modified <= date)
}

fn date_of(fields: &HeaderMap, name: &HeaderName) -> Option<u64> {
    let mut lines = fields.get_all(name).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let time = httpdate::parse_http_date(line.to_str().ok()?).ok()?;
    Some(seconds(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_read_up_to_where_it_is_none() {
        let read = |line: &'static str| -> Vec<(bool, &str)> {
            let tags = tags(line.as_bytes()).into_iter();
            tags.map(|(weak, tag)| (weak, std::str::from_utf8(tag).unwrap()))
                .collect()
        };
        assert_eq!(read("\"a\""), [(false, "\"a\"")]);
        assert_eq!(
            read(", W/\"a,b\" ,, \"\""),
            [(true, "\"a,b\""), (false, "\"\"")]
        );
        assert_eq!(read("\"a\", b, \"c\""), [(false, "\"a\"")]);
        assert_eq!(read("w/\"a\""), []);
        assert_eq!(read("\"a"), []);
        assert_eq!(read(""), []);
    }

    #[test]
    fn a_time_is_no_validator_for_a_part_before_its_second_is_over() {
        let current = Validators {
            tag: "\"a\"".to_owned(),
            modified: Some(784_111_777),
        };
        let date = http::HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT");
        let fields = HeaderMap::from_iter([(IF_RANGE, date)]);
        assert!(!is_part_wanted(&fields, &current, 784_111_777));
        assert!(is_part_wanted(&fields, &current, 784_111_778));
        assert!(is_part_wanted(&HeaderMap::new(), &current, 0));
    }
}
