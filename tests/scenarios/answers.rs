//! Answers of nodes, usual and unusual, as the client gets them.

use std::time::Duration;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Framing, Reply, Way};
use gateway_tests::scratch::Scratch;

/// One node that gives this answer to a read, then behaves.
fn answered(reply: Way) -> (Cluster, Door) {
    let cluster = Cluster::of(&["a"]);
    cluster.next([reply]);
    let door = Door::before(&cluster).opens();
    (cluster, door)
}

#[test]
fn a_204_has_no_body_and_no_length_and_the_next_request_is_clean() {
    let reply = Reply::new(204).start("HTTP/1.1 204 No Content").body("");
    let bytes = [
        reply
            .framed(Framing::Unsaid)
            .field("Content-Length", "5")
            .head_bytes(),
        b"hello".to_vec(),
    ];
    let (cluster, door) = answered(Way::Raw(bytes.concat()));
    let mut client = door.connect();

    let answer = client.asks(&Request::post("/sql", "x"));
    assert_eq!((answer.status, answer.field("content-length")), (204, None));
    let next = client.asks(&Request::get("/schema"));

    next.is(200);
    assert!(next.json()["tables"].is_array());
    assert_eq!(cluster.requests(), 2);
}

#[test]
fn a_304_with_bytes_after_it_leaves_the_next_request_clean() {
    let head = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello";
    let (_cluster, door) = answered(Way::Raw(head.into()));
    let mut client = door.connect();

    client.asks(&Request::get("/schema")).is(304);
    let next = client.asks(&Request::get("/schema"));

    next.is(200);
    assert!(next.json()["tables"].is_array());
}

#[test]
fn interim_answers_do_not_end_the_request() {
    let (_cluster, door) = answered(Way::Says(Reply::new(200).after(&[103, 103, 100])));
    let mut client = door.connect();

    let answer = client.asks(&Request::post("/sql", "x"));

    answer.is(200);
    assert_eq!(answer.json()["said"], true);
    client.asks(&Request::get("/schema")).is(200);
}

#[test]
fn a_client_of_http_1_0_sees_no_interim_answer() {
    let (_cluster, door) = answered(Way::Says(Reply::new(200).after(&[103, 103])));
    let mut client = door.connect();

    client.says("GET /schema HTTP/1.0\r\n\r\n");

    let answer = client.hears();
    assert_eq!((answer.status, answer.interim.len()), (200, 0));
    assert_eq!(answer.json()["said"], true);
}

#[test]
fn a_chunked_answer_reaches_a_client_of_http_1_0_without_chunks() {
    let reply = Reply::new(200)
        .framed(Framing::Chunks(3))
        .body("0123456789");
    let (_cluster, door) = answered(Way::Says(reply));
    let mut client = door.connect();

    client.says("GET /schema HTTP/1.0\r\n\r\n");

    let answer = client.hears();
    assert_eq!(answer.field("transfer-encoding"), None);
    assert_eq!(answer.text(), "0123456789");
}

#[test]
fn an_answer_in_crumbs_is_the_same_answer() {
    let (_cluster, door) = answered(Way::Crumbs(Duration::from_millis(1)));

    let crumbs = door.get("/table/t/records");
    let whole = door.get("/table/t/records");

    assert_eq!((crumbs.status, crumbs.body), (200, whole.body));
}

#[test]
fn an_answer_without_a_reason_is_an_answer() {
    let (_cluster, door) = answered(Way::Says(Reply::new(200).start("HTTP/1.1 200")));
    let answer = door.get("/schema");
    assert_eq!(
        (answer.status, answer.json()["said"].as_bool()),
        (200, Some(true))
    );

    let (_cluster, door) = answered(Way::Says(Reply::new(200).start("HTTP/1.1 200 ")));
    door.get("/schema").is(200);
}

#[test]
fn an_answer_that_ends_with_its_connection_is_whole() {
    let reply = Reply::new(200)
        .start("HTTP/1.0 200 OK")
        .framed(Framing::Close)
        .body("x".repeat(99_000));
    let (cluster, door) = answered(Way::Says(reply));
    let mut client = door.connect();

    let answer = client.asks(&Request::get("/schema"));

    assert!(answer.is_whole);
    assert_eq!((answer.status, answer.body.len()), (200, 99_000));
    door.get("/schema").is(200);
    assert_ne!(
        cluster["a"].seen()[0].connection,
        cluster["a"].seen()[1].connection
    );
}

#[test]
fn a_large_answer_arrives_byte_for_byte() {
    let body: Vec<u8> = (0..5_000_000_u32).map(|n| (n % 251) as u8).collect();
    for framing in [Framing::Length, Framing::Chunks(70_000)] {
        let (_cluster, door) = answered(Way::Says(Reply::new(200).framed(framing).body(&body)));
        let answer = door.get("/schema");
        assert!(answer.is_whole && answer.body == body, "{framing:?}");
    }
}

#[test]
fn an_answer_that_breaks_off_cuts_the_clients_connection() {
    for framing in [Framing::Length, Framing::Chunks(100)] {
        let reply = Reply::new(200).framed(framing).body("x".repeat(5000));
        let bytes = [reply.head_bytes(), reply.body_bytes()].concat();
        let cut = bytes[..bytes.len() - 1000].to_vec();
        let (_cluster, door) = answered(Way::RawThenCloses(cut));
        let mut client = door.connect();

        let answer = client.asks(&Request::get("/schema"));

        assert_eq!(
            (answer.status, answer.is_whole),
            (200, false),
            "{framing:?}"
        );
        assert!(answer.body.len() < 5000);
    }
}

