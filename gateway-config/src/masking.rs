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

/// Where words name somebody with what he proves it by: `NAME:PASSWORD@HOST`, `SCHEME://…@HOST`,
/// `TOKEN@HOST:PORT`, `password=…`; and where they are the code of a key.
pub(crate) fn logins(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let shift = |one: Range<usize>| start + one.start..start + one.end;
        found.extend(login(word).map(shift));
        found.extend(codes(word).map(shift));
        found.extend(named(word).map(shift));
        start += word.len();
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let shift = |one: Range<usize>| start + one.start..start + one.end;
        found.extend(login_with_gaps(line).map(shift));
        start += line.len();
    }
    merged(found)
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

/// A login whose password has gaps in it: from the first word with something behind a colon to the
/// last `@`.
fn login_with_gaps(line: &str) -> Option<Range<usize>> {
    let last = line.rfind('@')?;
    let mut start = 0;
    for word in line.get(..last)?.split_inclusive(char::is_whitespace) {
        let is_begun = word
            .trim_end()
            .split_once(':')
            .is_some_and(|(name, rest)| !name.is_empty() && !rest.is_empty());
        let ends = start + word.len();
        if is_begun && ends < last {
            let scheme = word.find("//").map(|at| at + 2);
            let quotes = word.len() - word.trim_start_matches(OPENING).len();
            return Some(start + scheme.unwrap_or(quotes)..last);
        }
        start = ends;
    }
    None
}

/// The values of names in a word that sound as if secrets stood under them: `?token=…&`.
fn named(word: &str) -> impl Iterator<Item = Range<usize>> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    // What stands inside of a value has been found with it.
    let mut from = 0;
    word.match_indices('=').filter_map(move |(at, _)| {
        let before = word.get(from..at)?;
        let name = before.rsplit(|c| !is_name(c)).next()?;
        if !is_secret_name(name) {
            return None;
        }
        let value = word.get(at + 1..)?;
        let end = value.find(|c: char| c.is_whitespace() || "&\"'`;".contains(c));
        from = at + 1 + end.unwrap_or(value.len());
        (from > at + 1).then_some(at + 1..from)
    })
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

/// What may stand before a word.
const OPENING: [char; 5] = ['`', '"', '\'', '(', '['];

/// The same in a text that is TOML, or should be: each of its texts is looked at by itself, and may
/// hold quotes.
pub(crate) fn logins_in_toml(text: &str) -> Vec<Range<usize>> {
    let mut found = code_lines(text);
    if !text.contains(['@', '\\', '=']) {
        return found;
    }
    let look = |piece: Range<usize>| {
        let words = text.get(piece.clone()).unwrap_or_default();
        let shifted = move |one: Range<usize>| piece.start + one.start..piece.start + one.end;
        logins(words).into_iter().map(shifted)
    };
    // What stands outside of texts and has no gap in it.
    let mut bare = 0..0;
    let mut looked_at = 0;
    let mut is_text_before = false;
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
            TokenKind::Atom if is_text_before => {
                // A quote in a password has ended the text; what is behind it in its line as well.
                if span.start >= looked_at {
                    found.extend(up_to_at(text, span.start));
                    looked_at = find(text, span.start, "\n").unwrap_or(text.len());
                }
                bare.end = span.end;
            }
            _ => bare.end = span.end,
        }
        is_text_before = is_text;
    }
    merged(found)
}

