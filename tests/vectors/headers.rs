//! `headers/`: what crosses the door, in each direction.

use std::collections::BTreeMap;

use gateway_tests::client::Answer;
use gateway_tests::gateway::Door;
use gateway_tests::message::{Head, Request};
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::vector::{self, Vector, filled, same};
use serde::Deserialize;

type Wanted = BTreeMap<String, Vec<String>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crossing {
    #[serde(default)]
    trust: bool,
    #[serde(default)]
    request: Vec<String>,
    reply: Option<Said>,
    status: Option<Vec<u16>>,
    #[serde(default)]
    node_gets: Wanted,
    #[serde(default)]
    node_gets_if_served: Wanted,
    node_names: Option<Vec<String>>,
    #[serde(default)]
    joined: BTreeMap<String, String>,
    #[serde(default)]
    client_gets: Wanted,
    client_names: Option<Vec<String>>,
    dates: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    status: u16,
    fields: Vec<(String, String)>,
}

#[test]
fn only_what_the_table_names_crosses_in_either_direction() {
    let cluster = Cluster::of(&["a"]);
    let plain = Door::before(&cluster).opens();
    let trusting = Door::before(&cluster)
        .switch("--trust-forwarded-for")
        .opens();

    vector::each("headers", |vector: &Vector<Crossing>| {
        let crossing = &vector.content;
        cluster.forgets();
        if let Some(said) = &crossing.reply {
            let reply = |reply: Reply, (name, value): &(String, String)| reply.field(name, value);
            let reply = said.fields.iter().fold(Reply::new(said.status), reply);
            cluster.next([Way::Says(reply)]);
        }
        let door = if crossing.trust { &trusting } else { &plain };
        let answer = door.ask(&crossing.request());
        let wanted = crossing.reply.as_ref().map_or(200, |said| said.status);
        let statuses = crossing.status.clone().unwrap_or_else(|| vec![wanted]);
        if !statuses.contains(&answer.status) {
            return Err(format!("status {}: {}", answer.status, answer.text()));
        }
        to_node(&cluster, crossing)?;
        to_client(&answer, crossing)
    });
}

impl Crossing {
    fn request(&self) -> Request {
        let add = |request: Request, line: &String| {
            let (name, value) = line.split_once(": ").expect("a header line");
            request.field(name, value)
        };
        self.request.iter().fold(Request::get("/schema"), add)
    }
}

fn to_node(cluster: &Cluster, crossing: &Crossing) -> Result<(), String> {
    let seen = cluster["a"].seen();
    let Some(seen) = seen.first() else {
        let may_be_refused = crossing.status.is_some();
        return if may_be_refused {
            Ok(())
        } else {
            Err("nothing reached the node".to_owned())
        };
    };
    let node = cluster["a"].addr().to_string();
    values(&seen.head, &crossing.node_gets, &node)?;
    values(&seen.head, &crossing.node_gets_if_served, &node)?;
    for (name, wanted) in &crossing.joined {
        same(name, seen.head.all(name).join(", "), wanted.clone())?;
    }
    match &crossing.node_names {
        Some(names) => same("names at the node", sorted(&seen.head), names.clone()),
        None => Ok(()),
    }
}

fn to_client(answer: &Answer, crossing: &Crossing) -> Result<(), String> {
    values(&answer.head, &crossing.client_gets, "")?;
    if let Some(dates) = crossing.dates {
        same("dates", answer.head.all("date").len(), dates)?;
    }
    same("request ids", answer.head.all("x-request-id").len(), 1)?;
    match &crossing.client_names {
        Some(names) => same("names at the client", sorted(&answer.head), names.clone()),
        None => Ok(()),
    }
}

fn values(head: &Head, wanted: &Wanted, node: &str) -> Result<(), String> {
    for (name, values) in wanted {
        let values: Vec<String> = values
            .iter()
            .map(|value| filled(value, &[("node", node.to_owned())]))
            .collect();
        let found: Vec<String> = head.all(name).into_iter().map(str::to_owned).collect();
        same(name, found, values)?;
    }
    Ok(())
}

fn sorted(head: &Head) -> Vec<String> {
    let mut names = head.names();
    names.retain(|name| name != "connection");
    names.sort();
    names
}
