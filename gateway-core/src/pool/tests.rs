use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::fixture::{Bell, good, node, not_serving, poll, pool, slot, start, tried, up};
use crate::readiness::Why;
use crate::wait::Waited;

fn name(slot: &crate::node::Slot) -> &str {
    slot.node().name()
}

fn named(state: &PoolState, name: &str) -> Arc<LiveNode> {
    state
        .nodes()
        .into_iter()
        .find(|node| &**node.name() == name)
        .unwrap()
}

fn all_in_flight(state: &PoolState) -> u32 {
    state.nodes().iter().map(|node| node.in_flight()).sum()
}

#[test]
fn workers_may_share_a_pool_and_move_a_wait_and_a_slot() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<PoolState>();
    is_shared::<Wait>();
    is_shared::<crate::node::Slot>();
}

#[test]
fn least_in_flight_is_picked_and_ties_go_in_turn() {
    let state = up(&["a", "b", "c"], 9, 0);
    let held: Vec<_> = (0..6).map(|_| slot(&state, &Hints::none())).collect();
    let names: Vec<_> = held.iter().map(name).collect();
    assert_eq!(names, ["a", "b", "c", "a", "b", "c"]);
    drop(held);
    let one_at_a_time: Vec<_> = (0..6)
        .map(|_| name(&slot(&state, &Hints::none())).to_owned())
        .collect();
    assert_eq!(one_at_a_time, ["a", "b", "c", "a", "b", "c"]);
}

#[test]
fn two_idle_nodes_beside_a_busy_one_share_evenly() {
    let state = up(&["a", "b", "c"], 9, 0);
    let busy = slot(&state, &tried(&state, &["b", "c"]));
    let names: Vec<_> = (0..4)
        .map(|_| name(&slot(&state, &Hints::none())).to_owned())
        .collect();
    assert_eq!(names, ["b", "c", "b", "c"]);
    drop(busy);
}

#[test]
fn the_only_free_node_is_never_missed() {
    let state = up(&["a", "b", "c"], 1, 0);
    let a = slot(&state, &tried(&state, &["b", "c"]));
    let c = slot(&state, &tried(&state, &["a", "b"]));
    assert_eq!(name(&slot(&state, &Hints::none())), "b");
    drop((a, c));
}

#[test]
fn what_cannot_be_picked_is_told_apart() {
    let state = PoolState::new(&pool(&["a", "b"], 1, 4), 7, start());
    assert!(matches!(
        state.pick(&Hints::none(), start()),
        Pick::NobodyUp
    ));
    assert_eq!(state.elsewhere(&Hints::none(), start()), Elsewhere::Nobody);
    let _ = state.probed(&named(&state, "a"), &good(), start());
    assert!(matches!(
        state.pick(&tried(&state, &["a"]), start()),
        Pick::AllTried
    ));
    assert_eq!(
        state.elsewhere(&tried(&state, &["a"]), start()),
        Elsewhere::Nobody
    );
    assert_eq!(
        state.elsewhere(&tried(&state, &["b"]), start()),
        Elsewhere::Free
    );
    let held = slot(&state, &Hints::none());
    assert!(matches!(state.pick(&Hints::none(), start()), Pick::Full));
    assert_eq!(state.elsewhere(&Hints::none(), start()), Elsewhere::Full);
    drop(held);
    assert_eq!(all_in_flight(&state), 0);
}

#[test]
fn case_64_nobody_may_be_chosen_is_a_bounded_wait() {
    let state = up(&["a", "b"], 1, 1);
    let (a, b) = (slot(&state, &Hints::none()), slot(&state, &Hints::none()));
    let only_b = tried(&state, &["a"]);
    let (bell, other) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut waits = state.wait(&only_b, start()).unwrap();
    assert_eq!(state.wait(&Hints::none(), start()).unwrap_err(), QueueFull);
    assert!(poll(&mut waits, &bell).is_none());
    drop(a);
    assert_eq!(
        (bell.rings(), state.waiting()),
        (0, 1),
        "the waiter may not use this slot"
    );
    let newcomer = slot(&state, &Hints::none());
    assert_eq!(name(&newcomer), "a", "nobody waits who could use it");
    drop(b);
    assert_eq!((bell.rings(), state.waiting()), (1, 0));
    assert!(matches!(poll(&mut waits, &other), Some(Waited::Slot(slot)) if name(&slot) == "b"));
    assert!(poll(&mut waits, &other).is_none(), "a result is given once");
    drop((newcomer, waits));
    assert_eq!(all_in_flight(&state), 0);
}

