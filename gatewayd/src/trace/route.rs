//! Which route takes the request, and what happens there.

use gateway_config::model::{Action, Listener, Node, Pool, Route, Site};
use gateway_config::target::{Known, Matched, NoPath, Passed, Unrouted, WhyNot};
use gateway_config::without_logins;
use gateway_pingora::explain::{self, Retries};
use gateway_pingora::{NodeHealth, PoolView};

use super::asked::Asked;
use super::{Traced, bounds};
use crate::proto::config::{Candidate, ChangedFields, Considered, Taken, TraceResponse};

/// Most routes that are listed.
const ROUTES: usize = 1_000;
/// What stands for a value that is not to be written.
const HIDDEN: &str = "…";

impl Traced<'_> {
    /// Asks the routes of a site.
    pub(super) fn route(
        &self,
        asked: &Asked,
        (listener, site): (&Listener, &Site),
        told: &mut TraceResponse,
    ) {
        let known = Known {
            fields: &asked.fields,
            client: asked.client,
        };
        let way = site.explain(&asked.method, asked.target.as_bytes(), &known);
        let listed = way.passed.iter().take(ROUTES);
        told.routes = listed.map(passed).collect();
        told.routes_omitted = count(way.passed.len().saturating_sub(ROUTES));
        told.routes_not_tried = count(way.not_tried);
        match &way.path {
            Ok(path) => told.path = Some(path.clone()),
            Err(NoPath::Illegal) => told.note("the path holds what is no legal name"),
            Err(NoPath::Missing) => told.note("the target has no path"),
        }
        let name = match &way.taken {
            Ok(matched) => Some(&*matched.route.name),
            Err(Unrouted::RefusedQuery { route, .. }) => Some(*route),
            Err(Unrouted::NoFile | Unrouted::NoSuchRoute) => None,
        };
        told.routes.extend(name.map(|route| Considered {
            route: route.to_owned(),
            takes: true,
            why_not: String::new(),
        }));
        match way.taken {
            Ok(matched) => self.taken(asked, (listener, site), &matched, told),
            Err(unrouted) => {
                let refusal = explain::unrouted(&unrouted);
                told.ends(refusal.status, &refusal.sentence);
            }
        }
    }

    fn taken(
        &self,
        asked: &Asked,
        (listener, site): (&Listener, &Site),
        matched: &Matched<'_>,
        told: &mut TraceResponse,
    ) {
        let route = matched.route;
        let redact = &self.snapshot.model().logs.redact;
        let mut taken = Taken {
            route: route.name.to_string(),
            path_and_query: redacted(&matched.path_and_query, redact),
            pool: route.pool.to_string(),
            answer_fields: Some(fields(explain::answered(site, asked.is_https))),
            ..Taken::default()
        };
        match &route.action {
            Action::Answer(answer) => {
                "answer".clone_into(&mut taken.action);
                told.ends(answer.status, "the route says so");
            }
            Action::Files(files) => {
                "files".clone_into(&mut taken.action);
                told.outcome = format!("answered with a file below {}", files.root.display());
            }
            Action::Redirect(redirect) => {
                "redirect".clone_into(&mut taken.action);
                let location = matched.location().unwrap_or_default();
                let location = self::location(&location, redact);
                told.ends(redirect.status, &format!("it is sent on to {location}"));
            }
            Action::Pool => {
                "pool".clone_into(&mut taken.action);
                self.pooled(asked, (listener, site, route), &mut taken, told);
            }
        }
        told.taken = Some(taken);
    }

    /// A request that goes to a node.
    fn pooled(
        &self,
        asked: &Asked,
        (listener, site, route): (&Listener, &Site, &Route),
        taken: &mut Taken,
        told: &mut TraceResponse,
    ) {
        let mut pools = self.snapshot.model().pools.iter();
        let Some(pool) = pools.find(|one| one.name == route.pool) else {
            return;
        };
        taken.budgets = bounds::of(listener, site, route, pool);
        if let Some(refusal) = explain::too_long(route, &asked.fields) {
            return told.ends(refusal.status, &refusal.sentence);
        }
        let seen = self.running.as_ref().map(|running| {
            let mut all = running.pools.iter();
            all.find(|one| one.name == pool.name)
        });
        let nodes = pool.nodes.iter();
        taken.nodes = match seen {
            None => nodes.map(unasked).collect(),
            Some(seen) => nodes.map(|node| candidate(node, seen)).collect(),
        };
        taken.request_fields = Some(fields(explain::sent(site, route, pool, &asked.fields)));
        taken.retry = retry(explain::retries(route, pool, &asked.method));
        told.outcome = format!(
            "goes to pool `{}`{}",
            pool.name,
            standing(pool, seen.flatten())
        );
    }
}

