//! Data files that state a rule: `source`, `claim`, and what the topic's loop needs.

use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

/// A file of vectors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    vector: Vec<Table>,
}

/// One vector with its place.
#[derive(Debug)]
pub struct Vector<T> {
    /// File name below `vectors/`.
    pub file: String,
    /// Where the rule stands.
    pub source: String,
    /// The rule.
    pub claim: String,
    /// What the topic's loop needs.
    pub content: T,
}

impl<T> Vector<T> {
    /// File and claim, for messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!("vectors/{}: {} ({})", self.file, self.claim, self.source)
    }
}

/// Every vector of a topic, in the order of file names.
///
/// # Panics
/// When the topic has none, or a file is not what the loop can read.
#[must_use]
pub fn of<T: DeserializeOwned>(topic: &str) -> Vec<Vector<T>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let mut vectors = Vec::new();
    for path in files(&root.join(topic)) {
        let text = fs::read_to_string(&path).expect("a readable vector file");
        let file = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        let parsed: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        for table in parsed.vector {
            vectors.push(vector(&file, &parsed.source, table));
        }
    }
    assert!(!vectors.is_empty(), "no vectors in {topic}");
    vectors
}

fn vector<T: DeserializeOwned>(file: &str, source: &str, mut table: Table) -> Vector<T> {
    let claim = match table.remove("claim") {
        Some(toml::Value::String(claim)) => claim,
        other => panic!("{file}: a vector needs a claim, not {other:?}"),
    };
    let content = table
        .try_into()
        .unwrap_or_else(|e| panic!("{file}: {claim}: {e}"));
    Vector {
        file: file.to_owned(),
        source: source.to_owned(),
        claim,
        content,
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory);
    let entries = entries.unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    paths
}

/// Runs every vector of a topic and reports all that failed, not only the first.
///
/// # Panics
/// When one failed; the message names file and claim of each.
pub fn each<T: DeserializeOwned>(topic: &str, check: impl FnMut(&Vector<T>) -> Result<(), String>) {
    judge(&of(topic), check);
}

/// The same for vectors already read.
///
/// # Panics
/// As [`each`].
pub fn judge<T>(vectors: &[Vector<T>], mut check: impl FnMut(&Vector<T>) -> Result<(), String>) {
    let mut failures = Vec::new();
    for vector in vectors {
        let checked = catch_unwind(AssertUnwindSafe(|| check(vector)));
        if let Err(why) = checked.unwrap_or_else(|panic| Err(words_of(panic.as_ref()))) {
            failures.push(format!("{}\n    {why}", vector.title()));
        }
    }
    let count = failures.len();
    assert!(
        count == 0,
        "{count} of {} vectors failed:\n{}",
        vectors.len(),
        failures.join("\n")
    );
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
        .to_owned()
}

/// Puts values in the place of `{name}`.
#[must_use]
pub fn filled(text: &str, values: &[(&str, String)]) -> String {
    let put =
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.to_owned(), put)
}

/// `Err` with both sides unless they are equal.
///
/// # Errors
/// They are not.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, should: T) -> Result<(), String> {
    match is == should {
        true => Ok(()),
        false => Err(format!("{what} is {is:?}, should be {should:?}")),
    }
}
