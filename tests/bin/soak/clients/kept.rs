//! Clients that keep their connections, many of them idle at any time, and use each in turn.

use std::time::Duration;

use super::line::{Ask, Line, Target};
use crate::scene::Scene;

/// Length of a short write.
const SHORT: usize = 200;

/// `GET` in clear text.
pub(crate) fn reads_in_clear(scene: &Scene<'_>) {
    let pause = Duration::from_millis(20);
    in_turn(
        scene,
        ("kept GET", Target::front(scene)),
        (50, pause),
        || Ask::Read,
    );
}

/// `GET` over TLS.
pub(super) fn reads_over_tls(scene: &Scene<'_>) {
    let pause = Duration::from_millis(25);
    in_turn(
        scene,
        ("kept GET, TLS", Target::safe(scene)),
        (40, pause),
        || Ask::Read,
    );
}

/// `POST` in clear text.
pub(super) fn writes_in_clear(scene: &Scene<'_>) {
    let pause = Duration::from_millis(20);
    let write = || Ask::Write(scene.bodies.write(SHORT));
    in_turn(
        scene,
        ("kept POST", Target::front(scene)),
        (40, pause),
        write,
    );
}

/// `POST` over TLS.
pub(super) fn writes_over_tls(scene: &Scene<'_>) {
    let pause = Duration::from_millis(30);
    let write = || Ask::Write(scene.bodies.write(SHORT));
    in_turn(
        scene,
        ("kept POST, TLS", Target::safe(scene)),
        (30, pause),
        write,
    );
}

fn in_turn(
    scene: &Scene<'_>,
    (client, target): (&'static str, Target),
    (connections, pause): (usize, Duration),
    ask: impl Fn() -> Ask,
) {
    let mut slots: Vec<Option<Line>> = (0..connections).map(|_| None).collect();
    while !scene.is_over() {
        for slot in &mut slots {
            if scene.is_over() {
                return;
            }
            target.asks(scene, client, slot, &ask());
            scene.paces(pause);
        }
    }
}
