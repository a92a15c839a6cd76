//! One connection of a stand-in node, from the handshake to its end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::ready::{Ending, Ready};
use super::record::{Seen, UnderWay};
use super::store::Question;
use super::way::{Reply, Way};
use super::{Greeting, Inner};
use crate::inbox::{Inbox, broken};
use crate::message::Head;
use crate::wire::Wire;

/// How often a node that hangs looks whether it still should.
const GLANCE: Duration = Duration::from_millis(10);

/// Serves a connection until either side ends it.
pub(super) fn connection(node: &Arc<Inner>, socket: TcpStream, number: u64) {
    let _ = socket.set_nodelay(true);
    match node.greeting() {
        Greeting::Normal => {}
        Greeting::Resets => return Wire::Clear(socket).reset(),
        Greeting::Silent => return hang(&Wire::Clear(socket)),
        Greeting::Switches => return switch_at_once(node, socket, number),
    }
    let wire = match &node.tls {
        None => Wire::Clear(socket),
        Some(config) => match ServerConnection::new(Arc::clone(config)) {
            Ok(tls) => Wire::TlsServer(Box::new(StreamOwned::new(tls, socket))),
            Err(_) => return,
        },
    };
    let mut inbox = Inbox::new(wire);
    for index in 1.. {
        let asked = request(node, &mut inbox, number, index);
        let Ok(Some(seen)) = asked else {
            return refuse(inbox, asked.is_err());
        };
        let way = node.receives(&seen);
        let ending = match way {
            None => probe(&mut inbox.wire, &node.ready_shape()),
            Some(way) => {
                let under_way = node.record.begins();
                act(node, &mut inbox, &seen, way, under_way)
            }
        };
        match ending {
            Ok(Then::Keeps) if !seen.is_last => {}
            Ok(Then::Resets) => return inbox.wire.reset(),
            Ok(Then::Keeps | Then::Ends) | Err(_) => return,
        }
    }
}

/// What becomes of the connection after an answer.
enum Then {
    Ends,
    Keeps,
    Resets,
}

fn request(
    node: &Inner,
    inbox: &mut Inbox,
    connection: u64,
    index: usize,
) -> io::Result<Option<Seen>> {
    inbox.wire.reads_within(node.idle_limit());
    let (mut head, mut body) = (Head::default(), Vec::new());
    let read = read_request(inbox, &mut head, &mut body);
    let unused = [head.raw.as_slice(), &body, inbox.early()].concat();
    let (method, target) = match read {
        Ok(Some(line)) => line,
        Ok(None) => return Ok(None),
        Err(_) if unused.is_empty() => return Ok(None),
        Err(error) => {
            node.record.fragment(unused);
            return Err(error);
        }
    };
    let is_last = index >= node.most_requests() || head.lists("connection", "close");
    Ok(Some(Seen {
        connection,
        index,
        is_last,
        method,
        target,
        head,
        body,
    }))
}

fn read_request(
    inbox: &mut Inbox,
    into: &mut Head,
    body: &mut Vec<u8>,
) -> io::Result<Option<(String, String)>> {
    if inbox.early().is_empty() && inbox.fill()? == 0 {
        return Ok(None);
    }
    if !inbox.early().first().is_some_and(u8::is_ascii_alphabetic) {
        return Err(broken("no method"));
    }
    let Some(head) = Head::read(inbox)? else {
        return Ok(None);
    };
    *into = head;
    let words: Vec<&str> = into.start.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words.as_slice() else {
        return Err(broken("request line"));
    };
    let line = ((*method).to_owned(), (*target).to_owned());
    read_body(inbox, into, body)?;
    Ok(Some(line))
}

fn read_body(inbox: &mut Inbox, head: &Head, body: &mut Vec<u8>) -> io::Result<()> {
    let lengths = head.all("content-length");
    let codings = head.all("transfer-encoding");
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(()),
        ([length], []) if length.bytes().all(|b| b.is_ascii_digit()) => {
            let length = length.parse().map_err(|_| broken("content-length"))?;
            inbox.counted(length, body)
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => inbox.chunked(body).map(|_| ()),
        _ => Err(broken("ambiguous length")),
    }
}

fn refuse(mut inbox: Inbox, was_broken: bool) {
    if was_broken {
        let answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = inbox.wire.write_all(answer.as_bytes());
    }
}

fn probe(wire: &mut Wire, ready: &Ready) -> io::Result<Then> {
    if !ready.delay.is_zero() && !sleep_unless_gone(wire, ready.delay) {
        return Ok(Then::Ends);
    }
    let reply = Reply::new(ready.status).body(&ready.body);
    wire.write_all(&reply.head_bytes())?;
    let half = &ready.body[..ready.body.len() / 2];
    match ready.ending {
        Ending::Whole => wire.write_all(&ready.body)?,
        Ending::BrokenOff => {
            wire.write_all(half)?;
            return Ok(Then::Ends);
        }
        Ending::Hanging => {
            wire.write_all(half)?;
            hang(wire);
            return Ok(Then::Ends);
        }
    }
    wire.flush()?;
    Ok(Then::Keeps)
}

