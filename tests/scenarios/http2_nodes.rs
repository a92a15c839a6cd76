//! Nodes that are spoken to in HTTP/2: what they are sent, what comes back, what breaks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use gateway_tests::certs::{Authority, Identity};
use gateway_tests::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, fields, frame,
};
use gateway_tests::gateway::Door;
use gateway_tests::http2::{Http2, head};
use gateway_tests::http2_node::Http2Node;
use gateway_tests::message::Request;
use gateway_tests::scratch::Scratch;
use gateway_tests::wait;

/// An edge before these nodes, called `a` and `b`, all spoken to in HTTP/2.
fn edge(nodes: &[SocketAddr], route: &str, pool: &str) -> Door {
    Door::configured(&text("", nodes, route, pool))
}

/// The same over TLS with clients, and one of them.
fn edge_over_tls(nodes: &[SocketAddr], route: &str, pool: &str) -> (Door, Http2) {
    let authority = Authority::new();
    let text = text("tls = \"door\"\n", nodes, route, pool);
    let text = format!("{text}[tls.door]\nchain = \"t.pem\"\nkey = \"t.key\"\n");
    let identity = authority.signs(&["door.test"]);
    let door = Door::configured_over_tls(&text, &authority, &identity);
    let client = Http2::open(door.addr(), &authority.trust(), "door.test");
    (door, client)
}

fn text(listener: &str, nodes: &[SocketAddr], route: &str, pool: &str) -> String {
    let names = ["a", "b"].into_iter().zip(nodes);
    let nodes: Vec<String> = names
        .map(|(name, addr)| format!("{{ name = \"{name}\", addr = \"{addr}\" }}"))
        .collect();
    let nodes = nodes.join(", ");
    format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n{listener}\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n{route}\
         [pools.shop]\nhttp2 = true\nnodes = [{nodes}]\n{pool}"
    )
}

/// TLS for a pool whose nodes this authority vouches for.
fn trusting(authority: &Authority) -> (Scratch, String) {
    let scratch = Scratch::new();
    let ca = scratch.file("ca.pem", authority.pem());
    let tls = format!("tls = {{ ca = \"{}\" }}\n", ca.display());
    (scratch, tls)
}

/// A node that is played frame by frame, a script for each connection, which is told its number.
fn plays(script: impl Fn(usize, Frames) + Send + Sync + 'static) -> SocketAddr {
    plays_as(None, script)
}

/// The same, with TLS where it has an identity to show.
fn plays_as(
    identity: Option<Identity>,
    script: impl Fn(usize, Frames) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let played = Arc::new((identity, script));
    thread::spawn(move || {
        for (number, socket) in listener.incoming().flatten().enumerate() {
            let played = Arc::clone(&played);
            thread::spawn(move || {
                let frames = Frames::accepted(socket, played.0.as_ref());
                frames.map(|frames| played.1(number + 1, frames))
            });
        }
    });
    addr
}

/// Reads up to the end of the next request; its stream.
fn request(frames: &mut Frames) -> Option<u32> {
    let is_last = |one: &gateway_tests::frames::Frame| {
        matches!(one.kind, HEADERS | DATA) && one.flags & END_STREAM != 0
    };
    frames.hears_one(is_last).map(|frame| frame.stream)
}

#[test]
fn requests_share_one_connection_and_are_what_http2_has() {
    let node = Http2Node::clear();
    let door = edge(&[node.addr()], "", "");
    door.get("/first").is(200);
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let mut client = door.connect();
            client.sends(
                &Request::get("/held")
                    .field("Connection", "keep-alive, X-Own")
                    .field("X-Own", "1"),
            );
            client
        })
        .collect();
    wait::until("all of them held", wait::SOON, || {
        node.seen_at("/held").len() == 20
    });
    node.lets_go();
    for mut client in clients {
        assert_eq!(client.hears().is(200).text(), "hello");
    }

    assert_eq!(node.connections(), 1);
    let seen = &node.seen_at("/held")[0];
    assert_eq!(seen.head.first(":scheme"), Some("http"));
    assert_eq!(seen.head.first(":authority"), Some("door.test"));
    for gone in ["connection", "host", "transfer-encoding", "x-own", "te"] {
        assert_eq!(seen.head.first(gone), None, "{gone}");
    }
    assert_eq!(seen.head.first("x-forwarded-for"), Some("127.0.0.1"));
}

