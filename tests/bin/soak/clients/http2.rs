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
const STREAMS: usize = 4;

/// A connection, and when it was last heard.
type Slot = Option<(Http2, Instant)>;

/// Reads and writes in turn.
pub(super) fn reads_and_writes(scene: &Scene<'_>) {
    let mut slots: Vec<Slot> = (0..CONNECTIONS).map(|_| None).collect();
    let mut again = Vec::new();
    while !scene.is_over() {
        for slot in &mut slots {
            let mut asks = std::mem::take(&mut again);
            for number in asks.len()..STREAMS {
                asks.push(match number % 2 {
                    0 => Ask::Read,
                    _ => Ask::Write(scene.bodies.write(2_000)),
                });
            }
            again = one_round(scene, slot, asks);
            scene.paces(Duration::from_millis(60));
        }
    }
}

/// Asks on streams of one connection. A connection that says it goes is left without a word; what it
/// has not begun is to be asked again on another, and is returned.
fn one_round(scene: &Scene<'_>, slot: &mut Slot, asks: Vec<Ask>) -> Vec<Ask> {
    let target = Target::safe(scene);
    let begun = clock::now();
    let known = slot.take().map(Ok);
    let connect = || Ok((Http2::tries(target.addr, &scene.trust, "door.test")?, begun));
    let (connection, last_heard) = match known.unwrap_or_else(connect) {
        Ok(known) => known,
        Err::<_, std::io::Error>(error) => {
            let saw = Saw::NotTaken(error.to_string());
            target.says(scene, CLIENT, (begun, begun, false), true, saw);
            return asks;
        }
    };
    let when = (clock::now(), last_heard, false);
    let (mut streams, mut again) = (Vec::new(), Vec::new());
    for ask in asks {
        match sends(&connection, &ask) {
            Ok(stream) => streams.push((ask, stream)),
            Err(error) if is_not_begun(&error) => again.push(ask),
            Err(error) => {
                let saw = Saw::Closed(error.to_string());
                target.says(scene, CLIENT, when, true, saw);
                again.push(ask);
            }
        }
    }
    for (ask, stream) in streams {
        let saw = match connection.hears(stream) {
            Ok(answer) => ask.saw(&answer, &scene.expected),
            Err(error) if is_not_begun(&error) => {
                again.push(ask);
                continue;
            }
            // An answer that is cut ends with a reset of its stream; RFC 9113 §8.1.
            Err(error) if error.is_reset() && error.is_remote() => Saw::Cut(0),
            Err(error) => Saw::Closed(error.to_string()),
        };
        target.says(scene, CLIENT, when, matches!(ask, Ask::Read), saw);
    }
    if again.is_empty() {
        *slot = Some((connection, clock::now()));
    }
    again
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

/// Whether nothing was made of the stream: the connection said that it goes, and that it has not begun
/// this one (RFC 9113 §6.8), or the stream was refused (§8.7), or the client's own library knows better
/// than to send it. That it was really not begun shows when it is asked again.
fn is_not_begun(error: &h2::Error) -> bool {
    let says = |reason| error.reason() == Some(reason);
    let goes = error.is_go_away() && says(h2::Reason::NO_ERROR);
    let is_refused = error.is_reset() && error.is_remote() && says(h2::Reason::REFUSED_STREAM);
    goes || is_refused || !error.is_io() && !error.is_remote()
}
