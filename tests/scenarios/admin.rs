//! The operators' listener: what it shows, to whom, and how it changes with a reload.

use std::fs;
use std::net::SocketAddr;
use std::net::TcpListener;

use gateway_tests::client::{Answer, Conversation};
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// A gateway with one site before these nodes, and with what else the text says.
fn text(cluster: &Cluster, more: &str) -> String {
    let node = cluster["a"].addr();
    format!(
        "[listeners.web]\nbind = \"127.0.0.1:0\"\n[sites.all]\nlistener = \"web\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{node}\" }}]\nprobe = {{ every = \"100ms\" }}\n{more}\n"
    )
}

/// Where its operators' listener is; the newest one.
fn admin(door: &Door) -> SocketAddr {
    let said = wait::value("the operators' listener", wait::SOON, || {
        door.log().saying("admin").pop()
    });
    said.text("addr").parse().unwrap()
}

fn get(addr: SocketAddr, path: &str) -> Answer {
    Conversation::open(addr).asks(&Request::get(path))
}

fn reloads(door: &Door, text: &str, said: &str) {
    let before = door.log().saying(said).len();
    fs::write(door.scratch().path().join("gateway.toml"), text).unwrap();
    door.signal(Signal::SIGHUP);
    wait::until(said, wait::SOON, || door.log().saying(said).len() > before);
}

const ADMIN: &str = "[admin]\nbind = \"127.0.0.1:0\"";

#[test]
fn it_shows_its_pages_and_nothing_else_to_those_who_only_read() {
    let cluster = Cluster::of(&["a"]);
    let door = Plan::configured(&text(&cluster, ADMIN)).opens();
    let addr = admin(&door);

    get(addr, "/livez").is(200);
    wait::until("ready", wait::SOON, || get(addr, "/readyz").status == 200);
    let page = get(addr, "/");
    assert!(page.is(200).text().contains("pool shop"), "{}", page.text());
    assert!(page.text().contains("snapshot 1 "), "{}", page.text());
    for path in [
        "/x",
        "/livez/",
        "//livez",
        "/metrics/../livez",
        "/..%2flivez",
    ] {
        get(addr, path).is(404);
    }
    let mut client = Conversation::open(addr);
    let answer = client.asks(&Request::post("/readyz", "x"));
    assert_eq!(answer.is(405).field("allow"), Some("GET, HEAD"));
    let head = Conversation::open(addr).asks(&Request::new("HEAD", "/livez"));
    head.is(200);
    assert_eq!(head.body, b"");
}

#[test]
fn it_says_not_ready_while_nothing_can_be_served_and_when_the_process_ends() {
    let cluster = Cluster::of(&["a"]);
    let door = Plan::configured(&text(&cluster, ADMIN)).opens();
    let addr = admin(&door);
    wait::until("ready", wait::SOON, || get(addr, "/readyz").status == 200);

    cluster["a"].says_serving(false);
    wait::until("not ready", wait::SOON, || {
        get(addr, "/readyz").status == 503
    });
    let said = get(addr, "/readyz").text();
    assert!(
        said.contains("pool `shop` has no node in rotation"),
        "{said}"
    );
    get(addr, "/livez").is(200);

    let held = door.connect();
    let mut client = held;
    client.says("GET / HTTP/1.1\r\nHost: a\r\n");
    door.stops();
    wait::until("draining", wait::SOON, || {
        get(addr, "/readyz").text().contains("draining")
    });
    get(addr, "/livez").is(200);
}

#[test]
fn who_is_not_in_its_networks_is_told_no_more_than_that() {
    let cluster = Cluster::of(&["a"]);
    let elsewhere = format!("{ADMIN}\nallow_from = [\"192.0.2.0/24\"]");
    let door = Plan::configured(&text(&cluster, &elsewhere)).opens();
    let addr = admin(&door);
    for path in ["/", "/livez", "/nothing"] {
        let answer = get(addr, path);
        assert_eq!(answer.is(403).text(), "not for this address\n");
        assert_eq!(answer.field("connection"), Some("close"));
    }

    // The networks change without the listener noticing.
    let here = format!("{ADMIN}\nallow_from = [\"127.0.0.0/8\"]");
    reloads(&door, &text(&cluster, &here), "reload: applied");
    get(addr, "/livez").is(200);
}

#[test]
fn an_address_that_is_taken_is_a_finding_on_its_line_and_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("[admin]\nbind = \"{}\"", taken.local_addr().unwrap());
    let refused = Plan::configured(&text(&cluster, &taken)).is_refused();
    assert!(
        refused.stderr.contains("cannot be bound"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("gateway.toml:10:"),
        "{}",
        refused.stderr
    );

    let door = Plan::configured(&text(&cluster, ADMIN)).opens();
    let addr = admin(&door);
    reloads(&door, &text(&cluster, &taken), "reload: refused");
    let said = door
        .log()
        .saying("reload: refused")
        .pop()
        .unwrap()
        .text("why");
    assert!(said.contains("gateway.toml:10:"), "{said}");
    get(addr, "/livez").is(200);
}

#[test]
fn it_moves_and_goes_with_a_reload() {
    let cluster = Cluster::of(&["a"]);
    let door = Plan::configured(&text(&cluster, ADMIN)).opens();
    let first = admin(&door);
    let other = ADMIN.replace("127.0.0.1", "127.0.0.2");
    reloads(&door, &text(&cluster, &other), "reload: applied");
    let second = wait::value("the second", wait::SOON, || {
        let addr = admin(&door);
        (addr != first).then_some(addr)
    });
    get(second, "/livez").is(200);
    wait::until("the first gone", wait::SOON, || {
        Conversation::tries(first).is_err()
    });

    reloads(&door, &text(&cluster, ""), "reload: applied");
    wait::until("the second gone", wait::SOON, || {
        Conversation::tries(second).is_err()
    });
}
