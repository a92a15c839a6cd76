//! Looks at Rust source as text: what is code in it, what is a test, where functions are.
//!
//! Good enough to count lines and find paths, and no parser: macros are read as if they were
//! plain code. Every view keeps the length and the line breaks of the source, so that positions
//! in one are positions in all.

mod functions;
mod mask;

pub(crate) use functions::{Function, functions};
pub(crate) use mask::code;

/// `code` without the items under `#[cfg(test)]`, which become blanks.
pub(crate) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = code.to_owned();
    while let Some(start) = kept.find(MARK) {
        let end = item_end(&kept, start + MARK.len());
        let blanks: String = kept
            .get(start..end)
            .unwrap_or_default()
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
            .collect();
        kept.replace_range(start..end, &blanks);
    }
    kept
}

/// Where the item that begins after `start` ends: its `;`, or its closing brace.
fn item_end(code: &str, start: usize) -> usize {
    let rest = code.get(start..).unwrap_or_default();
    match rest.find(['{', ';']) {
        Some(at) if rest.as_bytes().get(at) == Some(&b'{') => {
            closing(code, start + at).map_or(code.len(), |at| at + 1)
        }
        Some(at) => start + at + 1,
        None => code.len(),
    }
}

/// The position of the bracket that closes the one at `open`.
pub(crate) fn closing(code: &str, open: usize) -> Option<usize> {
    let (up, down) = match code.as_bytes().get(open)? {
        b'(' => (b'(', b')'),
        b'[' => (b'[', b']'),
        _ => (b'{', b'}'),
    };
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        if byte == up {
            depth += 1;
        } else if byte == down {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// The line that holds position `at`, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Lines of `text` that are not part of a test; `code` is what [`code`] made of it.
pub(crate) fn lines_without_tests(text: &str, code: &str) -> usize {
    let tests: usize = without_tests(code)
        .lines()
        .zip(code.lines())
        .filter(|(kept, whole)| kept.trim().is_empty() && !whole.trim().is_empty())
        .count();
    let blank_in_tests = blanks_inside(code);
    text.lines().count() - tests - blank_in_tests
}

/// Lines inside test items that hold no code: comments and empty lines.
fn blanks_inside(code: &str) -> usize {
    const MARK: &str = "#[cfg(test)]";
    let mut blanks = 0;
    let mut from = 0;
    while let Some(start) = code.get(from..).and_then(|rest| rest.find(MARK)) {
        let start = from + start;
        let end = item_end(code, start + MARK.len());
        let item = code.get(start..end).unwrap_or_default();
        blanks += item.lines().filter(|line| line.trim().is_empty()).count();
        from = end;
    }
    blanks
}

/// Positions in `code` of `word`, where it is not part of a longer word on either side. A word
/// that ends in `_` or `:` may go on.
pub(crate) fn occurrences(code: &str, word: &str) -> Vec<usize> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = at.checked_sub(1).and_then(|at| code.as_bytes().get(at));
            let after = code.as_bytes().get(at + word.len());
            !is_part(before) && (word.ends_with(['_', ':']) || !is_part(after))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{code, lines_without_tests, occurrences, without_tests};

    const SOURCE: &str =
        "fn one() {}\n\n#[cfg(test)]\nmod tests {\n    // why\n\n    fn two() {}\n}\n";

    #[test]
    fn tests_become_blanks_of_the_same_length() {
        let kept = without_tests(SOURCE);
        assert_eq!(kept.len(), SOURCE.len());
        assert!(kept.contains("one") && !kept.contains("two"));
    }

    #[test]
    fn a_test_file_next_door_takes_one_line() {
        assert!(without_tests("#[cfg(test)]\nmod tests;\nfn kept() {}\n").contains("kept"));
    }

    #[test]
    fn lines_of_tests_do_not_count() {
        assert_eq!(lines_without_tests(SOURCE, &code(SOURCE)), 2);
    }

    #[test]
    fn words_are_found_whole() {
        assert_eq!(occurrences("tokio::spawn(my_tokio)", "tokio"), [0]);
        assert_eq!(occurrences("pingora_core gateway_pingora", "pingora_"), [0]);
    }
}
