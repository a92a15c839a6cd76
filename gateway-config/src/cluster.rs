//! Reads the cluster's own file: the name and address of every node, and what is odd about it.
//!
//! The file belongs to the cluster, so unknown settings are passed over, and what the cluster's
//! nodes would refuse is a warning here: a list may name machines that do not exist yet. A node
//! without a name or address, a name given twice and a list without nodes are refused, because no
//! pool could be made of them; the first here, the second by whoever makes the pool.
//!
//! Source: adr/0011.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::document::{self, Tree};
use crate::layout::MAX_PIECES;
use crate::names;
use crate::secrets;
use crate::source::{Place, Placed, SourceId, Sources};

/// A node as the cluster's file has it.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    pub(crate) name: Placed<String>,
    pub(crate) addr: Placed<String>,
    pub(crate) shards: Option<String>,
    pub(crate) replica: Option<String>,
}

/// The nodes of a cluster's file; nothing when it is refused, with the reason in the findings.
pub(crate) fn read(
    path: &Placed<PathBuf>,
    sources: &mut Sources,
    findings: &mut Findings,
) -> Option<Vec<ClusterNode>> {
    let id = match sources.open(&path.value) {
        Ok(id) => id,
        Err(why) => {
            let title = format!("the cluster file {} cannot be read", path.value.display());
            findings.push(
                Diagnostic::error(codes::UNREADABLE_SOURCE, title).at(&path.place, why.to_string()),
            );
            return None;
        }
    };
    let text = sources.written(id).to_owned();
    let Tree(root, _) = document::tree((id, &text), MAX_PIECES, sources, findings)?;
    secrets::hide_in_tree(sources, id, &text);
    let mut reader = Reader {
        sources,
        id,
        findings,
    };
    let nodes = reader.nodes(&root)?;
    if nodes
        .iter()
        .any(|listed| listed.name.is_none() || listed.addr.is_none())
    {
        return None;
    }
    reader.judge(&root, &nodes);
    nodes
        .into_iter()
        .map(|listed| {
            Some(ClusterNode {
                name: listed.name?,
                addr: listed.addr?,
                shards: listed.shards.map(|placed| placed.value),
                replica: listed.replica.map(|placed| placed.value),
            })
        })
        .collect()
}

/// A node as far as it could be read.
struct Listed {
    place: Place,
    name: Option<Placed<String>>,
    addr: Option<Placed<String>>,
    shards: Option<Placed<String>>,
    replica: Option<Placed<String>>,
}

impl Listed {
    fn shown(&self) -> &str {
        self.name.as_ref().map_or("?", |name| &name.value)
    }
}

