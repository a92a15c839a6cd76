//! The interface, for a client that is not ours and knows nothing but what reflection says.
//!
//! `cargo xtask test` finds a Python with `grpcio` for these, and says so where there is none.

use std::fs;
use std::path::Path;
use std::thread;

use gateway_tests::certs::Authority;
use gateway_tests::foreign::Foreign;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::scratch::{Scratch, set_mode};
use gateway_tests::wait;
use serde_json::{Value, json};

mod grpc;

const PLANE: &str = "pingora.panel.gateway.v1.GatewayRuntime/GetDataPlane";
const WORKERS: &str = "pingora.panel.gateway.v1.GatewayRuntime/SetWorkerCount";
const RELOAD: &str = "pingora.panel.gateway.v1.GatewayRuntime/ReloadDataPlane";
const APPLY: &str = "gateway.control.v1.GatewayConfig/Apply";
const ACTIVE: &str = "gateway.control.v1.GatewayConfig/GetActive";
const TRACE: &str = "gateway.control.v1.GatewayConfig/Trace";
const COMPARE: &str = "gateway.control.v1.GatewayConfig/Compare";
const HEALTH: &str = "grpc.health.v1.Health/Check";

fn text(wait: &str) -> String {
    format!(
        "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"door\"\n\
         pool = \"shop\"\nendpoints = \"shop\"\n[pools.shop]\nqueue_wait = \"{wait}\"\n\
         nodes = [\"127.0.0.1:1\"]\nprobe = {{ every = \"10s\" }}\n"
    )
}

fn socket(state: &Path) -> Foreign {
    Foreign::of(format!("unix:{}", state.join("control.sock").display()))
}

fn opens(plan: Plan) -> (Door, Foreign) {
    let state = plan.path("state");
    let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
    (door, socket(&state))
}

