//! Writes numbers as a Prometheus scraper reads them.
//!
//! Source: the text format, version 0.0.4, of Prometheus.

use std::fmt::{Display, Write};

/// The text of a scrape.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    /// The family that is written at this moment.
    family: &'static str,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It rises and falls.
    Gauge,
    /// It is one of several steps.
    Histogram,
}

impl Exposition {
    /// Nothing is written yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a family; its numbers follow.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self.family = name;
    }

    /// A number of the family, under these labels.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.part("", labels, value);
    }

    /// A number of one part of the family: of a histogram `_bucket`, `_sum` or `_count`.
    pub fn part(&mut self, part: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.family);
        self.text.push_str(part);
        let mut before = '{';
        for (name, text) in labels {
            self.text.push(before);
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.label(text);
            self.text.push('"');
            before = ',';
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    /// All of it.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    fn label(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_a_family_is_announced_once() {
        let mut out = Exposition::new();
        out.family("f", Kind::Counter, "Help.");
        out.sample(&[("a", "x\"\\\ny"), ("b", "")], 7);
        out.part("_sum", &[], 0.5);
        let text = "# HELP f Help.\n# TYPE f counter\nf{a=\"x\\\"\\\\\\ny\",b=\"\"} 7\nf_sum 0.5\n";
        assert_eq!(out.into_text(), text);
    }
}
