//! Blanks out what is not code: comments, and the insides of strings and characters.

/// `text` with comments and literals as spaces; same length, same lines.
pub(crate) fn code(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut in_word = false;
    while let Some(byte) = rest.first() {
        let skipped = if in_word {
            plain(rest)
        } else {
            prefixed(rest).or_else(|| plain(rest))
        };
        let length = skipped.unwrap_or(1).min(rest.len()).max(1);
        let (head, tail) = rest.split_at(length);
        if skipped.is_some() {
            out.extend(head.iter().map(|b| if *b == b'\n' { b'\n' } else { b' ' }));
            in_word = false;
        } else {
            out.push(*byte);
            in_word = byte.is_ascii_alphanumeric() || *byte == b'_';
        }
        rest = tail;
    }
    // Bytes of a character are blanked together or kept together, so this never replaces any.
    String::from_utf8_lossy(&out).into_owned()
}

/// Length of a comment, string or character that begins here.
fn plain(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'/', b'/', ..] => Some(find(rest, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(block_comment(rest)),
        [b'"', ..] => Some(string(rest)),
        [b'\'', ..] => character(rest),
        _ => None,
    }
}

/// Length of a literal with a prefix (`r"…"`, `b'…'`, `br#"…"#`, …) that begins here.
fn prefixed(rest: &[u8]) -> Option<usize> {
    let letters = rest
        .iter()
        .take_while(|b| matches!(b, b'b' | b'c' | b'r'))
        .count();
    if letters == 0 || letters > 2 {
        return None;
    }
    let (prefix, after) = rest.split_at(letters);
    let length = match after {
        [b'"' | b'#', ..] if prefix.contains(&b'r') => raw_string(after),
        [b'"', ..] => Some(string(after)),
        [b'\'', ..] if prefix == b"b" => character(after),
        _ => None,
    }?;
    Some(letters + length)
}

fn find(rest: &[u8], needle: &[u8]) -> Option<usize> {
    rest.windows(needle.len())
        .position(|window| window == needle)
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(pair) = rest.get(at..at + 2) {
        match pair {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth = depth.saturating_sub(1);
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match rest.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return rest.len(),
        }
    }
}

fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|b| **b == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None; // a raw identifier
    }
    let end: Vec<u8> = std::iter::once(b'"')
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let body = rest.get(hashes + 1..)?;
    let length = find(body, &end).map_or(body.len(), |at| at + end.len());
    Some(hashes + 1 + length)
}

/// A character, or `None` for the quote of a lifetime or label.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let after = rest.get(3..)?;
        return find(after, b"'").map(|at| at + 4);
    }
    let text = std::str::from_utf8(rest.get(1..rest.len().min(6))?)
        .or_else(|error| std::str::from_utf8(rest.get(1..=error.valid_up_to()).unwrap_or_default()))
        .ok()?;
    let length = text.chars().next()?.len_utf8();
    (rest.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::code;

    fn words(text: &str) -> String {
        let code = code(text);
        assert_eq!(code.len(), text.len());
        code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_no_code() {
        assert_eq!(words("a // b { \nc /* d /* e */ f */ g"), "a c g");
    }

    #[test]
    fn literals_are_no_code() {
        assert_eq!(
            words(r##"a("}\"{", '{', '\'', b'{', r#"{"{"#, br"{") z"##),
            "a( , , , , , ) z"
        );
    }

    #[test]
    fn lifetimes_labels_and_raw_names_are_code() {
        assert_eq!(
            words("fn f<'a>(x: &'a str) { 'l: loop { r#type } }"),
            "fn f<'a>(x: &'a str) { 'l: loop { r#type } }"
        );
    }

    #[test]
    fn letters_beyond_ascii_keep_their_place() {
        assert_eq!(words("a('ß', \"ü\", 'é') // ö"), "a( , , )");
    }
}
