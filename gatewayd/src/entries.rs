//! An effective text taken apart: each setting with its path and its lines.
//!
//! Reads what `gateway-config` writes and nothing else: tables, and one setting after another, of
//! which a list may go over several lines.

/// One setting of an effective text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The names of its tables, and its own.
    pub(crate) path: Vec<String>,
    /// What stands behind the `=`.
    pub(crate) value: String,
}

/// A line of an effective text, or the lines of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Something that sets nothing: a table's head, an empty line.
    Other(String),
    /// A setting, and its lines as they are written.
    Setting(Entry, String),
}

/// Takes a text apart.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix('[').and_then(|all| all.strip_suffix(']')) {
            table = keys(head).0;
            pieces.push(Piece::Other(line.to_owned()));
            continue;
        }
        let (mut path, rest) = keys(line);
        let Some(value) = rest.strip_prefix(" = ") else {
            pieces.push(Piece::Other(line.to_owned()));
            continue;
        };
        let (mut value, mut written) = (value.to_owned(), line.to_owned());
        if value == "[" {
            for line in lines.by_ref() {
                value.push('\n');
                value.push_str(line);
                written.push('\n');
                written.push_str(line);
                if line == "]" {
                    break;
                }
            }
        }
        let mut whole = table.clone();
        whole.append(&mut path);
        pieces.push(Piece::Setting(Entry { path: whole, value }, written));
    }
    pieces
}

/// The keys a text begins with, and what is behind them.
fn keys(text: &str) -> (Vec<String>, &str) {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let (key, behind) = key(rest);
        all.push(key);
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return (all, behind),
        }
    }
}

fn key(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let end = text.find(|c| !is_bare(c)).unwrap_or(text.len());
        let (key, rest) = text.split_at_checked(end).unwrap_or_default();
        return (key.to_owned(), rest);
    };
    let mut name = String::new();
    let mut all = quoted.char_indices();
    while let Some((at, c)) = all.next() {
        match c {
            '"' => return (name, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => name.extend(all.next().map(|(_, escaped)| escaped)),
            c => name.push(c),
        }
    }
    (name, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_and_lists_over_lines_are_read() {
        let text =
            "workers = 2\n\n[pools.\"a.b\"]\nnodes = [\n  { addr = \"x:1\" },\n]\nhttp2 = false\n";
        let found: Vec<(String, String)> = pieces(text)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Setting(entry, _) => Some((entry.path.join("|"), entry.value)),
                Piece::Other(_) => None,
            })
            .collect();
        let pair = |path: &str, value: &str| (path.to_owned(), value.to_owned());
        assert_eq!(
            found,
            [
                pair("workers", "2"),
                pair("pools|a.b|nodes", "[\n  { addr = \"x:1\" },\n]"),
                pair("pools|a.b|http2", "false"),
            ]
        );
    }
}
