//! Finds `busy` in `retry.on` where no request may be sent again: a node that is busy has had the
//! request.

use toml::Spanned;

use super::{Context, Parts};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Action, Pool, Route};
use crate::raw;

/// Warns of it at routes, and at pools all of whose routes are such.
pub(super) fn check(cx: &mut Context<'_>, file: &raw::File, parts: &Parts) {
    for site in &parts.sites {
        let Some(raw) = file.sites.get(&*site.name) else {
            continue;
        };
        for route in &site.routes {
            let retry = raw
                .routes
                .get(&*route.name)
                .and_then(|one| one.retry.as_ref());
            let busy = retry.and_then(|leaf| busy(&leaf.get_ref().on));
            let on = route.retry.on.unwrap_or_default();
            let is_sent = matches!(route.action, Action::Pool);
            if let Some(busy) = busy.filter(|_| is_sent && !route.repeatable && !on.repeatable) {
                warn(cx, busy, "no request of this route may be sent again");
            }
        }
    }
    for pool in &parts.pools {
        let raw = file.pools.get(&*pool.name);
        if let Some(busy) = raw.and_then(|raw| busy(&raw.retry.on))
            && !pool.retry_on.repeatable
            && none_is_repeatable(pool, parts)
        {
            warn(cx, busy, "no route of this pool is `repeatable`");
        }
    }
}

/// Whether some routes leave it to the pool what is tried again, and none of them is repeatable.
fn none_is_repeatable(pool: &Pool, parts: &Parts) -> bool {
    let leaves_it = |route: &&Route| {
        let is_sent = matches!(route.action, Action::Pool) && route.pool == pool.name;
        is_sent && route.retry.on.is_none()
    };
    let all = parts.sites.iter().flat_map(|site| &site.routes);
    let mut all = all.filter(leaves_it).peekable();
    all.peek().is_some() && !all.any(|route| route.repeatable)
}

fn busy(on: &raw::List) -> Option<&Spanned<String>> {
    let mut words = on.iter().flat_map(|list| list.get_ref());
    words.find(|word| word.get_ref() == "busy")
}

fn warn(cx: &mut Context<'_>, busy: &Spanned<String>, label: &str) {
    let place = cx.place(busy);
    cx.push(
        Diagnostic::warning(codes::NO_EFFECT, "`busy` has no effect here")
            .at(&place, label)
            .help("add \"repeatable\" for safe methods, or set `repeatable = true` at routes"),
    );
}
