//! Connections of HTTP/2 that many share: what one of them may do costs nobody else an answer, however
//! long the connection has been there.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;

use gateway_tests::certs::{Authority, Trust};
use gateway_tests::frames::{
    DATA, END_HEADERS, END_STREAM, Frame, Frames, HEADERS, PING, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, fields, frame, status,
};
use gateway_tests::gateway::Door;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;

/// RFC 9113 §7: `ENHANCE_YOUR_CALM`.
const CALM: Option<u32> = Some(0xb);
/// RFC 9113 §6.5.2.
const INITIAL_WINDOW: u16 = 4;
/// RFC 9113 §6.9.2: of a stream and of a connection, where nobody says otherwise.
const WINDOW: usize = 65_535;

struct Stage {
    door: Door,
    trust: Trust,
}

/// A site before this node, on a listener and with a pool that have these further settings.
fn stage(node: SocketAddr, listener: &str, pool: &str) -> Stage {
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let text = format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n{listener}\n\
         [tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
         [sites.shop]\nlistener = \"edge\"\n\
         routes.all = {{ path = \"/\", pool = \"shop\", timeouts = {{ idle = \"2s\" }} }}\n\
         routes.full = {{ path = \"/full\", answer = {{ status = 507, body = \"full\" }} }}\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{node}\" }}]\n{pool}\n"
    );
    Stage {
        door: Door::configured_over_tls(&text, &authority, &identity),
        trust: authority.trust(),
    }
}

impl Stage {
    /// A client that has begun, with these settings.
    fn begins_with(&self, settings: &[(u16, u32)]) -> Frames {
        let mut client = Frames::open(self.door.addr(), &self.trust, "door.test");
        client.begins_with(settings);
        client
    }

    fn begins(&self) -> Frames {
        self.begins_with(&[])
    }
}

/// The head of a request with these fields beside those that each has.
fn head(method: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let own = [
        (":method", method),
        (":scheme", "https"),
        (":authority", "door.test"),
        (":path", "/sql"),
    ];
    fields(&[&own[..], more].concat())
}

/// Waits until all that was sent has been read.
fn is_read(peer: &mut Frames) {
    peer.sends(PING, 0, 0, b"read all");
    let read = peer.hears_one(|one| one.kind == PING && one.flags == 1);
    assert!(read.is_some(), "the connection ended");
}

/// A node whose one connection of HTTP/2 is played frame by frame.
fn plays(script: impl FnOnce(&mut Frames) -> Option<()> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (socket, _) = listener.accept().ok()?;
        // Nobody else is let in.
        drop(listener);
        let mut frames = Frames::accepted(socket, None)?;
        script(&mut frames)?;
        while frames.hears().is_some() {}
        Some(())
    });
    addr
}

/// Reads up to the end of the next request; its stream.
fn request(node: &mut Frames) -> Option<u32> {
    let is_last = |one: &Frame| matches!(one.kind, HEADERS | DATA) && one.flags & END_STREAM != 0;
    node.hears_one(is_last).map(|one| one.stream)
}

#[test]
fn small_frames_of_ninety_bodies_at_once_are_taken() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(cluster["a"].addr(), "", "");
    let mut client = stage.begins();
    let all: Vec<u8> = (0..90)
        .flat_map(|nth| {
            let stream = nth * 2 + 1;
            let part = frame(DATA, 0, stream, &[b'x'; 20]);
            let head = frame(HEADERS, END_HEADERS, stream, &head("POST", &[]));
            [
                head,
                part.clone(),
                part,
                frame(DATA, END_STREAM, stream, b""),
            ]
            .concat()
        })
        .collect();

    client.says(&all);

    for nth in 0..90 {
        let answer = client.hears_one(|one| one.kind == HEADERS);
        let answer = answer.unwrap_or_else(|| panic!("{nth} were answered"));
        assert_eq!(status(&answer.payload), Some(200));
    }
    assert!(cluster["a"].seen().iter().all(|one| one.body.len() == 40));
}

