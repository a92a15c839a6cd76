//! Measures a text before it is parsed: how many pieces it has, how deep it nests, what is left open.
//!
//! A piece is what the parser takes at once: a name, a value, a sign, a gap, a comment. Each of them
//! takes many times its length as a part of a tree, so bytes alone bound no memory; what may open a
//! table takes most. Looks at each piece once and keeps none of them.
//!
//! Source: adr/0026.

use std::ops::Range;

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Most pieces of a configuration, all its texts together.
///
/// Ten thousand routes that say much each have about 1 300 000; with all that are allowed, reading
/// takes a few hundred MiB.
pub(crate) const MAX_PIECES: usize = 3_000_000;

/// How many pieces one counts for that may open a table.
const TABLE: usize = 8;

/// Deepest nesting that the parser follows, in brackets or in dots of one key.
const MAX_DEPTH: usize = 80;

/// What a text looks like.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// How many pieces it has, up to the first one too many.
    pub(crate) pieces: usize,
    /// The first piece that is one too many.
    pub(crate) too_many: Option<Range<usize>>,
    /// The first piece that is nested too deep.
    pub(crate) too_deep: Option<Range<usize>>,
    /// The first bracket or brace that nothing closes.
    pub(crate) unclosed: Option<Range<usize>>,
}

/// Measures a text that may have so many pieces.
pub(crate) fn measure(text: &str, most: usize) -> Layout {
    let mut layout = Layout::default();
    // The brackets that are open: what closes each, and where it stands. Of those below the deepest
    // the number is enough.
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    let mut below = 0;
    let mut dots = 0;
    let mut before = TokenKind::Newline;
    let mut is_header = false;
    for token in Source::new(text).lex() {
        let span = token.span().start()..token.span().end();
        let kind = token.kind();
        layout.pieces += match kind {
            TokenKind::Eof => 0,
            TokenKind::Dot | TokenKind::LeftCurlyBracket | TokenKind::LeftSquareBracket => TABLE,
            _ => 1,
        };
        if layout.pieces > most {
            layout.too_many = Some(span);
            return layout;
        }
        dots = match kind {
            TokenKind::Dot => dots + 1,
            TokenKind::Comma | TokenKind::Equals | TokenKind::Newline => 0,
            _ => dots,
        };
        // The parser gives a header up at the end of its line.
        is_header |=
            open.is_empty() && kind == TokenKind::LeftSquareBracket && before == TokenKind::Newline;
        if kind == TokenKind::Newline && std::mem::take(&mut is_header) {
            open.clear();
        }
        if kind != TokenKind::Whitespace {
            before = kind;
        }
        match kind {
            TokenKind::LeftCurlyBracket | TokenKind::LeftSquareBracket
                if open.len() == MAX_DEPTH =>
            {
                layout.too_deep.get_or_insert(span);
                below += 1;
            }
            TokenKind::LeftCurlyBracket => open.push((TokenKind::RightCurlyBracket, span.start)),
            TokenKind::LeftSquareBracket => open.push((TokenKind::RightSquareBracket, span.start)),
            TokenKind::RightCurlyBracket | TokenKind::RightSquareBracket if below > 0 => below -= 1,
            TokenKind::RightCurlyBracket | TokenKind::RightSquareBracket => {
                open.pop_if(|(closing, _)| *closing == kind);
            }
            TokenKind::Dot if dots == MAX_DEPTH => {
                layout.too_deep.get_or_insert(span);
            }
            _ => {}
        }
    }
    layout.unclosed = open.first().map(|(_, at)| *at..*at + 1);
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_found_where_it_begins() {
        for (text, at) in [
            ("a = { b = 1\n[c]\nd = [1]", Some(4)),
            ("a = [1, { b = 2\nc = ]", Some(4)),
            ("a = [{}]\n[b]\nc = \"[\" # {\nd = '''\n{'''", None),
            ("a = ]", None),
            ("[a\nb = 1\n", None),
            ("[[a]\n b = [\n[c]", Some(10)),
        ] {
            let unclosed = measure(text, usize::MAX).unclosed;
            assert_eq!(unclosed.map(|span| span.start), at, "{text}");
        }
    }

    #[test]
    fn nesting_is_too_deep_where_it_passes_the_limit() {
        let brackets = |n| format!("a = {}{}", "[".repeat(n), "]".repeat(n));
        let keys = |n| format!("{}a = 1", "a.".repeat(n));
        let too_deep = |text: String| measure(&text, usize::MAX).too_deep;
        assert_eq!(too_deep(brackets(80)), None);
        assert_eq!(too_deep(brackets(500)), Some(84..85));
        assert_eq!(too_deep(keys(79)), None);
        assert_eq!(too_deep(keys(80)), Some(159..160));
    }

    #[test]
    fn pieces_are_counted_up_to_one_too_many() {
        let text = "a = [1]\n";
        let all = measure(text, usize::MAX).pieces;
        assert!(measure(text, all).too_many.is_none());
        assert_eq!(all, 15);
        assert_eq!(measure(text, 13).too_many, Some(6..7));
    }
}
