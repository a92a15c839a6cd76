//! Prometheus text, read as far as a test needs it.

use std::collections::{BTreeMap, BTreeSet};

/// Every sample, by name with labels as printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    samples: BTreeMap<String, f64>,
    families: BTreeSet<String>,
}

impl Metrics {
    /// Reads them.
    ///
    /// # Panics
    /// On a line that is neither a comment nor a sample.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix("# TYPE ") {
                Some(kind) => {
                    metrics
                        .families
                        .extend(kind.split(' ').next().map(str::to_owned));
                }
                None if line.starts_with('#') => {}
                None => {
                    let (name, value) = line.rsplit_once(' ').expect("a sample");
                    let value = value
                        .parse()
                        .unwrap_or_else(|_| panic!("no number in {line}"));
                    metrics.samples.insert(name.to_owned(), value);
                }
            }
        }
        metrics
    }

    /// The value of a sample, labels as printed.
    #[must_use]
    pub fn of(&self, sample: &str) -> Option<f64> {
        self.samples.get(sample).copied()
    }

    /// The value of a sample that must be there.
    #[track_caller]
    #[must_use]
    pub fn number(&self, sample: &str) -> f64 {
        self.of(sample)
            .unwrap_or_else(|| panic!("no {sample} in {:?}", self.samples))
    }

    /// The families announced.
    #[must_use]
    pub fn families(&self) -> &BTreeSet<String> {
        &self.families
    }

    /// The samples present, labels included.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.samples.keys().cloned().collect()
    }
}
