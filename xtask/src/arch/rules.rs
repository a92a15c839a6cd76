//! Reads `xtask/arch.toml`.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::Result;

const RULES: &str = "xtask/arch.toml";

/// Everything in the file.
pub(crate) struct Rules {
    pub(crate) crates: Vec<Crate>,
    pub(crate) peers: Vec<Peers>,
    pub(crate) words: Vec<Word>,
}

/// One `[[crate]]`.
pub(crate) struct Crate {
    pub(crate) folder: String,
    pub(crate) never: Vec<String>,
    pub(crate) order: Vec<String>,
    /// Arrows upward that are known: `from -> to`.
    pub(crate) despite: Vec<String>,
}

/// One `[[peers]]`.
pub(crate) struct Peers {
    pub(crate) folder: String,
    pub(crate) why: String,
}

/// One `[[word]]`.
pub(crate) struct Word {
    pub(crate) words: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) home: Vec<String>,
    pub(crate) why: String,
}

/// Reads and checks the file: a rule that is misspelt is an error, not a rule less.
pub(crate) fn read(root: &Path) -> Result<Rules> {
    let text =
        fs::read_to_string(root.join(RULES)).map_err(|e| format!("cannot read {RULES}: {e}"))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Rules> {
    let table: Table = text.parse().map_err(|error| format!("{RULES}: {error}"))?;
    Ok(Rules {
        crates: each(&table, "crate", |entry| {
            Ok(Crate {
                folder: string(entry, "folder")?,
                never: strings(entry, "never")?,
                order: strings(entry, "order")?,
                despite: strings(entry, "despite")?,
            })
        })?,
        peers: each(&table, "peers", |entry| {
            Ok(Peers {
                folder: string(entry, "folder")?,
                why: string(entry, "why")?,
            })
        })?,
        words: each(&table, "word", |entry| {
            Ok(Word {
                words: strings(entry, "words")?,
                files: strings(entry, "files")?,
                home: strings(entry, "home")?,
                why: string(entry, "why")?,
            })
        })?,
    })
}

fn each<T>(table: &Table, key: &str, read: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    let entries = table.get(key).and_then(Value::as_array);
    entries
        .ok_or_else(|| format!("{RULES}: there is no [[{key}]]"))?
        .iter()
        .map(read)
        .collect()
}

fn string(entry: &Value, key: &str) -> Result<String> {
    let value = entry.get(key).and_then(Value::as_str);
    value
        .map(str::to_owned)
        .ok_or_else(|| format!("{RULES}: an entry has no text `{key}`"))
}

fn strings(entry: &Value, key: &str) -> Result<Vec<String>> {
    let list = entry.get(key).and_then(Value::as_array);
    list.ok_or_else(|| format!("{RULES}: an entry has no list `{key}`"))?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{RULES}: `{key}` holds something that is no text"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_rules_of_the_house_can_be_read() {
        let rules = parse(include_str!("../../arch.toml")).unwrap();
        assert_eq!(rules.crates.len(), 5);
    }

    #[test]
    fn a_misspelt_rule_is_an_error() {
        let text = include_str!("../../arch.toml");
        assert!(parse(&text.replace("never = [", "nevr = [")).is_err());
        assert!(parse(&text.replace("[[word]]", "[[words]]")).is_err());
    }
}
