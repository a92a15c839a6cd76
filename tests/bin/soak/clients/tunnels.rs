//! Tunnels: opened by an upgrade, a frame now and then, and never to end but with their listener or
//! their worker.

use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::message::Request;

use super::line::{Line, Target};
use crate::judge::Saw;
use crate::scene::Scene;

/// A frame is echoed as it is.
const FRAME: &[u8] = b"a frame of forty bytes, echoed as it is.";
/// Tunnels on each listener that stays.
const EACH: usize = 5;

/// Tunnels on the listeners that stay, clear and encrypted.
pub(super) fn echo(scene: &Scene<'_>) {
    let targets = [Target::front(scene), Target::safe(scene)];
    let mut open: Vec<(Target, Option<Line>)> = Vec::new();
    for target in targets {
        open.extend((0..EACH).map(|_| (target, None)));
    }
    while !scene.is_over() {
        for (target, line) in &mut open {
            if scene.is_over() {
                return;
            }
            frame(scene, "tunnel", target, line);
            scene.paces(Duration::from_millis(100));
        }
    }
}

/// One frame there and back, through a new tunnel if there is none.
pub(super) fn frame(
    scene: &Scene<'_>,
    client: &'static str,
    target: &Target,
    slot: &mut Option<Line>,
) {
    let is_new = slot.is_none();
    let Some(mut line) = slot.take().or_else(|| target.connects(scene, client)) else {
        return;
    };
    let begun = clock::now();
    let opened = match is_new {
        true => open(&mut line),
        false => Ok(()),
    };
    let echoed = opened.and_then(|()| {
        line.conversation.says(FRAME);
        let heard = line.conversation.listens_for_bytes(FRAME.len());
        heard.map_err(|error| Saw::failing(&error))
    });
    let saw = match echoed {
        Ok(bytes) if bytes == FRAME => Saw::Served,
        Ok(bytes) => Saw::Differs(String::from_utf8_lossy(&bytes).into_owned()),
        Err(saw) => saw,
    };
    let is_served = saw == Saw::Served;
    target.says(
        scene,
        client,
        (begun, line.last_heard, line.is_late),
        false,
        saw,
    );
    // A tunnel is told nothing when it is to end, so what counts is when it was opened.
    if is_served {
        *slot = Some(line);
    }
}

fn open(line: &mut Line) -> Result<(), Saw> {
    let upgrade = Request::get("/live")
        .field("Connection", "Upgrade")
        .field("Upgrade", "echo");
    line.conversation.sends(&upgrade);
    match line.conversation.listens() {
        Ok(Some(answer)) if answer.status == 101 => Ok(()),
        Ok(Some(answer)) => Err(Saw::Status(answer.status, answer.sentence())),
        Ok(None) => Err(Saw::Closed("the end of the connection".to_owned())),
        Err(error) => Err(Saw::failing(&error)),
    }
}
