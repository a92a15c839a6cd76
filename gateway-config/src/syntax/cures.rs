//! What is usually meant by a line that cannot be read.

use std::ops::Range;

use toml::de::DeValue;

use crate::masking::is_unseen;
use crate::names::{INCLUDES, NO_INCLUDES};
use crate::settings::{Kind, SETTINGS};

/// What to do, and the piece of the line to do it to.
pub(super) type Cure = (String, Option<Range<usize>>);

/// What cannot be seen in a line, and is no mark at the very start of a text.
pub(super) fn unseen(line: &str, start: usize) -> Option<Cure> {
    let is_it = |(at, c): &(usize, char)| is_unseen(*c) && start + at > 0;
    let (at, c) = line.char_indices().find(is_it)?;
    let help = format!("remove what cannot be seen there: U+{:04X}", u32::from(c));
    Some((help, Some(at..at + c.len_utf8())))
}

/// Where a text begins that does not end in its line.
pub(super) fn unended(line: &str) -> Option<usize> {
    if line.contains(['\'', '#']) || line.contains("\"\"\"") || line.contains("\\\"") {
        return None;
    }
    let is_odd = line.matches('"').count() % 2 == 1;
    line.rfind('"').filter(|_| is_odd)
}

/// A `\` that stands for itself, at this byte of a line or right behind it.
pub(super) fn escape(line: &str, at: usize) -> Option<Cure> {
    let (before, behind) = line.split_at_checked(at)?;
    let open = before.rfind('"')?;
    let end = at + behind.find('"')?;
    let text = line
        .get(open + 1..end)
        .filter(|text| !text.contains('\''))?;
    let help = format!("in single quotes a `\\` stands for itself: '{text}'");
    Some((help, Some(open..end + 1)))
}

/// What is usually meant by a line that cannot be read.
pub(super) fn cure(line: &str) -> Option<Cure> {
    if line.contains(['“', '”', '„']) {
        return Some(("a text stands in straight quotes: \"…\"".to_owned(), None));
    }
    if unended(line).is_some() {
        return Some(("a text ends in its line, with a `\"`".to_owned(), None));
    }
    let first = line.split_whitespace().next().unwrap_or_default();
    let Some((name, value)) = line.split_once('=') else {
        if INCLUDES.contains(&first) {
            return Some((NO_INCLUDES.to_owned(), None));
        }
        let is_setting = line.starts_with(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let help = "a setting is written NAME = VALUE, a table [NAME]".to_owned();
        return is_setting.then_some((help, None));
    };
    let name = name.trim();
    let value = value.split(" #").next().unwrap_or_default().trim();
    let word = value.to_ascii_lowercase();
    let start = line.len() - line.split_once('=')?.1.trim_start().len();
    let piece = Some(start..start + value.len());
    if ["true", "false", "yes", "no", "on", "off"].contains(&word.as_str()) {
        return Some(("write true or false".to_owned(), piece));
    }
    if value.ends_with(';') {
        return Some(("nothing stands behind a value: no `;`".to_owned(), None));
    }
    if let Some(digits) = digits(&word).filter(|_| is_number(name)) {
        return Some((format!("write digits alone: {name} = {digits}"), piece));
    }
    let is_bare = value.starts_with(|c: char| c.is_alphanumeric() || "/.$*@_:".contains(c));
    let help = format!("a text stands in quotes: {name} = \"…\"");
    let is_fine = DeValue::parse(value).is_ok();
    (is_bare && !is_fine && !value.contains(['"', '\''])).then_some((help, piece))
}

/// Whether the settings of a name take whole numbers.
fn is_number(name: &str) -> bool {
    let key = name.rsplit('.').next().unwrap_or(name).trim();
    let mut all = SETTINGS.iter().filter(|one| one.key() == key).peekable();
    let is_whole = |kind| matches!(kind, Kind::Integer { .. } | Kind::Integers { .. });
    all.peek().is_some() && all.all(|one| is_whole(one.short()))
}

/// A whole number that is written as people write it: with zeros before it, signs between its
/// digits, or a letter for thousands or millions.
fn digits(word: &str) -> Option<String> {
    let (number, zeros) = match word.strip_suffix(['k', 'm']) {
        Some(number) if word.ends_with('k') => (number, "000"),
        Some(number) => (number, "000000"),
        None => (word, ""),
    };
    let is_sign = |c: char| matches!(c, ',' | '_' | ' ' | '.');
    let digits: String = number.chars().filter(|c| !is_sign(*c)).collect();
    let is_whole =
        !digits.is_empty() && digits.len() < 16 && digits.chars().all(|c| c.is_ascii_digit());
    // A fraction of a thousand is no whole number of ours to find.
    let parts: Vec<&str> = number.split(is_sign).collect();
    let is_grouped = parts
        .iter()
        .skip(1)
        .all(|part| part.len() == 3 || part.is_empty());
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    (is_whole && is_grouped).then(|| digits.to_owned() + zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_slips_have_a_cure() {
        for (line, help) in [
            (
                "bind = 127.0.0.1:80",
                "a text stands in quotes: bind = \"…\"",
            ),
            ("h2c = True", "write true or false"),
            ("bind = “a”", "a text stands in straight quotes: \"…\""),
            (
                "bind: \"a\"",
                "a setting is written NAME = VALUE, a table [NAME]",
            ),
            ("bind = \"a\";", "nothing stands behind a value: no `;`"),
            ("bind = \"a", "a text ends in its line, with a `\"`"),
            (
                "hosts = [\"a\", \"b]",
                "a text ends in its line, with a `\"`",
            ),
            (
                "connections = 0100",
                "write digits alone: connections = 100",
            ),
            (
                "connections = 1,000",
                "write digits alone: connections = 1000",
            ),
            (
                "connections=1_000_",
                "write digits alone: connections = 1000",
            ),
            (
                "connections = 1k # x",
                "write digits alone: connections = 1000",
            ),
            (
                "limits.connections = 1 000 000",
                "write digits alone: limits.connections = 1000000",
            ),
            (
                "connections = 1.5k",
                "a text stands in quotes: connections = \"…\"",
            ),
            ("idle = 5s", "a text stands in quotes: idle = \"…\""),
            ("include conf.d/*.toml", NO_INCLUDES),
        ] {
            assert_eq!(cure(line).unwrap().0, help, "{line}");
        }
        assert_eq!(cure("nodes = [\"a\""), None);
    }
}
