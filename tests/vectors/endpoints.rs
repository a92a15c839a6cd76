//! `endpoints/` and `metrics/`: what the door answers itself, without a byte to any node.

use std::collections::BTreeSet;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::vector::{self, Vector, same};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    send: String,
    status: u16,
    body: Option<String>,
    code: Option<String>,
    content_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    samples: Vec<String>,
}

#[test]
fn own_endpoints_are_answered_here() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    vector::each("endpoints", |vector: &Vector<Asked>| {
        let asked = &vector.content;
        let (method, target) = asked.send.split_once(' ').expect("a method and a target");
        let answer = door.ask(&Request::new(method, target));
        same("status", answer.status, asked.status)?;
        if let Some(body) = &asked.body {
            same("body", &answer.text(), body)?;
        }
        if let Some(code) = &asked.code {
            same("code", &answer.code(), code)?;
        }
        if let Some(wanted) = &asked.content_type {
            let found = answer.field("content-type").unwrap_or_default();
            same(
                "content type begins so",
                found.starts_with(wanted.as_str()),
                true,
            )?;
        }
        same("requests at nodes", cluster.requests(), 0)
    });
}

#[test]
fn metrics_are_exactly_the_families_of_the_table() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).opens();
    door.get("/schema").is(200);
    let metrics = door.metrics();

    let mut known = BTreeSet::new();
    vector::each("metrics", |vector: &Vector<Family>| {
        let family = &vector.content;
        known.insert(family.name.clone());
        same("announced", metrics.families().contains(&family.name), true)?;
        for sample in &family.samples {
            if metrics.of(sample).is_none() {
                return Err(format!("no sample {sample} among {:?}", metrics.names()));
            }
        }
        Ok(())
    });
    assert_eq!(*metrics.families(), known, "families announced");
}
