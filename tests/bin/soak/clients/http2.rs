//! A client of HTTP/2 over TLS: several streams at once on few connections.

use std::time::{Duration, Instant};

use gateway_tests::clock;
use gateway_tests::http2::{Http2, Stream, head};

use super::line::{Ask, Target};
use crate::judge::Saw;
use crate::scene::Scene;

/// The client's name.
const CLIENT: &str = "HTTP/2";
/// Connections.
const CONNECTIONS: usize = 4;
/// Streams at once on each.
const STREAMS: u64 = 4;

/// Reads and writes in turn.
pub(super) fn reads_and_writes(scene: &Scene<'_>) {
    let mut slots: Vec<Option<(Http2, Instant)>> = (0..CONNECTIONS).map(|_| None).collect();
    while !scene.is_over() {
        for slot in &mut slots {
            one_round(scene, slot);
            scene.paces(Duration::from_millis(60));
        }
    }
}

/// A connection that says it goes is left without a word; every other end is one too many.
fn one_round(scene: &Scene<'_>, slot: &mut Option<(Http2, Instant)>) {
    let target = Target::safe(scene);
    let begun = clock::now();
    let (connection, last_heard) = match slot.take() {
        Some(known) => known,
        None => match Http2::tries(target.addr, &scene.trust, "door.test") {
            Ok(connection) => (connection, begun),
            Err(error) => {
                let saw = Saw::NotTaken(error.to_string());
                return target.says(scene, CLIENT, (begun, begun, false), true, saw);
            }
        },
    };
    let begun = clock::now();
    let mut streams = Vec::new();
    let mut goes = false;
    for number in 0..STREAMS {
        let ask = match number % 2 {
            0 => Ask::Read,
            _ => Ask::Write(scene.bodies.write(2_000)),
        };
        match sends(&connection, &ask) {
            Ok(stream) => streams.push((ask, stream)),
            Err(error) if error.is_go_away() || is_refused(&error) => goes = true,
            Err(error) => {
                goes = true;
                let saw = Saw::Closed(error.to_string());
                target.says(scene, CLIENT, (begun, last_heard, false), true, saw);
            }
        }
    }
    for (ask, stream) in streams {
        let saw = match connection.hears(stream) {
            Ok(answer) => ask.saw(&answer, &scene.expected),
            // An answer that is cut ends with a reset of its stream; RFC 9113 §8.1.
            Err(error) if error.is_reset() && error.is_remote() => Saw::Cut(0),
            Err(error) => Saw::Closed(error.to_string()),
        };
        let is_repeatable = matches!(ask, Ask::Read);
        target.says(
            scene,
            CLIENT,
            (begun, last_heard, false),
            is_repeatable,
            saw,
        );
    }
    if !goes {
        *slot = Some((connection, clock::now()));
    }
}

fn sends(connection: &Http2, ask: &Ask) -> Result<Stream, h2::Error> {
    match ask {
        Ask::Read => connection.tries_to_send(head("GET", "/table/t/records?limit=1000"), b""),
        Ask::Write(write) => {
            let mut head = head("POST", "/sql");
            let number = http::HeaderValue::from(write.number);
            head.headers_mut().insert(crate::bodies::FIELD, number);
            connection.tries_to_send(head, write.body.as_bytes())
        }
    }
}

/// Not sent at all: the client's own library knows that the connection is leaving.
fn is_refused(error: &h2::Error) -> bool {
    !error.is_io() && !error.is_remote()
}
