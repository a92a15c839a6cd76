//! TLS to nodes: whom the gateway trusts, by which name, what it shows of itself, and which
//! connections are taken again.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, Plan, runs};
use gateway_tests::http2_node::Http2Node;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Greeting};
use gateway_tests::scratch::Scratch;
use gateway_tests::wait;
use nix::sys::signal::Signal;

fn text(node: SocketAddr, pool: &str) -> String {
    format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\nupgrade = true\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{node}\" }}]\n{pool}"
    )
}

fn ca(scratch: &Scratch, authority: &Authority) -> String {
    let ca = scratch.file("ca.pem", authority.pem());
    format!("tls = {{ ca = \"{}\" }}\n", ca.display())
}

/// On a system that trusts whom this file names, and nobody else.
fn trusting(plan: Plan, roots: &Path) -> Plan {
    let folder = roots.parent().unwrap();
    plan.told("SSL_CERT_FILE", roots.as_os_str())
        .told("SSL_CERT_DIR", folder.as_os_str())
}

#[test]
fn whom_the_system_trusts_is_trusted_where_no_bundle_takes_its_place() {
    let (system, other) = (Authority::new(), Authority::new());
    let scratch = Scratch::new();
    let roots = scratch.file("system.pem", system.pem());
    let node = Cluster::with_tls(&["a"], &system);
    let opens = |pool: &str| {
        let plan = Plan::configured(&text(node["a"].addr(), pool));
        trusting(plan, &roots).opens()
    };

    opens("tls = true\n").get("/schema").is(200);
    assert_eq!(node.requests(), 1);
    let refused = opens(&ca(&scratch, &other)).get("/schema");
    assert_eq!(refused.is(502).field("x-gateway-outcome"), Some("not-sent"));
    assert_eq!(node.requests(), 1);
}

#[test]
fn roots_that_cannot_be_read_are_told_and_change_nothing() {
    let system = Authority::new();
    let scratch = Scratch::new();
    let roots = scratch.file("system.pem", system.pem());
    let node = Cluster::with_tls(&["a"], &system);
    let plan = Plan::configured(&text(node["a"].addr(), "tls = true\n"));
    let door = trusting(plan, &roots).opens();

    std::fs::remove_file(&roots).unwrap();
    let other = text(node["a"].addr(), "tls = true\nkeep_idle = \"1s\"\n");
    let _ = door.scratch().file("gateway.toml", other);
    door.signal(Signal::SIGHUP);

    let _ = door.log().waits_for("reload: refused", |line| {
        line.text("why")
            .contains("the certificates of the system: ")
    });
    door.get("/schema").is(200);
}

#[test]
fn the_name_is_the_nodes_own_or_its_pools_or_its_address() {
    let authority = Authority::new();
    let scratch = Scratch::new();
    let path = scratch.file("ca.pem", authority.pem());
    for (shown, name, fits) in [
        ("a", "", true),
        ("b", "", false),
        ("127.0.0.1", ", name = \"address\"", true),
        ("a", ", name = \"address\"", false),
        ("pool.test", ", name = \"pool.test\"", true),
        ("a", ", name = \"pool.test\"", false),
    ] {
        let node = Cluster::showing(&[("a", &authority.signs(&[shown]))]);
        let tls = format!("tls = {{ ca = \"{}\"{name} }}\n", path.display());
        let door = Door::configured(&text(node["a"].addr(), &tls));
        let status = if fits { 200 } else { 502 };
        door.get("/schema").is(status);
    }
}

#[test]
fn why_no_handshake_comes_about_is_said_once() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let scratch = Scratch::new();
    let tls = ca(&scratch, &authority) + "probe = { every = \"100ms\" }\n";
    for (shown, why) in [
        (authority.signs(&["b"]), "not valid for name"),
        (stranger.signs(&["a"]), "invalid peer certificate"),
        (authority.signs_for(&["a"], 2000..2001), "expired"),
    ] {
        let node = Cluster::showing(&[("a", &shown)]);
        let door = Door::configured(&text(node["a"].addr(), &tls));
        let said = "no handshake with a node";
        let line = door.log().waits_for(said, |_| true);
        assert!(line.text("why").contains(why), "{}", line.text("why"));
        assert_eq!([line.text("pool"), line.text("node")], ["shop", "a"]);
        wait::until("more probes", wait::SOON, || node["a"].accepted() > 4);
        assert_eq!(door.log().saying(said).len(), 1);
    }
}