/// Messages of gRPC without content have five bytes; nobody means well with many that are smaller.
#[test]
fn frames_of_five_bytes_may_fill_a_window_and_those_of_one_may_not() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(
        cluster["a"].addr(),
        "",
        "in_flight = 1\nqueue_wait = \"20s\"",
    );
    // Whoever waits for a place is not read.
    let waits = |size: usize| {
        cluster.next([Way::Held]);
        let mut client = stage.begins_with(&[(INITIAL_WINDOW, 1 << 20)]);
        client.sends(WINDOW_UPDATE, 0, 0, &(1_u32 << 20).to_be_bytes());
        client.asks(1, "POST", "/sql", true);
        wait::until("one in flight", wait::SOON, || {
            cluster["a"].in_flight() == 1
        });
        client.asks(3, "POST", "/sql", false);
        client.says(&frame(DATA, 0, 3, &vec![b'x'; size]).repeat(WINDOW / size));
        client
    };
    let mut client = waits(5);
    is_read(&mut client);
    cluster["a"].lets_go();
    client.sends(DATA, END_STREAM, 3, b"");
    assert_eq!(client.status(1), Some(200));
    assert_eq!(client.status(3), Some(200));
    assert_eq!(cluster["a"].seen()[1].body.len(), WINDOW);

    let mut client = waits(1);

    assert_eq!(client.is_told_to_go(), CALM);
    cluster["a"].lets_go();
}

#[test]
fn small_frames_for_a_client_that_takes_nothing_do_not_end_a_nodes_connection() {
    let (asked, are_there) = mpsc::channel();
    let node = plays(move |node| {
        let others: Vec<u32> = (0..5).filter_map(|_| request(node)).collect();
        asked.send(()).ok()?;
        let stalled = request(node)?;
        node.sends(HEADERS, END_HEADERS, stalled, &[0x88]);
        for _ in 0..100 {
            node.says(&frame(DATA, 0, stalled, b"m").repeat(1000));
        }
        is_read(node);
        for stream in others {
            node.answers(stream, b"served");
        }
        Some(())
    });
    let stage = stage(node, "", "http2 = true");
    let mut others = stage.begins();
    for nth in 0..5 {
        others.asks(nth * 2 + 1, "POST", "/sql", true);
    }
    are_there.recv().unwrap();
    let mut stalled = stage.begins_with(&[(INITIAL_WINDOW, 0)]);
    stalled.asks(1, "GET", "/stream", true);

    for nth in 0..5 {
        let answer = others.hears_one(|one| one.kind == HEADERS).unwrap();
        assert_eq!(status(&answer.payload), Some(200), "{nth}");
    }
    assert_eq!(stalled.status(1), Some(200));
}

#[test]
fn empty_frames_of_a_client_are_counted_in_a_row_and_not_for_ever() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(cluster["a"].addr(), "", "");
    let mut client = stage.begins();

    for nth in 0..150 {
        let stream = nth * 2 + 1;
        client.asks(stream, "POST", "/sql", false);
        client.sends(DATA, 0, stream, b"");
        client.sends(DATA, END_STREAM, stream, b"said");

        assert_eq!(client.status(stream), Some(200), "{nth}");
    }
}

#[test]
fn empty_frames_of_a_node_do_not_end_its_connection_and_are_no_sign_of_life() {
    let (asked, is_there) = mpsc::channel();
    let node = plays(move |node| {
        let held = request(node)?;
        asked.send(()).ok()?;
        for _ in 0..150 {
            let stream = request(node)?;
            let end = END_HEADERS | END_STREAM;
            node.sends(HEADERS, END_HEADERS, stream, &[0x88])
                .sends(DATA, 0, stream, b"")
                .sends(HEADERS, end, stream, &fields(&[("grpc-status", "0")]));
        }
        node.answers(held, b"served");
        let empty = request(node)?;
        node.sends(HEADERS, END_HEADERS, empty, &[0x88]);
        let reset = loop {
            node.sends(DATA, 0, empty, b"").sends(SETTINGS, 0, 0, b"");
            // Each of the settings is answered: so it goes no faster than it is read.
            let next = node.hears_one(|one| matches!(one.kind, RST_STREAM | SETTINGS))?;
            if next.kind == RST_STREAM {
                break next;
            }
        };
        asked.send(()).ok().filter(|()| reset.stream == empty)
    });
    let stage = stage(node, "", "http2 = true");
    let mut other = stage.begins();
    other.asks(1, "POST", "/sql", true);
    is_there.recv().unwrap();
    let mut client = stage.begins();

    for nth in 0..150 {
        let stream = nth * 2 + 1;
        client.asks(stream, "GET", "/x", true);
        let end = |one: &Frame| one.stream == stream && one.flags & END_STREAM != 0;
        assert!(client.hears_one(end).is_some(), "{nth}");
    }
    assert_eq!(other.status(1), Some(200));
    client.asks(401, "GET", "/x", true);
    assert_eq!(client.status(401), Some(200));
    let cut = client.hears_one(|one| one.kind == RST_STREAM).unwrap();
    assert_eq!(cut.stream, 401);
    is_there.recv().unwrap();
}

