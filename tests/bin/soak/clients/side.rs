//! Clients of the listener that comes, goes and moves.

use std::time::Duration;

use super::line::{Ask, Line, Target};
use super::tunnels;
use crate::scene::Scene;

/// How long to look away while there is no such listener.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A new connection for each request, a read or a write.
pub(super) fn reads(scene: &Scene<'_>) {
    let mut turn = 0_u64;
    while !scene.is_over() {
        turn += 1;
        let ask = match turn % 3 {
            0 => Ask::Write(scene.bodies.write(500)),
            _ => Ask::Read,
        };
        if let Some(target) = Target::side(scene) {
            target.asks(scene, "new, side", &mut None, &ask);
        }
        scene.paces(LOOK_AGAIN);
    }
}

/// Tunnels, until they are cut.
pub(super) fn tunnels(scene: &Scene<'_>) {
    let mut open: Vec<(Target, Option<Line>)> = Vec::new();
    while !scene.is_over() {
        open.retain(|(_, line)| line.is_some());
        if open.len() < 6
            && let Some(target) = Target::side(scene)
        {
            open.push((target, None));
        }
        for (target, line) in &mut open {
            tunnels::frame(scene, "tunnel, side", target, line);
            scene.paces(LOOK_AGAIN * 10);
        }
        scene.paces(LOOK_AGAIN);
    }
}
