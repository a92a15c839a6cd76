//! Tells by its form alone what in a text is shown to nobody: a login in an address, a private key
//! that was pasted in, and a name under which secrets stand.
//!
//! Knows neither settings nor places, so that everything that is shown can go through it: the texts
//! in [`source`](crate::source), the words of a [`diagnostic`](crate::diagnostic), a model that is
//! [written](crate::effective) for people. Takes too much rather than too little.
//!
//! Source: adr/0031.

use std::borrow::Cow;
use std::ops::Range;

use toml_parser::lexer::TokenKind;
use toml_parser::{Raw, Source};

mod logins;

pub(crate) use logins::logins;

/// What stands for a value that is not shown. It is no value that could be sent, so a text in which
/// it stands is refused rather than served.
pub const HIDDEN: &str = "…";

/// How the first line of a private key ends in PEM.
pub(crate) const KEY_BEGINS: &str = "PRIVATE KEY-----";

/// Words that are told only when they are the whole of a name's part.
const SHORT: &[&str] = &["auth", "authorization", "bearer", "pass", "pwd"];
/// Words that are told wherever they stand in a name.
const LONG: &[&str] = &[
    "apikey",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];
/// What makes a key a secret when it stands before it.
const KINDS_OF_KEY: &[&str] = &["access", "api", "auth", "private", "signing"];

/// Whether a secret is what one expects under a name.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_key = |two: &[&str]| matches!(two, [kind, "key"] if KINDS_OF_KEY.contains(kind));
    sounds_secret_alone(&name)
        || parts.iter().any(|part| SHORT.contains(part))
        || parts.windows(2).any(is_key)
}

/// Whether a secret is what one expects under a key of a query: also under one that says so nowhere
/// else.
fn is_secret_key(name: &str) -> bool {
    let more = ["key", "session", "sig", "signature"];
    is_secret_name(name) || more.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether a name sounds like a secret even where nothing says that it is one.
pub(crate) fn sounds_secret_alone(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LONG.iter().any(|word| name.contains(word))
}

/// Words for people without the logins in them.
#[must_use]
pub fn without_logins(text: &str) -> Cow<'_, str> {
    replaced(text, logins(text))
}

/// A target for people without the values in its query: whatever its keys are called, one may be what
/// somebody proves himself by.
pub(crate) fn without_query_values(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) if !value.is_empty() => format!("{key}={HIDDEN}"),
        Some(_) | None => pair.to_owned(),
    };
    let all: Vec<String> = query.split('&').map(pair).collect();
    format!("{path}?{}", all.join("&"))
}

/// A TOML text for people without the logins in it.
pub(crate) fn toml_without_logins(text: &str) -> Cow<'_, str> {
    replaced(text, logins_in_toml(text))
}

fn replaced(text: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        left.push_str(text.get(from..place.start).unwrap_or_default());
        left.push_str(HIDDEN);
        from = place.end;
    }
    left.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(left)
}

/// Ranges in their order, those that touch as one.
fn merged(mut all: Vec<Range<usize>>) -> Vec<Range<usize>> {
    all.sort_by_key(|one| one.start);
    let mut left: Vec<Range<usize>> = Vec::with_capacity(all.len());
    for one in all {
        match left.last_mut() {
            Some(last) if one.start <= last.end => last.end = last.end.max(one.end),
            _ => left.push(one),
        }
    }
    left
}

/// Pieces of a word that are the code of a key: long, and as if by chance; or not so long, with the
/// letters in which keys begin.
fn codes(word: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    word.split_inclusive(|c| !is_code(c))
        .filter_map(move |run| {
            let at = start;
            start += run.len();
            let run = run.trim_end_matches(|c| !is_code(c));
            let has = |what: fn(&u8) -> bool| run.bytes().any(|byte| what(&byte));
            let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
            let is_long = run.len() >= 48 && is_mixed && has(u8::is_ascii_uppercase);
            let is_begin = run.len() >= 16 && run.starts_with("MI");
            (is_long || is_begin).then_some(at..at + run.len())
        })
}

fn is_code(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// Lines that are the code of a key, with the last of them, which may be short.
fn code_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut is_behind = false;
    for line in text.split_inclusive('\n') {
        let around = |c: char| c.is_whitespace() || "\"',\\".contains(c);
        let inside = line.trim_matches(around);
        let at = start + (line.len() - line.trim_start_matches(around).len());
        let begun = codes(line).count() > 0;
        let is_rest = is_behind && !inside.is_empty() && inside.chars().all(is_code);
        if is_rest {
            found.push(at..at + inside.len());
        } else if begun {
            found.extend(codes(line).map(|one| start + one.start..start + one.end));
        }
        is_behind = is_rest || begun;
        start += line.len();
    }
    found
}

