//! The door's own TLS, and TLS towards the nodes.

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

fn with_certificate(plan: Plan, authority: &Authority) -> Plan {
    let identity = authority.signs(&["door.test"]);
    plan.file("--tls-cert", "door.pem", &identity.cert_pem)
        .file("--tls-key", "door.key", &identity.key_pem)
        .over_tls(authority)
}

#[test]
fn a_client_is_served_over_tls_and_the_node_is_told() {
    let authority = Authority::new();
    let cluster = Cluster::of(&["a"]);
    let door = with_certificate(Door::before(&cluster), &authority).opens();
    let mut client = Conversation::open_tls(door.addr(), &authority.trust(), "door.test");

    for _ in 0..3 {
        client.asks(&Request::post("/sql", "x")).is(200);
    }

    assert_eq!(
        cluster["a"].seen()[0].head.first("x-forwarded-proto"),
        Some("https")
    );
}

#[test]
fn a_clear_request_to_a_tls_door_is_not_served_and_disturbs_nobody() {
    let authority = Authority::new();
    let cluster = Cluster::of(&["a"]);
    let door = with_certificate(Door::before(&cluster), &authority).opens();

    let mut lost = Conversation::open(door.addr());
    lost.sends(&Request::get("/schema"));
    assert!(
        !lost
            .listens()
            .is_ok_and(|answer| answer.is_some_and(|a| a.status == 200))
    );

    let mut client = Conversation::open_tls(door.addr(), &authority.trust(), "door.test");
    client.asks(&Request::get("/schema")).is(200);
    assert_eq!(cluster.requests(), 1);
}

#[test]
fn tls_on_both_sides_at_once() {
    let (front, back) = (Authority::new(), Authority::new());
    let cluster = Cluster::with_tls(&["a", "b"], &back);
    let plan = Door::before(&cluster).file("--upstream-ca", "ca.pem", back.pem());
    let door = with_certificate(plan, &front).opens();
    let mut client = Conversation::open_tls(door.addr(), &front.trust(), "door.test");

    client
        .asks(&Request::post("/table/t/import", "1\n2"))
        .is(200);
    let read = client.asks(&Request::get("/table/t/records"));

    assert_eq!(read.json()["records"], serde_json::json!(["1", "2"]));
    assert_eq!(cluster.requests(), 2);
}

#[test]
fn traffic_checks_the_name_as_the_probe_does() {
    let authority = Authority::new();
    let right = authority.signs(&["a"]);
    let cluster = Cluster::showing(&[("a", &right)]);
    // The address is the same, the name is not: only the name decides.
    let door = Plan::alone()
        .flag("--upstream", &format!("b={}", cluster["a"].addr()))
        .file("--upstream-ca", "ca.pem", authority.pem())
        .opens();
    wait::until("a verdict", wait::SOON, || {
        door.node("b")["why"] == "unreachable"
    });

    door.get("/schema").fails_with(503, "no_healthy_upstream");

    assert_eq!((cluster.requests(), cluster["a"].probes().len()), (0, 0));
}

#[test]
fn a_node_that_speaks_clear_text_where_tls_is_due_is_unreachable() {
    let authority = Authority::new();
    let cluster = Cluster::of(&["a"]);

    let door = Door::before(&cluster)
        .file("--upstream-ca", "ca.pem", authority.pem())
        .without_waiting()
        .opens();

    wait::until("a verdict", wait::SOON, || {
        door.node("a")["why"] == "unreachable"
    });
}
