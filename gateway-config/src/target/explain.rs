//! Says why a request takes the route it takes.
//!
//! Decides nothing of its own. The route is what [`Site::route_with`] answers; which routes have the
//! path is asked of the look-up that it uses, methods and conditions of the functions it calls.
//! Called by whoever explains, never on a request's way.
//!
//! Invariant: every route before the one that takes is told with a reason, and each reason is what
//! made the look-up go on, which is what a property checks.

use super::{Facts, Matched, Unrouted, origin_form, rebuilt_path, split_path, split_query};
use crate::model::{Condition, Route, Segments, Site};
use crate::networks::Networks;
use crate::segment;

/// Which way a request goes at a site, and why no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained<'a> {
    /// The path that routes are compared with.
    pub path: Result<String, NoPath>,
    /// The routes before the one that takes, in the order in which they are tried; where none
    /// takes: all of them; without a path: none.
    pub passed: Vec<Passed<'a>>,
    /// What [`Site::route_with`] answers.
    pub taken: Result<Matched<'a>, Unrouted<'a>>,
    /// Routes that are not tried, because an earlier one takes.
    pub not_tried: usize,
}

/// Why there is no path to compare routes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPath {
    /// A segment is no legal name: not UTF-8, or with a character in it that no name has.
    Illegal,
    /// The target has none: `*`, or an authority alone.
    Missing,
}

/// A route that was tried and does not take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed<'a> {
    /// The route.
    pub route: &'a Route,
    /// Why it does not take.
    pub why: WhyNot<'a>,
}

/// Why a route does not take a request: the first thing that is not as it asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhyNot<'a> {
    /// The client is elsewhere, or nobody knows where.
    Client(&'a Networks),
    /// A cookie is absent, or has another value.
    Cookie(&'a Condition),
    /// A field is absent, or has another value.
    Header(&'a Condition),
    /// It has other methods.
    Method,
    /// It has other paths.
    Path,
    /// A query key is absent, or has another value.
    Query(&'a Condition),
}

impl Site {
    /// Which way a request goes, and why no other; asked as [`route_with`](Self::route_with) is.
    #[must_use]
    pub fn explain(&self, method: &str, target: &[u8], facts: &dyn Facts) -> Explained<'_> {
        let taken = self.route_with(method, target, facts);
        let (path, query, takes) = match self.paths(target) {
            Ok((path, query, takes)) => (Ok(path), query, takes),
            Err(none) => (Err(none), None, Vec::new()),
        };
        let name = match &taken {
            Ok(matched) => Some(&*matched.route.name),
            Err(Unrouted::RefusedQuery { route, .. }) => Some(*route),
            Err(Unrouted::NoFile | Unrouted::NoSuchRoute) => None,
        };
        let is_taken = |route: &Route| name.is_some_and(|name| *route.name == *name);
        let tried = self.routes.iter().zip(&takes);
        let passed: Vec<Passed<'_>> = tried
            .take_while(|(route, _)| !is_taken(route))
            .filter_map(|(route, has_path)| {
                let why = route.declines(method, query, facts, *has_path)?;
                Some(Passed { route, why })
            })
            .collect();
        let tried = passed.len() + usize::from(name.is_some());
        Explained {
            not_tried: takes.len().saturating_sub(tried),
            path,
            passed,
            taken,
        }
    }

    /// The path to compare with, the query, and of each route whether it has the path.
    fn paths<'t>(&self, target: &'t [u8]) -> Result<Paths<'t>, NoPath> {
        let (received, query) = split_query(origin_form(target).ok_or(NoPath::Missing)?);
        let mut takes = vec![false; self.routes.len()];
        let path = match self.segments {
            Segments::Decoded => {
                let raw: Vec<&[u8]> = split_path(received).collect();
                let each = self.routes.iter().zip(&mut takes);
                each.for_each(|(route, takes)| *takes = route.takes_segments(&raw));
                rebuilt_path(&raw, received)
            }
            Segments::Normalised => {
                let path = self.normal(received).ok_or(NoPath::Illegal)?;
                let seen = segment::compared(&path);
                // Nothing is accepted, so every route that has the path is asked about.
                let mut note = |at: usize| {
                    if let Some(takes) = takes.get_mut(at) {
                        *takes = true;
                    }
                    false
                };
                if self.routing.find(&seen, &mut note).is_none() {
                    let each = self.routes.iter().zip(&mut takes);
                    each.for_each(|(route, takes)| *takes = route.takes_path(&seen));
                }
                path.into_owned()
            }
        };
        Ok((path, query, takes))
    }
}

type Paths<'t> = (String, Option<&'t [u8]>, Vec<bool>);

impl Route {
    /// Why it does not take a request whose path it has, or has not; `None`: it does.
    fn declines(
        &self,
        method: &str,
        query: Option<&[u8]>,
        facts: &dyn Facts,
        has_path: bool,
    ) -> Option<WhyNot<'_>> {
        match (has_path, self.has_method(method)) {
            (false, _) => Some(WhyNot::Path),
            (true, false) => Some(WhyNot::Method),
            (true, true) => self.when.lacks(query, facts),
        }
    }
}
