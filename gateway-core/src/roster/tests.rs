use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_config::model::{Balance, HashBy, Pool, ProbeKind};
use proptest::prelude::*;

use crate::fixture::{pool, slot, start, tried};
use crate::key;
use crate::node::Slot;
use crate::pool::{Asked, Pick, PoolState};
use crate::roster::MANY;
use crate::tried::{Hints, Tried};

const SECOND: Duration = Duration::from_secs(1);

/// A pool whose nodes nobody probes, so that all are in.
fn unprobed(names: &[&str], balance: Balance) -> Pool {
    let mut pool = pool(names, 9, 0);
    pool.probe.kind = ProbeKind::None;
    pool.balance = balance;
    pool.health.floor = Duration::ZERO;
    pool.health.backoff_min = 10 * SECOND;
    pool
}

fn weighted(names: &[(&str, u16)], balance: Balance) -> Arc<PoolState> {
    let all: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    let mut pool = unprobed(&all, balance);
    for (node, (_, weight)) in pool.nodes.iter_mut().zip(names) {
        node.weight = *weight;
    }
    PoolState::new(&pool, 7, start())
}

fn name(slot: &Slot) -> String {
    slot.node().name().to_string()
}

fn at(state: &PoolState, hints: &Hints, now: Instant) -> Option<Slot> {
    match state.pick(hints, now) {
        Pick::Slot(slot) => Some(slot),
        Pick::AllTried | Pick::Full | Pick::NobodyUp => None,
    }
}

fn shares(state: &PoolState, times: u32) -> BTreeMap<String, u32> {
    let mut shares = BTreeMap::new();
    for _ in 0..times {
        *shares
            .entry(name(&slot(state, &Hints::none())))
            .or_default() += 1;
    }
    shares
}

fn keyed(bytes: &[u8]) -> Hints {
    Hints {
        key: Some(key(bytes)),
        ..Hints::none()
    }
}

fn break_down(state: &PoolState, name: &str, others: &[&str], now: Instant) {
    let held = slot(state, &tried(state, others));
    assert_eq!(&**held.node().name(), name);
    for _ in 0..3 {
        let _ = state.exchange_failed(&held, now);
    }
}

#[test]
fn in_turn_by_weight() {
    let state = weighted(&[("a", 5), ("b", 1), ("c", 1)], Balance::RoundRobin);
    let order: String = (0..14)
        .map(|_| name(&slot(&state, &Hints::none())))
        .collect();
    assert_eq!(order, "aaabcaaaaabcaa");
}

#[test]
fn idle_nodes_share_by_weight_whatever_the_way() {
    for balance in [Balance::LeastInFlight, Balance::Random, Balance::RoundRobin] {
        let state = weighted(&[("a", 3), ("b", 1)], balance.clone());
        let shares = shares(&state, 4_000);
        assert!(
            (2_700..3_300).contains(&shares["a"]),
            "{balance:?} {shares:?}"
        );
    }
}

#[test]
fn the_better_of_two_is_the_one_with_less_in_flight() {
    let state = weighted(&[("a", 1), ("b", 1)], Balance::Random);
    let busy: Vec<_> = (0..5)
        .map(|_| slot(&state, &tried(&state, &["b"])))
        .collect();
    let shares = shares(&state, 400);
    // Only when both draws fall on it does the busy one get the request: one time in four.
    assert!((50..150).contains(&shares["a"]), "{shares:?}");
    drop(busy);
}

#[test]
fn a_key_stays_with_its_node_and_goes_to_another_only_while_that_one_is_out() {
    let state = PoolState::new(
        &unprobed(&["a", "b", "c"], Balance::Hash(HashBy::Uri)),
        7,
        start(),
    );
    let now = start();
    let keys: Vec<_> = (0..300_u32)
        .map(|number| keyed(&number.to_le_bytes()))
        .collect();
    let homes: Vec<_> = keys.iter().map(|key| name(&slot(&state, key))).collect();
    assert!(
        keys.iter()
            .zip(&homes)
            .all(|(key, home)| name(&slot(&state, key)) == *home)
    );
    break_down(&state, "b", &["a", "c"], now);
    for (key, home) in keys.iter().zip(&homes) {
        let now_at = name(&slot(&state, key));
        assert!(if home == "b" {
            now_at != "b"
        } else {
            now_at == *home
        });
    }
    let without: BTreeMap<_, u32> = shares(&state, 100);
    assert!(
        (49..=51).contains(&without["a"]),
        "no key: in turn, {without:?}"
    );
}