#[test]
fn first_come_first_served_and_a_newcomer_does_not_overtake() {
    let state = up(&["a"], 1, 8);
    let held = slot(&state, &Hints::none());
    let bells: Vec<_> = (0..3).map(|_| Arc::new(Bell::default())).collect();
    let mut waits: Vec<_> = (0..3)
        .map(|_| state.wait(&Hints::none(), start()).unwrap())
        .collect();
    for (wait, bell) in waits.iter_mut().zip(&bells) {
        assert!(poll(wait, bell).is_none());
    }
    drop(held);
    assert!(
        matches!(state.pick(&Hints::none(), start()), Pick::Full),
        "the slot is the first waiter's"
    );
    assert_eq!(
        bells.iter().map(|bell| bell.rings()).collect::<Vec<_>>(),
        [1, 0, 0]
    );
    for wait in &mut waits {
        assert!(matches!(poll(wait, &bells[0]), Some(Waited::Slot(_))));
    }
    assert_eq!(all_in_flight(&state), 0);
}

#[test]
fn a_slot_that_is_released_and_not_passed_on_yet_is_the_waiters() {
    let state = up(&["a"], 1, 8);
    let bell = Arc::new(Bell::default());
    std::mem::forget(slot(&state, &Hints::none()));
    let mut wait = state.wait(&Hints::none(), start()).unwrap();
    assert!(poll(&mut wait, &bell).is_none());
    named(&state, "a").gate().release();
    assert!(matches!(state.pick(&Hints::none(), start()), Pick::Full));
    assert_eq!(bell.rings(), 1);
    assert!(matches!(poll(&mut wait, &bell), Some(Waited::Slot(_))));
}

#[test]
fn a_waiter_that_goes_away_leaves_at_once_and_passes_on_what_it_was_handed() {
    let state = up(&["a"], 1, 2);
    let held = slot(&state, &Hints::none());
    let bell = Arc::new(Bell::default());
    let gone = state.wait(&Hints::none(), start()).unwrap();
    let handed = state.wait(&Hints::none(), start()).unwrap();
    drop(gone);
    assert_eq!(state.waiting(), 1);
    let mut next = state.wait(&Hints::none(), start()).unwrap();
    assert!(poll(&mut next, &bell).is_none());
    drop(held);
    assert_eq!((state.waiting(), bell.rings()), (1, 0));
    drop(handed);
    assert_eq!((state.waiting(), bell.rings()), (0, 1));
    assert!(matches!(poll(&mut next, &bell), Some(Waited::Slot(_))));
    drop(state.wait(&Hints::none(), start()).unwrap());
    assert_eq!((state.waiting(), all_in_flight(&state)), (0, 0));
}

#[test]
fn a_wait_for_what_is_free_or_can_never_be_ends_at_once() {
    let state = up(&["a"], 1, 0);
    let bell = Arc::new(Bell::default());
    let mut wait = state.wait(&Hints::none(), start()).unwrap();
    assert!(matches!(poll(&mut wait, &bell), Some(Waited::Slot(_))));
    let mut wait = state.wait(&tried(&state, &["a"]), start()).unwrap();
    assert!(matches!(poll(&mut wait, &bell), Some(Waited::AllTried)));
    let held = slot(&state, &Hints::none());
    assert!(
        state.wait(&Hints::none(), start()).is_err(),
        "no place in this queue"
    );
    drop(held);
}

#[test]
fn waiters_learn_that_nobody_is_left_and_that_somebody_came_back() {
    let state = up(&["a", "b"], 1, 8);
    let (now, bell) = (start(), Arc::new(Bell::default()));
    let (a, b) = (named(&state, "a"), named(&state, "b"));
    let held = (slot(&state, &Hints::none()), slot(&state, &Hints::none()));
    let mut only_b = state.wait(&tried(&state, &["a"]), start()).unwrap();
    let mut any = state.wait(&Hints::none(), start()).unwrap();
    assert!(poll(&mut only_b, &bell).is_none() && poll(&mut any, &bell).is_none());

    let _ = state.probed(&b, &not_serving(), now);
    assert!(matches!(poll(&mut only_b, &bell), Some(Waited::AllTried)));
    drop(held);
    assert!(matches!(poll(&mut any, &bell), Some(Waited::Slot(slot)) if name(&slot) == "a"));

    let held = slot(&state, &Hints::none());
    let mut any = state.wait(&Hints::none(), start()).unwrap();
    let mut later = state.wait(&Hints::none(), start()).unwrap();
    let (_, moves) = (
        state.probed(&b, &good(), now),
        state.probed(&b, &good(), now),
    );
    assert_eq!(
        moves
            .rotations
            .iter()
            .map(|turn| turn.is_in)
            .collect::<Vec<_>>(),
        [true]
    );
    let Some(Waited::Slot(on_b)) = poll(&mut any, &bell) else {
        panic!("b is free")
    };
    assert_eq!(name(&on_b), "b");
    let _ = (
        state.probed(&a, &not_serving(), now),
        state.probed(&b, &not_serving(), now),
    );
    assert!(matches!(poll(&mut later, &bell), Some(Waited::NobodyUp)));
    drop((held, on_b));
    assert_eq!((state.waiting(), all_in_flight(&state)), (0, 0));
}

