//! Finds what TOML 1.1 allows and TOML 1.0 does not, so that every tool can read the file.
//!
//! Reads the text once, as far as strings, comments and brackets go; whether it is TOML at all has
//! been found out before. Leaves alone what no setting takes, such as times without seconds.
//!
//! Source: CHANGELOG of TOML 1.1.0: inline tables over several lines, `\e`, `\xHH`.

use std::ops::Range;

/// A piece that is TOML 1.1 only: what it is, and what to write instead.
pub(crate) type Newer = (Range<usize>, &'static str, &'static str);

/// Everything of that kind in a text, in order.
pub(crate) fn newer(text: &str) -> Vec<Newer> {
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        comma: None,
        found: Vec::new(),
    };
    while let Some(byte) = scan.peek(0) {
        scan.step(byte);
    }
    scan.found
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The brackets that are open: where each began, and whether it is a table that runs over
    /// several lines.
    open: Vec<Open>,
    /// A comma with nothing behind it so far.
    comma: Option<usize>,
    found: Vec<Newer>,
}

struct Open {
    is_table: bool,
    at: usize,
    is_told: bool,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'#' => return self.skip_comment(),
            b'"' | b'\'' => {
                self.comma = None;
                return self.skip_string(byte);
            }
            b'[' | b'{' => {
                self.comma = None;
                self.open.push(Open {
                    is_table: byte == b'{',
                    at: self.at,
                    is_told: false,
                });
            }
            b']' | b'}' => {
                let ended = self.open.pop();
                if let (Some(comma), true) = (self.comma.take(), ended.is_some_and(|o| o.is_table))
                {
                    self.found.push((
                        comma..comma + 1,
                        "a comma behind the last value of a table",
                        "leave the comma out",
                    ));
                }
            }
            b',' => self.comma = Some(self.at),
            b'\n' => self.line(),
            b' ' | b'\t' | b'\r' => {}
            _ => self.comma = None,
        }
        self.at += 1;
    }

    fn line(&mut self) {
        if let Some(open) = self
            .open
            .last_mut()
            .filter(|one| one.is_table && !one.is_told)
        {
            open.is_told = true;
            self.found.push((
                open.at..open.at + 1,
                "a table in braces over several lines",
                "give the table a header of its own, or put it on one line",
            ));
        }
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn skip_string(&mut self, quote: u8) {
        let is_long = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let width = if is_long { 3 } else { 1 };
        self.at += width;
        while let Some(byte) = self.peek(0) {
            let ends = (0..width).all(|ahead| self.peek(ahead) == Some(quote));
            if ends {
                self.at += width;
                // A long string may end in quotes of its own.
                while is_long && self.peek(0) == Some(quote) {
                    self.at += 1;
                }
                return;
            }
            if byte == b'\\' && quote == b'"' {
                let instead = match self.peek(1) {
                    Some(b'e') => Some("write \\u001B"),
                    Some(b'x') => Some("write \\u00 and the two digits"),
                    _ => None,
                };
                let found = instead.map(|instead| (self.at..self.at + 2, "this escape", instead));
                self.found.extend(found);
                self.at += 1;
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(usize, &str)> {
        newer(text)
            .into_iter()
            .map(|(span, ..)| (span.start, &text[span]))
            .collect()
    }

    #[test]
    fn what_toml_1_0_cannot_read_is_found() {
        assert_eq!(pieces("a = {\n b = 1\n}\n"), [(4, "{")]);
        assert_eq!(pieces("a = { b = 1, }"), [(11, ",")]);
        assert_eq!(pieces(r#"a = "\e\x41\\e""#), [(5, r"\e"), (7, r"\x")]);
    }

    #[test]
    fn what_it_can_read_is_left_alone() {
        for text in [
            "a = [\n 1, # }\n 2,\n]\n[b.c]\n",
            "a = { b = [\n1,\n], c = \"\"\"\n\"\"\" }",
            "a = '\\e' # \"\\e\nb = \"{\"\nc = \"\"\"a\"\"\"\"\"\nd = {}",
            "a = \"",
            "",
        ] {
            assert_eq!(pieces(text), [], "{text}");
        }
    }
}