#[test]
fn a_backup_is_asked_only_when_no_other_may_take_the_request() {
    let ways = [
        Balance::Hash(HashBy::Uri),
        Balance::LeastInFlight,
        Balance::Random,
        Balance::RoundRobin,
    ];
    for balance in ways {
        let mut config = unprobed(&["a", "b"], balance);
        config.nodes[0].backup = true;
        config.nodes[1].in_flight = Some(2);
        let state = PoolState::new(&config, 7, start());
        let hints = keyed(b"x");
        let held: Vec<_> = (0..3).map(|_| slot(&state, &hints)).collect();
        let names: Vec<_> = held.iter().map(name).collect();
        assert_eq!(names, ["b", "b", "a"]);
        drop(held);
        break_down(&state, "b", &["a"], start());
        assert_eq!(name(&slot(&state, &hints)), "a");
    }
}

#[test]
fn the_pool_as_a_whole_is_bounded_and_a_slot_of_any_node_wakes_who_waits_for_another() {
    let mut config = unprobed(&["a", "b"], Balance::LeastInFlight);
    (config.in_flight_total, config.queue) = (Some(1), 4);
    let state = PoolState::new(&config, 7, start());
    let on_a = slot(&state, &tried(&state, &["b"]));
    assert!(matches!(state.pick(&Hints::none(), start()), Pick::Full));
    let bell = Arc::new(crate::fixture::Bell::default());
    let mut only_b = state.wait(&tried(&state, &["a"]), start()).unwrap();
    assert!(crate::fixture::poll(&mut only_b, &bell).is_none());
    drop(on_a);
    assert_eq!(bell.rings(), 1, "b was free all the time");
    drop(only_b);
    assert!(at(&state, &Hints::none(), start()).is_some());
}

#[test]
fn a_node_nobody_probes_is_tried_by_one_request_at_a_time_once_it_has_been_out_for_long_enough() {
    let state = PoolState::new(&unprobed(&["a", "b"], Balance::RoundRobin), 7, start());
    let now = start();
    break_down(&state, "a", &["b"], now);
    let only_a = tried(&state, &["b"]);
    assert!(at(&state, &only_a, now + 9 * SECOND).is_none());
    let later = now + 11 * SECOND;
    let trial = at(&state, &only_a, later).unwrap();
    assert!(trial.is_trial() && at(&state, &only_a, later).is_none());
    drop(trial);
    let trial = at(&state, &only_a, later).expect("that one told nothing");
    let _ = state.exchange_failed(&trial, later);
    drop(trial);
    assert!(
        at(&state, &only_a, later + 19 * SECOND).is_none(),
        "twice as long"
    );
    let later = later + 21 * SECOND;
    let trial = at(&state, &only_a, later).unwrap();
    let moves = state.exchange_completed(&trial, later);
    assert!(moves.rotations[0].is_in && !trial.is_trial());
    assert!(at(&state, &only_a, later).is_some());
}

#[test]
fn a_node_that_comes_in_gets_its_share_step_by_step() {
    let mut config = unprobed(&["a", "b"], Balance::RoundRobin);
    config.slow_start = 100 * SECOND;
    let state = PoolState::new(&config, 7, start());
    let now = start() + 1_000 * SECOND;
    let mut moved = config.clone();
    moved.nodes[1].name = "c".into();
    let _ = state.apply(&moved, &[], &[], now);
    let of_c = |now: Instant| {
        let picked = (0..1_000).filter_map(|_| at(&state, &Hints::none(), now));
        picked.filter(|slot| &**slot.node().name() == "c").count()
    };
    let (first, half, whole) = (of_c(now), of_c(now + 50 * SECOND), of_c(now + 100 * SECOND));
    assert!((5..20).contains(&first), "{first}");
    assert!((300..370).contains(&half), "{half}");
    assert!((490..510).contains(&whole), "{whole}");
}

