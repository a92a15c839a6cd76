//! Gives settings under a former name their name, and says so.
//!
//! A name that is on its way out works for one release with a warning, and is refused for another
//! with the new name in the help; the rows are in [`settings`](crate::settings).

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::settings::Renamed;
use crate::source::Place;

type Key<'t> = Spanned<Cow<'t, str>>;

/// Renames what the rows say, and tells of each. Where the new name is there too, the old one
/// stays, and is unknown.
pub(super) fn apply<'t>(
    rows: &[Renamed],
    root: &mut DeTable<'t>,
    tell: &mut dyn FnMut(&Key<'t>, &Renamed),
) {
    for row in rows {
        let (table, from) = row.from.rsplit_once('.').unwrap_or(("", row.from));
        let (_, to) = row.to.rsplit_once('.').unwrap_or(("", row.to));
        let steps: Vec<&str> = table.split('.').filter(|step| !step.is_empty()).collect();
        descend(root, &steps, &mut |table| {
            let is_there = table.contains_key(to);
            if let Some((key, value)) = (!is_there).then(|| table.remove_entry(from)).flatten() {
                tell(&key, row);
                table.insert(Spanned::new(key.span(), to.to_owned().into()), value);
            }
        });
    }
}

/// What is said of a former name.
pub(super) fn told(row: &Renamed, place: &Place) -> Diagnostic {
    let title = format!("`{}` is called `{}`", row.from, row.to);
    let (found, label) = match row.is_refused {
        true => (Diagnostic::error(codes::RENAMED, title), "no longer taken"),
        false => (Diagnostic::warning(codes::RENAMED, title), "still taken"),
    };
    let (_, to) = row.to.rsplit_once('.').unwrap_or(("", row.to));
    found.at(place, label).help(format!("write `{to}`"))
}

/// Calls `act` with every table at the end of `steps`, of which `*` is any name or list entry.
fn descend<'t>(table: &mut DeTable<'t>, steps: &[&str], act: &mut dyn FnMut(&mut DeTable<'t>)) {
    let Some((step, rest)) = steps.split_first() else {
        return act(table);
    };
    let taken = table
        .iter_mut()
        .filter(|(key, _)| *step == "*" || key.get_ref() == step);
    for (_, value) in taken {
        match value.get_mut() {
            DeValue::Table(inner) => descend(inner, rest, act),
            DeValue::Array(all) if rest.first() == Some(&"*") => {
                let entries = all.iter_mut().filter_map(|one| match one.get_mut() {
                    DeValue::Table(inner) => Some(inner),
                    _ => None,
                });
                for inner in entries {
                    descend(inner, rest.get(1..).unwrap_or_default(), act);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;

    const ROWS: &[Renamed] = &[
        Renamed {
            from: "pools.*.slots",
            to: "pools.*.in_flight",
            is_refused: false,
        },
        Renamed {
            from: "pools.*.nodes.*.share",
            to: "pools.*.nodes.*.weight",
            is_refused: true,
        },
    ];

    #[test]
    fn a_former_name_works_and_is_told_of() {
        let text =
            "[pools.a]\nslots = 1\nnodes = [{ share = 2 }]\n[pools.b]\nslots = 1\nin_flight = 2\n";
        let mut sources = Sources::default();
        let id = sources.add("x", text.to_owned());
        let mut root = DeTable::parse(text).unwrap().into_inner();
        let mut said = Vec::new();
        apply(ROWS, &mut root, &mut |key, row| {
            let found = told(row, &sources.place(id, key.span()));
            said.push(found.first_line(&sources).to_string());
        });
        assert_eq!(
            said,
            [
                "x:2:1: warning[G0006]: `pools.*.slots` is called `pools.*.in_flight`",
                "x:3:12: error[G0006]: `pools.*.nodes.*.share` is called `pools.*.nodes.*.weight`",
            ]
        );
        let pools = root["pools"].get_ref().as_table().unwrap();
        let a = pools["a"].get_ref().as_table().unwrap();
        assert!(a.contains_key("in_flight") && !a.contains_key("slots"));
        assert!(
            pools["b"]
                .get_ref()
                .as_table()
                .unwrap()
                .contains_key("slots")
        );
    }
}
