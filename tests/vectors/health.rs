//! `health/`: what a probe may find, and the first verdict it leads to.

use std::sync::Arc;
use std::time::Duration;

use gateway_tests::gateway::Door;
use gateway_tests::node::{Cluster, Greeting, Node, Ready};
use gateway_tests::vector::{self, Vector, filled, same};
use gateway_tests::wait;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Observation {
    #[serde(default)]
    body: String,
    padding: Option<usize>,
    brackets: Option<usize>,
    status: Option<u16>,
    node: Option<Manner>,
    state: String,
    why: Option<String>,
    serving: Option<toml::Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Manner {
    Hangs,
    Late,
    Refuses,
    Silent,
}

#[test]
fn every_observation_leads_to_its_verdict() {
    let vectors: Vec<Vector<Observation>> = vector::of("health");
    let names: Vec<String> = (0..vectors.len())
        .map(|number| format!("n{number}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cluster = Cluster::of(&names);
    for (vector, node) in vectors.iter().zip(cluster.nodes()) {
        vector.content.prepares(node);
    }
    let door = Door::before(&cluster)
        .set("--health-interval", "700")
        .without_waiting()
        .opens();
    wait::until("the first round of probes", wait::SOON, || {
        door.get("/ready").status == 200
    });
    let document = Arc::new(door.get("/ready").json());

    let mut numbers = names.iter();
    vector::judge(&vectors, |vector| {
        let name = numbers.next().copied().unwrap_or_default();
        let nodes = document["upstreams"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let node = nodes
            .iter()
            .find(|node| node["name"] == name)
            .cloned()
            .unwrap_or_default();
        vector.content.judge(&node)
    });
}

impl Observation {
    fn prepares(&self, node: &Node) {
        let fills = [
            ("padding", "x".repeat(self.padding.unwrap_or(0))),
            ("brackets", "[".repeat(self.brackets.unwrap_or(0))),
        ];
        let ready = Ready::text(filled(&self.body, &fills)).with_status(self.status.unwrap_or(200));
        match self.node {
            None => node.is_ready(ready),
            Some(Manner::Hangs) => node.is_ready(Ready::serving(node.name(), true).hanging()),
            Some(Manner::Late) => {
                node.is_ready(Ready::serving(node.name(), true).after(Duration::from_secs(4)));
            }
            Some(Manner::Refuses) => node.refuses(),
            Some(Manner::Silent) => node.greets(Greeting::Silent),
        }
    }

    fn judge(&self, node: &Value) -> Result<(), String> {
        same("state", node["state"].as_str(), Some(self.state.as_str()))?;
        same("why", node["why"].as_str(), self.why.as_deref())?;
        let Some(serving) = &self.serving else {
            return Ok(());
        };
        let wanted = serving.as_bool().map_or(Value::Null, Value::from);
        same("serving", node.get("serving"), Some(&wanted))
    }
}