#[test]
fn every_change_of_rotation_is_reported_with_who_and_why() {
    let state = up(&["a", "b"], 1, 0);
    let later = start() + Duration::from_secs(60);
    let on_a = slot(&state, &tried(&state, &["b"]));
    assert!(state.is_probed());
    let (_, _) = (
        state.exchange_failed(&on_a, later),
        state.exchange_failed(&on_a, later),
    );
    let moves = state.exchange_failed(&on_a, later);
    let out = Rotation {
        node: "a".into(),
        addr: "192.0.2.1:1".into(),
        is_in: false,
        was_in: true,
        by: By::Traffic,
        why: Some(Why::Unreachable),
        total_in: 1,
    };
    assert_eq!(moves.rotations, [out]);
    let view = &state.view()[0];
    assert_eq!(
        (view.is_in, view.consecutive_failures, view.why),
        (false, 3, Some(Why::Unreachable))
    );
    assert_eq!(state.in_rotation(), 1);
}

#[test]
fn an_exchange_ends_the_streak_of_traffic() {
    let state = up(&["a"], 1, 0);
    let (on_a, later) = (
        slot(&state, &Hints::none()),
        start() + Duration::from_secs(60),
    );
    for _ in 0..9 {
        let _ = (
            state.exchange_failed(&on_a, later),
            state.exchange_failed(&on_a, later),
        );
        let _ = state.exchange_completed(&on_a, later);
    }
    assert_eq!(
        (state.in_rotation(), state.view()[0].consecutive_failures),
        (1, 0)
    );
}

#[test]
fn case_59_what_is_known_outlives_a_reload() {
    let state = up(&["a", "b"], 2, 4);
    let a = named(&state, "a");
    let _ = state.probed(&a, &not_serving(), start());
    let held = slot(&state, &Hints::none());
    let before = state.view();
    assert_eq!(
        state.apply(&pool(&["a", "b"], 2, 4), &[], &[], start()),
        Moves::default()
    );
    assert_eq!(state.view(), before);
    assert!(Arc::ptr_eq(&a, &named(&state, "a")));
    assert!(matches!(
        state.pick(&tried(&state, &["b"]), start()),
        Pick::AllTried
    ));
    drop(held);
}

#[test]
fn a_reload_adds_nodes_out_and_takes_nodes_away_with_their_slots_intact() {
    let state = up(&["a", "b"], 2, 4);
    let (old, now) = (named(&state, "b"), start());
    let held = slot(&state, &tried(&state, &["a"]));
    let moves = state.apply(&pool(&["a", "c"], 2, 4), &[], &[], start());
    let gone = &moves.rotations[0];
    assert_eq!(
        (&*gone.node, gone.by, gone.why, gone.total_in),
        ("b", By::Reload, Some(Why::Removed), 1)
    );
    assert!(matches!(
        state.pick(&tried(&state, &["a"]), start()),
        Pick::AllTried
    ));
    assert_eq!(
        state.probed(&old, &good(), now),
        Moves::default(),
        "it is judged no longer"
    );
    assert_eq!(old.in_flight(), 1);
    drop(held);
    assert_eq!(old.in_flight(), 0);
    let c = named(&state, "c");
    let _ = state.probed(&c, &Observation::Unreachable, now);
    assert_eq!(state.probed(&c, &good(), now).rotations[0].total_in, 2);
}

