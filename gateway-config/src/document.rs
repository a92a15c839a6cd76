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
use crate::layout::{self, MAX_PIECES};
use crate::secrets;
use crate::source::{Origin, Place, SourceId, Sources};
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
    let mut read = Vec::new();
    let mut start = 0;
    let mut room = MAX_PIECES;
    for (id, text) in texts {
        origin.push(start, *id);
        if let Some(Tree(tree, pieces)) = tree((*id, text), room, sources, findings) {
            trees.push(shifted_table(tree, start));
            read.push((*id, text));
            room = room.saturating_sub(pieces);
        }
        // One byte between two texts, so that the end of one is not the start of the next.
        start += text.len() + 1;
    }
    let is_whole = trees.len() == texts.len();
    let mut trees = trees.into_iter();
    let mut root = trees.next().unwrap_or_default();
    for tree in trees {
        merge(&mut root, tree, &mut |table, first, again| {
            let table = table.map_or_else(String::new, |table| {
                format!("{}.", table.get_ref().escape_debug())
            });
            let title = format!(
                "`{table}{}` is defined in two files",
                again.get_ref().escape_debug()
            );
            let again = sources.locate(&origin, again.span());
            let first = sources.locate(&origin, first.span());
            findings.push(Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&again, &first));
        });
    }
    if findings.has(codes::DEFINED_TWICE) {
        for (id, text) in read {
            secrets::hide_in_tree(sources, id, text);
        }
    }
    Read {
        origin,
        root: Spanned::new(0..start, root),
        is_whole,
    }
}

/// The tree of a text, and how many pieces it has.
pub(crate) struct Tree<'t>(pub(crate) DeTable<'t>, pub(crate) usize);

/// Reads one text, which may have so many pieces; should it be no tree, the findings say why, and
/// what may be a secret in it is hidden.
pub(crate) fn tree<'t>(
    (id, text): (SourceId, &'t str),
    room: usize,
    sources: &mut Sources,
    findings: &mut Findings,
) -> Option<Tree<'t>> {
    let layout = layout::measure(text, room);
    if let Some(piece) = &layout.too_many {
        secrets::hide_in_broken(sources, id, text);
        findings.push(too_many(&sources.place(id, piece.clone())));
        return None;
    }
    let (tree, wrong) = DeTable::parse_recoverable(text);
    let is_tree = syntax::is_tree(&wrong);
    match (is_tree, wrong.is_empty()) {
        (false, _) => secrets::hide_in_broken(sources, id, text),
        (true, false) => secrets::hide_in_tree(sources, id, text),
        (true, true) => {}
    }
    syntax::report(sources, id, tree.get_ref(), (&wrong, &layout), findings);
    is_tree.then(|| Tree(tree.into_inner(), layout.pieces))
}

fn too_many(place: &Place) -> Diagnostic {
    let title = format!("the configuration has more than {MAX_PIECES} pieces");
    Diagnostic::error(codes::TOO_MANY_PIECES, title)
        .at(place, "the first one too many")
        .help("a text this long is seldom written by hand: look at what made it")
}

type Key<'t> = Spanned<DeString<'t>>;
/// Tells of a name that is defined twice: the table it stands in, and both places.
type Twice<'f, 't> = dyn FnMut(Option<&Key<'t>>, &Key<'t>, &Key<'t>) + 'f;

/// Adds one tree to another: top-level tables by their keys, everything else once.
fn merge<'t>(root: &mut DeTable<'t>, tree: DeTable<'t>, twice: &mut Twice<'_, 't>) {
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
                        Some((first, _)) => twice(Some(&key), first, &name),
                        None => {
                            known.insert(name, one);
                        }
                    }
                }
            }
            _ => twice(None, &first, &key),
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
