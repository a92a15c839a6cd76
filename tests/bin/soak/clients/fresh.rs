//! Clients that open a connection for each request.

use std::time::Duration;

use super::line::{Ask, Target};
use crate::scene::Scene;

/// `GET` in clear text.
pub(super) fn reads_in_clear(scene: &Scene<'_>) {
    one_each(
        scene,
        "new GET",
        Target::front(scene),
        Duration::from_millis(20),
    );
}

/// `GET` over TLS.
pub(super) fn reads_over_tls(scene: &Scene<'_>) {
    one_each(
        scene,
        "new GET, TLS",
        Target::safe(scene),
        Duration::from_millis(50),
    );
}

fn one_each(scene: &Scene<'_>, client: &'static str, target: Target, pause: Duration) {
    while !scene.is_over() {
        target.asks(scene, client, &mut None, &Ask::Read);
        scene.paces(pause);
    }
}
