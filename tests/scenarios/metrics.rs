//! The numbers of the operators' listener: what they count, and that clients cannot make more of them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::SocketAddr;

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::{Door, Metrics, Plan};
use gateway_tests::log::Entry;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::scratch::set_mode;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Requests of a client who would like to see a series of his own.
const MANY: usize = 10_000;
/// Requests sent before the first of their answers is read.
const AT_ONCE: usize = 50;

fn text(cluster: &Cluster) -> String {
    let (a, b) = (cluster["a"].addr(), cluster["b"].addr());
    format!(
        "[admin]\nbind = \"127.0.0.1:0\"\n[listeners.web]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"web\"\nhosts = [\"shop.test\"]\n\
         [sites.shop.routes]\nbuy = {{ path = \"/buy/\", pool = \"shop\" }}\ngone = {{ exact = \"/gone\", answer = 410 }}\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{a}\" }}, {{ name = \"b\", addr = \"{b}\" }}]\n\
         probe = {{ every = \"100ms\" }}\n"
    )
}

fn opens(cluster: &Cluster) -> (Door, SocketAddr) {
    opens_with(cluster, Plan::configured(&text(cluster)))
}

fn opens_with(cluster: &Cluster, plan: Plan) -> (Door, SocketAddr) {
    cluster.always(&Way::Says(Reply::new(200).body("sold")));
    let door = plan.opens();
    let said = door.log().waits_for("admin", |_| true);
    let admin = said.text("addr").parse().unwrap();
    wait::until("both nodes", wait::SOON, || {
        let now = scrape(admin);
        ["a", "b"].iter().all(|node| {
            now.of(&format!(
                "gateway_node_in_rotation{{pool=\"shop\",node=\"{node}\"}}"
            )) == Some(1.0)
        })
    });
    (door, admin)
}

fn scrape(admin: SocketAddr) -> Metrics {
    let answer = Conversation::open(admin).asks(&Request::get("/metrics"));
    Metrics::parse(&answer.is(200).text())
}

fn shop(target: &str) -> Request {
    Request::get(target).to("shop.test")
}

fn served(route: &str, class: &str) -> String {
    format!(
        "gateway_requests_total{{listener=\"web\",site=\"shop\",route=\"{route}\",class=\"{class}\"}}"
    )
}

fn of_shop(name: &str) -> String {
    format!("{name}{{site=\"shop\"}}")
}

/// Waits until a sample has a value: an answer may be read before it is counted.
#[track_caller]
fn comes_to(admin: SocketAddr, sample: &str, value: f64) {
    let mut last = None;
    let is_there = || {
        last = scrape(admin).of(sample);
        last == Some(value)
    };
    wait::until(sample, wait::SOON, is_there);
}

#[test]
fn requests_are_counted_where_they_end() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    let mut client = door.connect();
    client.asks(&shop("/buy/x")).is(200);
    client.asks(&shop("/gone")).is(410);
    client.asks(&shop("/nowhere")).is(404);
    client.asks(&Request::get("/").to("other.test")).is(421);
    door.connect()
        .says("GET  / HTTP/1.1\r\n\r\n")
        .hears()
        .is(400);

    comes_to(admin, &served("buy", "2xx"), 1.0);
    comes_to(admin, &served("gone", "4xx"), 1.0);
    comes_to(admin, &served("", "4xx"), 1.0);
    let nobody = "gateway_requests_total{listener=\"web\",site=\"\",route=\"\",class=\"4xx\"}";
    comes_to(admin, nobody, 2.0);
    for reason in ["no_such_route", "misdirected", "malformed"] {
        let sample = format!("gateway_failures_total{{listener=\"web\",reason=\"{reason}\"}}");
        comes_to(admin, &sample, 1.0);
    }
    let now = scrape(admin);
    assert_eq!(now.number(&of_shop("gateway_requests_in_flight")), 0.0);
    assert_eq!(
        now.number(&of_shop("gateway_request_duration_seconds_count")),
        3.0
    );
    assert!(now.number(&of_shop("gateway_response_bytes_total")) > 0.0);
    assert_eq!(
        now.number("gateway_connections_accepted_total{listener=\"web\"}"),
        2.0
    );
    assert_eq!(now.number("gateway_snapshot_number"), 1.0);
    assert_eq!(now.number("gateway_generation_number"), 1.0);
    assert!(now.number("process_resident_memory_bytes") > 1e6);
    assert!(now.number("process_open_fds") > 5.0);
}

#[test]
fn tries_are_counted_at_the_node_by_what_came_of_them() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    cluster["a"].always(Way::Resets);
    cluster["b"].always(Way::Resets);
    door.connect().asks(&shop("/buy/x")).is(502);
    let tries = |outcome: &str| -> f64 {
        let now = scrape(admin);
        let of = |node: &str| {
            now.number(&format!(
                "gateway_tries_total{{pool=\"shop\",node=\"{node}\",outcome=\"{outcome}\"}}"
            ))
        };
        of("a") + of("b")
    };
    wait::until("the tries", wait::SOON, || tries("unanswered") >= 1.0);
    assert_eq!(tries("answered"), 0.0);
    let passed = "gateway_probes_total{pool=\"shop\",node=\"a\",result=\"passed\"}";
    wait::until("a probe", wait::SOON, || scrape(admin).number(passed) > 0.0);
}

