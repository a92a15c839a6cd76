//! Which findings say no more than that something else is misspelt.
//!
//! A setting under an unknown name, or with a value of a wrong kind, was meant to be there. What
//! its absence leads to would go away with it, so it is not told: it is asked of the table that
//! has a name, like a pool or a route, whether anything in it is in doubt. What was meant to be
//! defined counts as defined, under its name.
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
    /// Whether anything is.
    is_any: bool,
    /// Whether something at the top is.
    is_at_top: bool,
    /// Whether anything may have been meant to be defined that nobody could read.
    of_tables: bool,
    /// What was meant to be defined, by its name, where it is not known as what.
    meant: BTreeSet<String>,
    /// The names of the tables in which something is.
    names: BTreeSet<(SourceId, usize)>,
    /// Everything that stands in them.
    own: Places,
    /// The routes of a site in which something is, and none of them.
    routes: Places,
}

/// Where something begins, and where it ends.
#[derive(Debug, Default)]
struct Places(BTreeMap<(SourceId, usize), usize>);

/// What is no more than its way, from the top.
pub(super) struct Doubted<'r> {
    pub(super) root: &'r DeTable<'r>,
    /// The ways to what is in doubt, each the keys from the top.
    pub(super) ways: &'r [Vec<String>],
    /// What was meant to be defined under no table that is known.
    pub(super) meant: BTreeSet<String>,
}

impl Doubts {
    pub(super) fn new(doubted: Doubted<'_>, sources: &Sources, origin: &Origin) -> Self {
        let mut doubts = Self {
            is_any: !doubted.ways.is_empty(),
            is_at_top: doubted.ways.iter().any(|way| way.len() == 1),
            meant: doubted.meant,
            ..Self::default()
        };
        let mut named: Vec<&[String]> = Vec::new();
        for way in doubted.ways {
            named.extend(way.get(..if is_in_route(way) { 4 } else { 2 }));
        }
        named.sort_unstable();
        named.dedup();
        for name in named {
            let Some((key, value)) = find(doubted.root, name) else {
                continue;
            };
            let place = sources.locate(origin, key.clone());
            doubts.names.insert(start(&place));
            doubts.own.add(&place);
            let mut spans = Spans::default();
            everything(
                value,
                matches!(name, [table, _] if table == "sites"),
                &mut spans,
            );
            for span in spans.own {
                doubts.own.add(&sources.locate(origin, span));
            }
            for span in spans.routes {
                doubts.routes.add(&sources.locate(origin, span));
            }
        }
        doubts
    }

    /// Anything may have been defined where nobody could read it.
    pub(crate) fn doubt_everything(&mut self) {
        self.is_any = true;
        self.of_tables = true;
    }

    /// Anything may have been defined under one of the tables that hold names.
    pub(super) fn doubt_tables(&mut self) {
        self.of_tables = true;
    }

    /// Whether a finding may say no more than that something is misspelt.
    pub(crate) fn explain(&self, found: &Diagnostic, sources: &Sources) -> bool {
        let places = || found.labels.iter().map(|label| &label.place);
        let is_in = |all: &Places| places().any(|place| all.hold(place));
        let is_named = || places().any(|place| self.names.contains(&start(place)));
        // Two patterns are two whatever else there is.
        let is_certain = found.code == codes::ONE_PATTERN && found.labels.len() > 1;
        let is_meant = || places().any(|place| self.meant.contains(name_at(place, sources)));
        (found.code == codes::SAME_HOST && is_named())
            || (OF_ITSELF.contains(&found.code) && !is_certain && is_in(&self.own))
            || (OF_SITES.contains(&found.code) && is_in(&self.routes))
            || (OF_OTHERS.contains(&found.code) && self.is_any)
            || (found.code == codes::NOTHING_SERVED && self.may_define())
            || (found.code == codes::UNDEFINED && (self.of_tables || is_meant()))
    }
}

impl Doubts {
    /// Whether something may have been meant to be defined.
    fn may_define(&self) -> bool {
        self.of_tables || self.is_at_top || !self.meant.is_empty()
    }
}

impl Places {
    fn add(&mut self, place: &Place) {
        let end = self.0.entry(start(place)).or_default();
        *end = place.span.end.max(*end);
    }

    /// Whether a place is one of those, or inside.
    fn hold(&self, place: &Place) -> bool {
        let before = self.0.range(..=start(place)).next_back();
        before.is_some_and(|((source, _), end)| *source == place.source && place.span.end <= *end)
    }
}

/// Whether what a way leads to stands in a route of a site.
fn is_in_route(way: &[String]) -> bool {
    let is_routes = |key: &String| key == "routes";
    way.len() > 4
        && way.first().is_some_and(|key| key == "sites")
        && way.get(2).is_some_and(is_routes)
}

/// The name that stands at a place.
fn name_at<'s>(place: &Place, sources: &'s Sources) -> &'s str {
    let written = sources.written(place.source).get(place.span.clone());
    written.unwrap_or_default().trim_matches(['"', '\''])
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

#[derive(Default)]
struct Spans {
    own: Vec<Range<usize>>,
    routes: Vec<Range<usize>>,
}

/// All that stands in a value; the routes of a site apart from the rest.
fn everything(value: &Spanned<DeValue<'_>>, is_site: bool, spans: &mut Spans) {
    spans.own.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                if is_site && key.get_ref() == "routes" {
                    let mut routes = Spans::default();
                    everything(value, false, &mut routes);
                    spans.routes.extend(routes.own);
                } else {
                    spans.own.push(key.span());
                    everything(value, false, spans);
                }
            }
        }
        DeValue::Array(all) => all.iter().for_each(|one| everything(one, false, spans)),
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
    codes::ONE_PATTERN,
    codes::PROBE_OUTLIVES_INTERVAL,
    codes::SHADOWED_ROUTE,
    codes::UNKNOWN_CAPTURE,
];

/// What a route lacks, or says in vain because of what its site does not say.
const OF_SITES: &[Code] = &[codes::MISSING_SETTING, codes::NO_ACTION, codes::NO_EFFECT];

/// What a table lacks because of what another one does not say.
const OF_OTHERS: &[Code] = &[codes::NO_HTTPS, codes::UNUSED];