fn apply(text: &str, expected: &Value) -> Value {
    json!({ "documents": [{ "toml": text }], "expected_active_hash": expected })
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn nothing_is_served_until_something_is_applied() {
    let plan = Plan::bare().instead(&["run", "--config", "api"]);
    let state = plan.path("state");
    let client = socket(&state);
    let plan = plan.flag("--state-dir", &state.to_string_lossy());
    let door = plan.opens_while(|_| {
        let mut active = Value::Null;
        wait::until("the interface", wait::SOON, || {
            active = client.calls(ACTIVE, &json!({}));
            active["snapshot"]["number"] == "0"
        });
        assert_eq!(client.calls(HEALTH, &json!({}))["status"], "NOT_SERVING");
        let applied = client.calls(APPLY, &apply(&text("1s"), &active["snapshot"]["hash"]));
        assert_eq!(applied["change"]["snapshot"]["number"], "1", "{applied}");
    });
    assert_eq!(door.get("/health").status, 200);
    wait::until("health", wait::SOON, || {
        client.calls(HEALTH, &json!({}))["status"] == "SERVING"
    });

    let before = client.calls(ACTIVE, &json!({}))["snapshot"]["hash"].clone();
    let moved = client.calls(APPLY, &apply(&text("2s"), &json!("0123")));
    assert_eq!(moved["code"], "ABORTED", "{moved}");
    assert_eq!(moved["details"][0]["reason"], "ACTIVE_SNAPSHOT_MOVED");
    let again = client.calls(APPLY, &apply(&text("1s"), &json!("0123")));
    assert_eq!(again["change"]["unchanged"], true, "{again}");
    let otherwise = format!("# said otherwise\n{}", text("1s"));
    let again = client.calls(APPLY, &apply(&otherwise, &json!("0123")));
    assert_eq!(again["change"]["unchanged"], true, "{again}");
    let kept = fs::read_dir(state.join("snapshots")).unwrap().flatten();
    let mut texts = kept.map(|entry| fs::read_to_string(entry.path()).unwrap());
    assert!(
        texts.any(|text| text.contains("said otherwise")),
        "what was said last is kept"
    );

    let (one, other) = thread::scope(|all| {
        let call = |wait| client.calls(APPLY, &apply(&text(wait), &before));
        let other = all.spawn(move || call("3s"));
        (call("4s"), other.join().unwrap())
    });
    let is_moved = |answer: &Value| answer["code"] == "ABORTED";
    assert!(is_moved(&one) != is_moved(&other), "{one} {other}");
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn files_that_own_the_configuration_are_named_to_whoever_applies() {
    let (_door, client) = opens(Plan::configured(&text("1s")));
    let refused = client.calls(APPLY, &apply(&text("2s"), &json!("0")));
    assert_eq!(refused["code"], "FAILED_PRECONDITION");
    assert_eq!(refused["details"][0]["reason"], "OWNED_BY_FILES");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("gateway.toml"),
        "{refused}"
    );
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn a_refusal_carries_its_findings() {
    let (door, client) = opens(Plan::configured(&text("1s")));
    fs::write(
        door.scratch().path().join("gateway.toml"),
        "[drian]\nx = 1\n",
    )
    .unwrap();
    let refused = client.calls(RELOAD, &json!({}));
    assert_eq!(refused["code"], "FAILED_PRECONDITION");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("gateway.toml:1:2: error[G0002]: "),
        "{message}"
    );
    let details = &refused["details"][1];
    assert_eq!(details["type"], "gateway.control.v1.Diagnostics");
    assert_eq!(details["diagnostics"][0]["labels"][0]["line"], 1);

    let many: String = (0..400).map(|n| format!("x{n} = 1\n")).collect();
    fs::write(door.scratch().path().join("gateway.toml"), many).unwrap();
    let refused = client.calls(RELOAD, &json!({}));
    assert!(
        refused["details"][1]["omitted"].as_u64().unwrap() > 300,
        "{refused}"
    );

    for count in [0, 257] {
        let refused = client.calls(WORKERS, &json!({ "count": count }));
        assert_eq!(refused["code"], "INVALID_ARGUMENT", "{refused}");
    }
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn who_watches_is_told_of_a_change() {
    let (door, client) = opens(Plan::configured(&text("1s")));
    let watched = client.follows("gateway.control.v1.GatewayConfig/Watch", 1);
    wait::until("the watcher's connection", wait::SOON, || {
        client.calls(PLANE, &json!({}))["control"]["connections"].as_u64() >= Some(2)
    });
    fs::write(door.scratch().path().join("gateway.toml"), text("2s")).unwrap();
    // The stream may begin a moment after its connection.
    let _ = client.calls(RELOAD, &json!({}));
    thread::spawn(
        move || {
            while client.calls(RELOAD, &json!({}))["code"] == Value::Null {}
        },
    );
    assert!(watched.told()[0]["applied"].is_object());
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn another_user_is_refused_even_where_the_socket_was_opened_up() {
    assert!(
        nix::unistd::Uid::effective().is_root(),
        "only root can be somebody else"
    );
    let (door, client) = opens(Plan::configured(&text("1s")));
    set_mode(door.scratch().path(), 0o755);
    set_mode(&door.scratch().path().join("state"), 0o755);
    set_mode(&door.scratch().path().join("state/control.sock"), 0o666);

    let refused = client.clone().as_user(65_534).calls(PLANE, &json!({}));
    assert_eq!(refused["code"], "UNAVAILABLE", "{refused}");
    let _ = door.log().waits_for("control: refused", |line| {
        line.text("why").contains("user 65534")
    });
    let plane = client.calls(PLANE, &json!({}));
    assert_ne!(plane["control"]["refused_peers"], "0", "{plane}");
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn over_tcp_only_an_admitted_name_is_heard() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = ours.signs(&["door.test"]);
    let plan = Plan::configured(&text("1s"))
        .flag("--control", "tcp:127.0.0.1:0")
        .file("--control-cert", "control.pem", &server.cert_pem)
        .file("--control-key", "control.key", &server.key_pem)
        .file("--control-ca", "control-ca.pem", ours.pem());
    let door = plan.opens();
    let addr = door.log().waits_for("control", |_| true).text("addr");
    let client = |scratch: &Scratch| Foreign::of(&addr).over_tls(scratch, ours.pem(), "door.test");

    let scratch = Scratch::new();
    let admitted = client(&scratch).showing(&scratch, &ours.signs(&["panel-api"]));
    let plane = admitted.calls(PLANE, &json!({}));
    assert_eq!(plane["snapshot"]["number"], "1", "{plane}");

    let scratch = Scratch::new();
    let silent = client(&scratch).calls(PLANE, &json!({}));
    assert_eq!(silent["code"], "UNAVAILABLE", "{silent}");
    for (stranger, why) in [
        (ours.signs(&["panel-web"]), "panel-web"),
        (theirs.signs(&["panel-api"]), "certificate"),
    ] {
        let scratch = Scratch::new();
        let refused = client(&scratch)
            .showing(&scratch, &stranger)
            .calls(PLANE, &json!({}));
        assert_eq!(refused["code"], "UNAVAILABLE", "{refused}");
        let _ = door
            .log()
            .waits_for("control: refused", |line| line.text("why").contains(why));
    }
    let plane = admitted.calls(PLANE, &json!({}));
    let refused: u64 = plane["control"]["refused_peers"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(refused >= 3, "{plane}");
}

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn a_request_is_traced_and_a_configuration_is_compared() {
    let (_door, client) = opens(Plan::configured(&text("1s")));
    let url = "http://any.example/a?b=1";
    let asked = json!({ "method": "GET", "url": url, "headers": [{ "name": "TE", "value": "x" }] });
    let told = client.calls(TRACE, &asked);
    assert_eq!(told["site_found_by"], "FOUND_BY_DEFAULT", "{told}");
    assert_eq!(told["taken"]["path_and_query"], "/a?b=1", "{told}");
    assert_eq!(told["taken"]["nodes"][0]["may_take"], false, "{told}");
    let removed = &told["taken"]["request_fields"]["removed"];
    assert_eq!(*removed, json!(["te"]), "{told}");

    let many = vec![json!({ "name": "a", "value": "b" }); 257];
    for odd in [
        json!({}),
        json!({ "method": "GET", "url": "/a" }),
        json!({ "method": "GET", "url": url, "headers": many }),
        json!({ "method": "GET", "url": url, "client": "here" }),
        json!({ "method": "GET", "url": url, "listener": "none" }),
        json!({ "method": "GET", "url": format!("{url}{}", "x".repeat(17_000)) }),
    ] {
        let refused = client.calls(TRACE, &odd);
        assert_eq!(refused["code"], "INVALID_ARGUMENT", "{refused}");
        assert_eq!(refused["details"][0]["reason"], "INVALID_CALL", "{refused}");
    }

    let documents = |text: &str| json!({ "documents": [{ "toml": text }] });
    let same = client.calls(COMPARE, &documents(&text("1s")));
    assert_eq!(
        (&same["is_read"], &same["changes"]),
        (&json!(true), &json!([])),
        "{same}"
    );
    let other = client.calls(COMPARE, &documents(&text("2s")));
    assert_eq!(other["changes"][0]["cost"], "at once", "{other}");
    assert_eq!(other["changes"][0]["new"], "\"2s\"", "{other}");
    let broken = client.calls(COMPARE, &documents("[drian]\nx = 1\n"));
    assert_eq!(broken["is_read"], false, "{broken}");
    assert_eq!(broken["diagnostics"][0]["code"], "G0002", "{broken}");
    let none = client.calls(COMPARE, &json!({}));
    assert_eq!(none["code"], "INVALID_ARGUMENT", "{none}");
}