#[test]
fn a_series_ends_with_its_thing_and_goes_on_where_the_name_stays() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    door.connect().asks(&shop("/buy/x")).is(200);
    comes_to(admin, &served("buy", "2xx"), 1.0);

    let other = text(&cluster)
        .replace("gone =", "left =")
        .replace("name = \"b\"", "name = \"c\"");
    fs::write(door.scratch().path().join("gateway.toml"), &other).unwrap();
    door.signal(Signal::SIGHUP);
    comes_to(admin, "gateway_snapshot_number", 2.0);
    comes_to(admin, "gateway_reloads_total{outcome=\"applied\"}", 1.0);

    let now = scrape(admin);
    assert_eq!(now.number(&served("buy", "2xx")), 1.0);
    assert_eq!(now.of(&served("gone", "4xx")), None);
    assert_eq!(now.number(&served("left", "4xx")), 0.0);
    assert!(!now.names().iter().any(|name| name.contains("node=\"b\"")));
}

#[test]
fn a_refused_reload_is_seen_until_one_is_taken() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    let last = "gateway_last_reload_successful";
    assert_eq!(scrape(admin).number(last), 1.0);
    let file = door.scratch().path().join("gateway.toml");
    let fine = fs::read(&file).unwrap();
    for text in [&b"[pools.shop]\n"[..], b"[pools.shop]\nnodes = []\n"] {
        fs::write(&file, text).unwrap();
        door.signal(Signal::SIGHUP);
        comes_to(admin, last, 0.0);
    }
    fs::write(&file, fine).unwrap();
    door.signal(Signal::SIGHUP);
    comes_to(admin, last, 1.0);
}

#[test]
fn what_drains_says_when_it_is_cut() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    let deadline = "gateway_drain_deadline_timestamp_seconds";
    let mut client = door.connect();
    client.asks(&shop("/gone")).is(410);
    assert_eq!(scrape(admin).of(deadline), None);

    let text = text(&cluster).replace("web", "other");
    let text = format!("{text}[drain]\ndeadline = \"1h\"\n");
    fs::write(door.scratch().path().join("gateway.toml"), text).unwrap();
    door.signal(Signal::SIGHUP);
    comes_to(admin, "gateway_generations_draining", 1.0);
    let now = scrape(admin);
    let runs_for = now.number(deadline) - now.number("process_start_time_seconds");
    // An hour from the reload, which was soon after the start.
    assert!((3598.0..3660.0).contains(&runs_for), "{runs_for}");
    client.asks(&shop("/gone")).is(410);
    comes_to(admin, "gateway_generations_draining", 0.0);
    assert_eq!(scrape(admin).of(deadline), None);
}

/// Case 42.
#[test]
fn a_client_cannot_make_a_series() {
    let cluster = Cluster::of(&["a", "b"]);
    let (door, admin) = opens(&cluster);
    let before: BTreeSet<String> = scrape(admin).names();
    asks_for_many(&door);
    let refused = "gateway_failures_total{listener=\"web\",reason=\"misdirected\"}";
    wait::until("all of them counted", wait::SOON, || {
        scrape(admin).number(refused) >= 6_666.0
    });
    assert_eq!(scrape(admin).names(), before);
}

