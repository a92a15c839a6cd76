//! Load through reloads of every kind while nodes fail in every way, and what is left of it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::wait;

use super::rest;
use crate::bodies::Bodies;
use crate::clients;
use crate::dice::Dice;
use crate::house::House;
use crate::ledger::Ledger;
use crate::reloads::{self, Reload};
use crate::scene::Scene;
use crate::weather::Weather;

/// From the beginning of one reload to that of the next: 200 a minute.
const BEAT: Duration = Duration::from_millis(300);
/// How long the load goes on before the baseline is taken: every kind of reload has been, and every
/// number of workers.
const WARM_UP: Duration = Duration::from_secs(8);

/// Warms up, takes the baseline, plays for `length`, and compares.
pub(crate) fn play(house: &mut House, weather: &Weather, length: Duration, seed: u64) -> Ledger {
    let (ledger, bodies) = (Ledger::default(), Bodies::default());
    let mut dice = Dice::new(seed);
    for workers in [3, 1] {
        house.shape.workers = workers;
        let text = house.shape.text();
        house.gateway.reloads(&text);
    }
    part(house, (weather, &ledger, &bodies), WARM_UP, &mut dice);
    let before = rest::after_rest(house);
    part(house, (weather, &ledger, &bodies), length, &mut dice);
    rest::compare(before, house, &ledger);
    ledger
}

/// Load, reloads and failing nodes for so long; then one worker and no side listener, as at the
/// start.
fn part(
    house: &mut House,
    (weather, ledger, bodies): (&Weather, &Ledger, &Bodies),
    length: Duration,
    dice: &mut Dice,
) {
    let (curtain, over) = (Curtain::default(), Curtain::default());
    let scene = Scene::of(house, weather, ledger, bodies, &curtain);
    let nodes = Arc::clone(&house.nodes);
    thread::scope(|scope| {
        let counting = over.rises();
        scope.spawn(|| nodes.are_counted(bodies, ledger, &over));
        clients::while_they_ask(&scene, || {
            let failing = Curtain::default();
            thread::scope(|scope| {
                let play = failing.rises();
                let troubles = dice.clone();
                scope.spawn(|| nodes.fail(&scene, &failing, troubles));
                reload_for(length, house, &scene, dice);
                drop(play);
            });
        });
        drop(counting);
    });
}

fn reload_for(length: Duration, house: &mut House, scene: &Scene<'_>, dice: &mut Dice) {
    let end = clock::now() + length;
    'play: loop {
        for reload in reloads::round(dice) {
            let next = clock::now() + BEAT;
            reload.run(house, scene, dice);
            wait::maybe(next.saturating_duration_since(clock::now()), || None::<()>);
            if clock::now() >= end {
                break 'play;
            }
        }
    }
    Reload::ToTheStart.run(house, scene, dice);
}
