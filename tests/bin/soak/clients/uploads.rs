//! Clients that take seconds to send a body.

use std::time::Duration;

use gateway_tests::clock;

use super::line::{Ask, Line, Target};
use crate::scene::Scene;

/// Pieces in which a body is sent.
const PIECES: usize = 10;
/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(200);
/// Length of a body.
const LENGTH: usize = 40_000;

/// To the listeners that stay, in turn.
pub(super) fn on_a_listener_that_stays(scene: &Scene<'_>) {
    while !scene.is_over() {
        for target in [Target::front(scene), Target::safe(scene)] {
            several(scene, target, "slow POST");
        }
    }
}

/// To the side listener, where it is.
pub(super) fn on_the_side(scene: &Scene<'_>) {
    while !scene.is_over() {
        match Target::side(scene) {
            Some(target) => several(scene, target, "slow POST, side"),
            None => scene.paces(Duration::from_millis(10)),
        }
    }
}

/// Several at once, every other one chunked.
fn several(scene: &Scene<'_>, target: Target, client: &'static str) {
    let mut under_way = Vec::new();
    for number in 0..4 {
        let Some(line) = target.connects(scene, client) else {
            continue;
        };
        let ask = scene.bodies.write(LENGTH);
        let request = match number % 2 {
            0 => ask.request(),
            _ => ask.request().in_chunks_of(3_000),
        };
        under_way.push((line, request.bytes(), Ask::Write(ask)));
    }
    let begun = clock::now();
    for piece in 0..PIECES {
        for (line, bytes, _) in &mut under_way {
            let length = bytes.len().div_ceil(PIECES);
            let piece = bytes.chunks(length).nth(piece).unwrap_or_default();
            line.conversation.expects_answer_to("POST").says(piece);
        }
        // What was begun is sent to its end, also when the play is over.
        std::thread::sleep(PAUSE);
    }
    for (line, _, ask) in &mut under_way {
        hears(scene, target, client, (line, begun), ask);
    }
}

fn hears(
    scene: &Scene<'_>,
    target: Target,
    client: &'static str,
    heard: (&mut Line, std::time::Instant),
    ask: &Ask,
) {
    target.hears(scene, client, heard, ask);
}
