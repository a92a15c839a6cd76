//! What answers cost that are compressed, and what is said of them.

use std::fs;
use std::io::Read;

use gateway_tests::gateway::Door;
use gateway_tests::http2::{Http2, head};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};

/// Clients that take none of what they asked for.
const STALLED: usize = 40;

/// A site that compresses, where bodies may take so much memory.
fn site(cluster: &Cluster, memory: &str) -> Door {
    let door = Door::configured(&format!(
        "workers = 1\n[limits]\nbody_memory = \"{memory}\"\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\nh2c = true\n\
         [sites.shop]\nlistener = \"edge\"\npool = \"shop\"\nendpoints = \"shop\"\ncompression = [\"br\"]\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"60s\" }}\n",
        cluster["a"].addr()
    ));
    door.sees_in("a");
    door
}

/// A text that gets no smaller than half.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b"0123456789abcdef"[usize::try_from(state >> 60).unwrap()]
    };
    (0..length).map(|_| next()).collect()
}

fn text(body: &[u8]) -> Way {
    let reply = Reply::new(200).field("Content-Type", "text/html");
    Way::Says(reply.field("ETag", "\"a\"").body(body))
}

/// Memory that a process has by this line of its status, in KiB.
fn memory(door: &Door, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", door.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// GATEWAY §8: buffers are bounded globally.
#[test]
fn answers_that_nobody_takes_cost_little_and_come_as_they_are_where_there_is_no_room_to_compress() {
    let cluster = Cluster::of(&["a"]);
    let door = site(&cluster, "8 MiB");
    let page = noise(2_000_000);
    cluster.always(&text(&page));
    let before = memory(&door, "VmRSS:");
    let asks = |_| {
        let client = Http2::in_clear(door.addr()).unwrap();
        let mut head = head("GET", "/page");
        head.headers_mut()
            .insert("accept-encoding", "br".parse().unwrap());
        let begun = client.hears_head(client.sends(head, b"")).unwrap();
        (client, begun)
    };

    let stalled: Vec<_> = (0..STALLED).map(asks).collect();
    let mut compressed = 0;
    for (client, begun) in stalled {
        let answer = client.hears_rest(begun).unwrap();
        assert_eq!(answer.is(200).field("vary"), Some("Accept-Encoding"));
        let is_compressed = answer.field("content-encoding") == Some("br");
        let mut body = answer.body;
        if is_compressed {
            compressed += 1;
            let coded = std::mem::take(&mut body);
            let mut coded = brotli::Decompressor::new(&coded[..], 4096);
            coded.read_to_end(&mut body).unwrap();
        }
        assert!(body == page, "{} of {} bytes", body.len(), page.len());
    }

    // A quarter of the memory has room for two.
    assert_eq!(compressed, 2);
    let grown = memory(&door, "VmHWM:") - before;
    assert!(grown < 20 * 1024, "{grown} KiB");
    let (client, begun) = asks(0);
    let answer = client.hears_rest(begun).unwrap();
    assert_eq!(answer.field("content-encoding"), Some("br"));
}

/// RFC 9110 §9.3.2.
#[test]
fn a_head_says_what_a_get_would_of_an_answer_that_is_compressed() {
    let cluster = Cluster::of(&["a"]);
    let door = site(&cluster, "1 GiB");
    let page = noise(5000);
    cluster.always(&text(&page));
    let mut client = door.connect();
    for (accepts, coding, length, etag) in [
        ("br", Some("br"), None, "W/\"a\""),
        ("identity", None, Some("5000"), "\"a\""),
    ] {
        for method in ["HEAD", "GET"] {
            let request = Request::new(method, "/page").field("Accept-Encoding", accepts);
            let answer = client.asks(&request);
            assert_eq!(answer.is(200).field("content-encoding"), coding, "{method}");
            assert_eq!(answer.field("content-length"), length, "{method}");
            assert_eq!(answer.field("etag"), Some(etag), "{method}");
            assert_eq!(answer.field("vary"), Some("Accept-Encoding"), "{method}");
            assert_eq!(answer.body.is_empty(), method == "HEAD", "{method}");
        }
    }
}