#[test]
fn a_burst_makes_one_connection_and_a_node_that_takes_none_holds_nobody_up_for_long() {
    let authority = Authority::new();
    let node = Http2Node::over_tls(&authority.signs(&["a", "b"]));
    let (_scratch, tls) = trusting(&authority);
    let door = edge(&[node.addr()], "", &tls);
    let burst: Vec<_> = (0..30)
        .map(|_| {
            let mut client = door.connect();
            client.sends(&Request::get("/x"));
            client
        })
        .collect();
    for mut client in burst {
        client.hears().is(200);
    }
    assert_eq!((node.seen().len(), node.connections()), (30, 1));

    // It takes connections and says nothing, so that no handshake ends.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let pool = format!("{tls}timeouts = {{ tls = \"300ms\", connect = \"300ms\" }}\n");
    let door = edge(&[silent.local_addr().unwrap(), node.addr()], "", &pool);
    let burst: Vec<_> = (0..30)
        .map(|_| {
            let mut client = door.connect();
            client.sends(&Request::get("/x"));
            client
        })
        .collect();
    for mut client in burst {
        client.hears().is(200);
    }
}

#[test]
fn a_node_that_takes_one_stream_at_a_time_is_asked_on_several_connections() {
    let (all_there, asked) = (Barrier::new(3), Arc::new(AtomicUsize::new(0)));
    let counts = Arc::clone(&asked);
    let node = plays(move |_, mut frames| {
        // RFC 9113 §6.5.2: no more than one stream at once.
        frames.sends(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]);
        while let Some(stream) = request(&mut frames) {
            counts.fetch_add(1, Ordering::SeqCst);
            all_there.wait();
            frames.answers(stream, b"together");
        }
    });
    let door = edge(&[node], "", "");
    let clients: Vec<_> = (1..=3)
        .map(|number| {
            let mut client = door.connect();
            client.sends(&Request::get("/x"));
            wait::until("asked", wait::SOON, || {
                asked.load(Ordering::SeqCst) == number
            });
            client
        })
        .collect();
    for mut client in clients {
        assert_eq!(client.hears().is(200).text(), "together");
    }
}

#[test]
fn a_body_read_whole_and_one_passed_on_arrive_in_order_and_once() {
    let bodies = ["", "body = { buffer = \"8 MiB\" }\n"];
    for route in bodies {
        let node = Http2Node::clear();
        let door = edge(&[node.addr()], route, "");
        let body: String = (0..1_000_000_u32)
            .map(|n| char::from(b'a' + (n % 26) as u8))
            .collect();

        door.post("/anything", &body).is(200);
        door.post("/anything", "").is(200);
        let mut client = door.connect();
        let chunked = "POST /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                       3\r\nabc\r\n0\r\n\r\n";
        client.says(chunked);
        client.hears().is(200);

        let seen = node.seen();
        assert!(seen[0].body == body.as_bytes(), "{route}");
        assert_eq!(seen[0].head.first("content-length"), Some("1000000"));
        assert_eq!((&*seen[1].body, &*seen[2].body), (&b""[..], &b"abc"[..]));
    }
}

#[test]
fn a_compressed_answer_that_ends_with_trailers_has_its_end() {
    let node = Http2Node::clear();
    let how = "[sites.shop]\ncompression = { codings = [\"gzip\"], min_size = \"0 B\" }\n";
    let text = text("", &[node.addr()], "", "").replace("[sites.shop]\n", how);
    let door = Door::configured(&text);
    let said = "said again and again ".repeat(500);
    let request = Request::post("/echo", &said).field("Accept-Encoding", "gzip");

    let answer = door.connect().asks(&request);

    assert_eq!(answer.is(200).field("content-encoding"), Some("gzip"));
    let mut heard = String::new();
    let mut unpacker = GzDecoder::new(&answer.body[..]);
    unpacker.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, said);
}

