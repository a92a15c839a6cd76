//! SIGTERM in the middle of load: what was begun is finished, and the process ends by itself.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gateway_tests::clock;
use gateway_tests::curtain::Curtain;
use gateway_tests::wait;

use crate::bodies::Bodies;
use crate::clients;
use crate::house::House;
use crate::ledger::Ledger;
use crate::scene::Scene;
use crate::shape::DRAIN;
use crate::weather::{Cause, Weather};

/// Load before the signal.
const BEFORE: Duration = Duration::from_secs(3);

/// Plays it; the gateway is gone afterwards.
pub(crate) fn play(house: &House) -> Ledger {
    let (weather, ledger, bodies) = (Weather::calm(), Ledger::default(), Bodies::default());
    let (curtain, over) = (Curtain::default(), Curtain::default());
    let scene = Scene::of(house, &weather, &ledger, &bodies, &curtain);
    let nodes = Arc::clone(&house.nodes);
    thread::scope(|scope| {
        let counting = over.rises();
        scope.spawn(|| nodes.are_counted(&bodies, &ledger, &over));
        clients::while_they_ask(&scene, || {
            wait::maybe(BEFORE, || None::<()>);
            let _stop = weather.begins("SIGTERM", Cause::Stop);
            let begun = clock::now();
            house.gateway.door.stops();
            let limit = DRAIN + Duration::from_secs(3);
            let ended = wait::maybe(limit, || (!house.gateway.door.is_running()).then_some(()));
            let took = begun.elapsed().as_secs_f64();
            let status = ended.map(|()| house.gateway.door.ends_within(limit));
            let is_good = status.is_some_and(|status| status.success());
            ledger.did("SIGTERM");
            let how = status.map_or("still running".to_owned(), |status| status.to_string());
            ledger.measures(
                format!("SIGTERM under load: {how} after {took:.2} s"),
                is_good,
            );
        });
        drop(counting);
    });
    ledger
}
