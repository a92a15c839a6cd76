//! A crowd at the door just while it changes: connections made as fast as can be during a reload, so that
//! some of them wait in the queue of a socket that is given to somebody else, or closed.

use std::time::Duration;

use gateway_tests::clock;

use super::line::{Ask, Line, Target};
use crate::scene::Scene;
use crate::weather::Door;

/// Most connections in one rush.
const RUSH: usize = 250;
/// From the signal to the change it asks for, and a little.
const REACTION: Duration = Duration::from_millis(30);
/// How long the whole rush may take to be answered.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often to look whether something changes.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Rushes at the listener whose sockets change hands.
pub(super) fn rush(scene: &Scene<'_>) {
    let mut known = scene.weather.left();
    while !scene.is_over() {
        let left = scene.weather.left();
        let side = Target::side(scene).filter(|_| left.door == Some(Door::Side));
        if left != known {
            at_once(scene, side.unwrap_or(Target::front(scene)));
        }
        known = left;
        scene.paces(LOOK_AGAIN);
    }
}

fn at_once(scene: &Scene<'_>, target: Target) {
    let end = clock::now() + REACTION;
    let mut lines: Vec<Option<Line>> = Vec::new();
    while lines.len() < RUSH && clock::now() < end {
        lines.push(target.connects(scene, "rush"));
    }
    let patient_until = end + PATIENCE;
    for line in lines.iter_mut().filter(|line| line.is_some()) {
        if clock::now() > patient_until {
            // Some were not answered and have been counted; to wait for each would take for ever.
            return;
        }
        target.asks(scene, "rush", line, &Ask::Read);
        *line = None;
    }
}
