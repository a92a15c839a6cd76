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
pub(crate) fn without_logins(text: &str) -> Cow<'_, str> {
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

/// Where words name somebody with what he proves it by: `NAME:PASSWORD@HOST`, `SCHEME://…@HOST`.
pub(crate) fn logins(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        if let Some(login) = login(word) {
            found.push(start + login.start..start + login.end);
        }
        start += word.len();
    }
    found
}

/// The same in a text that is TOML, or should be: each of its texts is looked at by itself, and may
/// hold quotes.
pub(crate) fn logins_in_toml(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains('@') && !text.contains('\\') {
        return found;
    }
    let look = |piece: Range<usize>| {
        let words = text.get(piece.clone()).unwrap_or_default();
        let shifted = move |one: Range<usize>| piece.start + one.start..piece.start + one.end;
        logins(words).into_iter().map(shifted)
    };
    // What stands outside of texts and has no gap in it.
    let mut bare = 0..0;
    let source = Source::new(text);
    for token in source.lex() {
        let span = token.span().start()..token.span().end();
        match token.kind() {
            TokenKind::BasicString
            | TokenKind::Comment
            | TokenKind::LiteralString
            | TokenKind::MlBasicString
            | TokenKind::MlLiteralString => {
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
            _ => bare.end = span.end,
        }
    }
    found
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

/// From the first login of a word to the `@` of the last.
fn login(word: &str) -> Option<Range<usize>> {
    let last = word.rfind('@')?;
    let begin = word.len() - word.trim_start_matches(['`', '"', '\'', '(', '[']).len();
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
            None if is_host || before.trim_start_matches('/').is_empty() => {
                (has_no_port(part) && start < last).then_some(last)
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

/// Whether what stands behind the colon of a host is no port: it is the start of a password with a
/// slash in it.
fn has_no_port(host: &str) -> bool {
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a character shows nothing where it stands, or moves what stands beside it: it is drawn as
/// [`SEEN`] instead. All of them are three bytes long, as that one is.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// What is drawn for a character that nobody can see.
pub(crate) const SEEN: &str = "\u{fffd}";

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
            from = begin + 1;
            continue;
        };
        let start = begin + marker + KEY_BEGINS.len();
        // Neither of them stands inside a key, so the text behind one without an end is left alone.
        let ends = ["-----END", "\"", "'"];
        let ends = ends.iter().filter_map(|end| find(&text, start, end));
        let end = ends.min().unwrap_or(text.len());
        let masked = text.get(start..end).map(stars).unwrap_or_default();
        text.replace_range(start..end, &masked);
        from = end;
    }
    text
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
        let text = "a = [\"@b\",\"u:p'q@h\"] # v:w@i\nb=x:p.w@h\nc = 'y:\"@h'\nd = \"z:p@\n";
        let left = "a = [\"@b\",\"…@h\"] # …@i\n…@h\nc = '…@h'\nd = \"…@\n";
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
