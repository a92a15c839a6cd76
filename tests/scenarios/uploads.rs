//! Uploads that are answered before they are through, and those that wait to be asked for.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::clock;
use gateway_tests::frames::{
    DATA, END_HEADERS, END_STREAM, Frame, Frames, HEADERS, RST_STREAM, fields, frame,
};
use gateway_tests::gateway::Door;
use gateway_tests::http2_node::Http2Node;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::wait;

const ENOUGH: &str = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 6\r\n\r\nenough";
/// For a listener that speaks HTTP/2 as well.
const TLS: &str = "tls = \"t\"\nalpn = [\"h2\", \"http/1.1\"]\n\
                   [tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A node that has enough when it has read a head, and reads no byte of the body; then it closes, or stays.
fn has_enough(closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut stay = Vec::new();
        for mut socket in listener.incoming().flatten() {
            let head = BufReader::with_capacity(1, &socket).lines();
            let head = head
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty());
            if head.count() == 0 {
                continue;
            }
            let _ = socket.write_all(ENOUGH.as_bytes());
            if !closes {
                stay.push(socket);
            }
        }
    });
    addr
}

fn edge(node: SocketAddr, more: &str) -> String {
    format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n{more}\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
         body = {{ stream = \"1 GiB\" }}\n\
         [pools.shop]\nnodes = [\"{node}\"]\n\
         timeouts = {{ response = \"500ms\" }}\nejection = {{ count_traffic = false }}\n"
    )
}

#[test]
fn an_answer_that_comes_while_a_large_upload_is_sent_is_the_clients_and_the_rest_is_not_taken_for_long()
 {
    const ALL: usize = 1_000_000_000;
    for closes in [false, true] {
        let door = Door::configured(&edge(has_enough(closes), ""));
        let mut client = TcpStream::connect(door.addr()).unwrap();
        let patience = Some(Duration::from_secs(60));
        client.set_read_timeout(patience).unwrap();
        client.set_write_timeout(patience).unwrap();
        let mut sends = client.try_clone().unwrap();
        let sender = thread::spawn(move || {
            let begun = clock::now();
            let head = format!("POST /x HTTP/1.1\r\nHost: d\r\nContent-Length: {ALL}\r\n\r\n");
            sends.write_all(head.as_bytes()).unwrap();
            let mut pieces = std::iter::repeat_n([b'x'; 64 * 1024], ALL / 64 / 1024);
            let is_cut = pieces.any(|piece| {
                // A pace at which the whole would take longer than anybody lingers.
                thread::sleep(Duration::from_millis(2));
                sends.write_all(&piece).is_err()
            });
            (is_cut, begun.elapsed())
        });
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while !answer.ends_with(b"enough") {
            let count = client.read(&mut piece).unwrap();
            answer.extend_from_slice(&piece[..count]);
            assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        }
        assert!(answer.starts_with(b"HTTP/1.1 413 "), "closes: {closes}");
        let (is_cut, took) = sender.join().unwrap();
        assert!(is_cut && took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn in_http2_such_an_answer_ends_its_stream_without_an_error_and_the_connection_goes_on() {
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let http2 = Http2Node::clear();
    for (node, pool) in [
        (has_enough(false), ""),
        (has_enough(true), ""),
        (http2.addr(), "http2 = true\n"),
    ] {
        let text = edge(node, TLS) + pool;
        let door = Door::configured_over_tls(&text, &authority, &identity);
        let mut client = Frames::open(door.addr(), &authority.trust(), "door.test");
        client.begins_with(&[]);
        for stream in [1, 3] {
            let block = fields(&[
                (":method", "POST"),
                (":scheme", "https"),
                (":authority", "door.test"),
                (":path", "/early"),
                ("content-length", "100000000"),
            ]);
            client.sends(HEADERS, END_HEADERS, stream, &block);
            client.sends(DATA, 0, stream, &[b'x'; 16_000]);
            assert_eq!(client.status(stream), Some(413), "{pool}");
            // RFC 9113 §8.1: the answer is whole, and no more of the request is wanted.
            let is_end = |one: &Frame| one.kind == DATA && one.flags & END_STREAM != 0;
            assert!(client.hears_one(is_end).is_some(), "{pool}");
            let reset = client.hears_one(|one| one.kind == RST_STREAM && one.stream == stream);
            assert_eq!(reset.map(|one| one.payload), Some(vec![0; 4]), "{pool}");
        }
    }
}

#[test]
fn who_waits_to_be_asked_for_a_body_is_not_kept_waiting_by_a_node_that_says_nothing() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::HangsBeforeHead);
    let door = Door::configured(&edge(cluster["a"].addr(), ""));
    let request = Request::post("/x", "worth waiting for").field("Expect", "100-continue");
    let mut client = door.connect();
    client.sends_part(&request, &request.head_bytes());
    assert_eq!(client.hears_bytes(CONTINUE.len()), CONTINUE);
    client.says("worth waiting for").hears().is(504);

    // RFC 9110 §10.1.1: with no body to come there is nothing to ask for.
    let empty = Request::post("/x", "").field("Expect", "100-continue");
    assert!(door.ask(&empty).is(504).interim.is_empty());
}

#[test]
fn an_expectation_that_a_node_does_not_meet_is_told_by_the_node() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::configured(&edge(cluster["a"].addr(), ""));
    for expectation in ["100-continue", "foo"] {
        let refusal = Reply::new(417).body("not here");
        cluster.next([Way::Says(refusal)]);
        let request = Request::post("/x", "body").field("Expect", expectation);
        let answer = door.ask(&request);
        assert_eq!(answer.is(417).text(), "not here", "{expectation}");
    }
    let seen = cluster["a"].seen();
    let expected: Vec<_> = seen.iter().map(|one| one.head.first("expect")).collect();
    assert_eq!(expected, [None, Some("foo")]);
}

/// A body in as many chunks, each of which is handed on by itself.
fn in_pieces(pieces: usize) -> Request {
    const PIECE: usize = 1000;
    Request::post("/x", "x".repeat(pieces * PIECE)).in_chunks_of(PIECE)
}

/// Pieces of a body that come together fill what lies between the two sides, and at some numbers just so
/// when the body ends.
#[test]
fn a_node_that_says_nothing_is_given_up_on_in_however_many_pieces_the_request_came() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::HangsBeforeHead);
    let door = Door::configured(&edge(cluster["a"].addr(), ""));
    let mut waiting: Vec<_> = (0..9).map(|_| door.connect()).collect();
    for (client, pieces) in waiting.iter_mut().zip(1..) {
        client.sends(&in_pieces(pieces));
    }
    for (client, pieces) in waiting.iter_mut().zip(1..) {
        assert_eq!(client.hears().status, 504, "{pieces} pieces");
    }
}

