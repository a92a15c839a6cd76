//! Clients that have a connection to the side listener and say nothing until that has gone: who is
//! just sending then is served, and told to go.

use std::time::Duration;

use super::line::{Ask, Line, Target};
use crate::scene::Scene;

/// Connections that wait together.
const TOGETHER: usize = 4;
/// How often to look whether the listener has gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits again and again; the number of the waiter says for how long it is silent then, well within
/// the drain deadline.
pub(super) fn wait(scene: &Scene<'_>, number: u32) {
    let silence = Duration::from_millis(1) + Duration::from_secs(1) * number;
    while !scene.is_over() {
        let Some(target) = Target::side(scene) else {
            scene.paces(LOOK_AGAIN);
            continue;
        };
        let mut lines: Vec<Option<Line>> = (0..TOGETHER).map(|_| None).collect();
        for (number, line) in lines.iter_mut().enumerate() {
            // Half of them have been served already, the others are silent from the start. A silent
            // one over TLS has not begun its handshake.
            match number % 2 {
                0 => target.asks(scene, "first, side", line, &Ask::Read),
                _ => *line = target.connects(scene, "silent, side"),
            }
        }
        let has_left = || {
            target
                .side
                .is_some_and(|spot| scene.weather.has_left(&spot))
        };
        while !scene.is_over() && !has_left() {
            scene.paces(LOOK_AGAIN);
        }
        scene.paces(silence);
        for line in lines.iter_mut().filter(|line| line.is_some()) {
            target.asks(scene, "sends while it drains", line, &Ask::Read);
        }
    }
}
