//! The clients: each a thread of its own that does one thing at a bounded rate, judges nothing, and says
//! what it saw.

use std::thread::{self, Scope};

use crate::scene::Scene;

mod fresh;
mod herd;
mod http2;
pub(crate) mod kept;
pub(crate) mod line;
mod side;
mod tunnels;
mod uploads;
mod waiters;

/// Everybody, for as long as `act` goes on.
pub(crate) fn while_they_ask<T>(scene: &Scene<'_>, act: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let play = scene.curtain.rises();
        call(scope, scene);
        let result = act();
        drop(play);
        result
    })
}

fn call<'scope>(scope: &'scope Scope<'scope, '_>, scene: &'scope Scene<'_>) {
    let clients: [fn(&Scene<'_>); 14] = [
        kept::reads_in_clear,
        kept::reads_in_clear,
        kept::reads_over_tls,
        kept::writes_in_clear,
        kept::writes_over_tls,
        fresh::reads_in_clear,
        fresh::reads_over_tls,
        herd::rush,
        http2::reads_and_writes,
        tunnels::echo,
        uploads::on_a_listener_that_stays,
        uploads::on_the_side,
        side::reads,
        side::tunnels,
    ];
    for client in clients {
        scope.spawn(move || client(scene));
    }
    for wait in 0..3 {
        scope.spawn(move || waiters::wait(scene, wait));
    }
}
