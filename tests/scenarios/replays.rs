//! Bodies that are passed on as they come, and sent again: what the second node receives is what the
//! client sent, whenever the first one broke.

use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use gateway_tests::client::{Answer, Conversation};
use gateway_tests::clock;
use gateway_tests::gateway::Door;
use gateway_tests::message::chunked;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::wait;

/// A node that takes so much of a request and then breaks the connection; it is told how much for each.
struct Breaking {
    port: u16,
    takes: Sender<usize>,
    broke: Receiver<()>,
}

impl Breaking {
    fn starts() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (takes, told) = channel::<usize>();
        let (says, broke) = channel();
        thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let Ok(most) = told.recv() else { return };
                let _ = socket.set_read_timeout(Some(wait::EVENTUALLY));
                let mut taken = Vec::new();
                let mut byte = [0];
                while !taken.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) > 0 {
                    taken.extend(byte);
                }
                let mut left = most;
                let mut piece = vec![0; 4_096];
                while left > 0 {
                    let most = piece.len().min(left);
                    left -= match socket.read(&mut piece[..most]) {
                        Ok(length) if length > 0 => length,
                        _ => break,
                    };
                }
                drop(socket);
                let _ = says.send(());
            }
        });
        Self { port, takes, broke }
    }
}

/// An edge before a node that breaks and one that does not, which is asked only after it.
fn edge(breaking: &Breaking, cluster: &Cluster, more: &str) -> Door {
    let (port, addr) = (breaking.port, cluster["b"].addr());
    Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\nrepeatable = true\n\
         [pools.shop]\nnodes = [\n\
         {{ name = \"a\", addr = \"127.0.0.1:{port}\" }},\n\
         {{ name = \"b\", addr = \"{addr}\", backup = true }}]\n\
         ejection = {{ count_traffic = false }}\n{more}"
    ))
}

/// Sends a request of which the first node takes so much, in two halves with its end between them.
fn sent(door: &Door, breaking: &Breaking, wire: &[u8], halves: usize, taken: usize) -> Answer {
    breaking.takes.send(taken).unwrap();
    let mut client = Conversation::open(door.addr());
    client.expects_answer_to("POST");
    client.says(&wire[..halves]);
    breaking.broke.recv_timeout(wait::EVENTUALLY).unwrap();
    client.says(&wire[halves..]);
    client.hears()
}

fn wire(body: &[u8], chunk: Option<usize>) -> (Vec<u8>, usize) {
    let (framing, body) = match chunk {
        None => (format!("Content-Length: {}", body.len()), body.to_vec()),
        Some(size) => ("Transfer-Encoding: chunked".to_owned(), chunked(body, size)),
    };
    let head = format!("POST /schema HTTP/1.1\r\nHost: shop.test\r\n{framing}\r\n\r\n");
    let length = head.len();
    ([head.into_bytes(), body].concat(), length)
}

/// Bytes of a body of so many that are in so many of its wire, in chunks: each has a line before it.
fn inside(sent: usize, count: usize, chunk: Option<usize>) -> usize {
    let Some(size) = chunk else { return sent };
    let (mut left, mut inside) = (sent, 0);
    while inside < count {
        let piece = size.min(count - inside);
        let line = format!("{piece:x}\r\n").len();
        let got = left.saturating_sub(line).min(piece);
        inside += got;
        if got < piece {
            break;
        }
        left = left.saturating_sub(line + piece + 2);
    }
    inside
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| b'a' + (n % 26) as u8).collect()
}

