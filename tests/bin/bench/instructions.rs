//! Instructions per request, counted by valgrind: through the front door, and through an edge with a
//! thousand routes, edits of fields, request ids and metrics.
//!
//! The same run with more requests, less the same with fewer, is what the requests cost.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use gateway_tests::gateway::Plan;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;

use crate::load;

const FEW: u32 = 2_000;
const MANY: u32 = 10_000;
const ROUTES: u32 = 1_000;
/// Bytes of a node's answer.
const BODY: usize = 1024;

/// Prints both and their ratio.
pub(crate) fn measure() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("NOT MEASURED: instructions need valgrind");
        return;
    }
    let cluster = Cluster::of(&["a", "b", "c"]);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {BODY}\r\n\r\n");
    let answer = [head.into_bytes(), vec![b'x'; BODY]].concat();
    cluster.always(&Way::Raw(answer));
    let nodes: Vec<SocketAddr> = cluster.nodes().iter().map(|node| node.addr()).collect();
    let door = per_request(
        &|| {
            Plan::front_door(&cluster)
                .set("--health-interval", "60s")
                .set("--access-log", "off")
        },
        "/schema",
    );
    println!("front door: {door} instructions per request");
    let edge = per_request(
        &|| Plan::configured(&edge(&nodes)),
        &format!("/part{}/of/it", ROUTES - 1),
    );
    println!("edge, {ROUTES} routes: {edge} instructions per request");
    println!("ratio: {:.3}, at most 1.15", ratio(edge, door));
}

fn ratio(one: u64, other: u64) -> f64 {
    let (one, other) = (u32::try_from(one), u32::try_from(other));
    one.map_or(f64::NAN, f64::from) / other.map_or(f64::NAN, f64::from)
}

fn per_request(plan: &dyn Fn() -> Plan, path: &str) -> u64 {
    let counts = [FEW, MANY].map(|requests| count(plan(), path, requests));
    let [few, many] = counts;
    many.saturating_sub(few) / u64::from(MANY - FEW)
}

/// Instructions of a process that has answered so many requests.
fn count(plan: Plan, path: &str, requests: u32) -> u64 {
    let out = plan.path("callgrind.out");
    let file = format!("--callgrind-out-file={}", out.display());
    let door = plan
        .under("valgrind", ["--quiet", "--tool=callgrind", &file])
        .opens();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: door.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
    );
    wait::until("a node in rotation", wait::EVENTUALLY, || {
        door.get(path).status == 200
    });
    load::run(door.addr(), &request, BODY, requests);
    door.stops();
    assert!(
        door.ends_within(wait::EVENTUALLY).success(),
        "an end in order"
    );
    let said = fs::read_to_string(out).expect("what callgrind has counted");
    let total = said.lines().find_map(|line| line.strip_prefix("totals: "));
    total
        .and_then(|total| total.trim().parse().ok())
        .expect("a total")
}

/// A site with so many routes, the last of which is asked for, and everything on.
fn edge(nodes: &[SocketAddr]) -> String {
    let nodes: Vec<String> = nodes.iter().map(|node| format!("\"{node}\"")).collect();
    let mut text = format!(
        "workers = 1\n[logs]\naccess = \"off\"\n[admin]\nbind = \"127.0.0.1:0\"\n\
         [listeners.door]\nbind = \"127.0.0.1:0\"\n\
         [pools.shop]\nnodes = [{}]\nprobe = {{ every = \"60s\" }}\n\
         [sites.all]\nlistener = \"door\"\npool = \"shop\"\n\
         request_edits = {{ set = {{ x-edge = \"yes\" }}, remove = [\"x-debug\"] }}\n\
         response_edits = {{ set = {{ x-served-by = \"edge\" }}, remove = [\"server\"] }}\n",
        nodes.join(", ")
    );
    for route in 0..ROUTES {
        let _ = write!(
            text,
            "[sites.all.routes.r{route}]\ntemplate = \"/part{route}/of/{{what}}\"\npool = \"shop\"\n"
        );
    }
    text
}
