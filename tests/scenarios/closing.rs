//! Connections that a node closes at the very moment they are used again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::wait;

fn edge(node: SocketAddr, pool: &str) -> Door {
    Door::configured(&format!(
        "workers = 1\n\
         [listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"edge\"\n\
         [sites.shop.routes.all]\npath = \"/\"\npool = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{node}\" }}]\n{pool}"
    ))
}

/// When a node ends a connection on which it has answered, without a word of it in the answer.
#[derive(Clone, Copy)]
enum Ends {
    /// So long after the answer, over and over from nothing to this much.
    After(Duration),
    /// Once it has rested for exactly so long.
    Resting(Duration),
}

/// A node that ends its connections like that, and the bodies of the requests it saw.
fn ending(how: Ends) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    thread::spawn(move || {
        for (number, socket) in (0_u32..).zip(listener.incoming().flatten()) {
            let record = Arc::clone(&record);
            thread::spawn(move || serve(&socket, how, number, &record));
        }
    });
    (addr, seen)
}

fn serve(socket: &TcpStream, how: Ends, number: u32, record: &Mutex<Vec<String>>) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(socket);
    loop {
        let mut length = 0;
        let mut first = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
            first = if first.is_empty() { line } else { first };
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        record
            .lock()
            .unwrap()
            .push(format!("{} {body}", first.split(' ').next()?));
        let mut socket = socket;
        socket
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .ok()?;
        match how {
            Ends::After(longest) => {
                // Not a wait for something: when it ends is what is tried.
                thread::sleep(longest * (number % 16) / 16);
                return None;
            }
            Ends::Resting(idle) => socket.set_read_timeout(Some(idle)).ok()?,
        }
    }
}

/// Asks so many times at this pace and holds what came against what the node saw: a read is never lost,
/// and a write is never seen twice.
fn drives(door: &Door, seen: &Mutex<Vec<String>>, method: &str, rounds: usize, pace: Duration) {
    let mut client = door.connect();
    for round in 0..rounds {
        let body = format!("{method} number {round}");
        let request = match method {
            "GET" => Request::get("/x"),
            _ => Request::new(method, "/x").body(&body),
        };
        client.sends(&request);
        let answer = client.hears();
        if answer.status != 200 {
            assert_ne!(method, "GET", "round {round}: {}", answer.text());
            assert_eq!(answer.is(502).field("x-gateway-outcome"), Some("unknown"));
            client = door.connect();
        }
        let times = seen
            .lock()
            .unwrap()
            .iter()
            .filter(|one| one.ends_with(&body))
            .count();
        if method != "GET" {
            let least = usize::from(answer.status == 200);
            assert!(
                (least..=1).contains(&times),
                "{body} was seen {times} times"
            );
        }
        thread::sleep(pace * (round as u32 % 3) / 2);
    }
}

#[test]
fn a_read_is_not_lost_and_a_write_not_doubled_when_connections_end_behind_their_answers() {
    let (node, seen) = ending(Ends::After(Duration::from_micros(400)));
    let door = edge(node, "ejection = { count_traffic = false }\n");
    for method in ["GET", "POST", "PUT"] {
        drives(&door, &seen, method, 400, Duration::ZERO);
    }
}

#[test]
fn a_read_is_not_lost_and_a_write_not_doubled_when_connections_end_for_resting_as_they_are_used() {
    let rest = Duration::from_millis(8);
    let (node, seen) = ending(Ends::Resting(rest));
    let door = edge(
        node,
        "keep_idle = \"1s\"\nejection = { count_traffic = false }\n",
    );
    for method in ["GET", "POST"] {
        drives(&door, &seen, method, 300, rest);
    }
}

#[test]
fn nothing_is_lost_where_connections_are_kept_for_less_than_they_rest_at_the_node() {
    let rest = Duration::from_millis(250);
    let (node, seen) = ending(Ends::Resting(rest));
    let door = edge(node, "keep_idle = \"200ms\"\n");
    let asks = |method: &str, client: u32| {
        let mut kept = door.connect();
        for round in 0..12 {
            let body = format!("{method} {client} {round}");
            kept.asks(&Request::new(method, "/x").body(&body)).is(200);
            // As long as the node waits, and a little more or less: that is what is tried.
            thread::sleep(rest * (990 + (round * 7 + client) % 21) / 1_000);
        }
    };
    thread::scope(|all| {
        for client in 0..8 {
            for method in ["GET", "POST"] {
                all.spawn(move || asks(method, client));
            }
        }
    });
    assert_eq!(seen.lock().unwrap().len(), 12 * 16);
}

#[test]
fn a_read_on_a_used_connection_that_ends_is_asked_again_once_and_only_there() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(cluster["a"].addr(), "");
    let asks = |request: &Request| door.ask(request).status;
    door.get("/schema").is(200);

    cluster.next([Way::ClosesWithoutAnswer]);
    door.get("/schema").is(200);
    assert_eq!(cluster["a"].seen().len(), 3);

    // The new connection is no used one, and once is once.
    cluster.next([Way::ClosesWithoutAnswer, Way::ClosesWithoutAnswer]);
    door.get("/schema").is(502);
    assert_eq!(cluster["a"].seen().len(), 5);
    cluster.next([Way::ClosesWithoutAnswer]);
    door.get("/schema").is(502);
    assert_eq!(cluster["a"].seen().len(), 6);

    for method in ["POST", "PUT", "DELETE"] {
        door.get("/schema").is(200);
        cluster["a"].forgets();
        cluster.next([Way::ClosesWithoutAnswer]);
        assert_eq!(asks(&Request::new(method, "/x").body("write")), 502);
        assert_eq!(cluster["a"].seen().len(), 1, "{method}");
    }
}

#[test]
fn a_pool_that_is_to_try_once_tries_once() {
    let cluster = Cluster::of(&["a"]);
    let door = edge(cluster["a"].addr(), "retry = { attempts = 0 }\n");
    door.get("/schema").is(200);
    cluster.next([Way::ClosesWithoutAnswer]);
    door.get("/schema").is(502);
    wait::until("all seen", wait::SOON, || cluster["a"].seen().len() == 2);
}