#[test]
fn a_node_that_has_left_is_seen_until_its_last_request_is_over() {
    let state = up(&["a", "b", "c"], 2, 4);
    let left = |state: &PoolState| -> Vec<(String, u32)> {
        let all = state.leaving().into_iter();
        all.map(|node| (node.name().to_string(), node.in_flight()))
            .collect()
    };
    let only_b = tried(&state, &["a", "c"]);
    let (one, other) = (slot(&state, &only_b), slot(&state, &only_b));

    let mut moved = pool(&["a", "b"], 2, 4);
    moved.nodes[1].addr = "elsewhere.test:1".into();
    let _ = state.apply(&moved, &[], &[], start());
    assert_eq!(left(&state), [("b".to_owned(), 2)], "c had none");
    assert_eq!(named(&state, "b").in_flight(), 0);
    let _ = state.apply(&pool(&["a"], 2, 4), &[], &[], start());
    drop(one);
    assert_eq!(left(&state), [("b".to_owned(), 1)]);
    assert!(!state.leaving()[0].is_in_rotation());
    drop(other);
    assert_eq!(left(&state), []);
}

#[test]
fn another_address_under_the_same_name_is_another_node() {
    let state = up(&["a"], 1, 4);
    let mut moved = pool(&["a"], 1, 4);
    moved.nodes[0].addr = "elsewhere.test:1".into();
    let moves = state.apply(&moved, &[], &[], start());
    assert_eq!(moves.rotations.len(), 1);
    assert!(matches!(
        state.pick(&Hints::none(), start()),
        Pick::NobodyUp
    ));
}

#[test]
fn a_reload_moves_ceilings_and_wakes_who_may_go_on() {
    let state = up(&["a"], 1, 4);
    let bell = Arc::new(Bell::default());
    let first = slot(&state, &Hints::none());
    let mut wait = state.wait(&Hints::none(), start()).unwrap();
    assert!(poll(&mut wait, &bell).is_none());
    let _ = state.apply(&pool(&["a"], 2, 4), &[], &[], start());
    assert_eq!(bell.rings(), 1);
    let second = poll(&mut wait, &bell);
    let mut wait = state.wait(&Hints::none(), start()).unwrap();
    let _ = state.apply(&pool(&["a"], 1, 4), &[], &[], start());
    drop(first);
    assert!(
        poll(&mut wait, &bell).is_none(),
        "one is still in flight, and one may be"
    );
    drop(second);
    assert!(matches!(poll(&mut wait, &bell), Some(Waited::Slot(_))));
}

#[test]
fn ranges_without_a_node_are_counted_and_reported() {
    let mut cluster = pool(&["a", "b", "c"], 1, 0);
    cluster.nodes[0].shards = Some("0..64".into());
    cluster.nodes[1].shards = Some("64..".into());
    cluster.nodes[2].replica = Some("a".into());
    let state = PoolState::new(&cluster, 7, start());
    let now = start();
    assert_eq!(state.ranges_without_node().len(), 2);
    assert!(
        state
            .probed(&named(&state, "a"), &not_serving(), now)
            .ranges
            .is_empty()
    );
    assert!(
        state
            .probed(&named(&state, "c"), &good(), now)
            .ranges
            .is_empty()
    );
    let moves = state.probed(&named(&state, "b"), &Observation::Timeout, now);
    assert_eq!(
        (&*moves.ranges[0].range, moves.ranges[0].is_held),
        ("64..", false)
    );
    assert_eq!(state.ranges_without_node(), ["64..".into()]);
    cluster.nodes.push(node("d"));
    cluster.nodes[3].replica = Some("b".into());
    let _ = state.apply(&cluster, &[], &[], start());
    let moves = state.probed(&named(&state, "d"), &good(), now);
    assert!(moves.ranges[0].is_held);
}

/// A pool of one node that is given by name.
fn by_name(kind: ProbeKind) -> Pool {
    let mut config = pool(&["a"], 1, 0);
    config.nodes[0].addr = "a.test:1".into();
    config.probe.kind = kind;
    config
}

#[test]
fn a_node_whose_name_was_never_resolved_is_out_and_comes_in_with_the_first_answer() {
    let state = PoolState::new(&by_name(ProbeKind::None), 7, start());
    let a = named(&state, "a");
    assert!(matches!(
        state.pick(&Hints::none(), start()),
        Pick::NobodyUp
    ));
    assert_eq!(a.view().why, Some(Why::Unresolved));
    assert_eq!(state.resolved(&a, &[], start()), (false, Moves::default()));

    let found = ["192.0.2.9:1".parse().unwrap()];
    let (is_other, moves) = state.resolved(&a, &found, start());
    assert!(is_other && moves.rotations[0].is_in);
    assert_eq!(moves.rotations[0].by, By::Name);
    assert_eq!(slot(&state, &Hints::none()).node().addresses(), found);
    assert_eq!(a.view().why, None);
}

