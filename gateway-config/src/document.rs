//! Makes one tree out of the texts of a configuration: one file, or a folder of them.
//!
//! Tables of several files are merged by name. A name that two files define is refused with both
//! places, since either could be meant. What the names mean is left to [`shape`](crate::shape).
//!
//! Invariant: a range in the tree counts through all texts, as its [`Origin`] lays them.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::secrets;
use crate::source::{Origin, SourceId, Sources};
use crate::syntax;

/// The texts as one tree.
pub(crate) struct Read<'t> {
    /// Where each text lies in it.
    pub(crate) origin: Origin,
    /// The tree of those that are TOML.
    pub(crate) root: Spanned<DeTable<'t>>,
    /// Whether all of them are.
    pub(crate) is_whole: bool,
}

/// Reads the texts into one tree; what is not TOML is in the findings.
pub(crate) fn read<'t>(
    texts: &'t [(SourceId, String)],
    sources: &mut Sources,
    findings: &mut Findings,
) -> Read<'t> {
    let mut origin = Origin::default();
    let mut trees = Vec::new();
    let mut start = 0;
    let mut is_whole = true;
    for (id, text) in texts {
        origin.push(start, *id);
        let (tree, wrong) = DeTable::parse_recoverable(text);
        if !wrong.is_empty() {
            secrets::hide_in_broken(sources, *id, text);
        }
        if syntax::report(sources, *id, tree.get_ref(), &wrong, findings) {
            trees.push(shifted_table(tree.into_inner(), start));
        } else {
            is_whole = false;
        }
        // One byte between two texts, so that the end of one is not the start of the next.
        start += text.len() + 1;
    }
    let mut trees = trees.into_iter();
    let mut root = trees.next().unwrap_or_default();
    for tree in trees {
        merge(&mut root, tree, &mut |first, again| {
            let title = format!(
                "`{}` is defined in two files",
                again.get_ref().escape_debug()
            );
            let again = sources.locate(&origin, again.span());
            let first = sources.locate(&origin, first.span());
            findings.push(Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&again, &first));
        });
    }
    Read {
        origin,
        root: Spanned::new(0..start, root),
        is_whole,
    }
}

type Key<'t> = Spanned<DeString<'t>>;

/// Adds one tree to another: top-level tables by their keys, everything else once.
fn merge<'t>(root: &mut DeTable<'t>, tree: DeTable<'t>, twice: &mut dyn FnMut(&Key<'t>, &Key<'t>)) {
    for (key, value) in tree {
        let Some((first, _)) = root.get_key_value(&key) else {
            root.insert(key, value);
            continue;
        };
        let first = first.clone();
        match (root.get_mut(&key).map(Spanned::get_mut), value.into_inner()) {
            (Some(DeValue::Table(known)), DeValue::Table(more)) => {
                for (name, one) in more {
                    match known.get_key_value(&name) {
                        Some((first, _)) => twice(first, &name),
                        None => {
                            known.insert(name, one);
                        }
                    }
                }
            }
            _ => twice(&first, &key),
        }
    }
}

fn shifted_table(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    if by == 0 {
        return table;
    }
    table
        .into_iter()
        .map(|(key, value)| {
            let span = shifted_span(key.span(), by);
            (Spanned::new(span, key.into_inner()), shifted(value, by))
        })
        .collect()
}

fn shifted(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    let span = shifted_span(value.span(), by);
    let value = match value.into_inner() {
        DeValue::Array(all) => DeValue::Array(
            all.into_iter()
                .map(|one| shifted(one, by))
                .collect::<DeArray<'_>>(),
        ),
        DeValue::Table(table) => DeValue::Table(shifted_table(table, by)),
        leaf => leaf,
    };
    Spanned::new(span, value)
}

fn shifted_span(span: Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}
