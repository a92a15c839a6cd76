//! A steady load on 64 connections: changes of settings and of other listeners open no connection to a
//! node, and close none of a client.

use std::thread;
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::client::ask;
use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::Plan;
use gateway_tests::node::{Cluster, Node, Way};
use gateway_tests::ports::Reserved;
use gateway_tests::wait;

use crate::bodies::Bodies;
use crate::clients::kept;
use crate::clients::line::{Ask, Line, Target};
use crate::house::read;
use crate::ledger::Ledger;
use crate::nodes::{addresses, fill};
use crate::running::Running;
use crate::scene::Scene;
use crate::shape::{Shape, Side};
use crate::weather::Weather;

/// Connections under load, and as many that are idle all the time.
const CONNECTIONS: usize = 64;
/// Changes of settings.
const SETTINGS: u32 = 50;
/// Changes of listeners.
const LISTENERS: u32 = 20;
/// From one change to the next.
const BEAT: Duration = Duration::from_millis(100);
/// Longer than the act.
const LONG: Duration = Duration::from_secs(300);

/// Plays it.
pub(crate) fn play() -> Ledger {
    let (weather, ledger, bodies) = (Weather::calm(), Ledger::default(), Bodies::default());
    let curtain = Curtain::default();
    let cluster = Cluster::of(&["a", "b", "c"]);
    for node in cluster.nodes() {
        node.closes_idle_after(LONG);
        node.closes_after_requests(usize::MAX);
    }
    fill(cluster.nodes()[0].addr());
    let shape = Shape {
        probe: "60s",
        keep_idle: "60s",
        ..Shape::before(addresses(&cluster), addresses(&cluster))
    };
    let gateway = Running::starts(Plan::configured(&shape.text()));
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
    watch(&scene, &cluster, gateway, shape);
    ledger
}

fn watch(scene: &Scene<'_>, cluster: &Cluster, mut gateway: Running, shape: Shape) {
    let mut slots = all_at_once(scene, cluster);
    let mut idle = all_at_once(scene, cluster);
    thread::scope(|scope| {
        let play = scene.curtain.rises();
        for slots in slots.chunks_mut(CONNECTIONS / 4) {
            scope.spawn(|| kept::in_turn(scene, front(scene), slots, BEAT / 10, || Ask::Read));
        }
        let start = opened(cluster);
        wait::maybe(BEAT * (SETTINGS + LISTENERS), || None::<()>);
        let quiet = opened(cluster) - start;
        change(scene, &mut gateway, shape);
        let changing = opened(cluster) - start - quiet;
        drop(play);
        let what = format!(
            "connections to nodes at {CONNECTIONS} under load: {quiet} opened while quiet, \
             {changing} through {SETTINGS} changes of settings and {LISTENERS} of listeners"
        );
        scene.ledger.measures(what, changing <= quiet);
    });
    let (_, target) = front(scene);
    for slot in &mut idle {
        target.asks(scene, "idle all the time", slot, &Ask::Read);
    }
    let kept = idle.iter().flatten().count();
    let what = format!("idle connections through all of it: {kept} of {CONNECTIONS} go on");
    scene.ledger.measures(what, kept == CONNECTIONS);
}

fn front(scene: &Scene<'_>) -> (&'static str, Target) {
    ("kept GET", Target::front(scene))
}

/// So many requests at once that afterwards there is a connection to a node for each.
fn all_at_once(scene: &Scene<'_>, cluster: &Cluster) -> Vec<Option<Line>> {
    let (client, target) = front(scene);
    cluster.always(&Way::Held);
    let connect = |_| target.connects(scene, client).expect("a connection");
    let mut lines: Vec<Line> = (0..CONNECTIONS).map(connect).collect();
    for line in &mut lines {
        line.conversation.sends(&read());
    }
    wait::until("all in flight", wait::SOON, || {
        cluster.nodes().iter().map(Node::in_flight).sum::<usize>() == CONNECTIONS
    });
    cluster.always(&Way::Plainly);
    cluster.nodes().iter().for_each(Node::lets_go);
    for line in &mut lines {
        target.hears(scene, client, (line, clock::now()), &Ask::Read);
    }
    lines.into_iter().map(Some).collect()
}

/// Connections to nodes, probes excluded, once none is being counted.
fn opened(cluster: &Cluster) -> u64 {
    let all = cluster.nodes().iter();
    all.map(|node| node.accepted() - node.probes().len() as u64)
        .sum()
}

fn change(scene: &Scene<'_>, gateway: &mut Running, mut shape: Shape) {
    let ports = [Reserved::take(), Reserved::take()];
    for number in 0..SETTINGS + LISTENERS {
        let next = clock::now() + BEAT;
        match number % 7 {
            0 => shape.side = shape.side.xor(Some(side(&ports[0]))),
            3 => {
                let is_first = shape.side.is_some_and(|side| side.addr == ports[0].addr());
                shape.side = Some(side(&ports[usize::from(is_first)]));
            }
            _ => shape.turn += 1,
        }
        let said = gateway.reloads(&shape.text());
        if !said.starts_with("applied") {
            scene
                .ledger
                .measures(format!("a reload was not applied: {said}"), false);
        }
        scene.ledger.did("reload");
        wait::maybe(next.saturating_duration_since(clock::now()), || None::<()>);
    }
}

fn side(port: &Reserved) -> Side {
    Side {
        name: "side",
        addr: port.addr(),
        is_wide: false,
        is_tls: false,
    }
}