#[test]
fn nodes_that_are_all_replaced_by_good_ones_leave_nobody_who_waits_without_a_node() {
    let state = crate::fixture::up(&["a"], 1, 4);
    let held = slot(&state, &Hints::none());
    let bell = Arc::new(crate::fixture::Bell::default());
    let mut waits = state.wait(&Hints::none(), start()).unwrap();
    assert!(crate::fixture::poll(&mut waits, &bell).is_none());
    let good = crate::fixture::good();
    let asked = Asked {
        name: "b",
        addr: "192.0.2.1:1",
        addresses: &[],
        seen: Some(&good),
    };
    let moves = state.apply(&pool(&["b"], 1, 4), &[asked], &[], start());
    let turns: Vec<_> = moves
        .rotations
        .iter()
        .map(|one| (&*one.node, one.is_in))
        .collect();
    assert_eq!(turns, [("a", false), ("b", true)]);
    let waited = crate::fixture::poll(&mut waits, &bell);
    assert!(matches!(waited, Some(crate::wait::Waited::Slot(slot)) if name(&slot) == "b"));
    drop(held);
}

#[test]
fn a_trial_that_was_offered_is_over_when_the_node_comes_under_probes() {
    let config = unprobed(&["a", "b"], Balance::RoundRobin);
    let state = PoolState::new(&config, 7, start());
    break_down(&state, "a", &["b"], start());
    let later = start() + 11 * SECOND;
    // Offered in passing: the request goes to the other one.
    let on_b = at(&state, &tried(&state, &["a"]), later).unwrap();
    let mut probed = config;
    probed.probe.kind = ProbeKind::Tcp;
    let _ = state.apply(&probed, &[], &[], later);
    assert!(at(&state, &tried(&state, &["b"]), later).is_none());
    drop(on_b);
}

#[test]
fn in_a_pool_bounded_as_a_whole_who_waits_goes_where_it_would_have_gone() {
    let mut config = unprobed(&["a", "b"], Balance::RoundRobin);
    (config.in_flight_total, config.queue) = (Some(1), 40);
    let state = PoolState::new(&config, 7, start());
    let mut held = slot(&state, &Hints::none());
    let bell = Arc::new(crate::fixture::Bell::default());
    let mut order = String::new();
    for _ in 0..6 {
        let mut waits = state.wait(&Hints::none(), start()).unwrap();
        assert!(crate::fixture::poll(&mut waits, &bell).is_none());
        drop(held);
        let Some(crate::wait::Waited::Slot(next)) = crate::fixture::poll(&mut waits, &bell) else {
            panic!("one was free");
        };
        order += &name(&next);
        held = next;
    }
    assert_eq!(order, "bababa");
}

