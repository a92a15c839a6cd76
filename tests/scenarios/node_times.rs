//! Nodes that are not reached in time: what is answered, and by which clock.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::clock;
use gateway_tests::gateway::Door;
use gateway_tests::ports::{Deaf, Reserved};
use gateway_tests::scratch::Scratch;

/// An edge before a node and another one that is asked when that has failed.
fn edge(first: SocketAddr, then: Option<SocketAddr>, pool: &str) -> Door {
    let then = then.map(|addr| format!(", {{ name = \"b\", addr = \"{addr}\", backup = true }}"));
    Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{first}\" }}{}]\n{pool}",
        then.unwrap_or_default()
    ))
}

const SOON: &str = "timeouts = { connect = \"300ms\" }\n";

#[test]
fn a_node_that_takes_no_connection_in_time_is_504_and_one_that_refuses_it_is_502() {
    let (deaf, refuses) = (Deaf::take(), Reserved::take());
    let late = edge(deaf.addr(), None, SOON).get("/x");
    assert_eq!(late.is(504).field("x-gateway-outcome"), Some("not-sent"));
    assert_eq!(
        late.field("proxy-status"),
        Some("gatewayd; error=connection_timeout")
    );
    let refused = edge(refuses.addr(), None, SOON).get("/x");
    assert_eq!(refused.is(502).field("x-gateway-outcome"), Some("not-sent"));
}

#[test]
fn of_several_tries_that_failed_the_last_one_decides() {
    let (deaf, refuses) = (Deaf::take(), Reserved::take());
    edge(deaf.addr(), Some(refuses.addr()), SOON)
        .get("/x")
        .is(502);
    edge(refuses.addr(), Some(deaf.addr()), SOON)
        .get("/x")
        .is(504);
}

#[test]
fn a_handshake_with_a_node_has_the_time_of_its_own_setting_and_a_connection_that_of_its_own() {
    let (authority, scratch) = (Authority::new(), Scratch::new());
    let ca = scratch.file("ca.pem", authority.pem());
    let asks = |node: SocketAddr, connect: &str, tls: &str| {
        let pool = format!(
            "tls = {{ ca = \"{}\" }}\n\
             timeouts = {{ connect = \"{connect}\", tls = \"{tls}\" }}\n",
            ca.display()
        );
        let door = edge(node, None, &pool);
        let begin = clock::now();
        let answer = door.get("/x");
        let took = begin.elapsed();
        assert_eq!(answer.is(504).field("x-gateway-outcome"), Some("not-sent"));
        took
    };
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let took = asks(silent.local_addr().unwrap(), "300ms", "1500ms");
    assert!(took >= Duration::from_millis(1_400), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let took = asks(Deaf::take().addr(), "300ms", "60s");
    assert!(took < Duration::from_secs(10), "{took:?}");
}
