//! `failures/`: every answer the door makes itself, brought about for real.

use gateway_tests::client::Answer;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::vector::{self, Vector, filled, same};
use gateway_tests::wait;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    situation: String,
    status: u16,
    code: String,
    #[serde(default)]
    says: Vec<String>,
    outcome: Option<String>,
    retry_after: Option<String>,
}

#[test]
fn every_failure_has_its_status_code_and_sentence() {
    vector::each("failures", |vector: &Vector<Row>| {
        let row = &vector.content;
        let cluster = Cluster::of(&["solitary"]);
        let answer = brought_about(&row.situation, &cluster);
        same("status", answer.status, row.status)?;
        same(
            "content type",
            answer.field("content-type"),
            Some("application/json"),
        )?;
        same(
            "keys",
            keys(&answer),
            vec!["error".to_owned(), "code".to_owned()],
        )?;
        same("code", answer.code(), row.code.clone())?;
        same(
            "outcome",
            answer.field("x-gateway-outcome"),
            row.outcome.as_deref(),
        )?;
        same(
            "retry-after",
            answer.field("retry-after"),
            row.retry_after.as_deref(),
        )?;
        for words in &row.says {
            let words = filled(words, &[("node", "solitary".to_owned())]);
            if !answer.sentence().contains(&words) {
                return Err(format!(
                    "the sentence lacks {words:?}: {}",
                    answer.sentence()
                ));
            }
        }
        Ok(())
    });
}

/// The keys of the body in the order they stand in the text.
fn keys(answer: &Answer) -> Vec<String> {
    let text = answer.text();
    let at = |key: &str| text.find(&format!("\"{key}\":"));
    let mut found: Vec<(usize, String)> = ["error", "code"]
        .iter()
        .filter_map(|key| Some((at(key)?, (*key).to_owned())))
        .collect();
    found.sort();
    let count = answer.json().as_object().map_or(0, serde_json::Map::len);
    assert_eq!(count, found.len(), "further keys in {text}");
    found.into_iter().map(|(_, key)| key).collect()
}

fn brought_about(situation: &str, cluster: &Cluster) -> Answer {
    let plan = Door::before(cluster);
    let long = "a".repeat(17_000);
    match situation {
        "malformed" => says(plan, b"GET /schema HTTP/1.1\r\nHost : d\r\n\r\n"),
        "no-route" => plan.opens().get("/nowhere"),
        "slow-head" => says(
            plan.set("--read-timeout", "300ms"),
            b"GET /schema HTTP/1.1\r\n",
        ),
        "slow-body" => says(
            plan.set("--read-timeout", "300ms"),
            b"POST /sql HTTP/1.1\r\nHost: d\r\nContent-Length: 9\r\n\r\nabc",
        ),
        "large-body" => says(
            plan,
            b"POST /sql HTTP/1.1\r\nHost: d\r\nContent-Length: 8388609\r\n\r\n",
        ),
        "long-line" => plan.opens().get(&format!("/schema?x={}", &long[..9000])),
        "large-head" => plan
            .opens()
            .ask(&Request::get("/schema").field("X-Long", &long)),
        "refused" => {
            let door = rarely_probing(plan).opens();
            cluster["solitary"].refuses();
            door.get("/schema")
        }
        "lost" => {
            cluster.next([Way::ClosesWithoutAnswer]);
            plan.opens().post("/sql", "x")
        }
        "garbled" => {
            cluster.next([Way::RawThenCloses(b"SSH-2.0-nothing\r\n\r\n".to_vec())]);
            plan.opens().post("/sql", "x")
        }
        "nobody" => {
            cluster["solitary"].says_serving(false);
            let door = plan.without_waiting().opens();
            let knows = || (door.node("solitary")["why"] == "not_serving").then_some(());
            wait::maybe(wait::SOON, knows);
            door.get("/schema")
        }
        "full" => full(plan, cluster),
        "hanging" => {
            cluster.always(&Way::HangsBeforeHead);
            plan.set("--query-timeout", "300ms")
                .opens()
                .post("/sql", "x")
        }
        other => panic!("nobody knows the situation {other}"),
    }
}

fn says(plan: Plan, bytes: &[u8]) -> Answer {
    plan.opens().connect().says(bytes).hears()
}

fn rarely_probing(plan: Plan) -> Plan {
    plan.set("--health-interval", "60s")
        .set("--health-fail", "255")
}

fn full(plan: Plan, cluster: &Cluster) -> Answer {
    cluster.always(&Way::Held);
    let door = plan
        .set("--in-flight", "1")
        .set("--queue-wait", "200ms")
        .opens();
    let mut first = door.connect();
    first.sends(&Request::post("/sql", "first"));
    let held = || cluster["solitary"].in_flight() == 1;
    wait::until("the only slot taken", wait::SOON, held);
    let answer = door.post("/sql", "second");
    cluster["solitary"].lets_go();
    first.hears().is(200);
    assert!(door.is_in("solitary"), "a full node is no failed node");
    assert_eq!(door.node("solitary")["consecutive_failures"], 0);
    answer
}
