//! The end of the soak: a table for people, JSON for programs.

use serde::Serialize;

use crate::ledger::Counts;

/// An act that was played.
#[derive(Debug, Serialize)]
pub(crate) struct Played {
    /// Its name.
    pub(crate) act: &'static str,
    /// What was counted in it.
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// Everything.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// What decided the order of faults.
    pub(crate) seed: u64,
    /// Whether nothing went wrong.
    pub(crate) is_clean: bool,
    /// Act by act.
    pub(crate) acts: Vec<Played>,
    /// What cannot be done here.
    pub(crate) not_done: Vec<&'static str>,
}

/// What this machine does not let us try.
const NOT_DONE: [&str; 1] =
    ["clock jumps: setting the clock needs privileges that a build does not have"];

impl Report {
    /// The report on these acts.
    pub(crate) fn on(seed: u64, acts: Vec<Played>) -> Self {
        Report {
            seed,
            is_clean: acts.iter().all(|act| act.counts.is_clean()),
            acts,
            not_done: NOT_DONE.to_vec(),
        }
    }

    /// For a program.
    pub(crate) fn prints_json(&self) {
        let text = serde_json::to_string_pretty(self);
        println!("{}", text.unwrap_or_default());
    }

    /// For people.
    pub(crate) fn prints_table(&self) {
        println!(
            "\n{:<10}{:>10}{:>12}{:>20}{:>12}{:>11}{:>13}{:>9}",
            "act",
            "requests",
            "had to fail",
            "failed, need not",
            "duplicates",
            "differing",
            "closed idle",
            "other"
        );
        for Played { act, counts } in &self.acts {
            println!(
                "{act:<10}{:>10}{:>12}{:>20}{:>12}{:>11}{:>13}{:>9}",
                counts.requests,
                counts.had_to_fail,
                counts.need_not,
                counts.duplicates,
                counts.differing,
                counts.closed,
                counts.broken
            );
        }
        for Played { act, counts } in &self.acts {
            println!("\n{act}");
            list("clients", &counts.clients);
            list("had to fail", &counts.excuses);
            list("done", &counts.done);
            for measured in &counts.measured {
                println!("  {measured}");
            }
            for told in &counts.told {
                println!("  FAILED {told}");
            }
        }
        for what in &self.not_done {
            println!("not done: {what}");
        }
        println!("seed {}", self.seed);
    }
}

/// One line of counts.
fn list<K: std::fmt::Display>(what: &str, counts: &std::collections::BTreeMap<K, u64>) {
    let counts: Vec<String> = counts
        .iter()
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    if !counts.is_empty() {
        println!("  {what}: {}", counts.join(", "));
    }
}