/// GATEWAY §10: a log that nobody reads costs its lines, and no request.
#[test]
fn lines_that_nobody_takes_are_dropped_and_counted() {
    let cluster = Cluster::of(&["a", "b"]);
    let logs = "[logs]\naccess = \"./pipe\"\n";
    let plan = Plan::configured(&format!("{}{logs}", text(&cluster)));
    let pipe = plan.path("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let unread = File::options().read(true).write(true).open(&pipe).unwrap();
    let (door, admin) = opens_with(&cluster, plan);
    let dropped = "gateway_access_lines_dropped_total";
    assert_eq!(scrape(admin).number(dropped), 0.0);
    asks_for_many(&door);
    wait::until("lines dropped", wait::SOON, || {
        scrape(admin).number(dropped) > 0.0
    });
    drop(unread);
}

/// A disk that takes nothing and a pipe whose reader has gone are said once, until they take lines again.
#[test]
fn lines_that_cannot_be_written_are_counted_and_said_once() {
    let cluster = Cluster::of(&["a", "b"]);
    let logs = "[logs]\naccess = \"./pipe\"\n";
    let plan = Plan::configured(&format!("{}{logs}", text(&cluster)));
    let pipe = plan.path("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let reads = || File::options().read(true).write(true).open(&pipe).unwrap();
    let reader = reads();
    let (door, admin) = opens_with(&cluster, plan);
    drop(reader);
    loses_each_of_them(&door, admin, "pipe");

    let reader = reads();
    door.connect().asks(&shop("/gone")).is(410);
    door.log()
        .waits_for("access lines are written again", |_| true);
    comes_to(admin, "gateway_degraded", 0.0);
    drop(reader);
    let full = format!("{}[logs]\naccess = \"/dev/full\"\n", text(&cluster));
    fs::write(door.scratch().path().join("gateway.toml"), full).unwrap();
    door.signal(Signal::SIGHUP);
    door.log().waits_for("reload: applied", |_| true);
    loses_each_of_them(&door, admin, "/dev/full");
}

/// Asks a few times, and sees that each line is counted and the first one said.
fn loses_each_of_them(door: &Door, admin: SocketAddr, to: &str) {
    let dropped = "gateway_access_lines_dropped_total";
    let lost = |said: &Entry| said.text("why").contains(to);
    let before = scrape(admin).number(dropped);
    for _ in 0..20 {
        door.connect().asks(&shop("/gone")).is(410);
    }
    comes_to(admin, dropped, before + 20.0);
    comes_to(admin, "gateway_degraded", 1.0);
    door.log().waits_for("access lines are lost", lost);
    let said = door.log().saying("access lines are lost");
    assert_eq!(said.into_iter().filter(lost).count(), 1);
}

/// Asks for what nobody has, under as many names, and hears every answer.
fn asks_for_many(door: &Door) {
    let mut client = door.connect();
    for first in (0..MANY).step_by(AT_ONCE) {
        let asked = first..first + AT_ONCE;
        let all: Vec<u8> = asked
            .clone()
            .flat_map(|number| {
                let request =
                    Request::new(&format!("M{number}"), &format!("/p{number}?q={number}"));
                let host = format!("h{number}.test");
                let host = if number % 3 == 0 { "shop.test" } else { &host };
                request.to(host).bytes()
            })
            .collect();
        client.says(all);
        for _ in asked {
            client.hears();
        }
    }
}

/// Case 42, for names that are asked for in a handshake.
#[test]
fn handshakes_are_counted_by_what_came_of_them_and_not_by_name() {
    let cluster = Cluster::of(&["a", "b"]);
    let authority = Authority::new();
    let signed = authority.signs(&["shop.test"]);
    let more = "[listeners.sec]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
                [tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n";
    let plan = Plan::configured(&format!("{}{more}", text(&cluster)));
    for (name, pem) in [("t.pem", &signed.cert_pem), ("t.key", &signed.key_pem)] {
        fs::write(plan.path(name), pem).unwrap();
        set_mode(&plan.path(name), 0o600);
    }
    let (door, admin) = opens_with(&cluster, plan);
    let addr = door.seen_as("sec").addr();
    let before = scrape(admin).names();
    for number in 0..20 {
        let name = format!("h{number}.test");
        let tried = Conversation::tries_tls(addr, &authority.trust(), &name);
        let _ = tried.unwrap().sends(&shop("/gone")).listens();
    }
    let mut client = Conversation::open_tls(addr, &authority.trust(), "shop.test");
    client.asks(&shop("/gone"));
    let of = |outcome: &str| {
        format!("gateway_handshakes_total{{listener=\"sec\",outcome=\"{outcome}\"}}")
    };
    comes_to(admin, &of("rejected"), 20.0);
    comes_to(admin, &of("done"), 1.0);
    assert_eq!(scrape(admin).names(), before);
}

#[test]
fn what_is_in_flight_on_a_node_that_has_left_is_counted_until_it_is_over() {
    let (cluster, elsewhere) = (Cluster::of(&["a", "b"]), Cluster::of(&["b"]));
    let (door, admin) = opens(&cluster);
    let b = "gateway_node_in_flight{pool=\"shop\",node=\"b\"}";
    let reloads = |text: &str, times: usize| {
        fs::write(door.scratch().path().join("gateway.toml"), text).unwrap();
        door.signal(Signal::SIGHUP);
        wait::until("the reload", wait::SOON, || {
            door.log().saying("reload: applied").len() == times
        });
    };
    let before = text(&cluster);
    let moved = before.replace(
        &cluster["b"].addr().to_string(),
        &elsewhere["b"].addr().to_string(),
    );
    cluster["b"].next([Way::Held]);
    // Two workers that choose at the same moment may choose the same node.
    let mut clients = [door.connect(), door.connect()];
    for (before, client) in clients.iter_mut().enumerate() {
        client.sends(&shop("/buy/"));
        wait::until("it arrives", wait::SOON, || cluster.requests() > before);
    }
    wait::until("one held", wait::SOON, || cluster["b"].in_flight() == 1);
    assert_eq!(scrape(admin).of(b), Some(1.0));

    reloads(&moved, 1);
    assert_eq!(scrape(admin).of(b), Some(1.0));
    reloads(
        &moved
            .replace("shop\"", "other\"")
            .replace("pools.shop", "pools.other"),
        2,
    );
    assert_eq!(scrape(admin).of(b), Some(1.0), "its pool has gone");
    reloads(&moved, 3);
    assert_eq!(scrape(admin).of(b), Some(1.0), "and come back");
    cluster["b"].lets_go();
    wait::until("nothing in flight", wait::SOON, || {
        scrape(admin).of(b) == Some(0.0)
    });
}
