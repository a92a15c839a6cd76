//! Who asked, and which request it is.

use std::collections::BTreeSet;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;

#[test]
fn a_request_id_is_ours_and_the_same_at_client_node_and_log() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();

    let answer = door.ask(&Request::get("/schema").field("X-Request-Id", "chosen-by-client"));

    let id = answer.field("x-request-id").unwrap().to_owned();
    assert_ne!(id, "chosen-by-client");
    assert_eq!(
        cluster["a"].seen()[0].head.all("x-request-id"),
        [id.as_str()]
    );
    let line = door.access_line(|line| line.text("path") == "/schema");
    assert!(line.holds(&id), "{line:?}");
}

#[test]
fn every_answer_has_an_id_of_its_own_and_a_date() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let targets = ["/schema", "/nowhere", "/health", "/ready", "/metrics"];

    let answers: Vec<_> = targets
        .iter()
        .cycle()
        .take(50)
        .map(|target| door.get(target))
        .collect();

    let ids: BTreeSet<_> = answers
        .iter()
        .map(|a| a.field("x-request-id").unwrap())
        .collect();
    assert_eq!(ids.len(), 50);
    for answer in &answers {
        let date = answer.field("date").unwrap();
        assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
    }
}

#[test]
fn a_failure_of_ours_has_an_id_too() {
    let cluster = Cluster::of(&["a"]);
    cluster["a"].says_serving(false);
    let door = Door::before(&cluster).without_waiting().opens();

    let refused = door.get("/schema");
    let malformed = door.connect().says("GET /schema HTTP/1.1\r\n\r\n").hears();

    assert!(refused.field("x-request-id").is_some());
    assert!(malformed.field("x-request-id").is_some());
}
