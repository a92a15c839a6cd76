//! What differs between two configurations, by what the change costs.
//!
//! Compares what would be served, not what is written: spelling a default out changes nothing. Values
//! that are secrets are compared, and not shown.

use std::collections::BTreeMap;

use gateway_config::Snapshot;
use gateway_config::cost::Cost;
use gateway_config::effective::{to_shown_toml, to_toml};

use crate::entries::{Piece, pieces};
use crate::proto::config::ChangedSetting;

/// One setting that is not what it was; absent before or after, where its table comes or goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// What it needs.
    pub(crate) cost: Cost,
    /// The names of its tables, and its own.
    pub(crate) path: Vec<String>,
    /// What it was.
    pub(crate) old: Option<String>,
    /// What it is to be.
    pub(crate) new: Option<String>,
}

impl From<Change> for ChangedSetting {
    fn from(change: Change) -> Self {
        Self {
            cost: change.cost.title().to_owned(),
            path: change.path,
            old: change.old,
            new: change.new,
        }
    }
}

/// Every setting that differs, the cheapest first.
pub(crate) fn between(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
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

/// The configurations of the properties of `gateway-config`.
#[cfg(test)]
#[path = "../../gateway-config/tests/properties/tables.rs"]
mod tables;

#[cfg(test)]
pub(crate) mod tests {
    use gateway_config::{Sources, load_source};
    use proptest::prelude::*;

    use super::*;

    /// One site, one pool, one node.
    pub(crate) const PLAIN: &str = "[listeners.a]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"a\"\n\
                         pool = \"p\"\n[pools.p]\nnodes = [\"127.0.0.1:81\"]\n";

    pub(crate) fn snapshot(text: &str) -> Snapshot {
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
            include_str!("../../tests/config/door.effective.toml"),
            include_str!("../../tests/config/edge.effective.toml"),
            include_str!("../../tests/config/furnished.toml"),
            PLAIN,
        ] {
            let one = snapshot(file);
            assert_eq!(between(&one, &one), []);
            assert_eq!(between(&one, &snapshot(&to_toml(one.model()))), []);
        }
    }
}
