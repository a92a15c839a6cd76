//! Whom a request of HTTP/2 is for: held to the rules of HTTP/1.

use gateway_tests::certs::Authority;
use gateway_tests::gateway::{Door, runs};
use gateway_tests::http2::Http2;
use gateway_tests::node::Cluster;
use http::Request;

/// One site for every name that the certificate covers.
fn site(cluster: &Cluster) -> (Door, Http2) {
    let authority = Authority::new();
    let identity = authority.signs(&["door.test", "*.wide.test"]);
    let door = Door::configured_over_tls(
        &format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
             alpn = [\"h2\", \"http/1.1\"]\n[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
             [sites.shop]\nlistener = \"edge\"\npool = \"shop\"\nendpoints = \"shop\"\n\
             [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
             probe = {{ every = \"250ms\" }}\n",
            cluster["a"].addr()
        ),
        &authority,
        &identity,
    );
    door.sees_in("a");
    let client = Http2::open(door.addr(), &authority.trust(), "door.test");
    (door, client)
}

/// Without an authority a client of HTTP/2 sends `Host` alone.
fn asked(uri: &str, host: Option<&str>) -> Request<()> {
    let mut request = Request::get(uri).body(()).unwrap();
    if let Some(host) = host {
        let host = http::HeaderValue::from_bytes(host.as_bytes()).unwrap();
        request.headers_mut().append("host", host);
    }
    request
}

#[test]
fn host_and_authority_are_judged_as_in_http_1() {
    let cluster = Cluster::of(&["a"]);
    let (_door, client) = site(&cluster);
    let mut wrong = Vec::new();

    for (uri, host, status) in [
        ("https://door.test/schema", None, 200),
        ("https://DOOR.test.:443/schema", Some("door.test."), 200),
        ("https://door.test/schema", Some("Door.Test:443"), 200),
        ("https://door.test/schema", Some("door.test:"), 200),
        ("https://door.test/schema", Some("door.test:80"), 400),
        ("https://door.test/schema", Some("other.test"), 400),
        ("https://me@door.test/schema", None, 400),
        ("https://door.test:99999/schema", None, 400),
        ("http://door.test/schema", None, 200),
        ("ftp://door.test/schema", None, 400),
        ("/schema", Some("door.test"), 200),
        ("/schema", Some("door.test:8443"), 200),
        ("/schema", Some("me@door.test"), 400),
        ("/schema", Some("door.test:99999"), 400),
        ("/schema", Some("door.test:8x"), 400),
        ("/schema", Some("door test"), 400),
        ("/schema", Some("door.test/x"), 400),
        ("/schema", Some("[::1"), 400),
        ("/schema", None, 400),
        ("https://door.test/\\evil", None, 400),
        ("https://door.test/{a}", None, 400),
    ] {
        let answer = client.hears(client.sends(asked(uri, host), b""));
        let found = answer.map_or(0, |answer| answer.status);
        if found != status {
            wrong.push(format!("{uri} {host:?}: {found}, should be {status}"));
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        cluster["a"]
            .seen()
            .iter()
            .all(|one| one.target == "/schema")
    );
}

#[test]
fn a_connection_serves_the_hosts_that_its_certificate_covers() {
    let cluster = Cluster::of(&["a"]);
    let (door, client) = site(&cluster);

    for (uri, status) in [
        ("https://x.wide.test/schema", 200),
        ("https://x.y.wide.test/schema", 421),
        ("https://wide.test/schema", 421),
        ("https://other.test/schema", 421),
        ("https://127.0.0.1/schema", 421),
    ] {
        let answer = client.hears(client.sends(asked(uri, None), b"")).unwrap();
        assert_eq!(answer.status, status, "{uri}");
        let file = door.scratch().path().join("gateway.toml");
        let told = runs(&["trace", "GET", uri, "--config", &file.to_string_lossy()]);
        let is_misdirected = told.stdout.contains("421: the certificate shown");
        assert_eq!(is_misdirected, status == 421, "{uri}: {}", told.stdout);
    }
}
