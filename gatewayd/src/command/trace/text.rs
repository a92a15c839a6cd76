//! The way of a request in lines, as a reader goes along it.

use std::fmt::Write;

use crate::proto::config::trace_response::FoundBy;
use crate::proto::config::{
    Candidate, ChangedFields, Connection, Considered, Taken, TraceResponse,
};

/// Where the second column begins.
const COLUMN: usize = 12;

/// Everything that was told.
pub(super) fn drawn(told: &TraceResponse) -> String {
    let mut text = String::new();
    let connection = told.connection.as_ref();
    let comes = connection.map(connected).unwrap_or_default();
    line(&mut text, "listener", &format!("{}{comes}", told.listener));
    line(&mut text, "authority", &told.authority);
    if !told.site.is_empty() {
        line(&mut text, "site", &format!("{}, {}", told.site, by(told)));
    }
    if let Some(moved) = &told.moved {
        let why = moved.why.join(", ");
        line(
            &mut text,
            "redirect",
            &format!("{} to {} ({why})", moved.status, moved.location),
        );
    }
    if let Some(path) = &told.path {
        line(&mut text, "path", path);
    }
    routes(&mut text, told);
    if let Some(taken) = &told.taken {
        of_route(&mut text, taken);
    }
    line(&mut text, "outcome", &told.outcome);
    lines(&mut text, "note", told.notes.iter().cloned());
    text
}

fn connected(one: &Connection) -> String {
    let how = match (one.tls, one.tls_profile.as_str()) {
        (false, _) => "clear text".to_owned(),
        (true, "") => "TLS".to_owned(),
        (true, profile) => format!("TLS with profile {profile}"),
    };
    let proxy = match one.proxy_header_from.as_slice() {
        [] => String::new(),
        from => format!(", a PROXY header from {}", from.join(" ")),
    };
    let (addresses, spoken) = (one.addresses.join(" "), one.protocols.join(" "));
    format!(" at {addresses}, {how}, {spoken}{proxy}")
}

fn by(told: &TraceResponse) -> &'static str {
    match told.site_found_by() {
        FoundBy::Default => "which takes the names that nobody has",
        FoundBy::Exact => "which has this name",
        FoundBy::Wildcard => "which has a wildcard for this name",
        FoundBy::Unspecified => "found by something that this version does not know",
    }
}

fn routes(text: &mut String, told: &TraceResponse) {
    let wide = told
        .routes
        .iter()
        .map(|one| one.route.chars().count())
        .max();
    let wide = wide.unwrap_or_default();
    let route = |one: &Considered| match one.takes {
        true => format!("{:wide$}  takes it", one.route),
        false => format!("{:wide$}  {}", one.route, one.why_not),
    };
    let counted = [
        (told.routes_omitted, "more that do not take it"),
        (told.routes_not_tried, "more that are not tried"),
    ];
    let counted = counted.iter().filter(|(number, _)| *number > 0);
    let counted = counted.map(|(number, what)| format!("{number} {what}"));
    lines(text, "routes", told.routes.iter().map(route).chain(counted));
}

fn of_route(text: &mut String, taken: &Taken) {
    if taken.action == "pool" {
        line(text, "node sees", &taken.path_and_query);
    }
    fields(text, "to node", taken.request_fields.as_ref());
    fields(text, "to client", taken.answer_fields.as_ref());
    if !taken.pool.is_empty() {
        line(text, "pool", &taken.pool);
    }
    lines(text, "nodes", taken.nodes.iter().map(node));
    if !taken.retry.is_empty() {
        line(text, "tried again", &taken.retry);
    }
    let bounds = taken.budgets.iter();
    lines(
        text,
        "bounds",
        bounds.map(|one| format!("{}: {}", one.what, one.value)),
    );
}

fn fields(text: &mut String, what: &str, changed: Option<&ChangedFields>) {
    let all = changed
        .into_iter()
        .flat_map(|changed| [("set", &changed.set), ("removed", &changed.removed)]);
    let all = all.filter(|(_, names)| !names.is_empty());
    lines(
        text,
        what,
        all.map(|(how, names)| format!("{how}: {}", names.join(" "))),
    );
}

fn node(one: &Candidate) -> String {
    let may = match one.may_take {
        Some(true) => "may take it: ",
        Some(false) => "may not: ",
        None => "",
    };
    let busy = one.in_flight.map(|number| format!(", {number} in flight"));
    let backup = if one.backup { ", backup" } else { "" };
    let weight = Some(one.weight).filter(|weight| *weight != 1);
    let weight = weight.map(|weight| format!(", weight {weight}"));
    format!(
        "{} at {}: {may}{}{}{}{backup}",
        one.node,
        one.address,
        one.state,
        busy.unwrap_or_default(),
        weight.unwrap_or_default()
    )
}

fn lines(text: &mut String, what: &str, all: impl Iterator<Item = String>) {
    for (at, one) in all.enumerate() {
        line(text, if at == 0 { what } else { "" }, &one);
    }
}

fn line(text: &mut String, what: &str, value: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{what:COLUMN$} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_reads_downward() {
        let considered = |route: &str, why_not: &str| Considered {
            route: route.to_owned(),
            takes: why_not.is_empty(),
            why_not: why_not.to_owned(),
        };
        let node = Candidate {
            node: "a".to_owned(),
            address: "127.0.0.1:81".to_owned(),
            may_take: Some(false),
            state: "drained".to_owned(),
            in_flight: Some(2),
            weight: 1,
            backup: true,
        };
        let taken = Taken {
            action: "pool".to_owned(),
            path_and_query: "/a".to_owned(),
            pool: "p".to_owned(),
            nodes: vec![node],
            request_fields: Some(ChangedFields {
                set: vec!["host".to_owned(), "via".to_owned()],
                removed: Vec::new(),
            }),
            ..Taken::default()
        };
        let mut told = TraceResponse {
            listener: "web".to_owned(),
            authority: "shop.example".to_owned(),
            site: "shop".to_owned(),
            routes: vec![considered("other", "has other paths"), considered("a", "")],
            routes_not_tried: 3,
            taken: Some(taken),
            outcome: "goes to pool `p`".to_owned(),
            connection: Some(Connection {
                addresses: vec!["127.0.0.1:80".to_owned()],
                protocols: vec!["http/1".to_owned()],
                ..Connection::default()
            }),
            ..TraceResponse::default()
        };
        told.set_site_found_by(FoundBy::Exact);
        assert_eq!(
            drawn(&told),
            "listener     web at 127.0.0.1:80, clear text, http/1\n\
             authority    shop.example\n\
             site         shop, which has this name\n\
             routes       other  has other paths\n\
             \x20            a      takes it\n\
             \x20            3 more that are not tried\n\
             node sees    /a\n\
             to node      set: host via\n\
             pool         p\n\
             nodes        a at 127.0.0.1:81: may not: drained, 2 in flight, backup\n\
             outcome      goes to pool `p`\n"
        );
    }
}
