//! Clients that keep their connections, many of them idle at any time, and use each in turn.

use std::time::Duration;

use super::line::{Ask, Line, Target};
use crate::scene::Scene;

/// Length of a short write.
const SHORT: usize = 200;

/// `GET` in clear text.
pub(super) fn reads_in_clear(scene: &Scene<'_>) {
    let pause = Duration::from_millis(20);
    let client = ("kept GET", Target::front(scene));
    in_turn(scene, client, &mut none(50), pause, || Ask::Read);
}

/// `GET` over TLS.
pub(super) fn reads_over_tls(scene: &Scene<'_>) {
    let pause = Duration::from_millis(25);
    let client = ("kept GET, TLS", Target::safe(scene));
    in_turn(scene, client, &mut none(40), pause, || Ask::Read);
}

/// `POST` in clear text.
pub(super) fn writes_in_clear(scene: &Scene<'_>) {
    let pause = Duration::from_millis(20);
    let write = || Ask::Write(scene.bodies.write(SHORT));
    let client = ("kept POST", Target::front(scene));
    in_turn(scene, client, &mut none(40), pause, write);
}

/// `POST` over TLS.
pub(super) fn writes_over_tls(scene: &Scene<'_>) {
    let pause = Duration::from_millis(30);
    let write = || Ask::Write(scene.bodies.write(SHORT));
    let client = ("kept POST, TLS", Target::safe(scene));
    in_turn(scene, client, &mut none(30), pause, write);
}

/// Asks on each of these connections in turn, with a pause after each.
pub(crate) fn in_turn(
    scene: &Scene<'_>,
    (client, target): (&'static str, Target),
    slots: &mut [Option<Line>],
    pause: Duration,
    ask: impl Fn() -> Ask,
) {
    while !scene.is_over() {
        for slot in &mut *slots {
            if scene.is_over() {
                return;
            }
            target.asks(scene, client, slot, &ask());
            scene.paces(pause);
        }
    }
}

fn none(connections: usize) -> Vec<Option<Line>> {
    (0..connections).map(|_| None).collect()
}