#[test]
fn late_frames_of_a_node_do_not_end_its_connection_however_many_there_are() {
    let (asked, is_there) = mpsc::channel();
    let node = plays(move |node| {
        let held = request(node)?;
        asked.send(()).ok()?;
        let mut over = Vec::new();
        for _ in 0..100 {
            let stream = request(node)?;
            node.answers(stream, b"over");
            over.push(stream);
        }
        for _ in 0..60 {
            // More streams than the engine remembers having reset.
            for stream in &over {
                node.sends(DATA, 0, *stream, b"late");
            }
            is_read(node);
        }
        node.answers(held, b"served");
        Some(())
    });
    let stage = stage(node, "", "http2 = true");
    let mut other = stage.begins();
    other.asks(1, "POST", "/sql", true);
    is_there.recv().unwrap();
    let mut client = stage.begins();

    for nth in 0..100 {
        let stream = nth * 2 + 1;
        client.asks(stream, "GET", "/x", true);
        assert_eq!(client.status(stream), Some(200), "{nth}");
    }

    assert_eq!(other.status(1), Some(200));
}

#[test]
fn two_hundred_malformed_requests_are_answered_and_cost_nobody_else_an_answer() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(cluster["a"].addr(), "", "");
    let mut client = stage.begins();
    cluster.next([Way::Held]);
    client.asks(1, "POST", "/sql", true);
    wait::until("one in flight", wait::SOON, || {
        cluster["a"].in_flight() == 1
    });
    let malformed = head("GET", &[("host", "other.test")]);

    for nth in 0..200 {
        let stream = nth * 4 + 3;
        client.sends(HEADERS, END_HEADERS | END_STREAM, stream, &malformed);
        assert_eq!(client.status(stream), Some(400), "{nth}");
        client.asks(stream + 2, "GET", "/schema", true);
        assert_eq!(client.status(stream + 2), Some(200), "{nth}");
    }

    cluster["a"].lets_go();
    assert_eq!(client.status(1), Some(200));
}

#[test]
fn malformed_requests_that_are_reset_count_as_resets_and_have_no_other_bound() {
    let cluster = Cluster::of(&["a"]);
    let malformed = head("GET", &[("content-length", "1"), ("content-length", "2")]);
    let few = stage(cluster["a"].addr(), "", "");
    let mut client = few.begins();
    for nth in 0..101 {
        client.sends(HEADERS, END_HEADERS | END_STREAM, nth * 2 + 1, &malformed);
    }
    assert_eq!(client.is_told_to_go(), CALM);

    let many = stage(cluster["a"].addr(), "http2 = { resets = 10000 }", "");
    let mut client = many.begins();
    // More than its length says (RFC 9113 §8.1.1).
    let counted = head("POST", &[("content-length", "1")]);
    for stream in (1..4400).step_by(4) {
        client.sends(HEADERS, END_HEADERS | END_STREAM, stream, &malformed);
        assert_eq!(client.status(stream), None);
        client.sends(HEADERS, END_HEADERS, stream + 2, &counted);
        client.sends(DATA, END_STREAM, stream + 2, b"more");
        assert_eq!(client.status(stream + 2), None);
    }
    client.asks(5001, "GET", "/schema", true);
    assert_eq!(client.status(5001), Some(200));
}

#[test]
fn small_frames_that_come_after_an_answer_are_not_kept_and_not_counted() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(cluster["a"].addr(), "", "");
    let mut client = stage.begins();

    for nth in 0..8 {
        let stream = nth * 2 + 1;
        client.asks(stream, "POST", "/full", false);
        assert_eq!(client.status(stream), Some(507));
        // Half: room for as much again is made for the connection once this has been taken.
        client.says(&frame(DATA, 0, stream, b"small").repeat(WINDOW / 10));
        is_read(&mut client);
    }

    client.asks(101, "GET", "/schema", true);
    assert_eq!(client.status(101), Some(200));
}

/// RFC 9113 §8.2.1.
#[test]
fn a_value_that_begins_or_ends_with_white_space_is_malformed() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(cluster["a"].addr(), "", "");
    let mut client = stage.begins();
    let mut asks = |stream, value| {
        let head = head("POST", &[("x-own", value)]);
        client.sends(HEADERS, END_HEADERS | END_STREAM, stream, &head);
        client.status(stream)
    };

    assert_eq!(asks(1, " a"), Some(400));
    assert_eq!(asks(3, "a\t"), Some(400));
    assert_eq!(asks(5, "a b"), Some(200));
    assert_eq!(asks(7, ""), Some(200));
    assert_eq!(cluster["a"].seen().len(), 2);
}
