//! Finds redirects that are certain to lead back to themselves, so that no client ever arrives.
//!
//! Only what holds for every request of a route is judged: one that asks for more than a path, or
//! whose answer sets a cookie, may be another route's when it comes back.

use std::collections::HashMap;

use toml::Spanned;

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
    let mut routing = None;
    for (at, route) in routes.iter().enumerate() {
        let Action::Redirect(redirect) = &route.action else {
            continue;
        };
        let comes_back = route.when.is_empty() && keeps_method(route, redirect.status);
        let Some(path) = leads_to(route, redirect).filter(|_| comes_back) else {
            continue;
        };
        if !route.takes_path(&path) || (site.endpoints.is_some() && OWN.contains(&&*path)) {
            continue;
        }
        let routing = routing.get_or_insert_with(|| Routing::of(routes));
        if routing.find(&path, &mut |_| true) != Some(Some(at)) {
            continue;
        }
        let written = site.routes.get(&*route.name);
        // One that is no address has been told of, and something else stands for it here.
        let is_read = |leaf: &Spanned<String>| *leaf.get_ref() == redirect.to.to_string();
        let leaf = written.and_then(actions::redirect_to);
        if let Some(leaf) = leaf.filter(is_read) {
            let title = format!("route `{}` redirects in a circle", route.name);
            let place = cx.within(&leaf);
            cx.push(
                Diagnostic::error(codes::NO_EFFECT, title)
                    .at(&place, format!("this route takes {path}, too")),
            );
        }
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
    let to = redirect.to.to_string();
    if !to.starts_with('/') || to.contains(['?', '{']) {
        return None;
    }
    let path = to.split('#').next().unwrap_or_default();
    if !redirect.keep_path {
        return Some(normal_path(path)).filter(|_| !path.contains("//"));
    }
    match &route.pattern {
        Pattern::Exact(own) | Pattern::Prefix(own) => {
            Some(normal_path(&format!("{}{own}", path.trim_end_matches('/'))))
        }
        Pattern::Glob(_) | Pattern::Regex(_) | Pattern::Template(_) => None,
    }
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