#[test]
fn the_last_answer_is_kept_when_a_name_is_resolved_no_more() {
    let state = PoolState::new(&by_name(ProbeKind::None), 7, start());
    let a = named(&state, "a");
    let found = ["192.0.2.9:1".parse().unwrap()];
    let _ = state.resolved(&a, &found, start());
    assert_eq!(state.resolved(&a, &[], start()), (false, Moves::default()));
    assert!(a.is_in_rotation());
    assert_eq!(a.addresses(), found);
}

#[test]
fn a_name_that_is_resolved_lets_nobody_in_who_is_probed() {
    let state = PoolState::new(&by_name(ProbeKind::Tcp), 7, start());
    let a = named(&state, "a");
    let found = ["192.0.2.9:1".parse().unwrap()];
    let (is_other, moves) = state.resolved(&a, &found, start());
    assert!(is_other && moves == Moves::default() && !a.is_in_rotation());
}

#[test]
fn a_node_left_by_its_probes_waits_for_its_name() {
    let state = PoolState::new(&by_name(ProbeKind::Tcp), 7, start());
    let a = named(&state, "a");
    let _ = state.probed(&a, &Observation::Unreachable, start());
    let _ = state.apply(&by_name(ProbeKind::None), &[], &[], start());
    assert_eq!(a.view().why, Some(Why::Unresolved));
    let moves = state.apply(&by_name(ProbeKind::Tcp), &[], &[], start());
    assert_eq!(moves, Moves::default());
    assert!(state.probed(&a, &good(), start()).rotations[0].is_in);
}

#[test]
fn a_new_node_brings_what_its_name_means() {
    let state = PoolState::new(&by_name(ProbeKind::None), 7, start());
    let mut config = by_name(ProbeKind::None);
    config.nodes[0].name = "b".into();
    let found = ["192.0.2.9:1".parse().unwrap()];
    let asked = Asked {
        name: "b",
        addr: "a.test:1",
        addresses: &found,
        seen: None,
    };
    let moves = state.apply(&config, &[asked], &[], start());
    assert!(
        moves
            .rotations
            .iter()
            .any(|one| one.is_in && one.by == By::Name)
    );
    assert_eq!(slot(&state, &Hints::none()).node().addresses(), found);
}

/// A thread that waits for a slot by being parked.
struct Parked(thread::Thread, AtomicBool);

impl std::task::Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Waits as a runtime would; `None` when it gave up after its first poll, as a client does that
/// goes away.
fn wait_for(state: &PoolState, hints: &Hints, gives_up: bool) -> Option<Waited> {
    let parked = Arc::new(Parked(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&parked));
    let mut cx = std::task::Context::from_waker(&waker);
    let mut wait = std::pin::pin!(state.wait(hints, start()).ok()?);
    loop {
        if let std::task::Poll::Ready(waited) = std::future::Future::poll(wait.as_mut(), &mut cx) {
            return Some(waited);
        }
        if gives_up {
            return None;
        }
        // A park may end for no reason, or for a wake-up of an earlier wait; a lost wake-up shows
        // as a flag that stays down.
        let is_woken = (0..2_000).any(|_| {
            parked.1.swap(false, Ordering::SeqCst) || {
                thread::park_timeout(Duration::from_millis(10));
                false
            }
        });
        assert!(is_woken, "nobody woke a waiter");
    }
}

