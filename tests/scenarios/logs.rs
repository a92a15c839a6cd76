//! One line per request, one per change of rotation, and numbers that stay few.

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;
use serde_json::Value;

#[test]
fn every_request_is_one_line_of_json() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let before = settled_lines(&door);

    door.get("/table/t/records").is(200);
    door.post("/internal/query", "x").is(404);
    door.get("/health").is(200);

    let lines = lines_after(&door, before, 3);
    let of = |path: &str| {
        let found = lines.iter().find(|line| line["path"] == path);
        found
            .unwrap_or_else(|| panic!("no line for {path} in {lines:?}"))
            .clone()
    };
    assert_eq!(of("/table/t/records")["status"], 200);
    assert_eq!(of("/table/t/records")["node"], "a");
    assert_eq!(of("/table/t/records")["tries"], 1);
    assert_eq!(of("/internal/query")["status"], 404);
    assert!(of("/internal/query").to_string().contains("no_such_route"));
    assert_eq!(of("/health")["status"], 200);
}

#[test]
fn node_tries_and_code_are_in_the_line_of_a_failed_request() {
    let cluster = Cluster::of(&["a", "b"]);
    cluster.always(&Way::Resets);
    let door = Door::before(&cluster)
        .set("--health-interval", "60s")
        .opens();
    let before = settled_lines(&door);

    door.get("/schema").is(502);

    let line = lines_after(&door, before, 1).remove(0);
    assert_eq!(line["tries"], 2);
    assert!(
        ["a", "b"].contains(&line["node"].as_str().unwrap_or_default()),
        "{line}"
    );
    assert!(line.to_string().contains("upstream_unreachable"), "{line}");
}

#[test]
fn a_request_that_a_second_node_served_is_no_failure() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "60s")
        .opens();
    let before = settled_lines(&door);
    cluster.next([Way::Resets]);

    door.get("/schema").is(200);

    let line = lines_after(&door, before, 1).remove(0);
    assert_eq!((&line["tries"], &line["status"]), (&2.into(), &200.into()));
    for word in ["code", "reason"] {
        assert!(line.get(word).is_none_or(|it| it.is_null()), "{line}");
    }
}

#[test]
fn a_request_the_parser_refuses_is_logged_and_counted() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let before = settled_lines(&door);
    let counted = door.metrics();
    let lines_of_metrics = 1;

    door.connect()
        .says("GET /schema HTTP/1.1\r\nHost : d\r\n\r\n")
        .hears()
        .is(400);
    door.connect()
        .says(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000)))
        .hears()
        .is(414);

    let lines = lines_after(&door, before, 2 + lines_of_metrics);
    let statuses: Vec<&Value> = lines.iter().map(|line| &line["status"]).collect();
    assert!(statuses.contains(&&Value::from(400)), "{lines:?}");
    assert!(statuses.contains(&&Value::from(414)), "{lines:?}");
    let of = "big_proxy_responses_total{class=\"4xx\"}";
    let refused = door.metrics().number(of) - counted.of(of).unwrap_or(0.0);
    assert!((refused - 2.0).abs() < 0.5, "{refused} counted");
}

#[test]
fn nobody_can_forge_a_line() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let before = settled_lines(&door);
    let forged = "{\"level\":\"INFO\",\"forged\":true}";
    let targets = [
        format!("/a%0d%0a{forged}"),
        format!("/a\"{}", "\\".repeat(40)),
        "/a%1b%5b31m".to_owned(),
        "/a%C2%85b".to_owned(),
        "/\u{ff}\u{fe}".to_owned(),
        "/a\u{c2}\u{85}b".to_owned(),
        format!("/{}", "long".repeat(1900)),
    ];

    for target in &targets {
        let target = target.replace(' ', "%20");
        let agent = "\\\"quoted\\\" \u{b5}";
        let _ = door.ask(&Request::get(&target).field("User-Agent", agent));
    }
    let huge = format!("GET /{} HTTP/1.1\r\nHost: d\r\n\r\n", "x".repeat(60_000));
    let _ = door.connect().says(huge).listens();
    let _ = door
        .connect()
        .says("GET /\u{1b}[31m HTTP/1.1\r\nHost: \u{1b}\r\n\r\n")
        .listens();

    let count = targets.len() + 2;
    let lines = lines_after(&door, before, count);
    assert_eq!(lines.len(), count, "{lines:#?}");
    for line in door.access().all() {
        assert!(line.len() < 12_000, "{} bytes in one line", line.len());
        assert!(
            !line.chars().any(|c| c.is_control()),
            "a control character in {line:?}"
        );
        let value: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert!(value.get("forged").is_none());
    }
}

