//! The lines a process prints, collected while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

use crate::wait;

/// Everything one of the process's two outputs said so far.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Mutex<Vec<String>>,
}

impl Lines {
    /// Collects from `source` until it ends.
    #[must_use]
    pub fn follow(source: impl Read + Send + 'static) -> Arc<Self> {
        let lines = Arc::new(Self::default());
        let collected = Arc::clone(&lines);
        thread::spawn(move || {
            for line in BufReader::new(source).split(b'\n') {
                let Ok(line) = line else { return };
                let text = String::from_utf8_lossy(&line).into_owned();
                collected
                    .lines
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(text);
            }
        });
        lines
    }

    /// All lines so far.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The lines after the first so many, for who reads on from where it was.
    #[must_use]
    pub fn after(&self, read: usize) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(read..).unwrap_or_default().to_vec()
    }

    /// All lines so far that are JSON objects.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.all()
            .iter()
            .filter_map(|line| Entry::parse(line))
            .collect()
    }

    /// Waits for the first line with this message that `fits`.
    pub fn waits_for(&self, message: &str, fits: impl Fn(&Entry) -> bool) -> Entry {
        wait::value(&format!("a log line `{message}`"), wait::SOON, || {
            self.entries()
                .into_iter()
                .find(|entry| entry.message() == message && fits(entry))
        })
    }

    /// The lines so far with this message.
    #[must_use]
    pub fn saying(&self, message: &str) -> Vec<Entry> {
        self.entries()
            .into_iter()
            .filter(|entry| entry.message() == message)
            .collect()
    }
}

/// One line of JSON.
#[derive(Clone, Debug)]
pub struct Entry {
    value: Value,
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        value.is_object().then_some(Self { value })
    }

    /// Its message.
    #[must_use]
    pub fn message(&self) -> String {
        self.text("message")
    }

    /// Its fields beside level and message, in one object.
    #[must_use]
    pub fn flat(&self) -> Value {
        self.value.get("fields").unwrap_or(&self.value).clone()
    }

    /// Whether this text stands anywhere in it.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        self.value.to_string().contains(text)
    }

    /// A field, `null` when absent.
    #[must_use]
    pub fn field(&self, name: &str) -> &Value {
        self.value
            .get("fields")
            .and_then(|fields| fields.get(name))
            .unwrap_or(&self.value[name])
    }

    /// A field as text, empty when absent.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        match self.field(name) {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