#[test]
fn rubbish_is_unreadable_and_its_connection_is_not_used_again() {
    let rubbish: [&[u8]; 6] = [
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 abc What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
    ];
    for bytes in rubbish {
        let (cluster, door) = answered(Way::Raw(bytes.to_vec()));
        let answer = door.post("/sql", "x");
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (502, "upstream_unreadable"),
            "{text}"
        );
        door.get("/schema").is(200);
        let seen = cluster["a"].seen();
        assert_ne!(seen[0].connection, seen[1].connection, "{text}");
    }
}

#[test]
fn an_answer_head_without_end_is_unreadable_and_not_collected() {
    let endless = [b"HTTP/1.1 200 OK\r\nX-A: ".to_vec(), vec![b'a'; 3_000_000]].concat();
    let (_cluster, door) = answered(Way::Raw(endless));

    door.post("/sql", "x")
        .fails_with(502, "upstream_unreadable");

    door.get("/schema").is(200);
}

#[test]
fn bytes_after_an_answer_are_nobodys_answer() {
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let (_cluster, door) = answered(Way::Raw(smuggled.into()));
    let mut client = door.connect();
    assert_eq!(client.asks(&Request::get("/schema")).text(), "ok");

    for _ in 0..5 {
        let answer = client.asks(&Request::get("/schema"));
        assert!(answer.json()["tables"].is_array(), "{}", answer.text());
    }
}

#[test]
fn an_early_answer_to_a_large_body_reaches_the_client() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    let body = "x".repeat(3_000_000);

    let answer = client.asks(&Request::post("/no/such/route", body));

    answer.fails_with(404, "no_such_route");
}

#[test]
fn who_does_not_take_an_answer_is_told_from_who_has_gone() {
    let cluster = Cluster::of(&["a"]);
    let large = Reply::new(200).body(vec![b'x'; 20_000_000]);
    cluster.always(&Way::Says(large));
    let scratch = Scratch::new();
    let _ = scratch.file("large", "x".repeat(20_000_000));
    let door = Door::configured(&format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\nwrite_gap = \"1s\"\n\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes]\nnode = {{ path = \"/node\", pool = \"shop\" }}\n\
         file = {{ path = \"/file/\", files = {{ root = \"{}\" }} }}\n\
         [pools.shop]\nnodes = [\"{}\"]\n[pools.shop.timeouts]\nidle = \"1s\"\n",
        scratch.path().display(),
        cluster["a"].addr()
    ));
    for path in ["/node", "/file/large"] {
        for (leaves, reason) in [(false, "slow_reader"), (true, "client_gone")] {
            let mut client = door.connect();
            client.shrinks_its_window();
            client.sends(&Request::get(path));
            let _ = client.hears_bytes(100);
            if leaves {
                drop(client);
            }
            let line =
                door.access_line(|line| line.text("path") == path && line.text("reason") == reason);
            assert_eq!(line.text("code"), reason, "{path}");
        }
    }
}

/// GATEWAY §4: NUL and what else names no file is 400 where files are shown.
#[test]
fn what_names_no_file_is_a_bad_request_where_files_are_shown() {
    let scratch = Scratch::new();
    let _ = scratch.file("a.txt", "here");
    let door = Door::configured(&format!(
        "[listeners.edge]\nbind = \"127.0.0.1:0\"\n[sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes]\ndenied = {{ path = \"/denied/\", answer = 403 }}\n\
         file = {{ path = \"/\", files = {{ root = \"{}\" }} }}\n",
        scratch.path().display()
    ));
    for (path, status) in [
        ("/a.txt", 200),
        ("/%00", 400),
        ("/a%00.txt", 400),
        ("/a%2ftxt", 400),
        ("/..%2fa.txt", 400),
        ("/%01", 404),
        ("/denied/%00", 404),
    ] {
        door.get(path).is(status);
    }
}

#[test]
fn a_switch_of_protocol_that_nobody_asked_for_is_unreadable() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    let (_cluster, door) = answered(Way::Raw(switch.into()));

    door.post("/sql", "x")
        .fails_with(502, "upstream_unreadable");

    door.get("/schema").is(200);
}

#[test]
fn chunks_that_break_in_the_middle_cut_the_client() {
    let broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nrest";
    let (cluster, door) = answered(Way::Raw(broken.into()));

    let answer = door.get("/schema");

    assert!(
        !(answer.status == 200 && answer.is_whole),
        "{}",
        answer.text()
    );
    door.get("/schema").is(200);
    let seen = cluster["a"].seen();
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[test]
fn an_answer_with_both_lengths_never_reaches_the_next_client() {
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n0\r\n\r\n";
    let (_cluster, door) = answered(Way::Raw(both.into()));
    let mut client = door.connect();

    let answer = client.asks(&Request::post("/sql", "x"));

    assert!(
        answer.status == 502 || answer.text() == "hello",
        "{}",
        answer.text()
    );
    for _ in 0..3 {
        assert!(door.get("/schema").json()["tables"].is_array());
    }
}

#[test]
fn two_hundred_requests_sent_at_once_are_answered_in_order() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).opens();
    let mut client = door.connect();
    let bodies: Vec<String> = (0..200).map(|number| format!("number {number}")).collect();
    let requests: Vec<u8> = bodies
        .iter()
        .flat_map(|body| Request::post("/sql", body).bytes())
        .collect();

    client.says(requests);

    for body in &bodies {
        assert_eq!(client.hears().is(200).json()["echo"], body.as_str());
    }
    assert_eq!(cluster.requests(), 200);
}
