//! Finds redirects that are certain to lead back to themselves, so that no client ever arrives.
//!
//! Only what holds for every request of a route is judged: one that asks for more than a path, or
//! whose answer sets a cookie, may be another route's when it comes back.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::{Context, Parts, actions};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Action, Name, Pattern, Redirect, Route, Site, Www};
use crate::raw;
use crate::routing::Routing;
use crate::source::Place;
use crate::target::normal_path;

/// Refuses routes that send a request to a path of their own; routes are in order.
pub(super) fn routes(cx: &mut Context<'_>, site: &raw::Site, routes: &[Route]) {
    let set = &site.response_edits.set;
    if set
        .keys()
        .any(|key| key.get_ref().eq_ignore_ascii_case("set-cookie"))
    {
        return;
    }
    let walk = Walk {
        site,
        routes,
        routing: OnceCell::new(),
    };
    for (at, route) in routes.iter().enumerate() {
        let Action::Redirect(redirect) = &route.action else {
            continue;
        };
        if !route.when.is_empty() {
            continue;
        }
        let Some(path) = leads_to(route, redirect) else {
            continue;
        };
        let taken = walk.taken(&path);
        let written = |at: usize| {
            let route = routes.get(at)?;
            let leaf = actions::redirect_to(site.routes.get(&*route.name)?)?;
            // One that is no address has been told of, and something else stands for it here.
            let is_read = match &route.action {
                Action::Redirect(redirect) => *leaf.get_ref() == redirect.to.to_string(),
                Action::Answer(_) | Action::Files(_) | Action::Pool => false,
            };
            is_read.then(|| cx.within(&leaf))
        };
        if taken == Some(at) && keeps_method(route, redirect.status) {
            if let Some(place) = written(at) {
                let title = format!("route `{}` redirects in a circle", route.name);
                cx.push(
                    Diagnostic::error(codes::NO_EFFECT, title)
                        .at(&place, format!("this route takes {path}, too")),
                );
            }
        } else if let Some(circle) = walk.circle(path).filter(|all| all.first() == Some(&at)) {
            let names: Vec<String> = circle
                .iter()
                .filter_map(|at| Some(format!("`{}`", routes.get(*at)?.name)))
                .collect();
            let title = format!("routes {} redirect in a circle", names.join(" and "));
            let mut found = Diagnostic::error(codes::NO_EFFECT, title);
            for place in circle.iter().filter_map(|at| written(*at)) {
                found = found.at(&place, "this leads to the next one, and so round again");
            }
            cx.push(found);
        }
    }
}

/// Most redirects that are followed; clients give up before.
const FOLLOWED: usize = 20;

/// Follows the redirects of a site.
struct Walk<'a> {
    site: &'a raw::Site,
    routes: &'a [Route],
    routing: OnceCell<Routing>,
}

impl Walk<'_> {
    /// The route that certainly takes a path, as far as the path decides.
    fn taken(&self, path: &str) -> Option<usize> {
        if self.site.endpoints.is_some() && OWN.contains(&path) {
            return None;
        }
        let routing = self.routing.get_or_init(|| Routing::of(self.routes));
        let at = routing.find(path, &mut |_| true)??;
        self.routes.get(at)?.takes_path(path).then_some(at)
    }

    /// The routes that send a GET for this path round and round, the first of them in front.
    fn circle(&self, mut path: String) -> Option<Vec<usize>> {
        let mut way: Vec<(usize, String)> = Vec::new();
        for _ in 0..FOLLOWED {
            let at = self.taken(&path)?;
            if let Some(start) = way.iter().position(|(_, before)| *before == path) {
                let mut circle: Vec<usize> = way.iter().skip(start).map(|(at, _)| *at).collect();
                let least = circle.iter().enumerate().min_by_key(|(_, at)| **at);
                let least = least.map_or(0, |(index, _)| index);
                circle.rotate_left(least);
                return (circle.len() > 1).then_some(circle);
            }
            let route = self.routes.get(at)?;
            let Action::Redirect(redirect) = &route.action else {
                return None;
            };
            let has_get = route.methods.iter().any(|method| **method == *"GET");
            if !route.when.is_empty() || !(route.methods.is_empty() || has_get) {
                return None;
            }
            let next = sent(redirect, &path)?;
            way.push((at, std::mem::replace(&mut path, next)));
        }
        None
    }
}

/// What a site with endpoints answers before any route.
const OWN: [&str; 3] = ["/health", "/metrics", "/ready"];

/// Whether a client asks with a method of the route again.
fn keeps_method(route: &Route, status: u16) -> bool {
    let has_get = route.methods.iter().any(|method| **method == *"GET");
    route.methods.is_empty() || has_get || matches!(status, 307 | 308)
}

/// The path of this site to which a request is sent; for a prefix that keeps it, one for the prefix.
fn leads_to(route: &Route, redirect: &Redirect) -> Option<String> {
    match &route.pattern {
        Pattern::Exact(own) | Pattern::Prefix(own) => sent(redirect, own),
        _ if redirect.keep_path => None,
        Pattern::Glob(_) | Pattern::Regex(_) | Pattern::Template(_) => sent(redirect, "/"),
    }
}

/// The path of this site to which a request for a path is sent.
fn sent(redirect: &Redirect, path: &str) -> Option<String> {
    let to = redirect.to.to_string();
    if !to.starts_with('/') || to.contains(['?', '{']) {
        return None;
    }
    let fixed = to.split('#').next().unwrap_or_default();
    if redirect.keep_path {
        let kept = format!("{}{path}", fixed.trim_end_matches('/'));
        return Some(normal_path(&kept, true));
    }
    Some(normal_path(fixed, true)).filter(|_| !fixed.contains("//"))
}

/// Refuses two sites of a listener that send each other's names to and fro by `www`.
pub(super) fn sites(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    let mut takers: HashMap<(&Name, &str), &Site> = HashMap::new();
    let removes = parts.sites.iter().filter(|site| site.www == Www::Remove);
    for site in removes {
        for listener in site.listeners().filter(|name| !name.is_empty()) {
            let all = site.hosts.iter().map(|host| ((listener, &**host), site));
            takers.extend(all);
        }
    }
    let adds = parts.sites.iter().filter(|site| site.www == Www::Add);
    for site in adds.filter(|_| !takers.is_empty()) {
        let twins = site.hosts.iter().map(|host| format!("www.{host}"));
        let pair = twins.into_iter().find_map(|twin| {
            let other = |listener| takers.get(&(listener, &*twin)).copied();
            Some((site.listeners().find_map(other)?, twin.clone()))
        });
        let Some((other, twin)) = pair else { continue };
        let place = |site: &Site| -> Option<Place> {
            let leaf = file.sites.get(&*site.name)?.www.as_ref()?;
            Some(cx.place(leaf))
        };
        if let (Some(one), Some(two)) = (place(site), place(other)) {
            let title = format!(
                "sites `{}` and `{}` send {twin} in a circle",
                site.name, other.name
            );
            cx.push(Diagnostic::error(codes::NO_EFFECT, title).at_both(&one, &two));
        }
    }
}
