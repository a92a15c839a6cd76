//! `gatewayd diff`: what a change is, by what it costs, between two configurations or from what a
//! running process serves.

use std::fmt::Write;

use gateway_config::{Diagnostic, Snapshot, Sources};
use serde_json::json;

use super::{ctl, print, refused};
use crate::changes;
use crate::cli::{Compared, Diff, Format, Given};
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::proto::config::ChangedSetting;

/// Prints the changes; findings in a file go to the standard error, or where the changes would go for
/// programs.
pub(super) fn run(diff: Diff) -> Exit {
    let format = diff.format;
    match diff.given() {
        Compared::Files(old, new) => match (load(&old), load(&new)) {
            (Ok(old), Ok(new)) => {
                let changes = changes::between(&old, &new).into_iter();
                show(&changes.map(Into::into).collect::<Vec<_>>(), format)
            }
            (old, new) => {
                let wrong: Vec<Wrong> = [old, new].into_iter().filter_map(Result::err).collect();
                refused(&wrong, format)
            }
        },
        Compared::Running(reach, new) => match load(&new) {
            // One text holds all of it, whatever files it was read from.
            Ok(new) => ctl::compare(&reach, new.canonical(), |changes| show(changes, format)),
            Err(wrong) => refused(&[wrong], format),
        },
    }
}

fn show(changes: &[ChangedSetting], format: Format) -> Exit {
    print(&match format {
        Format::Json => document(changes),
        Format::Text => text(changes),
    })
}

/// Why a configuration is refused, and its texts.
type Wrong = (Vec<Diagnostic>, Sources);

fn load(given: &Given) -> Result<Snapshot, Wrong> {
    let Outcome { sources, result } = given.load();
    match result {
        Ok(loaded) => Ok(loaded.snapshot),
        Err(found) => Err((found, sources)),
    }
}

pub(super) fn text(changes: &[ChangedSetting]) -> String {
    let mut text = String::new();
    let mut last = None;
    for one in changes {
        if last != Some(&one.cost) {
            let gap = if last.is_some() { "\n" } else { "" };
            // Writing to a String does not fail.
            let _ = writeln!(text, "{gap}{}:", one.cost);
            last = Some(&one.cost);
        }
        let path = one.path.join(".");
        let _ = match (&one.old, &one.new) {
            (Some(old), Some(new)) => writeln!(text, "  ~ {path}: {old} → {new}"),
            (None, Some(new)) => writeln!(text, "  + {path}: {new}"),
            (old, None) => writeln!(text, "  - {path}: {}", old.as_deref().unwrap_or_default()),
        };
    }
    text
}

pub(super) fn document(changes: &[ChangedSetting]) -> String {
    let all: Vec<serde_json::Value> = changes
        .iter()
        .map(|one| {
            let mut fields = json!({ "cost": one.cost, "path": one.path });
            for (key, value) in [("old", &one.old), ("new", &one.new)] {
                if let (Some(fields), Some(value)) = (fields.as_object_mut(), value) {
                    fields.insert(key.to_owned(), json!(value));
                }
            }
            fields
        })
        .collect();
    format!("{:#}\n", json!({ "changes": all }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::tests::{PLAIN, snapshot};

    fn between(old: &Snapshot, new: &Snapshot) -> Vec<ChangedSetting> {
        changes::between(old, new)
            .into_iter()
            .map(Into::into)
            .collect()
    }

    #[test]
    fn changes_stand_in_the_order_of_what_they_cost() {
        let new = PLAIN.replace(":80", ":82") + "keep_idle = \"9s\"\nqueue_wait = \"1s\"\n";
        let changes = between(
            &snapshot(PLAIN),
            &snapshot(&format!("{new}[logs]\nlevel = \"debug\"\n")),
        );
        assert_eq!(
            text(&changes),
            "at once:\n  ~ logs.level: \"info\" → \"debug\"\n  ~ pools.p.queue_wait: \"5s\" → \"1s\"\n\n\
             new connections:\n  ~ pools.p.keep_idle: \"4s\" → \"9s\"\n\n\
             rebind:\n  ~ listeners.a.bind: \"127.0.0.1:80\" → \"127.0.0.1:82\"\n"
        );
        assert!(document(&changes).contains("\"cost\": \"new connections\""));
    }

    #[test]
    fn a_secret_that_changed_is_not_shown() {
        let edit = |value| {
            let edits = format!("request_edits = {{ set = {{ authorization = \"{value}\" }} }}\n");
            snapshot(&PLAIN.replace("[pools", &(edits + "[pools")))
        };
        let changes = between(&edit("first"), &edit("second"));
        assert_eq!(changes.len(), 1);
        let shown = text(&changes) + &document(&changes);
        assert!(
            !shown.contains("first") && !shown.contains("second"),
            "{shown}"
        );
    }
}