#[test]
fn what_the_second_node_receives_is_what_the_client_sent_wherever_the_first_one_broke() {
    let (breaking, cluster) = (Breaking::starts(), Cluster::of(&["b"]));
    cluster.always(&Way::Says(Reply::new(200)));
    let door = edge(&breaking, &cluster, "");
    let mut asked = 0;
    for count in [0, 1, 5_000, 300_000] {
        for chunk in [None, Some(1_000), Some(70_000)] {
            let body = bytes(count);
            let (wire, head) = wire(&body, chunk);
            let all = wire.len() - head;
            // So much is sent before the first node breaks, and so much of it has been read by then.
            for (sent_first, taken) in [
                (0, 0),
                (all / 3, all / 5),
                (all / 2, 1.min(all / 2)),
                (all, all / 2),
                (all, all),
            ] {
                let taken = taken.min(inside(sent_first, count, chunk));
                let answer = sent(&door, &breaking, &wire, head + sent_first, taken);
                asked += 1;
                let seen = cluster["b"].seen();
                let last = seen.last().map(|seen| seen.body.clone());
                let told =
                    format!("{count} bytes, chunks of {chunk:?}, {sent_first} sent, {taken} taken");
                assert_eq!(answer.status, 200, "{told}");
                assert_eq!(seen.len(), asked, "{told}");
                assert!(last == Some(body.clone()), "{told}");
            }
        }
    }
    assert!(cluster.fragments().is_empty());
}

#[test]
fn a_body_that_there_is_no_memory_to_keep_is_passed_on_and_not_sent_again() {
    let (breaking, cluster) = (Breaking::starts(), Cluster::of(&["b"]));
    cluster.always(&Way::Says(Reply::new(200)));
    let door = edge(&breaking, &cluster, "[limits]\nbody_memory = \"1 MiB\"\n");
    let (wire, head) = wire(&bytes(700_000), None);
    let answer = sent(&door, &breaking, &wire, wire.len(), wire.len() - head);
    assert_eq!(answer.status, 502);
    assert_eq!(answer.field("x-gateway-outcome"), Some("unknown"));
    assert!(cluster["b"].seen().is_empty() && cluster.fragments().is_empty());

    // What was kept has been given back.
    let (wire, head) = self::wire(&bytes(300_000), None);
    for _ in 0..5 {
        sent(&door, &breaking, &wire, wire.len(), wire.len() - head).is(200);
    }
}

#[test]
fn a_get_with_a_body_is_asked_again_with_all_of_it_when_its_connection_had_been_about_to_end() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::configured(&format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n[sites.shop]\nlistener = \"edge\"\n\
         pool = \"shop\"\n[pools.shop]\nnodes = [\"{}\"]\n",
        cluster["a"].addr()
    ));
    for count in [1, 5_000, 60_000] {
        let body = bytes(count);
        for chunk in [None, Some(1_000)] {
            let (wire, _) = wire(&body, chunk);
            cluster.next([
                Way::Says(Reply::new(200)),
                Way::ClosesWithoutAnswer,
                Way::Says(Reply::new(200)),
            ]);
            door.get("/schema").is(200);
            let mut client = Conversation::open(door.addr());
            client.says([b"GET", &wire[4..]].concat());
            let answer = client.hears();

            let told = format!("{count} bytes, chunks of {chunk:?}");
            assert_eq!(answer.status, 200, "{told}");
            let seen = cluster["a"].seen();
            let last = seen.last().map(|seen| seen.body.clone());
            assert!(last == Some(body.clone()), "{told}");
        }
    }
}

#[test]
fn a_request_that_is_sent_again_has_one_time_for_all_of_it() {
    let cluster = Cluster::of(&["a", "b"]);
    let later = Way::After(Duration::from_millis(400), Way::ClosesWithoutAnswer.into());
    cluster.next([later, Way::HangsBeforeHead]);
    let nodes = cluster.nodes().iter();
    let nodes: Vec<String> = nodes.map(|node| format!("\"{}\"", node.addr())).collect();
    let door = Door::configured(&format!(
        "[listeners.edge]\nbind = \"127.0.0.1:0\"\n[sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\nrepeatable = true\n\
         timeouts = {{ response = \"600ms\" }}\n[pools.shop]\nnodes = [{}]\n",
        nodes.join(", ")
    ));
    let begun = clock::now();
    assert_eq!(door.get("/schema").status, 504);
    let took = begun.elapsed();
    assert_eq!(cluster.requests(), 2);
    assert!(took < Duration::from_millis(950), "{took:?}");
}