#[test]
fn over_tls_http2_is_agreed_on_and_a_client_of_http_1_0_is_told_by_the_end() {
    let authority = Authority::new();
    let node = Http2Node::over_tls(&authority.signs(&["a"]));
    let (_scratch, tls) = trusting(&authority);
    let door = edge(&[node.addr()], "", &tls);

    let mut client = door.connect();
    client.says("GET /bare HTTP/1.0\r\nHost: a\r\n\r\n");
    let answer = client.hears();

    assert_eq!(answer.is(200).text(), "hello");
    assert_eq!(answer.field("transfer-encoding"), None);
    assert_eq!(node.seen()[0].head.first(":scheme"), Some("https"));
    let answer = door.get("/bare");
    assert_eq!(answer.is(200).text(), "hello");
    assert_eq!(answer.field("transfer-encoding"), Some("chunked"));
}

#[test]
fn trailers_reach_the_client_without_those_that_say_who_it_is() {
    let node = Http2Node::clear();
    let (_door, client) = edge_over_tls(&[node.addr()], "", "");
    let mut asked = head("POST", "/echo");
    asked
        .headers_mut()
        .insert("te", "trailers".parse().unwrap());

    let answer = client.hears(client.sends(asked, b"said")).unwrap();

    assert_eq!(answer.is(200).text(), "said");
    let trailers: Vec<(&str, &str)> = answer
        .trailers
        .fields
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(trailers, [("x-end", "yes")]);
    assert_eq!(node.seen()[0].head.first("te"), Some("trailers"));

    let only = client.asks("POST", "/only", b"");
    assert_eq!(only.is(200).field("grpc-status"), Some("7"));
}

#[test]
fn a_stream_that_was_refused_is_asked_of_another_node_with_its_body() {
    const LARGE: usize = 60_000;
    let refusing = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            frames.sends(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
            // Room for the next one.
            frames.sends(WINDOW_UPDATE, 0, 0, &(LARGE as u32).to_be_bytes());
        }
    });
    for route in ["", "repeatable = true\n", "body = { buffer = \"1 MiB\" }\n"] {
        let node = Http2Node::clear();
        let door = edge(&[refusing, node.addr()], route, "");
        let all: Vec<String> = [7, LARGE, 5_000, 9, LARGE, 20]
            .map(|size| "abcdefg".repeat(size.div_ceil(7)))
            .into();
        for body in &all {
            door.post("/x", body).is(200);
        }
        let bodies: Vec<Vec<u8>> = node.seen().into_iter().map(|seen| seen.body).collect();
        let sizes: Vec<usize> = bodies.iter().map(Vec::len).collect();
        let is_same = bodies
            .iter()
            .zip(&all)
            .all(|(one, other)| one == other.as_bytes());
        assert!(bodies.len() == all.len() && is_same, "{route}: {sizes:?}");
    }
}

#[test]
fn a_node_that_refuses_every_stream_and_is_alone_was_sent_nothing() {
    let node = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            frames.sends(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
        }
    });
    let door = edge(&[node], "", "");
    let answer = door.post("/x", "y");
    answer.is(502);
    assert_eq!(answer.field("x-gateway-outcome"), Some("not-sent"));
}

#[test]
fn what_a_node_never_began_when_it_went_away_is_asked_of_it_again() {
    let node = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            // Every second one comes too late.
            if stream % 4 == 3 {
                frames.goes_away(stream - 2);
                return;
            }
            frames.answers(stream, b"done");
        }
    });
    let door = edge(&[node], "", "retry = { attempts = 0 }\n");
    for number in 0..10 {
        door.post("/x", &format!("write {number}")).is(200);
    }
}

