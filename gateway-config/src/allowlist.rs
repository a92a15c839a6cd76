//! The table of routes that a front door carries. What is not in it does not exist.
//!
//! One row is one route: its name, method, path, tier, whether it may be repeated, its budget and
//! the query keys that travel, in the order in which they are sent. Nothing here is configurable;
//! [`front_door`](crate::front_door) turns the rows in force into ordinary routes.
//!
//! Source: adr/0011.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{Body, Name, Pattern, RefusedKey, Route};
use crate::template::{Template, TemplateError};

/// Which rows are in force; each tier holds those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// Reading and writing records.
    Data,
    /// Changing what tables there are; the default.
    Ddl,
    /// What an operator asks of the cluster.
    Ops,
}

/// One route of the table.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    tier: Tier,
    repeatable: bool,
    /// Seconds.
    budget: u64,
    query: &'static [&'static str],
}

/// Largest request body a front door takes; the nodes' own limit.
const BODY_BYTES: u64 = 8 * 1024 * 1024;
/// The budget that `--query-timeout` replaces, in seconds.
const QUERY_BUDGET: u64 = 60;
/// The query key that asks for one node's own history.
const FENCE: &str = "min_txn";
/// Why it is refused.
const FENCE_REFUSED: &str = "min_txn asks to read one node's own history, and this front door \
                             chooses the node itself: send such a read to the node directly";

const READ: bool = true;
const WRITE: bool = false;

const fn row(
    (name, tier): (&'static str, Tier),
    method: &'static str,
    path: &'static str,
    repeatable: bool,
    budget: u64,
    query: &'static [&'static str],
) -> Row {
    Row {
        name,
        method,
        path,
        tier,
        repeatable,
        budget,
        query,
    }
}

use Tier::{Data, Ddl, Ops};

/// Every route a front door can carry.
#[rustfmt::skip]
pub(crate) static ROWS: &[Row] = &[
    row(("schema", Data), "GET", "/schema", READ, 10, &[]),
    row(("records", Data), "GET", "/table/{t}/records", READ, 60, &["after", "limit", "database"]),
    row(("query", Data), "POST", "/table/{t}/query", READ, 60, &["after", "limit", "database"]),
    row(("sql", Data), "POST", "/sql", WRITE, 60, &["database"]),
    row(("import", Data), "POST", "/table/{t}/import", WRITE, 120, &["database"]),
    row(("delete", Data), "POST", "/table/{t}/delete", WRITE, 60, &["database"]),
    row(("field-create", Ddl), "POST", "/table/{t}/field/{f}", WRITE, 30, &["kind", "bit_depth", "scale", "database"]),
    row(("field-delete", Ddl), "DELETE", "/table/{t}/field/{f}", WRITE, 60, &["database"]),
    row(("table-create", Ddl), "POST", "/table/{t}", WRITE, 30, &["engine", "database"]),
    row(("table-delete", Ddl), "DELETE", "/table/{t}", WRITE, 60, &["database"]),
    row(("database-create", Ddl), "POST", "/database/{d}", WRITE, 30, &[]),
    row(("database-delete", Ddl), "DELETE", "/database/{d}", WRITE, 60, &["cascade"]),
    row(("verify", Ops), "GET", "/verify", READ, 120, &[]),
    row(("repair", Ops), "POST", "/repair", WRITE, 900, &[]),
    row(("backup", Ops), "POST", "/admin/backup", WRITE, 900, &["name"]),
    row(("topology", Ops), "GET", "/cluster/topology", READ, 10, &[]),
    row(("split", Ops), "POST", "/admin/cluster/split", WRITE, 60, &["at", "to"]),
    row(("merge", Ops), "POST", "/admin/cluster/merge", WRITE, 60, &["range"]),
    row(("node-add", Ops), "POST", "/admin/cluster/node", WRITE, 30, &["name", "addr"]),
    row(("node-remove", Ops), "DELETE", "/admin/cluster/node", WRITE, 30, &["name"]),
    row(("admit", Ops), "POST", "/admin/cluster/admit", WRITE, 30, &["name"]),
    row(("drain", Ops), "POST", "/admin/cluster/drain", WRITE, 30, &["name"]),
    row(("move", Ops), "POST", "/admin/cluster/move", WRITE, 900, &["range", "to"]),
    row(("rebalance", Ops), "POST", "/admin/cluster/rebalance", WRITE, 900, &["force"]),
    row(("cancel", Ops), "POST", "/admin/cluster/cancel", WRITE, 30, &["range"]),
    row(("schema-leader", Ops), "POST", "/admin/cluster/schema-leader", WRITE, 30, &["to"]),
];

/// The routes of a tier and of those below it, in no particular order.
///
/// # Errors
/// None that a test would not have found: every path of the table is a template.
pub(crate) fn routes(
    tier: Tier,
    query: Duration,
    pool: &Name,
) -> Result<Vec<Route>, TemplateError> {
    ROWS.iter()
        .filter(|row| row.tier <= tier)
        .map(|row| row.route(query, pool))
        .collect()
}

impl Row {
    fn route(&self, query: Duration, pool: &Name) -> Result<Route, TemplateError> {
        let usual = Duration::from_secs(self.budget);
        let is_query = self.tier == Tier::Data && self.budget == QUERY_BUDGET;
        let pattern = Pattern::Template(Template::parse(self.path)?);
        Ok(Route {
            methods: vec![self.method.into()],
            query: Some(self.query.iter().map(|key| Arc::from(*key)).collect()),
            refuse_query: self.refused_keys(),
            repeatable: self.repeatable,
            budget: if is_query { query } else { usual },
            body: Body::Buffer(BODY_BYTES),
            ..Route::new(self.name.into(), pattern, pool.clone())
        })
    }

    /// The fence is refused wherever the request may be a read: on what may be repeated, and on
    /// SQL, of which nobody here can tell what it is. Source: adr/0018.
    fn refused_keys(&self) -> Vec<RefusedKey> {
        let may_read = self.repeatable || self.path == "/sql";
        let fence = RefusedKey {
            key: FENCE.into(),
            because: FENCE_REFUSED.into(),
        };
        may_read.then_some(fence).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_a_ladder_of_6_12_and_26_routes() {
        let count = |tier| {
            routes(tier, Duration::from_secs(60), &"door".into())
                .unwrap()
                .len()
        };
        assert_eq!([count(Data), count(Ddl), count(Ops)], [6, 12, 26]);
    }

    #[test]
    fn the_query_timeout_is_the_budget_of_four_routes() {
        let all = routes(Ops, Duration::from_secs(7), &"door".into()).unwrap();
        let changed: Vec<&str> = all
            .iter()
            .filter(|route| route.budget == Duration::from_secs(7))
            .map(|route| &*route.name)
            .collect();
        assert_eq!(changed, ["records", "query", "sql", "delete"]);
    }

    #[test]
    fn a_fenced_read_is_refused_wherever_a_read_may_be() {
        let all = routes(Ops, Duration::from_secs(60), &"door".into()).unwrap();
        let fenced: Vec<&str> = all
            .iter()
            .filter(|route| !route.refuse_query.is_empty())
            .map(|route| &*route.name)
            .collect();
        assert_eq!(
            fenced,
            ["schema", "records", "query", "sql", "verify", "topology"]
        );
    }
}
