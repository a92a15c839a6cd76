//! The look-up of a site's routes: every pattern at once, the first route in order that takes.
//!
//! Made of the routes when a snapshot is; holds places in their order and no content of its own.
//! Exact paths are looked up whole, templates and prefixes segment by segment in one tree, globs
//! and regular expressions all at once. What else has to hold of a request is asked of the caller.
//!
//! Invariant: the same route as trying one after another, which is what a property checks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use crate::model::{Action, Pattern, Rewrite, Route};
use crate::pattern;
use crate::segment;

/// The look-up of a site's routes. Has no content: all of them are equal.
#[derive(Clone, Default)]
pub(crate) struct Routing(Option<Arc<Index>>);

/// The expression of a route whose groups are put into an address. Has no content either.
#[derive(Clone, Default)]
pub(crate) struct Capturing(Option<Arc<Regex>>);

struct Index {
    exact: HashMap<Box<str>, Box<[u32]>>,
    tree: Box<[Step]>,
    sets: Box<[Set]>,
}

/// A position in the tree of templates and prefixes; each list of routes is in order.
#[derive(Default)]
struct Step {
    /// Decoded segments with the steps they lead to; sorted.
    literals: Box<[(Box<str>, u32)]>,
    /// Where any segment leads.
    any: Option<u32>,
    /// Templates that end here.
    templates: Box<[u32]>,
    /// Prefixes that end here.
    prefixes: Box<[u32]>,
}

/// Globs and expressions that are tried at once.
struct Set {
    matcher: RegexSet,
    /// The route of each, in order.
    routes: Box<[u32]>,
}

/// Most expressions in one set, which keeps what is built for one of them small.
const SET: usize = 512;
/// Most memory for the program of one set, in bytes.
const SET_BYTES: usize = 64 << 20;

impl Routing {
    /// The look-up of these routes, which are in order. When the expressions of a site are too
    /// large to be tried at once there is none, and they are tried one after another.
    pub(crate) fn of(routes: &[Route]) -> Self {
        Self(Index::of(routes).map(Arc::new))
    }

    /// The first route that takes a normalised path and that `accepts`; `None` when there is no
    /// look-up.
    pub(crate) fn find(
        &self,
        path: &str,
        accepts: &mut dyn FnMut(usize) -> bool,
    ) -> Option<Option<usize>> {
        let index = self.0.as_ref()?;
        let mut best = Best {
            route: u32::MAX,
            accepts,
        };
        if let Some(all) = index.exact.get(path) {
            best.of(all);
        }
        if !index.tree.is_empty() {
            index.walk(0, path, &mut best);
        }
        for set in &index.sets {
            if set.routes.first().is_some_and(|first| *first < best.route) {
                let matches = set.matcher.matches(path.as_bytes());
                let routes = matches.iter().filter_map(|at| set.routes.get(at));
                for route in routes {
                    if !best.takes(*route) {
                        break;
                    }
                }
            }
        }
        let found = (best.route != u32::MAX).then_some(best.route);
        Some(found.and_then(|route| usize::try_from(route).ok()))
    }
}

impl Capturing {
    /// What a route needs, which is nothing for most.
    pub(crate) fn of(route: &Route) -> Self {
        let spelling = match (&route.action, &route.rewrite) {
            (Action::Redirect(redirect), _) => &redirect.to,
            (_, Rewrite::Template(template)) => template,
            _ => return Self(None),
        };
        match &route.pattern {
            Pattern::Regex(text) if spelling.names().next().is_some() => {
                Self(pattern::compiled(&pattern::anchored(text)).map(Arc::new))
            }
            _ => Self(None),
        }
    }

    /// The expression, if there is one.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.0.as_deref()
    }
}

/// The first route in order that has been found so far.
struct Best<'a> {
    route: u32,
    accepts: &'a mut dyn FnMut(usize) -> bool,
}

impl Best<'_> {
    /// Looks at routes in order, as long as one could be better.
    fn of(&mut self, routes: &[u32]) {
        for route in routes {
            if !self.takes(*route) {
                return;
            }
        }
    }

    /// Looks at one route; whether a later one may still be better.
    fn takes(&mut self, route: u32) -> bool {
        if route >= self.route {
            return false;
        }
        let is_taken = usize::try_from(route).is_ok_and(|route| (self.accepts)(route));
        if is_taken {
            self.route = route;
        }
        !is_taken
    }
}

