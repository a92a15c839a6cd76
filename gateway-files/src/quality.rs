//! Reads lists whose members have a weight, such as those of `Accept`.
//!
//! Source: RFC 9110 §12.4.2, §5.6.1.

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};

/// A weight in thousandths; 0 is *not acceptable*.
pub(crate) type Weight = u16;

/// The weight of a member that names none.
pub(crate) const FULL: Weight = 1000;

/// The members of all lines of a field with their weights; `None` where there is no such field.
///
/// A member whose weight cannot be read is left out: nothing is accepted that nobody asked for.
pub(crate) fn members<'a>(
    fields: &'a HeaderMap,
    name: &HeaderName,
) -> Option<Vec<(&'a str, Weight)>> {
    fields.contains_key(name).then(|| {
        let lines = fields.get_all(name).iter();
        lines
            .filter_map(|line: &HeaderValue| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .filter_map(member)
            .collect()
    })
}

fn member(text: &str) -> Option<(&str, Weight)> {
    let mut pieces = text.split(';').map(str::trim);
    let name = pieces.next().filter(|name| !name.is_empty())?;
    let q = pieces.find_map(|piece| {
        let (key, value) = piece.split_once('=')?;
        key.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    match q {
        None => Some((name, FULL)),
        Some(value) => Some((name, weight(value)?)),
    }
}

/// `qvalue` in thousandths: `0` or `1`, and at most three digits behind a point.
fn weight(value: &str) -> Option<Weight> {
    let (whole, behind) = value.split_once('.').unwrap_or((value, ""));
    let is_digits = behind.len() <= 3 && behind.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits {
        return None;
    }
    let thousandths: Weight = format!("{behind:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", below) => Some(below),
        ("1", 0) => Some(FULL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;

    use super::*;

    #[test]
    fn weights_are_thousandths_and_what_is_none_is_left_out() {
        for (text, read) in [
            ("a", Some(("a", FULL))),
            ("a;q=0", Some(("a", 0))),
            ("a ; Q=0.5", Some(("a", 500))),
            ("a;level=1;q=0.125", Some(("a", 125))),
            ("a;q=1.000", Some(("a", FULL))),
            ("a;q=1.001", None),
            ("a;q=2", None),
            ("a;q=0.1234", None),
            ("a;q=-1", None),
            ("a;q=", None),
            ("", None),
            (" ;q=1", None),
        ] {
            assert_eq!(member(text), read, "{text}");
        }
    }

    #[test]
    fn all_lines_are_one_list_and_no_line_is_none() {
        let mut fields = HeaderMap::new();
        assert_eq!(members(&fields, &ACCEPT), None);
        fields.append(ACCEPT, HeaderValue::from_static("a, b;q=0.5,"));
        fields.append(ACCEPT, HeaderValue::from_static("c"));
        let read = members(&fields, &ACCEPT).unwrap();
        assert_eq!(read, [("a", FULL), ("b", 500), ("c", FULL)]);
    }
}