fn passed(one: &Passed<'_>) -> Considered {
    let lacks = |what: &str, name: &str| format!("{what} `{name}` is absent or has another value");
    let why_not = match one.why {
        WhyNot::Client(_) => "the client is not from where it has to be".to_owned(),
        WhyNot::Cookie(asked) => lacks("cookie", &asked.name),
        WhyNot::Header(asked) => lacks("header field", &asked.name),
        WhyNot::Method => format!("takes {} only", one.route.methods.join(" ")),
        WhyNot::Path => "has other paths".to_owned(),
        WhyNot::Query(asked) => lacks("query key", &asked.name),
    };
    Considered {
        route: one.route.name.to_string(),
        takes: false,
        why_not,
    }
}

/// A node of a file: nobody knows how it is.
fn unasked(node: &Node) -> Candidate {
    Candidate {
        node: node.name.to_string(),
        address: node.addr.to_string(),
        may_take: None,
        state: "not known: not running".to_owned(),
        in_flight: None,
        weight: node.weight.into(),
        backup: node.backup,
    }
}

fn candidate(node: &Node, seen: Option<&PoolView>) -> Candidate {
    let mut all = seen.into_iter().flat_map(|pool| &pool.nodes);
    let Some(one) = all.find(|one| one.name == node.name && one.addr == node.addr) else {
        return unasked(node);
    };
    Candidate {
        may_take: Some(one.may_take),
        state: state(one),
        in_flight: Some(one.in_flight),
        ..unasked(node)
    }
}

fn state(one: &NodeHealth) -> String {
    let why = one.why.as_ref();
    match (one.drained, one.enabled) {
        (true, _) => "drained".to_owned(),
        (false, true) if one.may_take => "in rotation".to_owned(),
        (false, true) => format!("full: {} in flight, at most {}", one.in_flight, one.ceiling),
        (false, false) => why.map_or_else(
            || "out of rotation: not probed yet".to_owned(),
            |why| format!("out of rotation: {why}"),
        ),
    }
}

/// What becomes of a request that comes now.
fn standing(pool: &Pool, seen: Option<&PoolView>) -> String {
    let Some(seen) = seen else {
        return String::new();
    };
    let may = seen.nodes.iter().filter(|one| one.may_take).count();
    let is_in = seen.nodes.iter().any(|one| one.enabled);
    match (may, is_in) {
        (0, false) => ", none of whose nodes is in rotation now".to_owned(),
        (0, true) => ", whose nodes are full: it waits for a slot".to_owned(),
        (may, _) => format!(": {may} of {} nodes may take it", pool.nodes.len()),
    }
}

fn retry(rule: Retries) -> String {
    let when: Vec<&str> = [
        (rule.unsent, "nothing was sent"),
        (rule.unanswered, "no answer came"),
        (rule.busy, "it is busy and says when to come back"),
    ]
    .iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, when)| *when)
    .collect();
    match when.as_slice() {
        [] => "never on another node".to_owned(),
        when => format!(
            "on another node, {} times at most, where {}",
            rule.more,
            when.join(", or ")
        ),
    }
}

fn fields(fields: explain::Fields) -> ChangedFields {
    let explain::Fields { set, removed } = fields;
    ChangedFields { set, removed }
}

/// Where a client is sent, without what is shown to nobody.
pub(super) fn location(to: &str, keys: &[std::sync::Arc<str>]) -> String {
    without_logins(&redacted(to, keys)).into_owned()
}

/// A target without the values of query keys that are never written.
fn redacted(target: &str, keys: &[std::sync::Arc<str>]) -> String {
    let Some((path, query)) = target.split_once('?').filter(|_| !keys.is_empty()) else {
        return target.to_owned();
    };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, _)) if explain::is_redacted(key.as_bytes(), keys) => format!("{key}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    let pairs: Vec<String> = query.split('&').map(pair).collect();
    format!("{path}?{}", pairs.join("&"))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
