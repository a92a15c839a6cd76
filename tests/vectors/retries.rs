//! `retries/`: what happened on a try, and whether there is another.

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::vector::{self, Vector, same};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Try {
    first: String,
    send: String,
    status: u16,
    code: Option<String>,
    node_code: Option<String>,
    outcome: Option<String>,
    says: Option<String>,
    retry_after: Option<String>,
    whole: Option<bool>,
    nodes: Option<usize>,
    seen: usize,
    retries: u32,
}

#[test]
fn every_row_of_the_retry_table_holds() {
    vector::each("retries", |vector: &Vector<Try>| {
        let row = &vector.content;
        let cluster = Cluster::of(&["a", "b", "c"][..row.nodes.unwrap_or(2)]);
        // Probes far apart and a patient count: only the request under test is in play.
        let door = Door::before(&cluster)
            .set("--health-interval", "60s")
            .set("--health-fail", "255")
            .opens();
        cluster.next(row.ways());
        let refused = row.first == "refuses";
        if refused {
            cluster["a"].refuses();
        }
        // Ties go in turn, so of two requests one meets the node that refuses first.
        for _ in 0..if refused { 2 } else { 1 } {
            cluster.forgets();
            row.judge(&door, &cluster)?;
        }
        let retries = door.metrics().number("big_proxy_retries_total");
        match refused {
            // Both requests may have met it first.
            true => same("retried", (1.0..=2.0).contains(&retries), true),
            false => same("retries", retries, f64::from(row.retries)),
        }
    });
}

impl Try {
    fn ways(&self) -> Vec<Way> {
        let said = |status: u16| {
            Reply::new(status).body(r#"{"error":"the node's own words","code":"node_busy"}"#)
        };
        let busy = || Way::Says(said(503).field("Retry-After", "9"));
        match self.first.as_str() {
            "refuses" => vec![],
            "closes" => vec![Way::ClosesWithoutAnswer],
            "closes-always" => vec![Way::ClosesWithoutAnswer; 5],
            "resets" => vec![Way::Resets],
            "breaks" => vec![Way::BreaksOffInBody],
            "garbles" => vec![Way::RawThenCloses(b"220 mail.test ready\r\n\r\n".to_vec())],
            "busy" => vec![busy()],
            "busy-twice" => vec![busy(), busy()],
            "busy-then-lost" => vec![busy(), Way::ClosesWithoutAnswer],
            status => vec![Way::Says(said(status.parse().expect("a way or a status")))],
        }
    }

    fn judge(&self, door: &Door, cluster: &Cluster) -> Result<(), String> {
        let (method, target) = self.send.split_once(' ').expect("a method and a target");
        let body = if method == "POST" { "body" } else { "" };
        let answer = door.ask(&Request::new(method, target).body(body));

        same("status", answer.status, self.status)?;
        if let Some(code) = self.code.as_ref().or(self.node_code.as_ref()) {
            same("code", &answer.code(), code)?;
        }
        if let Some(words) = &self.says
            && !answer.sentence().contains(words)
        {
            return Err(format!("the sentence is {:?}", answer.sentence()));
        }
        same(
            "outcome",
            answer.field("x-gateway-outcome"),
            self.outcome.as_deref(),
        )?;
        same(
            "retry-after",
            answer.field("retry-after"),
            self.retry_after.as_deref(),
        )?;
        same("whole", answer.is_whole, self.whole.unwrap_or(true))?;
        same("requests at nodes", cluster.requests(), self.seen)
    }
}
