use super::*;
use proptest::prelude::*;
use serde_json::json;

fn is_good(body: &str) -> bool {
    matches!(read(200, body.as_bytes()), Observation::Good(_))
}

fn is_unreadable(body: &str) -> bool {
    read(200, body.as_bytes()) == Observation::Unreadable
}

#[test]
fn serving_true_or_absent_is_good_and_false_is_not() {
    assert!(is_good(r#"{"status":"ready","serving":true}"#));
    assert!(is_good(r#"{"status":"ready"}"#));
    let seen = read(200, br#"{"status":"ready","serving":false}"#);
    assert!(matches!(&seen, Observation::NotServing(document) if document.serving == Some(false)));
    assert_eq!(seen.why(), Some(Why::NotServing));
}

#[test]
fn space_order_escapes_and_further_fields_do_not_matter() {
    assert!(is_good(
        " \r\n\t{ \"serving\" :\ttrue , \"x\":[{}], \"status\" : \"ready\" }\n"
    ));
    assert!(is_good(
        r#"{"\u0073tatus":"read\u0079","tables":{"serving":false}}"#
    ));
    assert!(is_good(
        r#"{"status":"ready","a":{"serving":null,"status":"down"},"x":1e999}"#
    ));
    let odd = r#"{"note":"\"serving\":false","status":"ready"}"#;
    assert!(is_good(odd));
}

#[test]
fn a_serving_that_is_no_boolean_is_unreadable() {
    for value in [
        "null", "1", "0", "\"true\"", "\"\"", "[]", "{}", "[true]", "1e999",
    ] {
        assert!(
            is_unreadable(&format!(r#"{{"status":"ready","serving":{value}}}"#)),
            "{value}"
        );
    }
}

#[test]
fn what_is_no_readiness_document_is_unreadable() {
    for body in [
        "",
        "ready",
        "null",
        "true",
        "[]",
        r#"["ready",true]"#,
        r#"["ready"]"#,
        "{}",
        r#"{"status":null}"#,
        r#"{"status":"Ready"}"#,
        r#"{"status":"ready "}"#,
        r#"{"status":["ready"]}"#,
        r#"{"serving":true}"#,
        r#"{"serving":false}"#,
        r#"{"status":"draining","serving":false}"#,
        r#"{"status":"ready"} x"#,
        r#"{"status":"ready"}{"status":"ready"}"#,
        r#"{"status":"ready""#,
        r#"{"status":"ready",}"#,
        r#"{'status':'ready'}"#,
        "\u{feff}{\"status\":\"ready\"}",
        r#"{"STATUS":"ready"}"#,
    ] {
        assert!(is_unreadable(body), "{body}");
    }
    assert_eq!(
        read(200, b"{\"status\":\"ready\",\"x\":\"\xff\"}"),
        Observation::Unreadable
    );
    assert_eq!(
        read(200, b"{\"status\":\"ready\"}\0"),
        Observation::Unreadable
    );
}

#[test]
fn a_field_that_decides_may_stand_once_only() {
    assert!(is_unreadable(
        r#"{"status":"ready","serving":false,"serving":true}"#
    ));
    assert!(is_unreadable(r#"{"status":"down","status":"ready"}"#));
    assert!(is_good(r#"{"status":"ready","node":"a","node":"b"}"#));
}

#[test]
fn the_status_decides_before_the_body() {
    for status in [100, 201, 204, 301, 404, 500, 503] {
        let seen = read(status, br#"{"status":"ready","serving":false}"#);
        assert_eq!(
            seen.why().map(|why| why.to_string()),
            Some(format!("status_{status}"))
        );
    }
    assert_eq!(Why::Status(7).to_string(), "status_007");
}

#[test]
fn labels_are_stable() {
    let labels = [
        (Observation::Unreachable, "unreachable"),
        (Observation::Timeout, "timeout"),
        (Observation::Unreadable, "unreadable"),
        (Observation::NotServing(Document::default()), "not_serving"),
    ];
    for (seen, label) in labels {
        assert_eq!(
            seen.why().map(|why| why.to_string()).as_deref(),
            Some(label)
        );
    }
    assert_eq!(Observation::Good(Document::default()).why(), None);
}

#[test]
fn sixty_four_kibibytes_are_read_and_one_more_is_not() {
    let head = r#"{"status":"ready","x":""#;
    let full = format!("{head}{}\"}}", "a".repeat(MAX_BODY - head.len() - 2));
    assert_eq!(full.len(), MAX_BODY);
    assert!(is_good(&full));
    assert!(is_unreadable(&format!("{full} ")));
}

#[test]
fn display_values_are_kept_as_written_and_never_decide() {
    let body = r#"{"status":"ready","node":"a","shards":["0..64"],"wire":7,"version":"1.2","serving":true}"#;
    let seen = read(200, body.as_bytes());
    let document = seen.document().cloned().unwrap_or_default();
    assert_eq!(document.node, Some(json!("a")));
    assert_eq!(document.shards, Some(json!(["0..64"])));
    assert_eq!(document.wire, Some(json!(7)));
    assert_eq!(document.version, Some(json!("1.2")));
    let long = format!(
        r#"{{"status":"ready","node":"{}","wire":1}}"#,
        "n".repeat(2000)
    );
    let document = read(200, long.as_bytes())
        .document()
        .cloned()
        .unwrap_or_default();
    assert_eq!((document.node, document.wire), (None, Some(json!(1))));
    assert!(is_good(r#"{"status":"ready","wire":1e999}"#));
}

#[test]
fn depth_and_huge_numbers_cost_nothing() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let depth = 9_000;
        let middle = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(is_good(&format!(r#"{{"status":"ready","x":{middle}}}"#)));
        assert!(is_good(&format!(r#"{{"status":"ready","node":{middle}}}"#)));
        assert!(is_unreadable(&format!(
            r#"{{"status":"ready","serving":{middle}}}"#
        )));
        assert!(is_unreadable(&format!(r#"{{"status":{middle}}}"#)));
        assert!(is_unreadable(&middle));
    }
    let digits = "9".repeat(20_000);
    assert!(is_good(&format!(
        r#"{{"status":"ready","x":{digits}e{digits}}}"#
    )));
    assert!(is_good(&format!(
        r#"{{"status":"ready","wire":{digits}.{digits}}}"#
    )));
    assert!(is_unreadable(&"[".repeat(MAX_BODY)));
    assert!(is_unreadable(&"{\"a\":".repeat(10_000)));
}

/// Pieces of which near misses are made.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"status\"",
        "\"serving\"",
        "\"ready\"",
        "true",
        "false",
        "null",
        "1e9",
        "-0",
        "\"\\ud800\"",
        "\"\\",
        " ",
        "\"node\"",
        "\"wire\"",
        "\u{0}",
        "é",
    ])
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(status in any::<u16>(), body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(status, &body);
        let _ = read(200, &body);
    }

    #[test]
    fn pieces_are_good_only_as_an_object_that_says_ready(pieces in prop::collection::vec(piece(), 0..16)) {
        let body = pieces.concat();
        if let Observation::Good(document) | Observation::NotServing(document) = read(200, body.as_bytes()) {
            let value: Value = serde_json::from_str(&body).unwrap_or_default();
            prop_assert!(value.is_object());
            prop_assert_eq!(&value["status"], "ready");
            prop_assert_eq!(document.serving, value.get("serving").and_then(Value::as_bool));
        }
    }

    #[test]
    fn whatever_stands_beside_it_serving_false_is_heard(
        serving in any::<bool>(),
        others in prop::collection::btree_map("[a-z]{1,5}[0-9]", "[^\u{0}]{0,9}", 0..6),
        last in any::<bool>(),
    ) {
        let mut fields: Vec<String> = others.iter().map(|(name, text)| format!("{}:{}", json!(name), json!(text))).collect();
        fields.insert(0, r#""status":"ready""#.to_owned());
        let at = if last { fields.len() } else { 0 };
        fields.insert(at, format!(r#""serving":{serving}"#));
        let seen = read(200, format!("{{{}}}", fields.join(",")).as_bytes());
        prop_assert_eq!(seen.document().and_then(|document| document.serving), Some(serving));
        prop_assert_eq!(seen.why().is_none(), serving);
    }
}
