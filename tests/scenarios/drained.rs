//! Answers that are cut at the end of a drain: who reads one can tell that it is not whole.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use gateway_tests::certs::{Authority, Trust};
use gateway_tests::frames::Frames;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::log::Entry;
use gateway_tests::wait;
use nix::sys::signal::Signal;

/// Answers of which only the beginning comes: what is asked, and what a node says to it.
const HALVES: [(&str, &str); 5] = [
    (
        "GET /chunked HTTP/1.1\r\nHost: door.test\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ),
    (
        "GET /counted HTTP/1.1\r\nHost: door.test\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    ),
    (
        "GET /rechunked HTTP/1.0\r\nHost: door.test\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ),
    (
        "GET /endless HTTP/1.0\r\nHost: door.test\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf",
    ),
    // Something is unread when it is cut.
    (
        "POST /early HTTP/1.1\r\nHost: door.test\r\nContent-Length: 9\r\n\r\nand",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ),
];
const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhalf";

/// A node that answers so and leaves its connections open.
fn node() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || answers(&socket));
        }
    });
    addr
}

fn answers(mut socket: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(socket);
    let mut path = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            let asked = |(asks, _): &&(&str, &str)| asks.split(' ').nth(1) == Some(&*path);
            let half = HALVES.iter().find(asked).map(|(_, says)| *says);
            socket.write_all(half.unwrap_or(WHOLE).as_bytes()).ok()?;
        } else if let Some(target) = line.strip_suffix(" HTTP/1.1\r\n") {
            path = target.split(' ').nth(1)?.to_owned();
        }
    }
}

fn text(node: SocketAddr, leaving: bool) -> String {
    let listener = |name: &str, tls: &str| {
        format!(
            "[listeners.{name}]\nbind = \"127.0.0.1:0\"\n{tls}\n[sites.{name}]\nlistener = \"{name}\"\npool = \"shop\"\n"
        )
    };
    let leaving = match leaving {
        true => {
            listener("clear", "") + &listener("safe", "tls = \"t\"\nalpn = [\"h2\", \"http/1.1\"]")
        }
        false => String::new(),
    };
    format!(
        "workers = 1\n{}{leaving}[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n[drain]\ndeadline = \"300ms\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{node}\" }}]\n",
        listener("front", "")
    )
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

fn connects(door: &Door, trust: &Trust, is_safe: bool) -> Box<dyn Stream> {
    let addr = door.seen_as(if is_safe { "safe" } else { "clear" }).addr();
    let socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(wait::EVENTUALLY)).unwrap();
    match is_safe {
        true => Box::new(trust.client("door.test", socket)),
        false => Box::new(socket),
    }
}

/// A client that has asked this and has heard the beginning of the answer.
fn half(mut client: Box<dyn Stream>, asks: &str) -> Box<dyn Stream> {
    client.write_all(asks.as_bytes()).unwrap();
    client.flush().unwrap();
    let (mut heard, mut byte) = (Vec::new(), [0]);
    while !heard.ends_with(b"half") {
        client.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
    client
}

/// How a connection ends: `Ok` for an end that says that all has been sent.
fn end(mut client: Box<dyn Stream>) -> Result<(), io::ErrorKind> {
    let read = client.read_to_end(&mut Vec::new());
    read.map(drop).map_err(|error| error.kind())
}

/// How those end who are cut when this is done to the gateway.
fn ends_by(leaves: impl FnOnce(&Door, SocketAddr)) {
    let (node, authority) = (node(), Authority::new());
    let identity = authority.signs(&["door.test"]);
    let plan = Plan::configured(&text(node, true)).over_tls(&authority);
    fs::write(plan.path("t.pem"), &identity.cert_pem).unwrap();
    fs::write(plan.path("t.key"), &identity.key_pem).unwrap();
    fs::set_permissions(plan.path("t.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let (door, trust) = (plan.opens(), authority.trust());
    let mut cut = Vec::new();
    let mut idle = Vec::new();
    for is_safe in [false, true] {
        for (asks, _) in HALVES {
            cut.push((is_safe, asks, half(connects(&door, &trust, is_safe), asks)));
        }
        let asks = "GET /whole HTTP/1.1\r\nHost: door.test\r\n\r\n";
        idle.push((is_safe, half(connects(&door, &trust, is_safe), asks)));
    }
    let mut http2 = Frames::open(door.seen_as("safe").addr(), &trust, "door.test");
    http2.begins_with(&[]).asks(1, "GET", "/chunked", true);
    assert_eq!(http2.status(1), Some(200));

    leaves(&door, node);

    assert!(http2.ends_within(wait::SOON), "HTTP/2");
    is_said_once(&door, "safe", ("HTTP/2", "/chunked"));

    for (is_safe, client) in idle {
        let end = end(client);
        assert_ne!(
            end,
            Err(io::ErrorKind::ConnectionReset),
            "idle, TLS: {is_safe}"
        );
    }
    let ends = cut
        .into_iter()
        .map(|(safe, asks, client)| (safe, asks, end(client)));
    let whole: Vec<_> = ends.filter(|(safe, _, end)| !is_cut(*safe, *end)).collect();
    assert!(whole.is_empty(), "taken for whole: {whole:#?}");
    for (asks, _) in HALVES {
        for listener in ["clear", "safe"] {
            let mut words = asks.split_whitespace().skip(1);
            let (path, protocol) = (words.next().unwrap(), words.next().unwrap());
            is_said_once(&door, listener, (protocol, path));
        }
    }
}

/// A request that was cut has one line, which says by whom.
fn is_said_once(door: &Door, listener: &str, asked: (&str, &str)) {
    let is_it = |line: &Entry| {
        (&*line.text("protocol"), &*line.text("path")) == asked && line.text("listener") == listener
    };
    let line = door.access_line(is_it);
    assert_eq!(line.text("reason"), "draining", "{listener} {asked:?}");
    assert_eq!(line.text("code"), "overloaded", "{listener} {asked:?}");
    assert_eq!(*line.field("status"), 200, "{listener} {asked:?}");
    assert_eq!(*line.field("bytes_out"), 4, "{listener} {asked:?}");
    let lines = door.access().entries().into_iter().filter(is_it).count();
    assert_eq!(lines, 1, "{listener} {asked:?}");
}

/// Whether an end is no end of an answer, however that was framed (RFC 9112 §8).
fn is_cut(is_safe: bool, end: Result<(), io::ErrorKind>) -> bool {
    match end {
        Err(io::ErrorKind::ConnectionReset) => true,
        Err(io::ErrorKind::UnexpectedEof) => is_safe,
        _ => false,
    }
}

#[test]
fn an_answer_that_the_end_of_the_process_cuts_is_seen_to_be_cut() {
    ends_by(|door, _| door.signal(Signal::SIGTERM));
}

#[test]
fn an_answer_that_the_end_of_its_listener_cuts_is_seen_to_be_cut() {
    ends_by(|door, node| {
        fs::write(
            door.scratch().path().join("gateway.toml"),
            text(node, false),
        )
        .unwrap();
        door.signal(Signal::SIGHUP);
    });
}
