use super::*;
use gateway_config::model::{Segments, Site};
use serde_json::Value;
use std::collections::BTreeSet;

fn asked() -> Asked {
    Asked {
        node: "n-7".into(),
        addr: "10.9.8.7:4321".into(),
    }
}

/// A failure with the status, code, `Retry-After`, outcome and end of its answer.
type Row = (
    Failure,
    u16,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    bool,
);

/// A failure that says nothing but what it is.
fn plain(failure: Failure, status: u16, code: &'static str) -> Row {
    (failure, status, code, None, None, false)
}

/// Every failure there is.
fn table() -> Vec<Row> {
    let budget = Duration::from_secs(60);
    let never = |cause| Failure::NeverSent {
        asked: asked(),
        cause,
    };
    let after = RetryAfter::from_node(b"Fri, 31 Dec 1999 23:59:59 GMT").unwrap();
    let overloaded = |failure| (failure, 503, "overloaded", Some("1"), None, false);
    let (not_sent, unknown) = (Some("not-sent"), Some("unknown"));
    vec![
        (
            Failure::Malformed {
                because: "the request line has no target",
            },
            400,
            "bad_request",
            None,
            None,
            true,
        ),
        (
            Failure::QueryRefused {
                because: "that key is refused".into(),
            },
            400,
            "bad_request",
            None,
            None,
            false,
        ),
        (
            Failure::MethodNotAllowed { allow: "GET" },
            405,
            "method_not_allowed",
            None,
            None,
            false,
        ),
        plain(Failure::NoSuchFile, 404, "no_such_file"),
        plain(Failure::PreconditionFailed, 412, "precondition_failed"),
        plain(Failure::RangeNotSatisfiable, 416, "range_not_satisfiable"),
        plain(Failure::Misdirected, 421, "misdirected"),
        plain(Failure::NotLetIn, 403, "not_let_in"),
        (
            Failure::RateExceeded {
                retry_after: RetryAfter::of(Duration::from_millis(1001)),
            },
            429,
            "rate_exceeded",
            Some("2"),
            None,
            false,
        ),
        plain(Failure::NoSuchRoute, 404, "no_such_route"),
        (
            Failure::HeadTooSlow,
            408,
            "request_timeout",
            None,
            None,
            true,
        ),
        (
            Failure::BodyTooSlow,
            408,
            "request_timeout",
            None,
            None,
            true,
        ),
        (
            Failure::BodyTooLarge { limit: 8 },
            413,
            "request_too_large",
            None,
            None,
            true,
        ),
        (
            Failure::LineTooLong,
            414,
            "request_too_large",
            None,
            None,
            true,
        ),
        (
            Failure::FieldsTooLarge,
            431,
            "request_too_large",
            None,
            None,
            true,
        ),
        (Failure::ClientGone, 499, "client_gone", None, None, true),
        (Failure::SlowReader, 499, "slow_reader", None, None, true),
        (
            Failure::Internal {
                because: "node n-7 at 10.9.8.7:4321".to_owned(),
            },
            500,
            "internal",
            None,
            None,
            true,
        ),
        (Failure::UnknownCoding, 501, "bad_request", None, None, true),
        (
            never(Unsent::Connect),
            502,
            "upstream_unreachable",
            None,
            not_sent,
            false,
        ),
        (
            never(Unsent::ConnectTimeout),
            504,
            "upstream_timeout",
            None,
            not_sent,
            false,
        ),
        (
            never(Unsent::Handshake),
            502,
            "upstream_unreachable",
            None,
            not_sent,
            false,
        ),
        (
            never(Unsent::Refused),
            502,
            "upstream_unreachable",
            None,
            not_sent,
            false,
        ),
        (
            never(Unsent::Resolve),
            502,
            "upstream_unreachable",
            None,
            not_sent,
            false,
        ),
        (
            Failure::OutcomeUnknown(asked()),
            502,
            "upstream_unreachable",
            None,
            unknown,
            false,
        ),
        (
            Failure::AnswerLost(asked()),
            502,
            "upstream_unreachable",
            None,
            unknown,
            true,
        ),
        (
            Failure::Unreadable(asked()),
            502,
            "upstream_unreadable",
            None,
            unknown,
            false,
        ),
        (
            Failure::NoHealthyNode,
            503,
            "no_healthy_upstream",
            Some("1"),
            None,
            false,
        ),
        (
            Failure::BodyMemory,
            503,
            "overloaded",
            Some("1"),
            None,
            true,
        ),
        overloaded(Failure::QueueFull),
        overloaded(Failure::NoDescriptors),
        overloaded(Failure::QueueWaitSpent),
        overloaded(Failure::TooManyInFlight { status: 503 }),
        (Failure::Draining, 503, "overloaded", Some("1"), None, true),
        (
            Failure::BusyThenLost { retry_after: after },
            503,
            "overloaded",
            Some("Fri, 31 Dec 1999 23:59:59 GMT"),
            None,
            false,
        ),
        (
            Failure::BudgetSpent {
                asked: asked(),
                budget,
            },
            504,
            "upstream_timeout",
            None,
            unknown,
            false,
        ),
        (
            Failure::BudgetSpentBefore { budget },
            504,
            "upstream_timeout",
            None,
            not_sent,
            false,
        ),
        (
            Failure::AnswerStalled(asked(), budget),
            504,
            "upstream_timeout",
            None,
            unknown,
            true,
        ),
    ]
}