struct Reader<'a> {
    sources: &'a Sources,
    id: SourceId,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    /// The entries of `[[node]]`; nothing when there are none.
    fn nodes(&mut self, root: &DeTable<'_>) -> Option<Vec<Listed>> {
        let listed = root.get("node");
        let tables: Vec<_> = listed
            .and_then(|value| value.get_ref().as_array())
            .into_iter()
            .flatten()
            .collect();
        if tables.is_empty() {
            let place = match listed {
                Some(value) => self.place(value),
                None => self.sources.place(self.id, 0..0),
            };
            self.findings.push(
                Diagnostic::error(codes::NO_NODE, "the cluster file lists no node")
                    .at(&place, "no `[[node]]` here")
                    .help("each node is a [[node]] with name and addr"),
            );
            return None;
        }
        Some(tables.into_iter().map(|one| self.node(one)).collect())
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>) -> Listed {
        let empty = DeTable::new();
        let table = value.get_ref().as_table().unwrap_or(&empty);
        let text = |key: &str| {
            let found = table.get(key)?;
            Some(Placed::new(
                found.get_ref().as_str()?.to_owned(),
                self.place(found),
            ))
        };
        let listed = Listed {
            place: self.place(value),
            name: text("name").filter(|name| !name.value.is_empty()),
            addr: text("addr").filter(|addr| !addr.value.is_empty()),
            shards: text("shards"),
            replica: text("replica"),
        };
        for (key, known) in [("name", &listed.name), ("addr", &listed.addr)] {
            if known.is_none() {
                let place = table
                    .get(key)
                    .map_or(listed.place.clone(), |value| self.place(value));
                let title = format!("a node of the cluster has no `{key}`");
                self.findings.push(
                    Diagnostic::error(codes::MISSING_SETTING, title).at(&place, "a text is needed"),
                );
            }
        }
        listed
    }

    /// What the cluster's own nodes would refuse.
    fn judge(&mut self, root: &DeTable<'_>, nodes: &[Listed]) {
        self.schema_leader(root, nodes);
        for node in nodes {
            self.role(node, nodes);
        }
        let mut ranges = Vec::new();
        for shards in nodes.iter().filter_map(|node| node.shards.as_ref()) {
            match parse_shards(&shards.value) {
                Some((start, end)) => ranges.push(Range {
                    start,
                    end,
                    place: &shards.place,
                }),
                None => {
                    let title = format!("`{}` is no range of shards", shards.value.escape_debug());
                    self.warn(
                        codes::BAD_SHARDS,
                        title,
                        &shards.place,
                        "like \"0..64\" or \"64..\"",
                    );
                    return;
                }
            }
        }
        self.coverage(ranges);
    }

    fn schema_leader(&mut self, root: &DeTable<'_>, nodes: &[Listed]) {
        let Some(value) = root.get("schema_leader") else {
            let place = self.sources.place(self.id, 0..0);
            let title = "the cluster file names no `schema_leader`".to_owned();
            self.warn(codes::SCHEMA_LEADER, title, &place, "in this file");
            return;
        };
        let leader = value.get_ref().as_str().unwrap_or("");
        if !nodes.iter().any(|node| node.shown() == leader) {
            let mut found = Diagnostic::warning(
                codes::SCHEMA_LEADER,
                format!(
                    "`schema_leader` names `{}`, which is no node of this file",
                    leader.escape_debug()
                ),
            )
            .at(&self.place(value), "no such node");
            found.cure(names::help(leader, nodes.iter().map(Listed::shown)));
            self.findings.push(found);
        }
    }

    fn role(&mut self, node: &Listed, nodes: &[Listed]) {
        let replica = match (&node.shards, &node.replica) {
            (Some(_), None) => return,
            (None, Some(replica)) => replica,
            (both, _) => {
                let what = if both.is_some() { "both" } else { "neither" };
                let title = format!("node `{}` has {what} of shards and replica", node.shown());
                self.warn(
                    codes::SHARDS_OR_REPLICA,
                    title,
                    &node.place,
                    "one of the two is needed",
                );
                return;
            }
        };
        match nodes.iter().find(|other| other.shown() == replica.value) {
            None => {
                let title = format!(
                    "node `{}` is a replica of `{}`, which is no node of this file",
                    node.shown(),
                    replica.value.escape_debug()
                );
                self.warn(codes::BAD_REPLICA, title, &replica.place, "no such node");
            }
            Some(original) if original.replica.is_some() => {
                let title = format!("node `{}` is a replica of a replica", node.shown());
                self.warn(
                    codes::BAD_REPLICA,
                    title,
                    &replica.place,
                    "itself a replica",
                );
            }
            Some(_) => {}
        }
        if nodes.len() < 3 {
            let title = format!(
                "node `{}` is a replica among {} nodes, and that takes three",
                node.shown(),
                nodes.len()
            );
            self.warn(
                codes::FEW_FOR_REPLICA,
                title,
                &replica.place,
                "could never take over",
            );
        }
    }

    fn coverage(&mut self, mut ranges: Vec<Range<'_>>) {
        ranges.sort_by_key(|range| (range.start, range.end.unwrap_or(u64::MAX)));
        let Some(first) = ranges.first() else { return };
        if first.start > 0 {
            let title = format!("a gap: no node starts with shards 0..{}", first.start);
            self.warn(
                codes::SHARD_GAP,
                title,
                first.place,
                "the first range begins here",
            );
        }
        let mut before: Option<&Range<'_>> = None;
        for range in &ranges {
            if let Some(before) = before {
                self.seam(before, range);
            }
            let reach = |one: &Range<'_>| one.end.unwrap_or(u64::MAX);
            before = before
                .filter(|one| reach(one) > reach(range))
                .or(Some(range));
        }
        if let Some(last) = before
            && let Some(end) = last.end
        {
            let title = format!("a gap: no node starts with shards {end}..");
            self.warn(
                codes::SHARD_GAP,
                title,
                last.place,
                "the last range has to be open",
            );
        }
    }

    fn seam(&mut self, before: &Range<'_>, range: &Range<'_>) {
        let end = before.end.unwrap_or(u64::MAX);
        if range.start > end {
            let title = format!("a gap: no node starts with shards {end}..{}", range.start);
            self.warn(
                codes::SHARD_GAP,
                title,
                range.place,
                "begins behind the gap",
            );
        }
        if range.start < end {
            let title = format!(
                "an overlap: two nodes start with shards from {}",
                range.start
            );
            self.findings.push(
                Diagnostic::warning(codes::SHARD_OVERLAP, title)
                    .at(range.place, "this range …")
                    .at(before.place, "… and this one"),
            );
        }
    }

    fn warn(&mut self, code: codes::Code, title: String, place: &Place, label: &str) {
        self.findings
            .push(Diagnostic::warning(code, title).at(place, label));
    }

    fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.place(self.id, value.span())
    }
}

/// A range of shards; without an end it goes on for ever.
struct Range<'a> {
    start: u64,
    end: Option<u64>,
    place: &'a Place,
}

fn parse_shards(text: &str) -> Option<(u64, Option<u64>)> {
    let (start, end) = text.split_once("..")?;
    let start = start.trim().parse().ok()?;
    match end.trim() {
        "" => Some((start, None)),
        end => end
            .parse()
            .ok()
            .filter(|end| *end > start)
            .map(|end| (start, Some(end))),
    }
}
