//! What a gateway holds when nobody asks it anything: as much after many changes as after few.

use std::time::Duration;

use gateway_tests::wait;

use crate::house::House;
use crate::ledger::Ledger;
use crate::shape::DRAIN;
use crate::sockets;
use crate::vitals::{Held, Vitals};

/// Until everything that drains has ended, and every kept connection to a node is closed.
const REST: Duration = DRAIN.saturating_add(Duration::from_secs(4));
/// How far resident memory may be above the baseline. The allocator keeps what it once had for each
/// thread that comes and goes, and the baseline follows a few seconds of the same load; what is lost
/// with every reload or request would be far above it.
const MEMORY: f64 = 1.5;

/// What it holds once what drained has ended.
pub(crate) fn after_rest(house: &House) -> Vitals {
    wait::maybe(REST, || None::<()>);
    Vitals::of(house.gateway.door.pid())
}

/// Waits for the gateway to come back to what it held before, and says so if it does not.
pub(crate) fn compare(before: Vitals, house: &House, ledger: &Ledger) {
    let now = || Vitals::of(house.gateway.door.pid());
    let is_back =
        |now: &Vitals| now.descriptors <= before.descriptors && now.threads <= before.threads;
    let back = wait::maybe(REST + REST, || Some(now()).filter(is_back));
    let is_nothing = || Held::by(&house.gateway).filter(|held| *held == Held::NOTHING);
    let left = wait::maybe(REST, is_nothing);
    let held = left.or_else(|| Held::by(&house.gateway));
    let held = held.map_or("it does not say".to_owned(), |held| held.to_string());
    ledger.measures(format!("at rest, by its own word: {held}"), left.is_some());
    if left.is_none() {
        let open = sockets::connections(house.gateway.door.pid());
        ledger.measures(format!("not at rest: {}", open.join("; ")), false);
    }
    let after = now();
    let ratio = after.resident as f64 / before.resident.max(1) as f64;
    let what = format!("at rest: {before} after warm-up, {after} at the end");
    ledger.measures(what, back.is_some());
    let what = format!("memory at rest: {ratio:.2} of what it was, {MEMORY} at most");
    ledger.measures(what, ratio <= MEMORY);
}