#[test]
fn threads_that_pick_wait_give_up_and_turn_nodes_lose_no_slot_and_no_wake_up() {
    let state = up(&["a", "b", "c"], 2, 64);
    let inside: Vec<_> = (0..3).map(|_| AtomicU32::new(0)).collect();
    let ids: Vec<_> = state.nodes().iter().map(|node| node.id()).collect();
    let served = AtomicU32::new(0);
    let request = &|turn: u32| {
        let mut hints = Hints::none();
        if turn.is_multiple_of(5) {
            hints.tried.add(ids[(turn / 5) as usize % 3]);
        }
        let slot = match state.pick(&hints, start()) {
            Pick::Slot(slot) => slot,
            Pick::Full => match wait_for(&state, &hints, turn.is_multiple_of(7)) {
                Some(Waited::Slot(slot)) => slot,
                Some(Waited::AllTried | Waited::NobodyUp) | None => return,
            },
            Pick::AllTried | Pick::NobodyUp => return,
        };
        assert!(!hints.tried.contains(slot.node().id()));
        let place = ids.iter().position(|id| *id == slot.node().id()).unwrap();
        assert!(
            inside[place].fetch_add(1, Ordering::SeqCst) < 2,
            "above the ceiling"
        );
        if turn.is_multiple_of(3) {
            thread::yield_now();
        }
        inside[place].fetch_sub(1, Ordering::SeqCst);
        served.fetch_add(1, Ordering::SeqCst);
    };
    thread::scope(|scope| {
        for worker in 0..12 {
            scope.spawn(move || (0..1_500).for_each(|turn| request(turn * 13 + worker)));
        }
        scope.spawn(|| {
            let (now, nodes) = (start(), state.nodes());
            for turn in 0..600 {
                let node = &nodes[turn % 3];
                let _ = state.probed(node, &not_serving(), now);
                thread::yield_now();
                let _ = (
                    state.probed(node, &good(), now),
                    state.probed(node, &good(), now),
                );
            }
        });
    });
    assert!(served.load(Ordering::SeqCst) > 0);
    assert_eq!((state.waiting(), all_in_flight(&state)), (0, 0));
}

#[test]
fn a_drained_node_is_not_asked_whatever_its_probes_say_and_comes_back_as_good_as_it_is() {
    let state = up(&["a", "b"], 9, 0);
    let [a, b] = ["a", "b"].map(|name| named(&state, name));
    let held = slot(&state, &tried(&state, &["b"]));

    let moves = state.set_drained("a", true, start()).unwrap();
    assert_eq!(moves.rotations[0].why, Some(Why::Drained));
    assert_eq!(
        state.set_drained("a", true, start()),
        Some(Moves::default())
    );
    assert_eq!(state.probed(&a, &good(), start()), Moves::default());
    assert_eq!(name(&slot(&state, &Hints::none())), "b");
    assert_eq!(a.view().why, Some(Why::Drained));
    assert_eq!(a.in_flight(), 1, "what is in flight goes on");
    drop(held);

    // It fails while nobody asks it: it comes back as what it is then.
    for _ in 0..2 {
        let _ = state.probed(&a, &not_serving(), start());
    }
    assert_eq!(
        state.set_drained("a", false, start()),
        Some(Moves::default())
    );
    assert!(!a.is_in_rotation());
    for _ in 0..2 {
        let _ = state.probed(&a, &good(), start());
    }
    assert!(a.is_in_rotation() && b.is_in_rotation());

    let _ = state.set_drained("a", true, start());
    let moves = state.set_drained("a", false, start()).unwrap();
    assert!(moves.rotations[0].is_in && a.is_in_rotation());
    assert_eq!(state.set_drained("nobody", true, start()), None);
}

#[test]
fn a_node_that_comes_under_a_name_that_is_drained_is_never_in() {
    for (is_probed, is_up) in [(false, false), (true, false), (true, true)] {
        let mut before = pool(&["a", "b"], 1, 4);
        if !is_probed {
            before.probe.kind = ProbeKind::None;
        }
        let state = PoolState::new(&before, 7, start());
        for node in state.nodes() {
            let _ = state.probed(&node, &good(), start());
        }
        let _ = state.set_drained("a", true, start());
        let held = slot(&state, &Hints::none());
        let bell = Arc::new(Bell::default());
        let mut waits = state.wait(&Hints::none(), start()).unwrap();
        assert!(poll(&mut waits, &bell).is_none());

        let mut moved = before.clone();
        moved.nodes[0].addr = "elsewhere.test:1".into();
        let asked = Asked {
            name: "a",
            addr: "elsewhere.test:1",
            addresses: &[],
            seen: Some(&good()),
        };
        let asked: &[_] = if is_up { &[asked] } else { &[] };
        let moves = state.apply(&moved, asked, &["a", "somebody"], start());

        assert_eq!((moves.rotations.len(), bell.rings()), (0, 0));
        let a = named(&state, "a");
        assert!(a.is_drained() && !a.is_in_rotation());
        assert_eq!(&**a.addr(), "elsewhere.test:1");
        assert!(poll(&mut waits, &bell).is_none(), "the slot was a's");
        let _ = state.probed(&a, &good(), start());
        assert_eq!(state.in_rotation(), 1);
        drop(held);
        assert!(matches!(poll(&mut waits, &bell), Some(Waited::Slot(slot)) if name(&slot) == "b"));
        let _ = state.set_drained("a", false, start());
        assert!(a.is_in_rotation(), "what was found meanwhile counts");
    }
}
