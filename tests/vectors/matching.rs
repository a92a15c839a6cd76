//! `matching/`: which path is which route, and what the node is asked in its place.

use gateway_tests::client::Answer;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::vector::{self, Vector, same};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    send: String,
    reaches: Option<String>,
    body: Option<String>,
    credential: Option<String>,
    refused_with: Option<String>,
}

/// An answer without what differs by nature: everything else is the same byte for byte.
pub(crate) fn shape(answer: &Answer) -> Vec<String> {
    let mut lines = vec![answer.head.start.clone()];
    for (name, value) in &answer.head.fields {
        let is_its_own = ["date", "x-request-id"].contains(&name.to_ascii_lowercase().as_str());
        lines.push(format!("{name}: {}", if is_its_own { "*" } else { value }));
    }
    lines.push(answer.text());
    lines
}

#[test]
fn a_target_is_matched_decoded_and_rebuilt_from_what_matched() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).switch("--allow-ops").opens();
    door.get("/no/such/route").fails_with(404, "no_such_route");

    vector::each("matching", |vector: &Vector<Asked>| {
        let asked = &vector.content;
        cluster.forgets();
        let answer = door.ask(&asked.request());
        let targets: Vec<_> = cluster["a"]
            .seen()
            .into_iter()
            .map(|seen| seen.target)
            .collect();
        same(
            "at the node",
            targets,
            asked.reaches.iter().cloned().collect(),
        )?;
        if asked.reaches.is_some() {
            return same("status", answer.status, 200);
        }
        if let Some(code) = &asked.refused_with {
            same("code", &answer.code(), code)?;
            return same("status", answer.status, 400);
        }
        same("status", answer.status, 404)?;
        let unknown = door.ask(&asked.elsewhere());
        same("answer", shape(&answer), shape(&unknown))
    });
}

impl Asked {
    fn request(&self) -> Request {
        let (_, target) = self.send.split_once(' ').expect("a method and a target");
        self.request_for(target)
    }

    /// The same request for what nobody knows.
    fn elsewhere(&self) -> Request {
        self.request_for("/no/such/route")
    }

    fn request_for(&self, target: &str) -> Request {
        let (method, _) = self.send.split_once(' ').expect("a method and a target");
        let mut request = Request::new(method, target).body(self.body.as_deref().unwrap_or(""));
        if let Some(credential) = &self.credential {
            request = request.field("Authorization", credential);
        }
        request
    }
}
