use super::*;
use proptest::prelude::*;

/// Chooses so often among nodes of these weights, in turn; how often each was chosen.
fn chosen(turns: &Turns, dues: &mut [u64], weights: &[u64], times: u64) -> Vec<usize> {
    let mut order = Vec::new();
    for _ in 0..times {
        let standing = |place: usize| Standing {
            in_flight: 0,
            due: turns.due(dues[place]),
            weight: weights[place],
        };
        let place = (0..weights.len())
            .min_by(|a, b| by_turn(&standing(*a), &standing(*b)))
            .unwrap();
        dues[place] = turns.chosen(standing(place));
        order.push(place);
    }
    order
}

fn entered(turns: &Turns, weights: &[u64]) -> Vec<u64> {
    weights
        .iter()
        .map(|weight| turns.at_entry(*weight))
        .collect()
}

#[test]
fn turns_are_spread_over_a_round() {
    let (turns, weights) = (Turns::new(0), [5_000, 1_000, 1_000]);
    let mut dues = entered(&turns, &weights);
    let order = chosen(&turns, &mut dues, &weights, 7);
    assert_eq!(order, [0, 0, 0, 1, 2, 0, 0]);
}

#[test]
fn who_could_not_be_chosen_is_owed_nothing() {
    let (turns, weights) = (Turns::new(0), [1_000, 1_000]);
    let mut dues = entered(&turns, &weights);
    let _ = chosen(&turns, &mut dues[..1], &weights[..1], 1_000);
    let order = chosen(&turns, &mut dues, &weights, 6);
    let of_second = order.iter().filter(|place| **place == 1).count();
    assert!((3..=4).contains(&of_second), "{order:?}");
}

#[test]
fn load_counts_by_weight_and_ties_go_in_turn() {
    let one = |in_flight, due, weight| Standing {
        in_flight,
        due,
        weight,
    };
    assert_eq!(by_load(&one(2, 0, 2_000), &one(1, 9, 1_000)), Order::Less);
    assert_eq!(
        by_load(&one(2, 0, 1_000), &one(3, 9, 2_000)),
        Order::Greater
    );
    assert_eq!(by_load(&one(0, 3, 1), &one(0, 2, 1_000)), Order::Greater);
}

#[test]
fn times_go_round() {
    assert_eq!(compare(3, u64::MAX - 3), Order::Greater);
    assert_eq!(compare(u64::MAX - 3, 3), Order::Less);
    assert_eq!(compare(7, 7), Order::Equal);
}

#[test]
fn what_is_drawn_covers_everything_below_the_bound() {
    let turns = Turns::new(42);
    let mut seen = [0_u32; 7];
    (0..7_000).for_each(|_| seen[turns.draw(7) as usize] += 1);
    assert!(
        seen.iter().all(|times| (800..1_200).contains(times)),
        "{seen:?}"
    );
    assert_eq!(turns.draw(0), 0);
}

proptest! {
    #[test]
    fn over_a_round_every_node_is_always_chosen_as_often_as_its_weight_within_one(
        weights in prop::collection::vec(1..40u64, 1..8),
        rounds in 1..5u64,
        start: u64,
    ) {
        let turns = Turns::new(0);
        turns.now.store(start, Ordering::Relaxed);
        let milli: Vec<u64> = weights.iter().map(|weight| weight * 1_000).collect();
        let mut dues = entered(&turns, &milli);
        for _ in 0..rounds {
            let order = chosen(&turns, &mut dues, &milli, weights.iter().sum());
            for (place, weight) in weights.iter().enumerate() {
                let times = order.iter().filter(|one| **one == place).count() as u64;
                prop_assert!(times.abs_diff(*weight) <= 1, "{times} times for {weight}");
            }
        }
    }
}
