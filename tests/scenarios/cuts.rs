//! Clients that are cut in every phase of a request: nothing of them is left in any view.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use gateway_tests::certs::{Authority, Trust};
use gateway_tests::client::Conversation;
use gateway_tests::frames::{Frames, RST_STREAM};
use gateway_tests::gateway::{Door, Metrics, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::wait;
use serde_json::Value;

/// Clients in each of eight phases.
const EACH: usize = 63;
/// Phases in which there is a request.
const REQUESTS: usize = 6 * EACH;
/// RFC 9113 §7: `CANCEL`.
const CANCEL: [u8; 4] = [0, 0, 0, 8];

struct Stage {
    door: Door,
    trust: Trust,
    /// `work`, `half`, `live` and `full`, each the one node of the pool of its name.
    cluster: Cluster,
}

fn stage() -> Stage {
    let cluster = Cluster::of(&["work", "half", "live", "full"]);
    cluster["half"].always(Way::HangsInBody);
    cluster["live"].always(Way::SwitchesAndEchoes);
    cluster["work"].always(Way::Held);
    cluster["full"].always(Way::Held);
    let pool = |name: &str, more: &str| {
        let addr = cluster[name].addr();
        format!(
            "[pools.{name}]\nnodes = [{{ name = \"{name}\", addr = \"{addr}\" }}]\n{more}\n\
             [sites.shop.routes.{name}]\npath = \"/{name}\"\npool = \"{name}\"\nupgrade = {}\n",
            name == "live"
        )
    };
    let text = format!(
        "workers = 2\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
         alpn = [\"h2\", \"http/1.1\"]\nin_flight = {{ max = {} }}\n\
         [tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n[admin]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\n{}{}{}{}",
        // A round that leaves anything behind is refused in the next one.
        REQUESTS + EACH / 2,
        pool("work", "in_flight = 1000"),
        pool("half", "in_flight = 1000"),
        pool("live", "in_flight = 1000"),
        pool("full", "in_flight = 16\nqueue_wait = \"60s\""),
    );
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let plan = Plan::configured(&text).over_tls(&authority);
    fs::write(plan.path("t.pem"), &identity.cert_pem).unwrap();
    fs::write(plan.path("t.key"), &identity.key_pem).unwrap();
    fs::set_permissions(plan.path("t.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let state = plan.path("state");
    let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
    wait::until("the socket", wait::SOON, || {
        state.join("control.sock").exists()
    });
    Stage {
        door,
        trust: authority.trust(),
        cluster,
    }
}

impl Stage {
    fn metrics(&self) -> Metrics {
        let admin = self.door.log().saying("admin").pop().unwrap().text("addr");
        let answer = Conversation::open(admin.parse().unwrap()).asks(&Request::get("/metrics"));
        Metrics::parse(&answer.is(200).text())
    }

    /// What the command line says over gRPC.
    fn status(&self) -> Value {
        let state = self.door.scratch().path().join("state");
        let words = ["status", "--format", "json", "--state-dir"];
        let words: Vec<&str> = words.into_iter().chain([state.to_str().unwrap()]).collect();
        let said = runs(&words);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// Requests in flight by site, by node, and those that wait for a place.
    fn in_flight(&self) -> [f64; 6] {
        let all = self.metrics();
        let node = |name: &str| {
            all.number(&format!(
                "gateway_node_in_flight{{pool=\"{name}\",node=\"{name}\"}}"
            ))
        };
        [
            all.number("gateway_requests_in_flight{site=\"shop\"}"),
            node("work"),
            node("half"),
            node("live"),
            node("full"),
            all.number("gateway_pool_waiting{pool=\"full\"}"),
        ]
    }

    fn says(&self, bytes: impl AsRef<[u8]>) -> Conversation {
        let mut client = self.door.connect();
        client.says(bytes);
        client
    }

    /// A client in each phase, many times; gone when this returns.
    fn cuts(&self) {
        let addr = self.door.addr();
        let (mut sockets, mut clients) = (Vec::new(), Vec::new());
        let mut frames = Frames::open(addr, &self.trust, "door.test");
        frames.begins_with(&[]);
        for number in 0..EACH {
            // Connecting: before the handshake, and inside it.
            let mut socket = TcpStream::connect(addr).unwrap();
            socket.write_all(&[0x16, 3, 1][..number % 4]).unwrap();
            sockets.push(socket);
            clients.push(self.says("GET /work HTTP/1.1\r\nHost: do"));
            clients.push(self.says(
                "POST /work HTTP/1.1\r\nHost: door.test\r\nContent-Length: 9000\r\n\r\nand so",
            ));
            clients.push(self.says("GET /work HTTP/1.1\r\nHost: door.test\r\n\r\n"));
            clients.push(self.says("GET /full HTTP/1.1\r\nHost: door.test\r\n\r\n"));
            let mut half = self.says("GET /half HTTP/1.1\r\nHost: door.test\r\n\r\n");
            half.hears_bytes(b"HTTP/1.1 200".len());
            clients.push(half);
            let mut tunnel = self.says(
                "GET /live HTTP/1.1\r\nHost: door.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
            );
            tunnel.hears_bytes(b"HTTP/1.1 101".len());
            tunnel.says("half a wo");
            clients.push(tunnel);
            frames.asks(1 + 2 * number as u32, "GET", "/work", true);
        }
        // Of those with a request: three kinds at work, one in half an answer, one in a tunnel, and one
        // of which sixteen have a place.
        let each = EACH as f64;
        let expected = [6.0 * each, 3.0 * each, each, each, 16.0, each - 16.0];
        wait::until("everybody in his phase", wait::EVENTUALLY, || {
            self.in_flight() == expected
        });
        for number in 0..EACH {
            frames.sends(RST_STREAM, 0, 1 + 2 * number as u32, &CANCEL);
        }
        drop((sockets, clients));
        wait::until("nobody in flight", wait::EVENTUALLY, || {
            self.in_flight() == [0.0; 6]
        });
        // The connection of the streams is there until here, so that it was they who were cut.
        drop(frames);
    }
}

#[test]
fn five_hundred_clients_that_are_cut_in_every_phase_leave_nothing_behind() {
    let stage = stage();
    for _ in 0..2 {
        stage.cuts();
        let open = "gateway_connections_open{listener=\"edge\"}";
        wait::until("no connection", wait::EVENTUALLY, || {
            stage.metrics().number(open) == 0.0
        });
        let status = stage.status();
        for pool in status["pools"].as_array().unwrap() {
            assert_eq!(pool["nodes"][0]["in_flight"], 0, "{status}");
        }
        assert_eq!(status["listeners"][0]["connections"], 0, "{status}");
    }
    stage.cluster.always(&Way::Says(Reply::new(200)));
    for name in ["work", "half", "live", "full"] {
        stage.door.get(&format!("/{name}")).is(200);
    }
}

#[test]
fn a_client_that_goes_away_leaves_the_queue_where_bodies_are_passed_on_too() {
    let stage = stage();
    let asks = || stage.says("GET /full HTTP/1.1\r\nHost: door.test\r\n\r\n");
    let served: Vec<Conversation> = (0..16).map(|_| asks()).collect();
    let full = |in_flight: f64, waiting: f64| {
        wait::until("so many in flight and waiting", wait::SOON, || {
            stage.in_flight()[4..] == [in_flight, waiting]
        });
    };
    full(16.0, 0.0);
    let waiting: Vec<Conversation> = (0..5).map(|_| asks()).collect();
    full(16.0, 5.0);
    drop(waiting);
    full(16.0, 0.0);
    drop(served);
    full(0.0, 0.0);
}
