//! Clients that want more descriptors than there are: what is left for those who look after it.

use std::fs;

use gateway_tests::client::{Answer, Conversation};
use gateway_tests::gateway::{Door, Metrics, Plan, runs};
use gateway_tests::http2::{Http2, Stream, head};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;

/// Descriptors that the process has.
const ALL: u32 = 256;

/// A listener before a node that holds its answers, and before a file that is longer than a client takes
/// unasked.
fn opens(cluster: &Cluster) -> Door {
    let text = format!(
        "workers = 2\n[listeners.web]\nbind = \"127.0.0.1:0\"\nh2c = true\n\
         [sites.all]\nlistener = \"web\"\npool = \"p\"\nroutes.files = {{ path = \"/f/\", files = \"www\" }}\n\
         [pools.p]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nin_flight = 1000\n\
         probe = {{ every = \"100ms\" }}\n[admin]\nbind = \"127.0.0.1:0\"\n",
        cluster["a"].addr()
    );
    let plan = Plan::configured(&text).with_descriptors(ALL);
    fs::create_dir(plan.path("www")).unwrap();
    fs::write(plan.path("www").join("long"), vec![b'x'; 1 << 20]).unwrap();
    let state = plan.path("state").to_string_lossy().into_owned();
    let door = plan.flag("--state-dir", &state).opens();
    wait::until("probed", wait::SOON, || {
        admin(&door, "/readyz").status == 200
    });
    door
}

fn admin(door: &Door, path: &str) -> Answer {
    let said = door.log().waits_for("admin", |_| true);
    let addr = said.text("addr").parse().unwrap();
    Conversation::open(addr).asks(&Request::get(path))
}

/// Asks for this more often than there are descriptors, and takes none of the answers.
fn takes_all(door: &Door, path: &str) -> Vec<(Http2, Vec<Stream>)> {
    let asks = |_| {
        let client = Http2::in_clear(door.addr()).unwrap();
        let asked = (0..100).map(|_| client.sends(head("GET", path), b""));
        let asked = asked.collect();
        (client, asked)
    };
    (0..5).map(asks).collect()
}

fn refused(door: &Door) -> f64 {
    let metrics = Metrics::parse(&admin(door, "/metrics").text());
    metrics.number("gateway_failures_total{listener=\"web\",reason=\"no_descriptors\"}")
}

#[test]
fn requests_leave_descriptors_for_probes_operators_and_the_control_socket() {
    for path in ["/f/long", "/held"] {
        let cluster = Cluster::of(&["a"]);
        let door = opens(&cluster);
        cluster.always(&Way::Held);

        let taken = takes_all(&door, path);
        wait::until("requests without one", wait::SOON, || refused(&door) > 0.0);
        // More than are kept back, and fewer than may be served together.
        let more: Vec<Conversation> = (0..60).map(|_| door.connect()).collect();

        admin(&door, "/livez").is(200);
        let before = cluster["a"].probes().len();
        wait::until("probes", wait::SOON, || {
            cluster["a"].probes().len() > before + 2
        });
        let state = door.scratch().path().join("state");
        let asked = runs(&["status", "--state-dir", &state.to_string_lossy()]);
        assert_eq!(asked.status.code(), Some(0), "{}", asked.stderr);
        admin(&door, "/readyz").is(200);

        drop((taken, more));
        cluster["a"].lets_go();
        wait::until("served again", wait::SOON, || {
            door.get("/f/long").status == 200
        });
    }
}