#[test]
fn in_http2_a_node_that_says_nothing_is_given_up_on_in_however_many_pieces_the_request_came() {
    let (authority, cluster) = (Authority::new(), Cluster::of(&["a"]));
    cluster.always(&Way::HangsBeforeHead);
    let identity = authority.signs(&["door.test"]);
    let text = edge(cluster["a"].addr(), TLS);
    let door = Door::configured_over_tls(&text, &authority, &identity);
    let mut client = Frames::open(door.addr(), &authority.trust(), "door.test");
    client.begins_with(&[]);
    for pieces in 1..=9_u32 {
        let stream = 2 * pieces - 1;
        let mut body = Vec::new();
        for left in (0..pieces).rev() {
            let flags = if left == 0 { END_STREAM } else { 0 };
            body.extend(frame(DATA, flags, stream, &[b'x'; 1000]));
        }
        client.asks(stream, "POST", "/x", false).says(&body);
        assert_eq!(client.status(stream), Some(504), "{pieces} pieces");
    }
}

#[test]
fn a_client_that_leaves_gives_its_node_back_in_however_many_pieces_its_request_came() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::HangsBeforeHead);
    let text = edge(cluster["a"].addr(), "").replace("500ms", "10m");
    let door = Door::configured(&text);
    for pieces in 1..=9 {
        let mut client = door.connect();
        client.sends(&in_pieces(pieces));
        let is_there = || cluster["a"].in_flight() == 1;
        wait::until("the request at the node", wait::SOON, is_there);
        drop(client);
        let is_back = || cluster["a"].in_flight() == 0;
        wait::until(&format!("{pieces} pieces given up"), wait::SOON, is_back);
    }
}
