//! `matching/`: which path is which route, and what the node is asked in its place.

use gateway_tests::client::Answer;
use gateway_tests::gateway::Door;
use gateway_tests::inbox::Fields;
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
pub(crate) fn shape(answer: &Answer) -> (String, Fields, Vec<u8>) {
    let mut fields = answer.head.fields.clone();
    for (name, value) in &mut fields {
        if ["date", "x-request-id"].contains(&name.to_ascii_lowercase().as_str()) {
            "*".clone_into(value);
        }
    }
    (answer.head.start.clone(), fields, answer.body.clone())
}

#[test]
fn a_target_is_matched_decoded_and_rebuilt_from_what_matched() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).switch("--allow-ops").opens();
    let unknown = door.get("/no/such/route");
    unknown.fails_with(404, "no_such_route");
    let (unknown_full, unknown_head) = (shape(&unknown), headless(shape(&unknown)));

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
        match (&asked.reaches, asked.send.starts_with("HEAD ")) {
            (Some(_), _) => same("status", answer.status, 200),
            (None, false) if asked.refused_with.is_some() => {
                same("code", Some(answer.code()), asked.refused_with.clone())?;
                same("status", answer.status, 400)
            }
            (None, false) => same("answer", shape(&answer), unknown_full.clone()),
            (None, true) => same("answer", shape(&answer), unknown_head.clone()),
        }
    });
}

fn headless((start, fields, _): (String, Fields, Vec<u8>)) -> (String, Fields, Vec<u8>) {
    (start, fields, Vec::new())
}

impl Asked {
    fn request(&self) -> Request {
        let (method, target) = self.send.split_once(' ').expect("a method and a target");
        let mut request = Request::new(method, target).body(self.body.as_deref().unwrap_or(""));
        if let Some(credential) = &self.credential {
            request = request.field("Authorization", credential);
        }
        request
    }
}
