//! The small database that the nodes of one stand-in cluster share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::record::lock;
use super::way::Way;

/// Tables, fields, records and databases; a write through one node is read through another.
#[derive(Debug, Default)]
pub struct Store {
    world: Mutex<World>,
    plot: Mutex<VecDeque<Way>>,
}

#[derive(Debug, Default)]
struct World {
    tables: BTreeMap<String, Table>,
    databases: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Table {
    fields: BTreeMap<String, String>,
    records: BTreeSet<String>,
}

/// A request as the store looks at it.
#[derive(Debug)]
pub(super) struct Question<'request> {
    pub(super) node: &'request str,
    pub(super) method: &'request str,
    pub(super) segments: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: &'request [u8],
}

impl<'request> Question<'request> {
    /// Takes a target apart.
    pub(super) fn new(
        node: &'request str,
        method: &'request str,
        target: &str,
        body: &'request [u8],
    ) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), decoded(value))
        };
        Self {
            node,
            method,
            segments: path
                .split('/')
                .filter(|s| !s.is_empty())
                .map(decoded)
                .collect(),
            query: query
                .split('&')
                .filter(|p| !p.is_empty())
                .map(pair)
                .collect(),
            body,
        }
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|pair| pair.0 == key)
            .map(|pair| pair.1.as_str())
    }
}

impl Store {
    /// What the next requests are to meet, whichever node they come to.
    pub(super) fn plot(&self, ways: impl IntoIterator<Item = Way>) {
        lock(&self.plot).extend(ways);
    }

    pub(super) fn next_way(&self) -> Option<Way> {
        lock(&self.plot).pop_front()
    }

    /// Does what a public route asks for and says so; anything else is 404.
    pub(super) fn answer(&self, question: &Question<'_>) -> (u16, Value) {
        let path: Vec<&str> = question.segments.iter().map(String::as_str).collect();
        let mut world = lock(&self.world);
        match (question.method, path.as_slice()) {
            ("GET", ["schema"]) => (200, world.schema()),
            ("GET", ["table", name, "records"]) => (200, world.page(name, question)),
            ("POST", ["table", name, "query"]) => (200, world.count(name)),
            ("POST", ["sql"]) => (200, sql(question)),
            ("POST", ["table", name, "import"]) => (200, world.import(name, question.body)),
            ("POST", ["table", name, "delete"]) => (200, world.delete(name, question.body)),
            ("POST", ["table", name, "field", field]) => {
                let kind = question.value("kind").unwrap_or("set").to_owned();
                world.table(name).fields.insert((*field).to_owned(), kind);
                (200, json!({"field": field}))
            }
            ("DELETE", ["table", name, "field", field]) => {
                let was = world.table(name).fields.remove(*field).is_some();
                (200, json!({"dropped": was}))
            }
            ("POST", ["table", name]) => {
                world.table(name);
                (200, json!({"table": name}))
            }
            ("DELETE", ["table", name]) => (
                200,
                json!({"dropped": world.tables.remove(*name).is_some()}),
            ),
            ("POST", ["database", name]) => (
                200,
                json!({"created": world.databases.insert((*name).to_owned())}),
            ),
            ("DELETE", ["database", name]) => {
                (200, json!({"dropped": world.databases.remove(*name)}))
            }
            (method, path) => operations(method, path, question),
        }
    }
}

impl World {
    fn table(&mut self, name: &str) -> &mut Table {
        self.tables.entry(name.to_owned()).or_default()
    }

    fn schema(&self) -> Value {
        let table = |(name, table): (&String, &Table)| json!({"name": name, "fields": table.fields, "records": table.records.len()});
        json!({
            "tables": self.tables.iter().map(table).collect::<Vec<_>>(),
            "databases": self.databases,
        })
    }

    fn page(&mut self, name: &str, question: &Question<'_>) -> Value {
        let after = question.value("after").unwrap_or_default().to_owned();
        let limit = question
            .value("limit")
            .and_then(|l| l.parse().ok())
            .unwrap_or(1000);
        let is_later = |record: &&String| after.is_empty() || **record > after;
        let records = &self.table(name).records;
        let page: Vec<&String> = records.iter().filter(is_later).take(limit).collect();
        json!({"records": page})
    }

    fn count(&mut self, name: &str) -> Value {
        json!({"count": self.table(name).records.len()})
    }

    fn import(&mut self, name: &str, body: &[u8]) -> Value {
        let lines = lines(body);
        let imported = lines.len();
        self.table(name).records.extend(lines);
        json!({"imported": imported})
    }

    fn delete(&mut self, name: &str, body: &[u8]) -> Value {
        let records = &mut self.table(name).records;
        let deleted = lines(body)
            .iter()
            .filter(|line| records.remove(*line))
            .count();
        json!({"deleted": deleted})
    }
}

fn sql(question: &Question<'_>) -> Value {
    json!({"node": question.node, "echo": String::from_utf8_lossy(question.body)})
}

fn operations(method: &str, path: &[&str], question: &Question<'_>) -> (u16, Value) {
    let known = match (method, path) {
        ("GET", ["verify"]) | ("POST", ["repair"]) => true,
        ("GET", ["cluster", "topology"]) | ("POST", ["admin", "backup"]) => true,
        ("DELETE", ["admin", "cluster", "node"]) => true,
        ("POST", ["admin", "cluster", what]) => [
            "split",
            "merge",
            "node",
            "admit",
            "drain",
            "move",
            "rebalance",
            "cancel",
            "schema-leader",
        ]
        .contains(what),
        _ => false,
    };
    match known {
        true => (200, json!({"node": question.node, "done": path.join("/")})),
        false => (
            404,
            json!({"error": "no such route at the node", "code": "node_no_such_route"}),
        ),
    }
}

fn lines(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `%XX` undone; everything else as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (first, _) => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