#[test]
fn a_full_listener_answers_with_its_own_status() {
    let answer = Failure::TooManyInFlight { status: 429 }.answer();
    assert_eq!((answer.status, answer.code), (429, "overloaded"));
}

#[test]
fn every_failure_has_its_row() {
    for (failure, status, code, retry_after, outcome, close) in table() {
        let answer = failure.answer();
        assert_eq!(
            (answer.status, answer.code, answer.close),
            (status, code, close),
            "{failure:?}"
        );
        assert_eq!(
            answer.retry_after.as_ref().map(RetryAfter::as_str),
            retry_after,
            "{failure:?}"
        );
        assert_eq!(answer.outcome.map(Outcome::as_str), outcome, "{failure:?}");
    }
}

#[test]
fn at_a_front_door_all_that_was_never_sent_is_502_and_the_rest_is_as_at_an_edge() {
    let edge = Site::new("s".into(), "l".into());
    let mut door = edge.clone();
    door.segments = Segments::Decoded;
    for (failure, ..) in table() {
        assert_eq!(failure.answer_at(&edge), failure.answer());
        let answer = failure.answer_at(&door);
        if failure.reason() == "node_connect_timeout" {
            assert_eq!((answer.status, answer.code), (502, "upstream_unreachable"));
            assert_eq!(answer.outcome, Some(Outcome::NotSent));
        } else {
            assert_eq!(answer, failure.answer());
        }
    }
}

#[test]
fn one_reason_is_one_label() {
    let labels: BTreeSet<_> = table()
        .iter()
        .map(|(failure, ..)| failure.reason())
        .collect();
    assert_eq!(labels.len(), table().len());
    assert!(labels.iter().eq(&Failure::REASONS), "{labels:?}");
    assert!(labels.iter().all(|label| {
        label
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
}

#[test]
fn sides_follow_the_status() {
    for (failure, status, ..) in table() {
        assert_eq!(
            failure.side() == Side::Client,
            status < 500 || status == 501,
            "{failure:?}"
        );
    }
}

#[test]
fn a_sentence_names_the_node_that_was_asked_and_the_plain_one_never_does() {
    for (failure, ..) in table() {
        let answer = failure.answer();
        assert_eq!(
            answer.sentence.contains("n-7"),
            failure.asked().is_some(),
            "{}",
            answer.sentence
        );
        assert_eq!(
            answer.sentence.contains("10.9.8.7:4321"),
            failure.asked().is_some()
        );
        assert!(!answer.text().contains("n-7") && answer.text().ends_with(".\n"));
        assert!(!answer.sentence.is_empty() && !answer.sentence.contains('\n'));
    }
}

#[test]
fn what_is_known_about_the_bytes_is_said() {
    for (failure, status, _, _, outcome, _) in table() {
        let sentence = failure.to_string();
        assert_eq!(
            sentence.contains("never sent"),
            outcome == Some("not-sent"),
            "{sentence}"
        );
        if let Failure::BudgetSpent { .. } = failure {
            assert!(sentence.contains("may still be working"));
        } else if status == 502
            && outcome == Some("unknown")
            && !matches!(failure, Failure::AnswerLost(_))
        {
            assert!(sentence.contains("unknown"), "{sentence}");
        }
    }
}

#[test]
fn the_json_body_is_json_whatever_stands_in_it() {
    let odd = "a \"quoted\" \\ key\n\u{1}\u{7f}\u{2028}</script>é";
    let body = Failure::QueryRefused {
        because: odd.into(),
    }
    .answer()
    .json();
    let read: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&read["error"], &read["code"]),
        (&Value::from(odd), &Value::from("bad_request"))
    );
    assert!(body.starts_with(r#"{"error":""#) && body.ends_with(r#"","code":"bad_request"}"#));
    assert!(!body.contains('\n'));
}

#[test]
fn a_retry_after_of_a_node_is_taken_as_it_stands_or_not_at_all() {
    for value in ["0", "120", "  7\t", "Fri, 31 Dec 1999 23:59:59 GMT"] {
        let taken = RetryAfter::from_node(value.as_bytes());
        assert_eq!(taken.as_ref().map(RetryAfter::as_str), Some(value.trim()));
    }
    for value in [
        &b""[..],
        b"  ",
        b"1\r\nx: y",
        b"\xff",
        b"1\x00",
        &[b'1'; 65],
    ] {
        assert_eq!(RetryAfter::from_node(value), None);
    }
    assert_eq!(RetryAfter::ONE_SECOND.to_cow(), "1");
}
