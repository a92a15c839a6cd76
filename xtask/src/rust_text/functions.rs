//! Finds functions by their keyword and their braces.

use super::{closing, line_of};

/// What a signature and its braces tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of the name, counted from 1.
    pub(crate) line: usize,
    /// From the keyword to the closing brace.
    pub(crate) lines: usize,
    /// Arguments, a receiver not counted.
    pub(crate) arguments: usize,
    /// Branches and loops in the body.
    pub(crate) branches: usize,
    /// Is the body one `match` with no branch or loop inside?
    pub(crate) is_flat_match: bool,
}

/// Every function with a body in `code`, in order.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    code.match_indices("fn ")
        .filter(|(at, _)| {
            let before = at.checked_sub(1).and_then(|at| code.as_bytes().get(at));
            before.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_')
        })
        .filter_map(|(at, _)| function(code, at))
        .collect()
}

fn function(code: &str, start: usize) -> Option<Function> {
    let rest = code.get(start + 3..)?;
    let name: String = rest
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '#')
        .collect();
    if name.is_empty() {
        return None; // a function pointer type
    }
    let after_name = start + 3 + name.len();
    let open = after_name + parameters(code.get(after_name..)?)?;
    let close = closing(code, open)?;
    let body = close + body(code.get(close..)?)?;
    let end = closing(code, body)?;
    let line = line_of(code, start);
    Some(Function {
        name,
        line,
        lines: line_of(code, end) - line + 1,
        arguments: arguments(code.get(open + 1..close)?),
        branches: branches(code.get(body + 1..end)?),
        is_flat_match: is_flat_match(code.get(body + 1..end)?),
    })
}

/// The opening parenthesis, past the generics if there are any.
fn parameters(rest: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut last = ' ';
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            '(' if depth == 0 => return Some(at),
            '{' | ';' if depth == 0 => return None,
            _ => {}
        }
        last = c;
    }
    None
}

/// The opening brace of the body; `None` when a `;` comes first.
fn body(rest: &str) -> Option<usize> {
    let mut brackets = 0_i32;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets -= 1,
            ';' if brackets == 0 => return None,
            '{' if brackets == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn arguments(list: &str) -> usize {
    let mut depth = 0_i32;
    let mut last = ' ';
    let mut parts = vec![String::new()];
    for c in list.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if last != '-' && last != '=' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
        last = c;
    }
    parts
        .iter()
        .filter(|part| !part.trim().is_empty() && !is_receiver(part))
        .count()
}

fn is_receiver(part: &str) -> bool {
    let name = part.split(':').next().unwrap_or_default();
    name.split_whitespace()
        .last()
        .is_some_and(|word| word.trim_start_matches('&') == "self")
}

fn is_flat_match(body: &str) -> bool {
    let body = body.trim();
    let Some(open) = body.strip_prefix("match ").and_then(|rest| rest.find('{')) else {
        return false;
    };
    let is_whole = closing(body, "match ".len() + open) == Some(body.len() - 1);
    is_whole && branches(body) == 1
}

fn branches(body: &str) -> usize {
    body.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| matches!(*word, "for" | "if" | "loop" | "match" | "while"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn lines_and_arguments_are_counted() {
        let code = "impl X {\n    fn go<F: Fn(u8) -> u8>(&mut self, a: [u8; 2], f: F) -> [u8; 2] {\n        a\n    }\n}\n";
        let [one] = &functions(code)[..] else {
            panic!("one function");
        };
        assert_eq!(
            (one.name.as_str(), one.line, one.lines, one.arguments),
            ("go", 2, 3, 2)
        );
    }

    #[test]
    fn declarations_and_pointers_have_no_body() {
        assert!(functions("trait T { fn a(&self); }\ntype F = fn (u8);\n").is_empty());
    }

    #[test]
    fn receivers_do_not_count() {
        for receiver in [
            "self",
            "&self",
            "&'a mut self",
            "self: Pin<&mut Self>",
            "mut self",
        ] {
            let code = format!("fn f({receiver}, a: u8) {{}}");
            assert_eq!(functions(&code)[0].arguments, 1, "{receiver}");
        }
    }

    #[test]
    fn a_flat_match_has_no_branch_inside() {
        assert!(functions("fn f(x: u8) -> u8 { match x { 1 => 2, _ => g(3) } }")[0].is_flat_match);
        assert!(
            !functions("fn f(x: u8) -> u8 { match x { 1 => if y { 2 } else { 3 }, _ => 3 } }")[0]
                .is_flat_match
        );
        assert!(!functions("fn f(x: u8) -> u8 { g(); match x { _ => 3 } }")[0].is_flat_match);
    }
}
