//! `routes/`: the allowlist, in each tier, with its query keys and what may be repeated.

use gateway_tests::gateway::{Door, duration};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::vector::{self, Vector, same};
use serde::Deserialize;

use crate::matching::shape;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    method: String,
    path: String,
    tier: Tier,
    repeatable: bool,
    budget: String,
    keys: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tier {
    Data,
    Ddl,
    Ops,
}

impl Route {
    fn request(&self, target: &str) -> Request {
        let body = if self.method == "POST" { "{}" } else { "" };
        Request::new(&self.method, target).body(body)
    }

    /// All keys in reverse, one of them twice, strangers between them.
    fn asked(&self) -> String {
        let mut pairs = vec!["stranger=1".to_owned()];
        pairs.extend(self.keys.iter().rev().map(|key| format!("{key}=v-{key}")));
        pairs.extend(self.keys.first().map(|key| format!("{key}=second")));
        pairs.push("x-big-wire=7".to_owned());
        format!("{}?{}", self.path, pairs.join("&"))
    }

    /// The keys in the table's order, each once.
    fn carried(&self) -> String {
        let pairs: Vec<_> = self
            .keys
            .iter()
            .map(|key| format!("{key}=v-{key}"))
            .collect();
        match pairs.is_empty() {
            true => self.path.clone(),
            false => format!("{}?{}", self.path, pairs.join("&")),
        }
    }
}

#[test]
fn the_data_tier_carries_its_rows_and_no_other() {
    carries(Tier::Data, Some("--no-ddl"));
}

#[test]
fn the_ddl_tier_is_what_is_in_force_without_a_flag() {
    carries(Tier::Ddl, None);
}

#[test]
fn the_ops_tier_carries_all_26_rows() {
    assert_eq!(vector::of::<Route>("routes").len(), 26);
    carries(Tier::Ops, Some("--allow-ops"));
}

fn carries(tier: Tier, switch: Option<&str>) {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster);
    let door = match switch {
        Some(switch) => plan.switch(switch).opens(),
        None => plan.opens(),
    };

    vector::each("routes", |vector: &Vector<Route>| {
        let route = &vector.content;
        cluster.forgets();
        let answer = door.ask(&route.request(&route.asked()));
        let seen = cluster["a"].seen();
        let asked: Vec<_> = seen
            .iter()
            .map(|s| (s.method.as_str(), s.target.as_str()))
            .collect();
        if route.tier <= tier {
            same("status", answer.status, 200)?;
            same(
                "at the node",
                asked,
                vec![(route.method.as_str(), route.carried().as_str())],
            )
        } else {
            same("at the node", asked, Vec::new())?;
            let unknown = door.ask(&route.request("/no/such/route"));
            same("answer", shape(&answer), shape(&unknown))
        }
    });
}

#[test]
fn a_row_is_repeated_on_another_node_if_the_table_says_so_and_only_then() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .switch("--allow-ops")
        .set("--health-fail", "255")
        .opens();

    vector::each("routes", |vector: &Vector<Route>| {
        let route = &vector.content;
        cluster.forgets();
        cluster.next([Way::ClosesWithoutAnswer]);
        let answer = door.ask(&route.request(&route.path));
        let outcome = answer.field("x-gateway-outcome").map(str::to_owned);
        let (status, tries, said) = match route.repeatable {
            true => (200, 2, None),
            false => (502, 1, Some("unknown".to_owned())),
        };
        same("status", answer.status, status)?;
        same("tries", cluster.requests(), tries)?;
        same("outcome", outcome, said)
    });
}

#[test]
fn every_budget_of_the_table_stands_in_the_printed_configuration() {
    let cluster = Cluster::of(&["a"]);
    let printed = Door::before(&cluster).switch("--allow-ops").effective();

    vector::each("routes", |vector: &Vector<Route>| {
        let route = &vector.content;
        let found = printed.budgets(&route.method, &generic(&route.path));
        let wanted = duration(&route.budget).expect("a duration");
        same("budgets", found, vec![wanted])
    });
}

/// The path with the captured names left open.
fn generic(path: &str) -> String {
    let open = [("visits", "{t}"), ("age", "{f}"), ("shop", "{d}")];
    open.iter().fold(path.to_owned(), |path, (name, open)| {
        path.replace(name, open)
    })
}

#[test]
fn the_query_timeout_sets_the_four_data_routes_of_60_seconds_and_no_other() {
    let cluster = Cluster::of(&["a"]);
    let plan = Door::before(&cluster)
        .switch("--allow-ops")
        .set("--query-timeout", "33s");
    let printed = plan.effective();

    vector::each("routes", |vector: &Vector<Route>| {
        let route = &vector.content;
        let is_set = route.tier == Tier::Data && route.budget == "60s";
        let wanted = duration(if is_set { "33s" } else { &route.budget }).expect("a duration");
        let found = printed.budgets(&route.method, &generic(&route.path));
        same("budgets", found, vec![wanted])
    });
}
