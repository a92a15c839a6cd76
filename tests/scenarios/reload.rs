//! What a reload reads again, and what it must not disturb.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use nix::sys::signal::Signal;

#[test]
fn a_renewed_certificate_is_shown_after_a_reload_of_the_same_text() {
    let cluster = Cluster::of(&["a"]);
    let (old, new) = (Authority::new(), Authority::new());
    let (first, second) = (old.signs(&["door.test"]), new.signs(&["door.test"]));
    let door = Door::before(&cluster)
        .file("--tls-cert", "door.pem", &first.cert_pem)
        .file("--tls-key", "door.key", &first.key_pem)
        .over_tls(&old)
        .opens();

    fs::write(door.scratch().path().join("door.pem"), &second.cert_pem).unwrap();
    fs::write(door.scratch().path().join("door.key"), &second.key_pem).unwrap();
    door.signal(Signal::SIGHUP);

    wait::until("the new certificate", wait::SOON, || {
        let socket = TcpStream::connect(door.addr()).unwrap();
        let mut tls = new.trust().client("door.test", socket);
        let request = b"GET /health HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n";
        let mut answer = Vec::new();
        tls.write_all(request).is_ok()
            && tls.read_to_end(&mut answer).is_ok()
            && answer.starts_with(b"HTTP/1.1 200")
    });
}

#[test]
fn nodes_that_are_all_replaced_are_asked_before_they_are_served() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let list = |name: &str| {
        let addr = cluster[name].addr();
        format!("[[node]]\nname = \"{name}\"\naddr = \"{addr}\"\n")
    };
    let door = Plan::alone()
        .set("--health-interval", "60s")
        .file("--cluster", "cluster.toml", &list("a"))
        .opens();
    door.sees_in("a");
    let mut client = door.connect();

    for (reload, name) in ["b", "c", "a", "b"].iter().enumerate() {
        fs::write(door.scratch().path().join("cluster.toml"), list(name)).unwrap();
        door.signal(Signal::SIGHUP);
        wait::until("the reload", wait::SOON, || {
            client.asks(&Request::get("/schema")).is(200);
            door.log().saying("reload: applied").len() > reload
        });
        client.asks(&Request::get("/schema")).is(200);
    }
}

#[test]
fn reloads_one_after_the_other_keep_no_node_from_being_probed() {
    let cluster = Cluster::of(&["a", "b", "c"]);
    let list = |names: &[&str]| -> String {
        let node = |name: &&str| {
            format!(
                "[[node]]\nname = \"{name}\"\naddr = \"{}\"\n",
                cluster[*name].addr()
            )
        };
        names.iter().map(node).collect()
    };
    let door = Plan::alone()
        .set("--health-interval", "1s")
        .file("--cluster", "cluster.toml", &list(&["a", "b"]))
        .opens();
    door.sees_in("b");

    cluster["b"].says_serving(false);
    let mut turn = 0;
    wait::until("the node that does not serve out", wait::SOON, || {
        turn += 1;
        let names: &[&str] = if turn % 2 == 0 {
            &["a", "b"]
        } else {
            &["a", "b", "c"]
        };
        fs::write(door.scratch().path().join("cluster.toml"), list(names)).unwrap();
        door.signal(Signal::SIGHUP);
        !door.is_in("b")
    });
}
