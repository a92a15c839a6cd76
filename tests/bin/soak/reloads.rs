//! Every kind of reload, and what may follow from each.

use gateway_tests::state_dir::Fault;

use crate::dice::Dice;
use crate::house::House;
use crate::running::Running;
use crate::scene::Scene;
use crate::shape::{Shape, Side};
use crate::weather::Cause;

/// A kind of reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reload {
    /// The text is none.
    BrokenText,
    /// The side listener becomes encrypted, or clear again.
    ClearOrTls,
    /// The side listener comes or goes.
    ComesOrGoes,
    /// The certificate in place is garbage.
    GarbageCertificate,
    /// The side listener moves to another port.
    Moves,
    /// The state directory takes nothing, and is well again.
    NotKept,
    /// A new listener is on an address that somebody has.
    PortInUse,
    /// The side listener has another name on the same address.
    Renames,
    /// Settings only.
    Settings,
    /// Everything is as it was at the start.
    ToTheStart,
    /// The text is the same.
    Unchanged,
    /// The side listener is bound to every address on its port, or to one again.
    WideOrNarrow,
    /// Another number of workers.
    Workers,
}

/// Each as often as it comes in one round.
const ROUND: [Reload; 18] = [
    Reload::Settings,
    Reload::Settings,
    Reload::Settings,
    Reload::ComesOrGoes,
    Reload::ComesOrGoes,
    Reload::Moves,
    Reload::Renames,
    Reload::Renames,
    Reload::WideOrNarrow,
    Reload::WideOrNarrow,
    Reload::ClearOrTls,
    Reload::Workers,
    Reload::Workers,
    Reload::Unchanged,
    Reload::BrokenText,
    Reload::PortInUse,
    Reload::GarbageCertificate,
    Reload::NotKept,
];

/// A round in an order of its own.
pub(crate) fn round(dice: &mut Dice) -> [Reload; 18] {
    let mut round = ROUND;
    dice.shuffle(&mut round);
    round
}

/// What a reload does to who is connected to the side listener, and to who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Moves,
    Leaves,
    None,
}

impl Reload {
    /// Does it, and sees to it that the gateway says of it what it should.
    pub(crate) fn run(self, house: &mut House, scene: &Scene<'_>, dice: &mut Dice) {
        let mut next = house.shape.clone();
        let this = match (self, &next.side) {
            // Only what is there can change.
            (Reload::ClearOrTls | Reload::Moves | Reload::Renames | Reload::WideOrNarrow, None) => {
                Reload::ComesOrGoes
            }
            (this, _) => this,
        };
        this.change(&mut next, house, dice);
        let expected = this.expected();
        let effect = this.effect(&house.shape);
        let cause = match (effect, next.workers < house.shape.workers) {
            (_, true) => Cause::WorkerLeaves,
            (Effect::None, _) => Cause::Nothing,
            (Effect::Leaves | Effect::Moves, _) => Cause::SideLeaves,
        };
        match effect {
            Effect::Moves => scene.weather.side_moves(),
            Effect::Leaves => scene.weather.side_leaves(),
            Effect::None => {}
        }
        let under_way = scene.weather.begins(format!("reload {this:?}"), cause);
        let said = this.apply(&next, house, dice);
        drop(under_way);
        scene.ledger.did(&format!("reload {this:?}"));
        if !said.starts_with(expected) {
            let what = format!("reload {this:?} should have been {expected}: {said}");
            scene.ledger.measures(what, false);
        }
        if expected != "refused" {
            house.shape = next;
        }
        let side = house.shape.side.as_ref();
        scene
            .weather
            .side_is(side.map(|side| (side.addr, side.is_tls)));
    }

    fn apply(self, next: &Shape, house: &mut House, dice: &mut Dice) -> String {
        match self {
            Reload::BrokenText => house.gateway.reloads("[listeners.front\nbind = 7\n"),
            Reload::GarbageCertificate => {
                house.certificate_is_good(false);
                let said = house.gateway.reloads(&next.text());
                house.certificate_is_good(true);
                said
            }
            Reload::NotKept => {
                let fault = *dice.one_of(&[Fault::Active, Fault::Snapshots]);
                not_kept(fault, &next.text(), &mut house.gateway)
            }
            _ => house.gateway.reloads(&next.text()),
        }
    }

    fn change(self, next: &mut Shape, house: &House, dice: &mut Dice) {
        let [one, other] = [house.ports[0].addr(), house.ports[1].addr()];
        match (self, &mut next.side) {
            (Reload::ComesOrGoes, Some(_)) => next.side = None,
            (Reload::ToTheStart, _) => {
                *next = Shape {
                    workers: 1,
                    side: None,
                    turn: next.turn + 1,
                    ..next.clone()
                }
            }
            (Reload::ComesOrGoes, side) => {
                *side = Some(Side {
                    name: "side",
                    addr: *dice.one_of(&[one, other]),
                    is_wide: dice.below(2) == 0,
                    is_tls: dice.below(3) == 0,
                });
            }
            (Reload::ClearOrTls, Some(side)) => side.is_tls = !side.is_tls,
            (Reload::Moves, Some(side)) => side.addr = if side.addr == one { other } else { one },
            (Reload::Renames, Some(side)) => {
                side.name = if side.name == "side" { "wing" } else { "side" };
            }
            (Reload::WideOrNarrow, Some(side)) => side.is_wide = !side.is_wide,
            (Reload::PortInUse, _) => next.taken = house.taken.local_addr().ok(),
            (Reload::Settings | Reload::GarbageCertificate | Reload::NotKept, _) => next.turn += 1,
            (Reload::Workers, _) => {
                let step = 1 + u16::try_from(dice.below(2)).unwrap_or_default();
                next.workers = (next.workers - 1 + step) % 3 + 1;
            }
            _ => {}
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Reload::BrokenText | Reload::PortInUse => "refused",
            Reload::Unchanged => "unchanged",
            _ => "applied",
        }
    }

    fn effect(self, before: &Shape) -> Effect {
        match self {
            Reload::ClearOrTls | Reload::Moves => Effect::Moves,
            Reload::ComesOrGoes | Reload::ToTheStart if before.side.is_some() => Effect::Moves,
            Reload::Renames | Reload::WideOrNarrow => Effect::Leaves,
            _ => Effect::None,
        }
    }
}

/// Reloads while nothing can be kept, and once more when it can: what came of it, or what was not said
/// or not over.
fn not_kept(fault: Fault, text: &str, gateway: &mut Running) -> String {
    fault.begins(&gateway.state);
    let said = gateway.reloads(text);
    let during = gateway.degraded();
    fault.ends(&gateway.state);
    let again = gateway.reloads(text);
    let after = gateway.degraded();
    match during.contains("cannot be written") && again.starts_with("unchanged") && after.is_empty()
    {
        true => said,
        false => format!(
            "not as it should be: {said}, {fault:?}: degraded `{during}`, then {again}, degraded `{after}`"
        ),
    }
}
