//! Few descriptors and many connections: who is connected is served, who is not waits, and nothing is
//! lost.

use std::thread;
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::client::ask;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::Plan;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

use crate::bodies::Bodies;
use crate::clients::kept;
use crate::clients::line::{Ask, Target};
use crate::house::read;
use crate::ledger::Ledger;
use crate::nodes::{addresses, fill};
use crate::running::Running;
use crate::scene::Scene;
use crate::shape::Shape;
use crate::vitals::Vitals;
use crate::weather::Weather;

/// Descriptors that the process may have.
const DESCRIPTORS: u32 = 128;
/// Connections opened at once: more than there are descriptors.
const FLOOD: usize = 200;
/// Connections that are there before.
const KEPT: usize = 16;
/// How long the flood stands.
const STANDS: Duration = Duration::from_secs(2);

/// Plays it.
pub(crate) fn play() -> Ledger {
    let (weather, ledger, bodies) = (Weather::calm(), Ledger::default(), Bodies::default());
    let curtain = Curtain::default();
    let cluster = Cluster::of(&["a", "b"]);
    fill(cluster.nodes()[0].addr());
    let shape = Shape::before(addresses(&cluster), addresses(&cluster));
    let plan = Plan::configured(&shape.text()).with_descriptors(DESCRIPTORS);
    let mut gateway = Running::starts(plan);
    let scene = Scene {
        weather: &weather,
        ledger: &ledger,
        bodies: &bodies,
        curtain: &curtain,
        front: gateway.front(),
        safe: gateway.front(),
        trust: Authority::new().trust(),
        expected: ask(cluster.nodes()[0].addr(), &read()).body,
    };
    let target = Target::front(&scene);
    let before = Vitals::of(gateway.door.pid());
    let mut slots: Vec<_> = (0..KEPT).map(|_| None).collect();
    for slot in &mut slots {
        target.asks(&scene, "kept GET", slot, &Ask::Read);
    }
    thread::scope(|scope| {
        let play = curtain.rises();
        let (scene, slots) = (&scene, &mut slots);
        let client = ("kept GET", target);
        scope.spawn(move || kept::in_turn(scene, client, slots, STANDS / 200, || Ask::Read));
        flood(scene, &mut gateway, shape);
        drop(play);
    });
    drop(slots);
    gives_back(&scene, &gateway, before);
    ledger
}

/// Connects more often than there are descriptors, changes listeners and settings meanwhile, and asks
/// on every connection in the end.
fn flood(scene: &Scene<'_>, gateway: &mut Running, mut shape: Shape) {
    let (client, target) = ("one of a flood", Target::front(scene));
    let mut flood: Vec<_> = (0..FLOOD).map(|_| target.connects(scene, client)).collect();
    wait::maybe(STANDS, || None::<()>);
    shape.turn += 1;
    let said = gateway.reloads(&shape.text());
    if !said.starts_with("applied") {
        let what = format!("a reload without descriptors was not applied: {said}");
        scene.ledger.measures(what, false);
    }
    for slot in &mut flood {
        target.asks(scene, client, slot, &Ask::Read);
        *slot = None;
    }
    scene.ledger.did("flood");
}

fn gives_back(scene: &Scene<'_>, gateway: &Running, before: Vitals) {
    let now = || Vitals::of(gateway.door.pid());
    let is_back = |now: &Vitals| now.descriptors <= before.descriptors;
    let back = wait::maybe(wait::EVENTUALLY, || Some(now()).filter(is_back));
    let what = format!("after the flood: {before} before, {} now", now());
    scene.ledger.measures(what, back.is_some());
}