#[test]
fn a_credential_is_never_written_down() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let before = settled_lines(&door);
    let secret = "Basic c2VjcmV0OndvcmQ=";

    door.ask(&Request::get("/schema").field("Authorization", secret))
        .is(200);
    door.ask(&Request::get("/nowhere").field("Authorization", secret))
        .is(404);

    lines_after(&door, before, 2);
    for line in [door.access().all(), door.log().all()].concat() {
        assert!(!line.contains("c2VjcmV0"), "{line}");
    }
}

#[test]
fn a_change_of_rotation_is_one_line_whoever_caused_it() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).set("--health-fail", "2").opens();

    cluster["b"].says_serving(false);
    door.sees_out("b");
    let said = door
        .log()
        .waits_for("rotation", |line| line.text("in") == "false");
    assert_eq!(
        (said.text("node").as_str(), said.text("why").as_str()),
        ("b", "not_serving")
    );
    assert_eq!(said.text("addr"), cluster["b"].addr().to_string());
    assert_eq!(
        (
            said.text("was").is_empty(),
            said.text("total_in").is_empty()
        ),
        (false, false)
    );
    cluster["b"].says_serving(true);
    door.sees_in("b");

    let of_b = || -> Vec<String> {
        let lines = door.log().saying("rotation");
        lines
            .iter()
            .filter(|l| l.text("node") == "b")
            .map(|l| l.text("in"))
            .collect()
    };
    wait::until("the line of its return", wait::SOON, || of_b().len() >= 3);
    assert_eq!(of_b(), ["true", "false", "true"]);
}

#[test]
fn a_change_of_rotation_by_traffic_is_a_line_too() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster)
        .set("--health-interval", "60s")
        .opens();
    cluster["a"].dies();

    wait::until("a out by traffic", wait::EVENTUALLY, || {
        door.get("/schema").is(200);
        !door.is_in("a")
    });

    let said = door
        .log()
        .waits_for("rotation", |line| line.text("in") == "false");
    assert_eq!(said.text("node"), "a");
    assert!(!said.text("why").is_empty());
}

#[test]
fn no_input_of_a_client_makes_a_new_series() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    for method in ["GET", "POST"] {
        client.asks(&Request::new(method, "/nowhere")).is(404);
    }
    client.asks(&Request::get("/schema")).is(200);
    let _ = door.connect().says("rubbish\r\n\r\n").listens();
    let before = door.metrics().names();

    for number in 0..2000_u32 {
        let method = ["GET", "POST", "FROB", "PURGE"][number as usize % 4];
        let target = format!("/table/t{number}/records?x{number}=1");
        client.asks(&Request::new(method, &target).field("X-Odd", &number.to_string()));
    }

    assert_eq!(door.metrics().names(), before);
    assert!(door.metrics().number("big_proxy_requests_total") > 2000.0);
}

/// How many lines there are once the door has written those of its start.
fn settled_lines(door: &Door) -> usize {
    let marker = door.get("/health");
    let id = marker.field("x-request-id").unwrap().to_owned();
    let _ = door.access_line(|line| line.holds(&id));
    door.access().all().len()
}

fn lines_after(door: &Door, before: usize, count: usize) -> Vec<Value> {
    wait::until("the lines of these requests", wait::SOON, || {
        door.access().all().len() >= before + count
    });
    let lines = door.access().entries();
    lines[before..].iter().map(|line| line.flat()).collect()
}