/// The same in a text that is TOML, or should be: each of its texts is looked at by itself, and may
/// hold quotes.
pub(crate) fn logins_in_toml(text: &str) -> Vec<Range<usize>> {
    let mut found = code_lines(text);
    if !text.contains(['@', '\\', '=', ':']) {
        return found;
    }
    let look = |piece: Range<usize>| {
        let words = text.get(piece.clone()).unwrap_or_default();
        let shifted = move |one: Range<usize>| piece.start + one.start..piece.start + one.end;
        logins(words).into_iter().map(shifted)
    };
    // What stands outside of texts and has no gap in it.
    let mut bare = 0..0;
    let mut is_text_before = false;
    // Where lines end that were looked at as a whole.
    let (mut torn_up_to, mut escaped_up_to) = (0, 0);
    let source = Source::new(text);
    for token in source.lex() {
        let span = token.span().start()..token.span().end();
        let mut is_text = false;
        match token.kind() {
            TokenKind::BasicString
            | TokenKind::Comment
            | TokenKind::LiteralString
            | TokenKind::MlBasicString
            | TokenKind::MlLiteralString => {
                is_text = token.kind() != TokenKind::Comment;
                found.extend(look(std::mem::replace(&mut bare, span.end..span.end)));
                if source.get(token).is_some_and(is_escaped_login) {
                    found.push(inside(text, span));
                } else {
                    found.extend(look(span));
                }
            }
            TokenKind::Eof | TokenKind::Newline | TokenKind::Whitespace => {
                found.extend(look(std::mem::replace(&mut bare, span.end..span.end)));
            }
            kind => {
                bare.end = span.end;
                let piece = text.get(span.clone()).unwrap_or_default();
                // A quote in a password has ended the text.
                if kind == TokenKind::Atom && is_text_before && span.start >= torn_up_to {
                    let line = line_at(text, span.start);
                    torn_up_to = line.end;
                    found.extend(torn(text, &line));
                }
                // The quote before the text is missing.
                if piece.contains('\\') && span.start >= escaped_up_to {
                    let line = line_at(text, span.start);
                    escaped_up_to = line.end;
                    found.extend(concealed(text, &line));
                }
            }
        }
        is_text_before = is_text;
    }
    merged(found)
}

/// The line in which a byte stands, without its end.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    start..behind.find('\n').map_or(text.len(), |end| at + end)
}

/// Where the value in a line begins.
fn value_in(text: &str, line: &Range<usize>) -> usize {
    let sign = text.get(line.clone()).and_then(|line| line.find('='));
    sign.map_or(line.start, |sign| line.start + sign + 1)
}

/// From the value in a line to its last `@`.
fn torn(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let end = line.start + text.get(line.clone())?.rfind('@')?;
    let start = value_in(text, line);
    (start < end).then_some(start..end)
}

/// The value in a line that has a login in it which escapes conceal, though no quote is before it.
fn concealed(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let start = value_in(text, line);
    let written = text.get(start..line.end)?;
    // Read as what stands in quotes, whatever is wrong with its escapes.
    let quoted = format!("\"{}\"", written.replace('"', " "));
    let source = Source::new(&quoted);
    let is_one = |token: &toml_parser::lexer::Token| token.kind() == TokenKind::BasicString;
    let text = source.lex().find(is_one)?;
    source
        .get(text)
        .is_some_and(is_escaped_login)
        .then_some(start..line.end)
}

/// Whether a text has a login that its escapes conceal.
fn is_escaped_login(text: Raw<'_>) -> bool {
    if !text.as_str().contains('\\') {
        return false;
    }
    let mut read = String::new();
    // It is a text, whatever is wrong with its escapes.
    let _ = text.decode_scalar(&mut read, &mut ());
    logins(&read).len() > logins(text.as_str()).len()
}

/// A text without its quotes.
fn inside(text: &str, span: Range<usize>) -> Range<usize> {
    let written = text.get(span.clone()).unwrap_or_default();
    let quotes = ['"', '\''];
    let start = span.end - written.trim_start_matches(quotes).len();
    start..start.max(span.start + written.trim_end_matches(quotes).len())
}

/// Whether a character shows nothing where it stands, moves what stands beside it, or commands a
/// terminal: it is drawn as one that is [`seen`] instead.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// What is drawn for a character that nobody can see: as long as that one is.
pub(crate) fn seen(unseen: char) -> char {
    match unseen.len_utf8() {
        2 => '\u{bf}',
        _ => SEEN,
    }
}

/// What is drawn for most of them, and for what is no character.
pub(crate) const SEEN: char = '\u{fffd}';

/// A text of the same length, and the same lines, that says nothing.
pub(crate) fn stars(text: &str) -> String {
    let star = |byte: u8| if byte == b'\n' { '\n' } else { '*' };
    text.bytes().map(star).collect()
}

/// A text in which no private key can be read: one that was pasted in has no business here, and
/// must not be seen in a diagnostic.
pub(crate) fn without_keys(mut text: String) -> String {
    let mut from = 0;
    while let Some(begin) = find(&text, from, "-----BEGIN ") {
        let line = text.get(begin..).and_then(|rest| rest.lines().next());
        let Some(marker) = line.and_then(|line| line.find(KEY_BEGINS)) else {
            from = begin + line.map_or(1, str::len).max(1);
            continue;
        };
        let start = begin + marker + KEY_BEGINS.len();
        let end = key_end(&text, start);
        let masked = text.get(start..end).map(stars).unwrap_or_default();
        text.replace_range(start..end, &masked);
        from = end;
    }
    text
}

/// Where a key ends that begins at a byte. What ends it stands inside of none, so the text behind one
/// without an end is left alone.
fn key_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let mut ends = rest.match_indices(['"', '\'', '-']).filter(|(at, end)| {
        *end != "-"
            || rest
                .get(*at..)
                .is_some_and(|rest| rest.starts_with("-----END"))
    });
    ends.next().map_or(text.len(), |(at, _)| start + at)
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    let at = text.get(from..)?.find(what)?;
    Some(from + at)
}

#[cfg(test)]
mod tests;