#[test]
fn uploads_that_a_node_never_began_when_it_went_away_are_asked_of_it_again_with_all_of_their_bodies()
 {
    const ROOM: u32 = 2 << 20;
    let node = plays(|number, mut frames| {
        // RFC 9113 §6.5.2: room for all of them, though none has been looked at.
        let room = [&[0, 4][..], &ROOM.to_be_bytes()].concat();
        frames.sends(SETTINGS, 0, 0, &room);
        frames.sends(WINDOW_UPDATE, 0, 0, &ROOM.to_be_bytes());
        if number == 1 {
            let first = (0..4).filter_map(|_| request(&mut frames)).min();
            frames.goes_away(first.map_or(0, |first| first.saturating_sub(2)));
            let _ = request(&mut frames);
            return;
        }
        while let Some(stream) = request(&mut frames) {
            frames.answers(stream, b"done");
        }
    });
    let door = edge(&[node], "", "");
    let bodies = [70_000, 200_000, 400_000, 800_000].map(|size| "x".repeat(size));
    let clients = bodies.map(|body| {
        let mut client = door.connect();
        client.sends(&Request::post("/x", &body));
        client
    });
    for mut client in clients {
        assert_eq!(client.hears().is(200).text(), "done");
    }
}

#[test]
fn what_a_node_may_have_begun_when_it_went_away_is_never_sent_again() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&seen);
    let node = plays(move |_, mut frames| {
        let Some(stream) = request(&mut frames) else {
            return;
        };
        counts.fetch_add(1, Ordering::SeqCst);
        frames.goes_away(stream);
    });
    let door = edge(&[node, node], "", "");
    let answer = door.post("/x", "y");
    answer.is(502);
    assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[test]
fn a_stream_that_failed_may_have_been_carried_out() {
    let (one, other) = (Http2Node::clear(), Http2Node::clear());
    let door = edge(&[one.addr(), other.addr()], "", "");
    let answer = door.post("/broken", "y");
    answer.is(502);
    assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
    assert_eq!(one.seen().len() + other.seen().len(), 1);
}

#[test]
fn a_node_that_turns_to_garbage_is_unreadable_and_spoken_to_in_http2_again() {
    let authority = Authority::new();
    let node = plays_as(Some(authority.signs(&["a"])), |number, mut frames| {
        while let Some(stream) = request(&mut frames) {
            if number == 1 {
                frames.says(&frame(HEADERS, 4, stream, &[0xff; 32]));
            } else {
                frames.answers(stream, b"sane");
            }
        }
    });
    let (_scratch, tls) = trusting(&authority);
    let door = edge(&[node], "", &tls);
    let answer = door.post("/x", "y");
    assert!(
        answer.is(502).text().contains("cannot be read"),
        "{}",
        answer.text()
    );
    assert_eq!(door.post("/x", "y").is(200).text(), "sane");
}

#[test]
fn a_node_that_answers_in_another_protocol_is_unreadable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            thread::spawn(move || std::io::copy(&mut socket, &mut std::io::sink()));
        }
    });
    let door = edge(&[addr], "", "");
    let answer = door.post("/x", "y");
    assert!(
        answer.is(502).text().contains("cannot be read"),
        "{}",
        answer.text()
    );
}

#[test]
fn what_a_node_says_before_its_answer_is_not_the_answer() {
    let node = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            for status in ["103", "103", "100"] {
                frames.sends(
                    HEADERS,
                    END_HEADERS,
                    stream,
                    &fields(&[(":status", status)]),
                );
            }
            frames.answers(stream, b"at last");
        }
    });
    let door = edge(&[node], "", "");
    for _ in 0..3 {
        assert_eq!(door.get("/x").is(200).text(), "at last");
    }
}

#[test]
fn an_answer_that_is_shorter_than_it_says_is_cut() {
    let node = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            let head = fields(&[(":status", "200"), ("content-length", "10")]);
            frames.sends(HEADERS, END_HEADERS, stream, &head);
            frames.sends(DATA, END_STREAM, stream, b"short");
        }
    });
    let door = edge(&[node], "", "");
    let answer = door.get("/x");
    assert!(!answer.is(200).is_whole);
}

