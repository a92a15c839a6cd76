//! Which findings say no more than that something else is misspelt.
//!
//! A setting under an unknown name, or with a value of a wrong kind, was meant to be there. What
//! its absence leads to would go away with it, so it is not told: it is asked of the table that
//! has a name, like a pool, whether anything in it is in doubt.
//!
//! Source: adr/0024.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::codes::{self, Code};
use crate::diagnostic::Diagnostic;
use crate::source::{Origin, Place, SourceId, Sources};

/// What is in doubt in a configuration.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// Whether tables are: anything may have been meant to be defined there.
    of_tables: bool,
    /// The names of the tables in which something is.
    names: BTreeSet<(SourceId, usize)>,
    /// Everything that stands in them: where it begins, and where it ends.
    places: BTreeMap<(SourceId, usize), usize>,
}

impl Doubts {
    /// From the ways to what is in doubt, each the keys from the top.
    pub(super) fn new(
        ways: &[Vec<String>],
        root: &DeTable<'_>,
        sources: &Sources,
        origin: &Origin,
    ) -> Self {
        let mut doubts = Self::default();
        let mut named: Vec<&[String]> = Vec::new();
        for way in ways {
            match way.get(..2) {
                Some(name) => named.push(name),
                None => doubts.of_tables = true,
            }
        }
        named.sort_unstable();
        named.dedup();
        let mut spans = Vec::new();
        for name in named {
            if let Some((key, value)) = find(root, name) {
                let place = sources.locate(origin, key.clone());
                doubts.names.insert((place.source, place.span.start));
                spans.push(key);
                everything(value, &mut spans);
            }
        }
        for span in spans {
            let place = sources.locate(origin, span);
            let at = (place.source, place.span.start);
            let end = doubts.places.entry(at).or_default();
            *end = place.span.end.max(*end);
        }
        doubts
    }

    /// Anything may have been defined where nobody could read it.
    pub(crate) fn doubt_everything(&mut self) {
        self.of_tables = true;
    }

    /// Whether a finding may say no more than that something is misspelt.
    pub(crate) fn explain(&self, found: &Diagnostic) -> bool {
        let places = || found.labels.iter().map(|label| &label.place);
        let is_doubted = || places().any(|place| self.hold(place));
        let is_named = || places().any(|place| self.names.contains(&start(place)));
        let is_any = self.of_tables || !self.places.is_empty();
        (found.code == codes::SAME_HOST && (self.of_tables || is_named()))
            || (OF_ITSELF.contains(&found.code) && (self.of_tables || is_doubted()))
            || (OF_OTHERS.contains(&found.code) && is_any)
            || (OF_TABLES.contains(&found.code) && self.of_tables)
    }

    /// Whether a place is one of those, or inside.
    fn hold(&self, place: &Place) -> bool {
        let before = self.places.range(..=start(place)).next_back();
        before.is_some_and(|((source, _), end)| *source == place.source && place.span.end <= *end)
    }
}

fn start(place: &Place) -> (SourceId, usize) {
    (place.source, place.span.start)
}

/// The key and the value at the end of a way.
fn find<'r, 't>(
    root: &'r DeTable<'t>,
    way: &[String],
) -> Option<(Range<usize>, &'r Spanned<DeValue<'t>>)> {
    let (first, rest) = way.split_first()?;
    let (key, value) = root.get_key_value(first.as_str())?;
    match value.get_ref() {
        DeValue::Table(inner) if !rest.is_empty() => {
            find(inner, rest).or(Some((key.span(), value)))
        }
        _ => Some((key.span(), value)),
    }
}

fn everything(value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    spans.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                spans.push(key.span());
                everything(value, spans);
            }
        }
        DeValue::Array(all) => all.iter().for_each(|one| everything(one, spans)),
        _ => {}
    }
}

/// What a table lacks, or says in vain because of what it lacks. A host that two sites have is
/// one of them only where it was not written.
const OF_ITSELF: &[Code] = &[
    codes::CLEAR_LISTENER,
    codes::CLEAR_NODE,
    codes::EMPTY_LIST,
    codes::HALF_TLS,
    codes::HTTP2_WITHOUT_TLS,
    codes::MISSING_SETTING,
    codes::NO_ACTION,
    codes::NO_EFFECT,
    codes::NO_NODE,
    codes::NO_PRIMARY,
    codes::NO_VERSION,
    codes::ONE_ACTION,
    codes::ONE_PATTERN,
    codes::PROBE_OUTLIVES_INTERVAL,
    codes::SHADOWED_ROUTE,
    codes::UNKNOWN_CAPTURE,
];

/// What a table lacks because of what another one does not say.
const OF_OTHERS: &[Code] = &[codes::NO_HTTPS, codes::UNUSED];

/// What is missing altogether.
const OF_TABLES: &[Code] = &[codes::NOTHING_SERVED, codes::UNDEFINED];
