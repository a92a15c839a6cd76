//! Clients that begin with nothing, or with half of what they must: whom they keep out, and for how long
//! they are waited for.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gateway_tests::client::{Conversation, connect_from};
use gateway_tests::gateway::Door;
use gateway_tests::hello::Shaken;
use gateway_tests::message::Request;
use gateway_tests::wait;
use nix::sys::signal::Signal;

use crate::certificates::House;

const HEADER: &str = "PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n";

/// A listener with TLS and one with a PROXY header before it; they wait for longer than a scenario does.
fn house(more: &str) -> House {
    let (mut house, _) = House::new();
    house.text = house.text.replace(
        "tls = \"own\"\n",
        "tls = \"own\"\nhandshake = \"1m\"\n[listeners.proxied]\nbind = \"127.0.0.1:0\"\n\
         proxy_protocol_from = [\"127.0.0.1\"]\nhead = { timeout = \"1m\" }\n",
    );
    house.text += "[sites.all]\nlistener = \"proxied\"\n\
                   routes.all = { path = \"/\", answer = { status = 200, body = \"all\" } }\n";
    house.text += more;
    house.site("own", &["own.test"], "own");
    house
}

fn begun(addr: SocketAddr) -> Conversation {
    let mut begun = Conversation::open(addr);
    begun.says([22]);
    begun
}

fn is_served(shaken: Shaken) {
    let asked = Request::get("/").to("own.test");
    assert_eq!(shaken.converses().asks(&asked).is(200).text(), "own");
}

/// Tells it to end, and waits until it listens no more to who is idle.
fn stops(door: &Door) {
    let mut silent = Conversation::open(door.seen_as("edge").addr());
    door.signal(Signal::SIGTERM);
    assert!(silent.is_closed_within(wait::SOON));
}

#[test]
fn connections_that_say_nothing_hold_no_place_among_the_handshakes() {
    let house = house("[limits]\nhandshakes = 1\n");
    let door = house.opens();
    let edge = door.seen_as("edge").addr();
    let silent: Vec<Conversation> = (0..10).map(|_| Conversation::open(edge)).collect();

    for client in ["127.0.0.1", "127.0.0.9"] {
        let shaken = house
            .hello("own.test")
            .shakes_over(connect_from(client, edge), || {});
        is_served(shaken.unwrap());
    }

    for mut one in silent {
        assert!(one.is_silent_for(Duration::from_millis(1)), "closed");
    }
}

#[test]
fn one_client_has_a_quarter_of_the_handshakes_and_others_are_served_meanwhile() {
    let house = house("[limits]\nhandshakes = 8\n");
    let door = house.opens();
    let edge = door.seen_as("edge").addr();
    let hello = house.hello("own.test");
    let mut held: Vec<Conversation> = (0..2).map(|_| begun(edge)).collect();
    wait::until("no place for the client", wait::SOON, || {
        hello.shakes(edge).is_err()
    });

    for _ in 0..20 {
        assert!(begun(edge).is_closed_within(wait::SOON));
    }
    is_served(
        hello
            .shakes_over(connect_from("127.0.0.9", edge), || {})
            .unwrap(),
    );

    for one in &mut held {
        assert!(one.is_silent_for(Duration::from_millis(1)), "closed");
    }
    held.pop();
    wait::until("its place free", wait::SOON, || hello.shakes(edge).is_ok());
}

#[test]
fn a_trusted_proxy_has_as_many_handshakes_as_there_are_places() {
    let mut house = house("[limits]\nhandshakes = 8\n");
    let handshake = "handshake = \"1m\"\n";
    let trusts = format!("{handshake}trusted_proxies = [\"127.0.0.1\"]\n");
    house.text = house.text.replace(handshake, &trusts);
    let door = house.opens();
    let edge = door.seen_as("edge").addr();
    let held: Vec<Conversation> = (0..7).map(|_| begun(edge)).collect();

    is_served(house.hello("own.test").shakes(edge).unwrap());

    for mut one in held {
        assert!(one.is_silent_for(Duration::from_millis(1)), "closed");
    }
}

#[test]
fn who_has_said_nothing_does_not_delay_the_end() {
    for listener in ["edge", "proxied"] {
        let door = house("").opens();
        let mut silent = Conversation::open(door.seen_as(listener).addr());

        door.stops();

        assert!(door.ends_within(wait::SOON).success(), "{listener}");
        assert!(silent.is_closed_within(wait::SOON));
    }
}

#[test]
fn who_has_said_half_a_hello_is_served_before_the_end() {
    let house = house("");
    let door = house.opens();
    let socket = TcpStream::connect(door.seen_as("edge").addr()).unwrap();

    let hello = house.hello("own.test");
    is_served(hello.shakes_over(socket, || stops(&door)).unwrap());

    assert!(door.ends_within(wait::SOON).success());
}

#[test]
fn who_has_said_half_a_proxy_header_is_served_before_the_end() {
    let door = house("").opens();
    let mut socket = TcpStream::connect(door.seen_as("proxied").addr()).unwrap();
    socket.write_all(&HEADER.as_bytes()[..20]).unwrap();

    stops(&door);
    let rest = format!("{}GET / HTTP/1.1\r\nHost: d\r\n\r\n", &HEADER[20..]);
    socket.write_all(rest.as_bytes()).unwrap();

    let mut client = Conversation::on(socket);
    assert_eq!(client.hears().is(200).text(), "all");
    assert!(door.ends_within(wait::SOON).success());
}

#[test]
fn who_says_no_more_amid_what_he_began_does_not_delay_the_end() {
    let house = house("");
    let hello = house.hello("own.test").bytes_for("own.test");
    let begins: [(&str, &[u8]); 4] = [
        ("edge", &hello[..1]),
        ("edge", &hello[..hello.len() / 2]),
        ("edge", &hello),
        ("proxied", &HEADER.as_bytes()[..20]),
    ];
    for (listener, said) in begins {
        let door = house.opens();
        let mut stalled = Conversation::open(door.seen_as(listener).addr());
        stalled.says(said);

        stops(&door);

        let status = door.ends_within(wait::SOON);
        assert!(status.success(), "{listener}, {} bytes", said.len());
    }
}