#[test]
fn an_answer_without_a_body_keeps_its_length_and_the_connection() {
    let node = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            let head = fields(&[(":status", "304"), ("content-length", "10")]);
            frames.sends(HEADERS, END_HEADERS | END_STREAM, stream, &head);
        }
    });
    let door = edge(&[node], "", "");
    let mut client = door.connect();
    for _ in 0..2 {
        let answer = client.asks(&Request::get("/x"));
        assert_eq!(answer.is(304).field("content-length"), Some("10"));
        assert_eq!(answer.field("transfer-encoding"), None);
    }
}

/// A list of fields in a few bytes that stands for many: one of 4,000, and that one again and again
/// (RFC 7541 §6.1, §6.2.1).
fn bomb(times: usize) -> Vec<u8> {
    let mut block = fields(&[(":status", "200")]);
    let mut field = fields(&[("bomb", &"x".repeat(4_000))]);
    field[0] = 0x40;
    block.extend_from_slice(&field);
    block.resize(block.len() + times, 0xbe);
    block
}

/// A head without a body, in as many frames as it takes.
fn sends_head(frames: &mut Frames, stream: u32, block: &[u8]) {
    let mut pieces = block.chunks(16_384).peekable();
    let (mut kind, mut flags) = (HEADERS, END_STREAM);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= END_HEADERS;
        }
        frames.sends(kind, flags, stream, piece);
        (kind, flags) = (CONTINUATION, 0);
    }
}

/// The most memory that a process has had, in KiB.
fn peak(pid: impl std::fmt::Display) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.unwrap().parse().unwrap()
}

#[test]
fn a_head_that_is_longer_than_one_of_http_1_may_be_is_unreadable_and_costs_little() {
    // By the number of the request: one that passes, one with many small fields that a byte stands for
    // each, two with long ones, of which the last is so long that its connection ends, and one with more
    // fields than may be.
    let crumbs = [fields(&[(":status", "200")]), vec![0x92; 300_000]].concat();
    let blocks = [bomb(14), crumbs, bomb(300), bomb(4_000), {
        let many = vec![("f", "v"); 257];
        [fields(&[(":status", "200")]), fields(&many)].concat()
    }];
    let asked = AtomicUsize::new(0);
    let node = plays(move |_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            match blocks.get(asked.fetch_add(1, Ordering::SeqCst)) {
                Some(block) => sends_head(&mut frames, stream, block),
                None => {
                    frames.answers(stream, b"still there");
                }
            }
        }
    });
    let door = edge(&[node], "", "");
    let whole = door.get("/x");
    assert_eq!(whole.is(200).field("bomb").map(str::len), Some(4_000));
    let before = peak(door.pid());
    for _ in 0..4 {
        let answer = door.get("/x");
        assert_eq!(
            answer.is(502).field("proxy-status"),
            Some("gatewayd; error=http_protocol_error")
        );
    }
    let grown = peak(door.pid()) - before;
    assert!(grown < 8 * 1024, "{grown} KiB");
    assert_eq!(door.get("/x").is(200).text(), "still there");
}

#[test]
fn what_comes_after_a_head_without_content_reaches_nobody() {
    for status in ["204", "304"] {
        let node = plays(move |_, mut frames| {
            while let Some(stream) = request(&mut frames) {
                let head = fields(&[(":status", status)]);
                frames.sends(HEADERS, END_HEADERS, stream, &head);
                frames.sends(DATA, END_STREAM, stream, b"and more");
            }
        });
        let (_door, client) = edge_over_tls(&[node], "", "");
        for _ in 0..2 {
            let answer = client.asks("GET", "/x", b"");
            assert_eq!(answer.status.to_string(), status);
            assert_eq!(answer.text(), "", "{status}");
        }
    }
}

#[test]
fn a_busy_node_is_left_for_another_in_http2_too() {
    let busy = plays(|_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            let head = fields(&[(":status", "503"), ("retry-after", "1")]);
            frames.sends(HEADERS, END_HEADERS | END_STREAM, stream, &head);
        }
    });
    let node = Http2Node::clear();
    let retry = "retry = { on = [\"unsent\", \"busy\", \"repeatable\"] }\n";
    let door = edge(&[busy, node.addr()], "", retry);
    for _ in 0..4 {
        door.get("/x").is(200);
    }
}

