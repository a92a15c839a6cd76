//! Answers that come in pieces: what a node has said is with the client before it says more.

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::gateway::Door;
use gateway_tests::http2::{Http2, head};
use gateway_tests::node::{Cluster, Way};

/// A site that compresses, in clear text and with HTTP/2.
fn site(cluster: &Cluster, authority: &Authority) -> Door {
    let identity = authority.signs(&["door.test"]);
    let door = Door::configured_over_tls(
        &format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
             alpn = [\"h2\", \"http/1.1\"]\n[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
             [sites.live]\nlistener = \"edge\"\npool = \"live\"\nendpoints = \"live\"\n\
             compression = {{ codings = [\"gzip\", \"br\", \"zstd\"], min_size = \"1 B\" }}\n\
             [pools.live]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
             probe = {{ every = \"60s\" }}\n",
            cluster["a"].addr()
        ),
        authority,
        &identity,
    );
    door.sees_in("a");
    door
}

/// An answer of this type that has begun, and does not go on.
fn begun(kind: &str, piece: &str) -> Way {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
    Way::Raw(format!("{head}{:x}\r\n{piece}\r\n", piece.len()).into_bytes())
}

#[test]
fn an_event_is_with_the_client_before_there_is_another() {
    let (cluster, authority) = (Cluster::of(&["a"]), Authority::new());
    let door = site(&cluster, &authority);
    let event = "data: 1\n\n";
    cluster.always(&begun("text/event-stream", event));

    let mut client = Conversation::open_tls(door.addr(), &authority.trust(), "door.test");
    client.says("GET /live HTTP/1.1\r\nHost: door.test\r\nAccept-Encoding: gzip\r\n\r\n");
    let (fields, piece) = client.hears_first_chunk();
    assert_eq!(
        (fields.first("content-encoding"), &piece[..]),
        (None, event.as_bytes())
    );

    let client = Http2::open(door.addr(), &authority.trust(), "door.test");
    let stream = client.sends(head("GET", "/live"), b"");
    assert_eq!(client.hears_first_piece(stream).unwrap(), event.as_bytes());
}

#[test]
fn a_piece_that_is_compressed_is_not_held_back_either() {
    let (cluster, authority) = (Cluster::of(&["a"]), Authority::new());
    let door = site(&cluster, &authority);
    cluster.always(&begun("text/plain", "first line\n"));

    for coding in ["gzip", "br", "zstd"] {
        let mut client = Conversation::open_tls(door.addr(), &authority.trust(), "door.test");
        client.says(format!(
            "GET /live HTTP/1.1\r\nHost: door.test\r\nAccept-Encoding: {coding}\r\n\r\n"
        ));
        let (head, piece) = client.hears_first_chunk();
        assert_eq!(head.first("content-encoding"), Some(coding));
        assert!(!piece.is_empty());
    }
}