/// From the value in the line of a byte to the last `@` behind that byte.
fn up_to_at(text: &str, at: usize) -> Option<Range<usize>> {
    let (before, behind) = text.split_at_checked(at)?;
    let line = behind.lines().next()?;
    let end = at + line.rfind('@')?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let sign = text
        .get(start..at)?
        .find('=')
        .map_or(start, |sign| start + sign + 1);
    Some(sign..end)
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

/// Longest word in which a login is looked for, in bytes; of a longer one all is taken for it.
const LONGEST_WORD: usize = 64 * 1024;

/// From the first login of a word to the `@` of the last.
fn login(word: &str) -> Option<Range<usize>> {
    let last = word.rfind('@')?;
    let begin = word.len() - word.trim_start_matches(OPENING).len();
    if word.len() > LONGEST_WORD {
        return Some(begin.min(last)..last);
    }
    let mut all: Option<Range<usize>> = None;
    let mut start = begin;
    for part in word.get(begin..)?.split('/') {
        // A path that was made normal has lost one of them.
        let before = word.get(begin..start)?;
        let is_host = before.ends_with("//") || before.ends_with(":/");
        let end = match part.rsplit_once('@') {
            Some((login, _)) if login.contains(':') => Some(start + login.len()),
            Some(_) if is_host => {
                let host = part.split(['?', '#']).next().unwrap_or(part);
                let at = host.rfind('@').filter(|at| *at > 0);
                at.map(|at| start + at)
            }
            Some((token, host)) if !token.is_empty() && has_port(host) => {
                part.rfind('@').map(|at| start + at)
            }
            None if is_host || before.trim_start_matches('/').is_empty() => {
                if has_no_port(part) && start < last {
                    Some(last)
                } else {
                    in_path(word, start).filter(|_| has_port(part))
                }
            }
            _ => None,
        };
        if let Some(end) = end {
            let first = all.map_or(start, |all| all.start);
            all = Some(first..end);
        }
        start += part.len() + 1;
    }
    all
}

/// Whether a host ends in a port.
fn has_port(host: &str) -> bool {
    let host = host.trim_end_matches(|c: char| c.is_whitespace() || "\"'`,)]}".contains(c));
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The last `@` of a path that has something before it in its segment: what seems to be a port may
/// be the start of a password with a slash in it.
fn in_path(word: &str, start: usize) -> Option<usize> {
    let rest = word.get(start..)?;
    let path = rest.split(['?', '#']).next()?;
    let mut all = path.rmatch_indices('@').map(|(at, _)| at);
    let at = all.find(|at| !path.get(..*at).is_none_or(|before| before.ends_with('/')))?;
    Some(start + at)
}

/// Whether what stands behind the colon of a host is no port: it is the start of a password with a
/// slash in it.
fn has_no_port(host: &str) -> bool {
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit()))
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
        let line = line.unwrap_or_default();
        let Some(marker) = line.find(KEY_BEGINS) else {
            from = begin + line.len();
            continue;
        };
        let start = begin + marker + KEY_BEGINS.len();
        // Neither of them stands inside a key, so the text behind one without an end is left alone.
        let rest = text.get(start..).unwrap_or_default();
        let end = key_end(rest).map_or(text.len(), |end| start + end);
        let masked = text.get(start..end).map(stars).unwrap_or_default();
        text.replace_range(start..end, &masked);
        from = end;
    }
    text
}

/// Where what may be a key ends: at its last line, or with the text it stands in.
fn key_end(text: &str) -> Option<usize> {
    let ends = |(at, c): &(usize, char)| match c {
        '-' => text
            .get(*at..)
            .is_some_and(|rest| rest.starts_with("-----END")),
        c => matches!(c, '"' | '\''),
    };
    text.char_indices().find(ends).map(|(at, _)| at)
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    let at = text.get(from..)?.find(what)?;
    Some(from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_wherever_it_stands_and_a_path_is_left_alone() {
        for (text, left) in [
            ("u:p@h:1", "…@h:1"),
            ("`u:p'\"@h` is not", "`…@h` is not"),
            ("https://u:p@h/x", "https://…@h/x"),
            ("https://token@h/x", "https://…@h/x"),
            ("https://u:p/q@h/@x", "https://…@x"),
            ("/https:/token@h", "/https:/…@h"),
            ("u:p/q@h", "…@h"),
            ("/u:p/q@h", "/…@h"),
            ("/var/u:p@h", "/var/…@h"),
            ("x://u:p@h/y//v:q@i", "x://…@i"),
            ("a u:p@h,v:q@i é", "a …@i é"),
            ("@office", "@office"),
            ("https://u:12/p@h/", "https://…@h/"),
            ("u:12/p@h:1", "…@h:1"),
            ("`u:a p@h:1` is", "`…@h:1` is"),
            ("https://u:a b p@h:1", "https://…@h:1"),
            ("token@h:1", "…@h:1"),
            ("\"./token@h:1\"", "\"./…@h:1\""),
            ("h:1 password=p", "h:1 password=…"),
            (
                "https://h?user=u&password=p&x=1",
                "https://h?user=u&password=…&x=1",
            ),
            ("/etc/MI/key", "/etc/MI/key"),
            ("`MIIEvQIBADANBgkqhkiG9w0B`", "`…`"),
            ("https://h:80/@scope?a@b", "https://h:80/@scope?a@b"),
            ("/a@1.2/@b", "/a@1.2/@b"),
            ("ops@shop.example", "ops@shop.example"),
            ("é@", "é@"),
        ] {
            assert_eq!(without_logins(text), left);
        }
    }

    #[test]
    fn a_text_of_toml_may_hold_quotes_and_stays_toml() {
        let text = "a = [\"@b\",\"u:p'q@h\"] # v:w@i\nb=x:p.w@h\nc = 'y:\"@h'\nd = \"z:p@\ne = \"u:p\"q\"r@h\"\n";
        let left = "a = [\"@b\",\"…@h\"] # …@i\n…@h\nc = '…@h'\nd = \"…@\ne =…@h\"\n";
        assert_eq!(toml_without_logins(text), left);
    }

    #[test]
    fn a_name_sounds_like_a_secret_or_does_not() {
        let secret = [
            "password",
            "db_password",
            "passwd",
            "pass",
            "X-Auth",
            "api_key",
            "apiKey",
            "tokens",
            "client-secret",
            "private_key",
            "credentials",
            "passphrase",
        ];
        assert!(secret.iter().all(|name| is_secret_name(name)));
        let open = [
            "key", "path", "author", "passes", "bind", "keyfile", "compass", "",
        ];
        assert!(!open.iter().any(|name| is_secret_name(name)));
    }
}