impl Index {
    fn of(routes: &[Route]) -> Option<Self> {
        let mut exact: HashMap<Box<str>, Vec<u32>> = HashMap::new();
        let mut tree = Tree::default();
        let mut expressions: Vec<(u32, String)> = Vec::new();
        for (at, route) in routes.iter().enumerate() {
            let at = u32::try_from(at).ok()?;
            match &route.pattern {
                Pattern::Exact(path) => exact
                    .entry(segment::compared(path).into())
                    .or_default()
                    .push(at),
                Pattern::Template(template) => {
                    let end = tree.add(template.literals().map(|one| one.map(Into::into)))?;
                    tree.steps.get_mut(end)?.templates.push(at);
                }
                Pattern::Prefix(path) => {
                    let segments = segment::of_path(path);
                    let end = tree.add(segments.map(|one| Some(decoded(one))))?;
                    tree.steps.get_mut(end)?.prefixes.push(at);
                }
                Pattern::Glob(text) => expressions.push((at, pattern::glob(text).ok()?)),
                Pattern::Regex(text) => expressions.push((at, pattern::anchored(text))),
            }
        }
        let sets: Option<Vec<Set>> = expressions.chunks(SET).map(Set::of).collect();
        Some(Self {
            exact: exact
                .into_iter()
                .map(|(path, all)| (path, all.into()))
                .collect(),
            tree: tree.into_steps(),
            sets: sets?.into(),
        })
    }

    /// Every route below `step` whose segments the rest of a path has.
    fn walk(&self, mut step: u32, path: &str, best: &mut Best<'_>) {
        let mut rest = path;
        loop {
            let Some(here) = usize::try_from(step).ok().and_then(|at| self.tree.get(at)) else {
                return;
            };
            best.of(&here.prefixes);
            let (segment, left) = match next_segment(rest) {
                Some(next) => next,
                None => return best.of(&here.templates),
            };
            let any = here.any.filter(|_| !segment.is_empty());
            match (here.literal(segment), any) {
                (Some(literal), Some(any)) => {
                    self.walk(literal, left, best);
                    step = any;
                }
                (Some(next), None) | (None, Some(next)) => step = next,
                (None, None) => return,
            }
            rest = left;
        }
    }
}

impl Step {
    fn literal(&self, segment: &str) -> Option<u32> {
        if self.literals.is_empty() {
            return None;
        }
        let decoded = match segment.contains('%') {
            true => segment::decode(segment.as_bytes()),
            false => segment.as_bytes().into(),
        };
        let search = |(text, _): &(Box<str>, u32)| text.as_bytes().cmp(&decoded);
        let at = self.literals.binary_search_by(search).ok()?;
        self.literals.get(at).map(|(_, step)| *step)
    }
}

/// The next segment of a path and what is behind it; empty where slashes are kept apart.
fn next_segment(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('/').filter(|rest| !rest.is_empty())?;
    path.split_at_checked(path.find('/').unwrap_or(path.len()))
}

fn decoded(segment: &str) -> Box<str> {
    String::from_utf8_lossy(&segment::decode(segment.as_bytes())).into()
}

/// The tree under construction.
struct Tree {
    steps: Vec<Growing>,
}

#[derive(Default)]
struct Growing {
    literals: HashMap<Box<str>, usize>,
    any: Option<usize>,
    templates: Vec<u32>,
    prefixes: Vec<u32>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            steps: vec![Growing::default()],
        }
    }
}

impl Tree {
    /// Where these segments end; steps that are missing are made.
    fn add(&mut self, segments: impl Iterator<Item = Option<Box<str>>>) -> Option<usize> {
        let mut at = 0;
        for segment in segments {
            let new = self.steps.len();
            let step = self.steps.get_mut(at)?;
            at = match segment {
                Some(text) => *step.literals.entry(text).or_insert(new),
                None => *step.any.get_or_insert(new),
            };
            if at == new {
                self.steps.push(Growing::default());
            }
        }
        Some(at)
    }

    fn into_steps(self) -> Box<[Step]> {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let step = |one: Growing| {
            let mut literals: Vec<(Box<str>, u32)> = one
                .literals
                .into_iter()
                .map(|(text, at)| (text, narrow(at)))
                .collect();
            literals.sort();
            Step {
                literals: literals.into(),
                any: one.any.map(narrow),
                templates: one.templates.into(),
                prefixes: one.prefixes.into(),
            }
        };
        self.steps.into_iter().map(step).collect()
    }
}

impl Set {
    fn of(all: &[(u32, String)]) -> Option<Self> {
        let matcher = RegexSetBuilder::new(all.iter().map(|(_, text)| text))
            .unicode(false)
            .size_limit(SET_BYTES)
            .build()
            .ok()?;
        Some(Self {
            matcher,
            routes: all.iter().map(|(route, _)| *route).collect(),
        })
    }
}

/// A look-up has no content of its own, so it makes no two sites different.
impl PartialEq for Routing {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PartialEq for Capturing {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Capturing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Capturing")
    }
}

impl fmt::Debug for Routing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Routing")
    }
}