#[test]
fn a_name_that_no_certificate_has_is_refused_before_anything_is_served() {
    let authority = Authority::new();
    let scratch = Scratch::new();
    let path = scratch.file("ca.pem", authority.pem());
    let tls = |more: &str| format!("tls = {{ ca = \"{}\"{more} }}\n", path.display());
    let addr: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let by_node = text(addr, &tls("")).replace("name = \"a\"", "name = \"a_b\"");
    let by_address = text(addr, &tls(", name = \"address\"")).replace("127.0.0.1:1", "a_b:1");
    for text in [by_node, by_address] {
        let ended = Plan::configured(&text).is_refused();
        assert!(
            ended.stderr.contains("no certificate is for"),
            "{}",
            ended.stderr
        );
    }

    let ended = Plan::bare()
        .flag("--upstream", "a_b=127.0.0.1:1")
        .flag("--upstream-ca", &path.to_string_lossy())
        .is_refused();
    assert!(
        ended.stderr.contains("no certificate is for"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_connection_made_under_other_roots_is_not_taken_again() {
    for http2 in ["", "http2 = true\n"] {
        let (first, second) = (Authority::new(), Authority::new());
        let identity = first.signs(&["a"]);
        let (one, two);
        let addr = if http2.is_empty() {
            one = Cluster::showing(&[("a", &identity)]);
            one["a"].addr()
        } else {
            two = Http2Node::over_tls(&identity);
            two.addr()
        };
        let scratch = Scratch::new();
        let pool = format!("{http2}{}keep_idle = \"60s\"\n", ca(&scratch, &first));
        let door = Door::configured(&text(addr, &pool));
        door.get("/schema").is(200);

        let _ = scratch.file("ca.pem", second.pem());
        door.signal(Signal::SIGHUP);
        let _ = door
            .log()
            .waits_for("reload: unchanged but for the files it names", |_| true);
        door.get("/schema").is(502);
    }
}

#[test]
fn a_node_that_speaks_no_http2_is_spoken_to_in_http_1_1_and_so_is_a_tunnel() {
    let authority = Authority::new();
    let scratch = Scratch::new();
    let node = Cluster::with_tls(&["a"], &authority);
    let pool = format!("http2 = true\n{}", ca(&scratch, &authority));
    let door = Door::configured(&text(node["a"].addr(), &pool));
    door.get("/schema").is(200);
    assert_eq!(node["a"].seen()[0].head.start, "GET /schema HTTP/1.1");

    // In clear text HTTP/2 is taken as known, but nobody knows of tunnels in it.
    let clear = Cluster::of(&["a"]);
    let door = Door::configured(&text(clear["a"].addr(), "http2 = true\n"));
    clear["a"].greets(Greeting::Switches);
    let mut tunnel = door.connect();
    let upgrade = Request::get("/live")
        .field("Connection", "Upgrade")
        .field("Upgrade", "echo");
    tunnel.asks(&upgrade).is(101);
    tunnel.says("there and back");
    assert_eq!(tunnel.hears_bytes(14), b"there and back");
}

#[test]
fn probes_speak_what_the_pool_speaks() {
    let authority = Authority::new();
    let scratch = Scratch::new();
    let over_tls = Http2Node::over_tls(&authority.signs(&["a"]));
    let clear = Http2Node::clear();
    let tls = ca(&scratch, &authority);
    for (node, pool) in [(&clear, ""), (&over_tls, &*tls)] {
        for (probe, path) in [
            ("kind = \"http\"\npath = \"/healthz\"", "/healthz"),
            ("kind = \"ready\"", "/ready"),
        ] {
            let pool = format!(
                "http2 = true\n{pool}[pools.shop.probe]\n{probe}\nevery = \"100ms\"\n\
                 timeout = \"100ms\"\nmay_outlive = true\n"
            );
            let door = Door::configured(&text(node.addr(), &pool));
            door.sees_in("a");
            let before = node.connections();
            wait::until("probes, each on its own", wait::SOON, || {
                node.connections() >= before + 3
            });
            let asked = &node.seen_at(path)[0];
            assert_eq!(
                asked.head.first(":authority"),
                Some(&*node.addr().to_string())
            );
            assert_eq!(asked.head.first("connection"), None);
        }
    }
}

/// A node that asks whoever connects for a certificate, and tells whether it has shaken hands and what it
/// was shown.
fn asks_for_a_certificate(authority: &Authority) -> (SocketAddr, Receiver<(bool, Option<usize>)>) {
    let config = authority.signs(&["a"]).config_asking(authority);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            while tls.is_handshaking() {
                if tls.complete_io(&mut socket).is_err() {
                    break;
                }
            }
            let shown = tls.peer_certificates().map(<[_]>::len);
            let _ = sender.send((!tls.is_handshaking(), shown));
        }
    });
    (addr, receiver)
}

#[test]
fn no_certificate_is_shown_to_a_node_and_nothing_could_name_one() {
    let authority = Authority::new();
    let scratch = Scratch::new();
    for pool in ["", "http2 = true\n"] {
        let (addr, shown) = asks_for_a_certificate(&authority);
        let door = Door::configured(&text(addr, &format!("{pool}{}", ca(&scratch, &authority))));
        let mut client = door.connect();
        client.sends(&Request::get("/x"));
        assert_eq!(shown.recv_timeout(wait::SOON).unwrap(), (true, None));
    }

    // Not off: absent.
    for tls in [
        "cert = \"c.pem\"",
        "key = \"c.key\"",
        "client_cert = \"c.pem\"",
        "chain = \"c.pem\"",
        "identity = \"c.pem\"",
    ] {
        let pool = format!("tls = {{ {tls} }}\n");
        let scratch = Scratch::new();
        let file = scratch.file("gateway.toml", text("127.0.0.1:1".parse().unwrap(), &pool));
        let refused = runs(&["check", &file.to_string_lossy()]);
        assert!(
            refused.stderr.contains("error[G0002]"),
            "{}",
            refused.stderr
        );
    }
    for command in [
        &["--help"][..],
        &["run", "--help"],
        &["front-door", "--help"],
    ] {
        let help = runs(command).stdout.to_lowercase();
        assert!(
            !help.contains("client cert") && !help.contains("client-cert"),
            "{help}"
        );
        assert!(
            !help.contains("--upstream-cert") && !help.contains("--upstream-key"),
            "{help}"
        );
    }
}