/// Where these keys lead.
fn led(state: &PoolState, keys: &[u32]) -> Vec<String> {
    let lead = |key: &u32| {
        let hints = Hints {
            tried: Tried::none(),
            key: Some(*key),
        };
        name(&at(state, &hints, start()).unwrap())
    };
    keys.iter().map(lead).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_node_that_leaves_moves_its_keys_alone_and_one_that_is_replaced_by_its_name_none(
        keys in prop::collection::vec(any::<u32>(), 1..50),
        gone in 0..5usize,
        turn in 0..5usize,
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let mut config = unprobed(&names, Balance::Hash(HashBy::Uri));
        let state = PoolState::new(&config, 7, start());
        let before = led(&state, &keys);

        config.nodes[gone].addr = "192.0.2.77:7".into();
        config.nodes.rotate_left(turn);
        let _ = state.apply(&config, &[], &[], start());
        prop_assert_eq!(&led(&state, &keys), &before);

        config.nodes.retain(|one| *one.name != *names[gone]);
        let _ = state.apply(&config, &[], &[], start());
        for (was, is) in before.iter().zip(led(&state, &keys)) {
            prop_assert!(*was == is || was == names[gone], "{was} became {is}");
        }
    }

    #[test]
    fn in_a_pool_every_round_gives_each_node_its_weight_within_one(
        weights in prop::collection::vec(1..9u16, 1..6),
        rounds in 1..4u16,
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let nodes: Vec<_> = names.into_iter().zip(weights.iter().copied()).collect();
        let state = weighted(&nodes, Balance::RoundRobin);
        let all = u32::from(weights.iter().sum::<u16>());
        for _ in 0..rounds {
            let shares = shares(&state, all);
            for (name, weight) in &nodes {
                let times = shares.get(*name).copied().unwrap_or(0);
                prop_assert!(times.abs_diff(u32::from(*weight)) <= 1, "{shares:?} of {nodes:?}");
            }
        }
    }

    #[test]
    fn in_a_large_pool_every_round_gives_each_node_its_weight_within_one(
        weights in prop::collection::vec(1..4u16, 17..60),
        are_equal: bool,
        by_load: bool,
    ) {
        let named: Vec<String> = (0..weights.len()).map(|at| format!("n{at}")).collect();
        let weight = |weight: u16| if are_equal { 1 } else { weight };
        let nodes: Vec<(&str, u16)> = named
            .iter()
            .zip(&weights)
            .map(|(name, one)| (name.as_str(), weight(*one)))
            .collect();
        let balance = if by_load { Balance::LeastInFlight } else { Balance::RoundRobin };
        let state = weighted(&nodes, balance);
        let all = nodes.iter().map(|(_, weight)| u32::from(*weight)).sum();
        for _ in 0..3 {
            let shares = shares(&state, all);
            for (name, weight) in &nodes {
                let times = shares.get(*name).copied().unwrap_or(0);
                prop_assert!(times.abs_diff(u32::from(*weight)) <= 1, "{times} for {weight}");
            }
        }
    }

    #[test]
    fn in_a_large_pool_the_least_busy_is_found(
        busy in prop::collection::vec(0..3u32, 17..40),
    ) {
        let named: Vec<String> = (0..busy.len()).map(|at| format!("n{at}")).collect();
        let names: Vec<&str> = named.iter().map(String::as_str).collect();
        let state = PoolState::new(&unprobed(&names, Balance::LeastInFlight), 7, start());
        // From here on it is everybody's turn.
        drop(at(&state, &Hints::none(), start()));
        let mut held = Vec::new();
        for (node, count) in state.nodes().iter().zip(&busy) {
            held.extend((0..*count).filter_map(|_| Slot::take(node, None)));
        }
        let least = busy.iter().min().copied();
        let slot = at(&state, &Hints::none(), start());
        prop_assert_eq!(slot.map(|slot| slot.node().in_flight() - 1), least);
    }

    #[test]
    fn in_a_very_large_pool_one_of_the_least_busy_is_found_and_a_free_one_is_never_missed(
        busy in prop::collection::vec(0..4u32, 65..200),
        only in prop::option::of(0..200usize),
        times in 1..9usize,
    ) {
        let named: Vec<String> = (0..busy.len()).map(|at| format!("n{at}")).collect();
        let names: Vec<&str> = named.iter().map(String::as_str).collect();
        let mut config = unprobed(&names, Balance::LeastInFlight);
        config.in_flight = 4;
        let only = only.map(|only| only % busy.len());
        let state = PoolState::new(&config, 7, start());
        let mut held = Vec::new();
        for ((at, node), count) in state.nodes().iter().enumerate().zip(&busy) {
            let count = if only.is_some_and(|only| only != at) { 4 } else { *count };
            held.extend((0..count).filter_map(|_| Slot::take(node, None)));
        }
        for _ in 0..times {
            let before: Vec<u32> = state.nodes().iter().map(|one| one.in_flight()).collect();
            let Some(slot) = at(&state, &Hints::none(), start()) else {
                prop_assert!(before.iter().all(|count| *count == 4));
                break;
            };
            let found = slot.node().in_flight() - 1;
            let no_less = before.iter().filter(|count| **count >= found).count();
            prop_assert!(no_less >= MANY, "{found} of {before:?}");
            held.push(slot);
        }
    }

    #[test]
    fn what_is_drawn_or_led_is_found_wherever_the_only_free_node_is(
        count in 1..60usize,
        free in 0..60usize,
        key: u32,
        drawn: bool,
    ) {
        let free = free % count;
        let names: Vec<String> = (0..count).map(|at| format!("n{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let balance = if drawn { Balance::Random } else { Balance::Hash(HashBy::Uri) };
        let state = PoolState::new(&unprobed(&names, balance), 7, start());
        for (place, one) in names.iter().enumerate() {
            if place != free {
                let _ = state.set_drained(one, true, start());
            }
        }
        let hints = Hints { tried: Tried::none(), key: Some(key) };
        let slot = at(&state, &hints, start());
        prop_assert_eq!(slot.map(|slot| name(&slot)), Some(names[free].to_owned()));
    }
}