#[test]
fn a_node_that_is_silent_is_given_up_and_its_connection_is_not_used_again() {
    let node = plays(|number, mut frames| {
        while let Some(stream) = request(&mut frames) {
            if number > 1 {
                frames.answers(stream, b"awake");
            }
        }
    });
    let door = edge(&[node], "", "timeouts = { response = \"300ms\" }\n");
    door.get("/x").is(504);
    assert_eq!(door.get("/x").is(200).text(), "awake");
}

#[test]
fn a_client_that_takes_nothing_keeps_nobody_else_on_its_connection_from_an_answer() {
    let node = Http2Node::clear();
    let door = edge(&[node.addr()], "", "");
    door.get("/first").is(200);
    let slow: Vec<_> = (0..4)
        .map(|_| {
            let mut client = door.connect();
            client.shrinks_its_window();
            client.sends(&Request::get("/large"));
            client
        })
        .collect();
    wait::until("all under way", wait::SOON, || {
        node.seen_at("/large").len() == 4
    });

    for _ in 0..20 {
        assert_eq!(door.get("/bare").is(200).text(), "hello");
    }

    assert_eq!(node.connections(), 1);
    drop(slow);
}

#[test]
fn both_ways_move_at_once_when_a_node_answers_more_than_it_was_asked() {
    let node = Http2Node::clear();
    let (_door, client) = edge_over_tls(&[node.addr()], "", "");
    let (stream, upload) = client.begins(head("POST", "/amplify"));
    let came = client.hears_while(stream, upload, 16, &[b'x'; 16 * 1024]);
    assert_eq!(came, Ok(16 * 16 * 1024 * 100));
}

#[test]
fn an_answer_that_comes_before_the_body_is_through_is_the_clients() {
    let body = "x".repeat(3_000_000);
    for route in ["", "body = { buffer = \"8 MiB\" }\n"] {
        let node = Http2Node::clear();
        let door = edge(&[node.addr()], route, "");
        let answer = door.post("/early", &body);
        assert_eq!(answer.is(413).text(), "large", "{route}");
    }
}

#[test]
fn a_client_that_gives_up_is_seen_to_by_the_node() {
    let node = Http2Node::clear();
    let (_door, client) = edge_over_tls(&[node.addr()], "", "");
    let (_stream, mut upload) = client.begins(head("POST", "/held"));
    client.uploads(&mut upload, b"a piece", false).unwrap();
    wait::until("asked", wait::SOON, || node.seen_at("/held").len() == 1);

    upload.cancels();

    wait::until("the node knows", wait::SOON, || {
        node.seen_at("/held")[0].reset == Some(8)
    });
    assert_eq!(client.asks("GET", "/still", b"").is(200).text(), "hello");
    assert_eq!(node.connections(), 1);
}

#[test]
fn pieces_of_an_answer_are_never_kept_back() {
    let node = Http2Node::clear();
    let (_door, client) = edge_over_tls(&[node.addr()], "", "");
    let stream = client.sends(head("GET", "/tick"), b"");
    assert_eq!(client.hears_first_piece(stream).unwrap(), b"tick");
}

#[test]
fn a_connection_carries_no_more_requests_than_it_may() {
    let node = Http2Node::clear();
    let door = edge(&[node.addr()], "", "keep_requests = 3\n");
    for _ in 0..10 {
        door.get("/x").is(200);
    }
    let connections: Vec<usize> = node.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
}

#[test]
fn a_connection_that_rests_too_long_is_closed() {
    let (sender, closed) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let node = plays(move |_, mut frames| {
        while let Some(stream) = request(&mut frames) {
            frames.answers(stream, b"done");
        }
        let _ = sender.lock().unwrap().send(());
    });
    let door = edge(&[node], "", "keep_idle = \"200ms\"\n");
    door.get("/x").is(200);
    closed.recv_timeout(Duration::from_secs(5)).unwrap();
}
