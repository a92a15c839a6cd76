//! The list of what may be longer than the house's numbers; it may only shrink.
//!
//! An entry states the size of today: more is a breach, less must be written down, and an entry
//! that nothing needs must go. An entry that the last commit does not have is refused.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::Breach;
use crate::Result;
use crate::process::{capture, program};
use crate::report::Finding;

const LIST: &str = "xtask/size-exceptions.toml";

/// One `[[allow]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    path: String,
    what: String,
    size: usize,
}

/// The list as it is read.
pub(crate) struct Exceptions(Vec<Exception>);

/// Reads the list of the working tree.
pub(crate) fn read(root: &Path) -> Result<Exceptions> {
    let text =
        fs::read_to_string(root.join(LIST)).map_err(|e| format!("cannot read {LIST}: {e}"))?;
    parse(&text).map(Exceptions)
}

fn parse(text: &str) -> Result<Vec<Exception>> {
    let table: Table = text.parse().map_err(|error| format!("{LIST}: {error}"))?;
    let Some(list) = table.get("allow") else {
        return Ok(Vec::new());
    };
    let list = list
        .as_array()
        .ok_or_else(|| format!("{LIST}: `allow` is no list of tables"))?;
    list.iter().map(exception).collect()
}

fn exception(entry: &Value) -> Result<Exception> {
    let text = |key: &str| {
        let value = entry.get(key).and_then(Value::as_str);
        value
            .map(str::to_owned)
            .ok_or_else(|| format!("{LIST}: an entry has no `{key}`"))
    };
    text("reason")?;
    let size = entry.get("size").and_then(Value::as_integer);
    Ok(Exception {
        path: text("path")?,
        what: text("what")?,
        size: size
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| format!("{LIST}: an entry has no `size`"))?,
    })
}

impl Exceptions {
    /// Entries that the last commit does not have, or has smaller.
    pub(crate) fn growth(&self, root: &Path) -> Result<Vec<Finding>> {
        let committed = capture(&mut program(
            root,
            "git",
            &["show", &format!("HEAD:{LIST}")],
        ));
        // A history that does not know the list yet has nothing to compare with.
        let Ok(committed) = committed else {
            return Ok(Vec::new());
        };
        Ok(grown(&parse(&committed)?, &self.0))
    }

    /// What is left of `breaches`, and what is wrong with the list itself.
    pub(crate) fn settle(&self, breaches: Vec<Breach>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut used = Vec::new();
        for breach in breaches {
            match self
                .0
                .iter()
                .find(|e| e.path == breach.path && e.what == breach.what)
            {
                Some(entry) => {
                    used.push(entry);
                    if breach.measured != entry.size {
                        findings.push(resized(entry, breach.measured));
                    }
                }
                None => findings.push(breach.into()),
            }
        }
        let unused = self.0.iter().filter(|entry| !used.contains(entry));
        findings.extend(unused.map(|e| {
            on_list(format!(
                "{} {} needs no exception; take it out",
                e.path, e.what
            ))
        }));
        findings
    }
}

fn grown(committed: &[Exception], now: &[Exception]) -> Vec<Finding> {
    let is_known = |e: &&Exception| {
        !committed
            .iter()
            .any(|c| c.path == e.path && c.what == e.what && c.size >= e.size)
    };
    now.iter()
        .filter(is_known)
        .map(|e| {
            on_list(format!(
                "{} {} is new or larger; the list may only shrink",
                e.path, e.what
            ))
        })
        .collect()
}

fn resized(entry: &Exception, measured: usize) -> Finding {
    on_list(format!(
        "{} {} is at {measured}, listed with {}; shrink the one or the other",
        entry.path, entry.what, entry.size
    ))
}

fn on_list(message: String) -> Finding {
    Finding {
        path: LIST.to_owned(),
        line: None,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::{Exceptions, grown, parse};
    use crate::size::Breach;

    const LIST: &str = r#"
[[allow]]
path = "a/src/pool.rs"
what = "pick"
size = 70
reason = "two halves of one table"
"#;

    fn breach(measured: usize) -> Breach {
        Breach {
            path: "a/src/pool.rs".to_owned(),
            line: Some(1),
            what: "pick".to_owned(),
            measured,
            limit: 60,
            unit: "lines",
        }
    }

    #[test]
    fn an_exception_holds_for_the_size_it_states_only() {
        let list = Exceptions(parse(LIST).unwrap());
        assert!(list.settle(vec![breach(70)]).is_empty());
        assert_eq!(list.settle(vec![breach(71)]).len(), 1);
        assert_eq!(list.settle(vec![breach(69)]).len(), 1);
        assert_eq!(list.settle(Vec::new()).len(), 1);
        assert_eq!(Exceptions(Vec::new()).settle(vec![breach(70)]).len(), 1);
    }

    #[test]
    fn the_list_may_only_shrink() {
        let now = parse(LIST).unwrap();
        assert!(grown(&now, &now).is_empty());
        assert!(grown(&now, &[]).is_empty());
        assert_eq!(grown(&[], &now).len(), 1);
        assert_eq!(
            grown(&parse(&LIST.replace("70", "69")).unwrap(), &now).len(),
            1
        );
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        assert!(parse(&LIST.replace("reason", "because")).is_err());
    }
}