fn act(
    node: &Inner,
    inbox: &mut Inbox,
    seen: &Seen,
    way: Way,
    under_way: UnderWay<'_>,
) -> io::Result<Then> {
    let wire = &mut inbox.wire;
    match way {
        Way::After(delay, way) => match sleep_unless_gone(wire, delay) {
            true => act(node, inbox, seen, *way, under_way),
            false => Ok(Then::Ends),
        },
        Way::Plainly => say(wire, seen, &from_store(node, seen), under_way),
        Way::Held => match node.waits_at_gate(|| is_gone(wire)) {
            true => say(wire, seen, &from_store(node, seen), under_way),
            false => Ok(Then::Ends),
        },
        Way::Says(reply) => say(wire, seen, &reply, under_way),
        Way::Crumbs(pause) => crumbs(wire, &from_store(node, seen), pause),
        Way::Raw(bytes) => wire.write_all(&bytes).map(|()| Then::Keeps),
        Way::RawThenCloses(bytes) => wire.write_all(&bytes).map(|()| Then::Ends),
        Way::Resets => Ok(Then::Resets),
        Way::ClosesWithoutAnswer => Ok(Then::Ends),
        Way::HangsBeforeHead => {
            hang(wire);
            Ok(Then::Ends)
        }
        Way::HangsAfterHead => {
            wire.write_all(&from_store(node, seen).head_bytes())?;
            hang(wire);
            Ok(Then::Ends)
        }
        Way::HangsInBody => {
            half(wire, &from_store(node, seen))?;
            hang(wire);
            Ok(Then::Ends)
        }
        Way::BreaksOffInBody => half(wire, &from_store(node, seen)).map(|()| Then::Ends),
        Way::SwitchesAndEchoes => echo(node, inbox, seen),
        Way::SwitchesAndEnds => {
            switch(inbox, seen)?;
            inbox.wire.write_all(b"bye")?;
            inbox.wire.half_close();
            let mut rest = Vec::new();
            inbox.rest(&mut rest)?;
            node.record.fragment(rest);
            Ok(Then::Ends)
        }
        Way::SwitchesAndWaits => {
            switch(inbox, seen)?;
            let mut all = Vec::new();
            inbox.rest(&mut all)?;
            inbox.wire.write_all(&all)?;
            Ok(Then::Ends)
        }
    }
}

fn from_store(node: &Inner, seen: &Seen) -> Reply {
    let question = Question::new(&node.name, &seen.method, &seen.target, &seen.body);
    let (status, value) = node.store.answer(&question);
    let reply = Reply::new(status).body(value.to_string());
    match seen.is_last {
        true => reply.field("Connection", "close"),
        false => reply,
    }
}

/// Ends the request before its last byte leaves: whoever has the answer may send the next one.
fn say(wire: &mut Wire, seen: &Seen, reply: &Reply, under_way: UnderWay<'_>) -> io::Result<Then> {
    let mut bytes = reply.head_bytes();
    if seen.method != "HEAD" {
        bytes.extend(reply.body_bytes());
    }
    drop(under_way);
    wire.write_all(&bytes)?;
    wire.flush()?;
    Ok(if reply.ends_connection() {
        Then::Ends
    } else {
        Then::Keeps
    })
}

fn half(wire: &mut Wire, reply: &Reply) -> io::Result<()> {
    let body = reply.body_bytes();
    wire.write_all(&reply.head_bytes())?;
    wire.write_all(&body[..body.len() / 2])?;
    wire.flush()
}

fn crumbs(wire: &mut Wire, reply: &Reply, pause: Duration) -> io::Result<Then> {
    for byte in [reply.head_bytes(), reply.body_bytes()].concat() {
        wire.write_all(&[byte])?;
        wire.flush()?;
        thread::sleep(pause);
    }
    Ok(Then::Keeps)
}

fn echo(node: &Inner, inbox: &mut Inbox, seen: &Seen) -> io::Result<Then> {
    switch(inbox, seen)?;
    echo_frames(node, inbox)
}

fn switch(inbox: &mut Inbox, seen: &Seen) -> io::Result<()> {
    let protocol = seen.head.first("upgrade").unwrap_or("none").to_owned();
    inbox.wire.write_all(switching_to(&protocol).as_bytes())?;
    inbox.wire.flush()
}

/// The answer is on its way before the request: whoever asks finds it there.
fn switch_at_once(node: &Inner, mut socket: TcpStream, number: u64) {
    let _ = socket.write_all(switching_to("echo").as_bytes());
    let mut inbox = Inbox::new(Wire::Clear(socket));
    if let Ok(Some(seen)) = request(node, &mut inbox, number, 1) {
        node.record.request(seen);
        let _ = echo_frames(node, &mut inbox);
    }
}

fn switching_to(protocol: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
    )
}

fn echo_frames(node: &Inner, inbox: &mut Inbox) -> io::Result<Then> {
    inbox
        .wire
        .reads_within(node.idle_limit().max(Duration::from_secs(30)));
    loop {
        let frame = inbox.early().to_vec();
        inbox.counted(frame.len(), &mut Vec::new())?;
        inbox.wire.write_all(&frame)?;
        if inbox.fill()? == 0 {
            return Ok(Then::Ends);
        }
    }
}

/// Says nothing until the connection is over; what still comes is thrown away, so that its end shows.
fn hang(wire: &Wire) {
    let mut socket = wire.socket();
    let _ = socket.set_read_timeout(None);
    let mut piece = [0_u8; 4096];
    while matches!(socket.read(&mut piece), Ok(1..)) {}
}

fn sleep_unless_gone(wire: &Wire, length: Duration) -> bool {
    let end = crate::clock::now() + length;
    while crate::clock::now() < end {
        if is_gone(wire) {
            return false;
        }
        thread::sleep(GLANCE);
    }
    true
}

fn is_gone(wire: &Wire) -> bool {
    let socket = wire.socket();
    let _ = socket.set_nonblocking(true);
    let end = socket.peek(&mut [0]);
    let _ = socket.set_nonblocking(false);
    match end {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}
