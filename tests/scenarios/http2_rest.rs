//! A connection of HTTP/2 without a request: when it rests, when it only seems to, and how it ends when the
//! gateway does.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use gateway_tests::frames::{
    DATA, END_STREAM, Frame, Frames, GOAWAY, PING, SETTINGS, WINDOW_UPDATE,
};
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::wait;
use nix::sys::signal::Signal;
use socket2::{Domain, Socket, Type};

use crate::http2_bounds::{INITIAL_WINDOW, Stage, stage};

/// A connection over which little is under way.
fn narrow(addr: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(&addr.into()).unwrap();
    socket.into()
}

/// A client with all the room that there can be in HTTP/2, and little in TCP.
fn wide(stage: &Stage) -> Frames {
    let mut client = Frames::over(narrow(stage.door.addr()), &stage.trust, "door.test");
    client.begins_with(&[(INITIAL_WINDOW, 0x7fff_ffff)]).sends(
        WINDOW_UPDATE,
        0,
        0,
        &0x3fff_ffff_u32.to_be_bytes(),
    );
    client
}

/// GATEWAY §8: a reader may be slow; who reads is not idle, though nothing is asked any more.
#[test]
fn what_is_still_being_taken_is_not_cut_by_the_idle_time() {
    const ANSWERS: u32 = 90;
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Says(Reply::new(200).body(vec![b'x'; 120_000])));
    let stage = stage(&cluster, "idle = \"300ms\"");
    let mut client = wide(&stage);
    for number in 0..ANSWERS {
        client.asks(2 * number + 1, "GET", "/x", true);
    }

    let (mut complete, mut bytes) = (0, 0);
    while complete < ANSWERS {
        let frame = client.hears().expect("all of every answer");
        if frame.kind == DATA {
            bytes += frame.payload.len();
            complete += u32::from(frame.flags & END_STREAM != 0);
            // The pace of a client, some 5 MB a second.
            thread::sleep(Duration::from_millis(3));
        }
    }

    assert_eq!(bytes, 90 * 120_000);
    // Now it rests.
    let last = client.hears_one(|one| one.kind == GOAWAY).unwrap();
    assert_eq!(last.payload, [0, 0, 0, 179, 0, 0, 0, 0]);
    assert!(client.ends_within(wait::SOON));
}

/// RFC 9113 §6.9.2: a window may be taken back, when the engine has an answer and its request is over.
#[test]
fn who_takes_the_window_back_is_given_up_on_in_time() {
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Says(Reply::new(200).body(vec![b'x'; 60_000])));
    let stage = stage(&cluster, "write_gap = \"2s\"");
    let mut client = wide(&stage);
    for number in 0..90 {
        client.asks(2 * number + 1, "GET", "/x", true);
    }
    wait::until("all of the requests over", wait::SOON, || {
        cluster.requests() >= 90 && stage.door.node("a")["in_flight"] == 0
    });

    client.sends(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);

    // Words of a client that is there, and takes nothing.
    let farewell = (0..60).find_map(|_| {
        client.sends(PING, 0, 0, b"not gone");
        let is_word = |one: &Frame| one.kind == GOAWAY || one.kind == PING && one.flags == 1;
        let word = client.hears_one(is_word)?;
        thread::sleep(Duration::from_millis(200));
        (word.kind == GOAWAY).then_some(word.payload)
    });
    assert_eq!(farewell.map(|last| last[7]), Some(0xb));
    stage.has_dropped("slow_reader", 1);
}

/// What the system holds of an answer is the client's, too: it is on its way, and its end was sent.
#[test]
fn what_is_still_being_taken_when_the_gateway_leaves_is_taken_whole() {
    const LENGTH: usize = 6_000_000;
    let cluster = Cluster::of(&["a"]);
    cluster.always(&Way::Says(Reply::new(200).body(vec![b'x'; LENGTH])));
    let stage = stage(&cluster, "");
    let mut client = wide(&stage);
    client.asks(1, "GET", "/x", true);

    let mut bytes = 0;
    while bytes < LENGTH {
        let frame = client.hears().expect("all of the answer");
        if frame.kind != DATA {
            continue;
        }
        if bytes == 0 {
            stage.door.signal(Signal::SIGTERM);
        }
        bytes += frame.payload.len();
        // Words of a client that is there.
        client.sends(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes());
        thread::sleep(Duration::from_millis(15));
    }

    stage.door.ends_within(wait::SOON);
}

/// Case 72: a process without a request ends at once, also when a client does not say that it has heard.
#[test]
fn a_client_that_is_silent_when_the_gateway_leaves_does_not_delay_it() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    assert_eq!(client.asks(1, "GET", "/schema", true).status(1), Some(200));

    stage.door.signal(Signal::SIGTERM);

    for farewell in [
        [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0, 0],
    ] {
        let frame = client.hears_one(|one| one.kind == GOAWAY).unwrap();
        assert_eq!(frame.payload, farewell);
    }
    // The connection is held open, and nobody waits for it.
    stage.door.ends_within(wait::SOON);
    drop(client);
}
