//! `gatewayd diff OLD NEW`: what a change is, by what it costs.
//!
//! Compares what would be served, not what is written: spelling a default out changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use gateway_config::Snapshot;
use gateway_config::cost::Cost;
use gateway_config::effective::{to_shown_toml, to_toml};
use serde_json::json;

use super::print;
use crate::cli::{Diff, Format, Given};
use crate::entries::{Piece, pieces};
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::render;

/// One setting that is not what it was; absent before or after, where its table comes or goes.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    cost: Cost,
    path: Vec<String>,
    old: Option<String>,
    new: Option<String>,
}

/// Prints the changes; findings in either file go to the standard error.
pub(super) fn run(diff: Diff) -> Exit {
    let format = diff.format;
    let (old, new) = diff.given();
    let (Some(old), Some(new)) = (load(&old), load(&new)) else {
        return Exit::Configuration;
    };
    let changes = between(&old, &new);
    print(&match format {
        Format::Json => document(&changes),
        Format::Text => text(&changes),
    })
}

fn load(given: &Given) -> Option<Snapshot> {
    let Outcome { sources, result } = given.load();
    match result {
        Ok(loaded) => Some(loaded.snapshot),
        Err(found) => {
            render::show(&found, &sources);
            None
        }
    }
}

fn between(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    let mut old = entries(old);
    let mut changes = Vec::new();
    for (path, value) in entries(new) {
        let before = old.remove(&path);
        if before.as_ref() != Some(&value) {
            changes.push(Change {
                cost: Cost::of(&path),
                path,
                old: before.map(|value| value.shown),
                new: Some(value.shown),
            });
        }
    }
    changes.extend(old.into_iter().map(|(path, value)| Change {
        cost: Cost::of(&path),
        path,
        old: Some(value.shown),
        new: None,
    }));
    whole_listeners(&mut changes);
    changes.sort_by(|a, b| (a.cost, &a.path).cmp(&(b.cost, &b.path)));
    changes
}

/// A listener that comes or goes does so with all its settings, whatever each of them would cost.
fn whole_listeners(changes: &mut [Change]) {
    let is_whole = |one: &&Change| one.old.is_none() || one.new.is_none();
    let binds = changes.iter().filter(is_whole).map(|one| &one.path);
    let names: Vec<String> = binds
        .filter_map(|path| match path.as_slice() {
            [table, name, key] if table == "listeners" && key == "bind" => Some(name.clone()),
            _ => None,
        })
        .collect();
    for one in changes {
        let is_listener = one.path.first().is_some_and(|table| table == "listeners");
        if is_listener && one.path.get(1).is_some_and(|name| names.contains(name)) {
            one.cost = Cost::Rebind;
        }
    }
}

/// What a setting is, and what of it is shown: values that are secret are compared all the same.
#[derive(Debug, PartialEq, Eq)]
struct Value {
    real: String,
    shown: String,
}

fn entries(snapshot: &Snapshot) -> BTreeMap<Vec<String>, Value> {
    // The same settings in the same order; only what some of them are differs.
    let real = settings(&to_toml(snapshot.model()));
    let shown = settings(&to_shown_toml(snapshot.model()));
    real.into_iter()
        .zip(shown)
        .map(|((path, real), (_, shown))| (path, Value { real, shown }))
        .collect()
}

fn settings(text: &str) -> Vec<(Vec<String>, String)> {
    let all = pieces(text).into_iter();
    all.filter_map(|piece| match piece {
        Piece::Setting(entry, _) => Some((entry.path, entry.value)),
        Piece::Other(_) => None,
    })
    .collect()
}

fn text(changes: &[Change]) -> String {
    let mut text = String::new();
    let mut last = None;
    for one in changes {
        if last != Some(one.cost) {
            let gap = if last.is_some() { "\n" } else { "" };
            // Writing to a String does not fail.
            let _ = writeln!(text, "{gap}{}:", one.cost.title());
            last = Some(one.cost);
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

fn document(changes: &[Change]) -> String {
    let all: Vec<serde_json::Value> = changes
        .iter()
        .map(|one| {
            let mut fields = json!({ "cost": one.cost.title(), "path": one.path });
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

/// The configurations of the properties of `gateway-config`.
#[cfg(test)]
#[path = "../../../gateway-config/tests/properties/tables.rs"]
mod tables;

#[cfg(test)]
mod tests {
    use gateway_config::{Sources, load_source};
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &str = "[listeners.a]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"a\"\n\
                         pool = \"p\"\n[pools.p]\nnodes = [\"127.0.0.1:81\"]\n";

    fn snapshot(text: &str) -> Snapshot {
        loaded(text).unwrap()
    }

    fn loaded(text: &str) -> Option<Snapshot> {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        load_source(id, &mut sources)
            .ok()
            .map(|loaded| loaded.snapshot)
    }

    proptest! {
        #[test]
        fn no_configuration_differs_from_itself(one in tables::tables(), other in tables::tables()) {
            let (Some(one), Some(other)) = (loaded(&one), loaded(&other)) else { return Ok(()) };
            prop_assert_eq!(between(&one, &one), []);
            prop_assert_eq!(between(&one, &other).is_empty(), one == other);
            prop_assert_eq!(between(&one, &other).len(), between(&other, &one).len());
        }
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
    fn a_listener_that_comes_or_goes_is_a_rebind_as_a_whole() {
        let more = "[listeners.b]\nbind = \"127.0.0.1:83\"\n".to_owned() + PLAIN;
        for (old, new) in [(PLAIN, more.as_str()), (&more, PLAIN)] {
            let changes = between(&snapshot(old), &snapshot(new));
            assert!(changes.len() > 10);
            assert!(
                changes.iter().all(|one| one.cost == Cost::Rebind),
                "{changes:?}"
            );
        }
    }

    #[test]
    fn nothing_differs_from_itself() {
        for file in [
            include_str!("../../../tests/config/door.effective.toml"),
            include_str!("../../../tests/config/edge.effective.toml"),
            include_str!("../../../tests/config/furnished.toml"),
            PLAIN,
        ] {
            let one = snapshot(file);
            assert_eq!(between(&one, &one), []);
            assert_eq!(between(&one, &snapshot(&to_toml(one.model()))), []);
        }
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
