//! What is known of a request whose fields are a list.

use std::net::IpAddr;

use super::Facts;

/// The fields of a request and where its client is.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Names and values, in the order in which they come.
    pub fields: &'a [(String, String)],
    /// Where the client is.
    pub client: Option<IpAddr>,
}

impl Known<'_> {
    fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_it = move |(one, _): &&(String, String)| one.eq_ignore_ascii_case(name);
        let lines = self.fields.iter().filter(is_it);
        lines.map(|(_, value)| value.trim_matches([' ', '\t']))
    }
}

impl Facts for Known<'_> {
    fn has_header(&self, name: &str, value: Option<&str>) -> bool {
        let is_it = |line: &str| value.is_none_or(|value| value == line);
        self.lines(name).any(is_it)
    }

    fn has_cookie(&self, name: &str, value: Option<&str>) -> bool {
        has_cookie(self.lines("cookie").map(str::as_bytes), name, value)
    }

    fn client(&self) -> Option<IpAddr> {
        self.client
    }
}

/// Whether a cookie of this name stands in the lines of `Cookie`, with this value if one is given.
///
/// Source: RFC 6265 §4.2.1.
pub fn has_cookie<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    name: &str,
    value: Option<&str>,
) -> bool {
    cookies(lines, name).any(|is| value.is_none_or(|value| value.as_bytes() == is))
}

/// The values of the cookies of this name in the lines of `Cookie`, in the order sent.
///
/// Source: RFC 6265 §4.2.1.
pub fn cookies<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    name: &str,
) -> impl Iterator<Item = &'a [u8]> {
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    pairs.filter_map(move |pair| {
        let mut parts = pair.trim_ascii().splitn(2, |byte| *byte == b'=');
        let is_it = parts.next()? == name.as_bytes();
        parts.next().filter(|_| is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name_in_any_case_and_a_cookie_in_any_line() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let fields = [
            field("X-V", " 2 "),
            field("Cookie", "a=1; beta=x=y"),
            field("cookie", "c=3"),
        ];
        let known = Known {
            fields: &fields,
            client: None,
        };
        assert!(known.has_header("x-v", Some("2")) && known.has_header("x-v", None));
        assert!(!known.has_header("x-v", Some("3")) && !known.has_header("x", None));
        assert!(known.has_cookie("beta", Some("x=y")) && known.has_cookie("c", None));
        assert!(!known.has_cookie("a", Some("2")) && !known.has_cookie("Beta", None));
    }
}
