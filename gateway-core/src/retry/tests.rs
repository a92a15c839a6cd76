use super::*;
use crate::failure::Unsent;
use crate::fixture::pool;
use gateway_config::model::Pattern;
use std::time::Duration;

fn asked(node: &str) -> Asked {
    Asked {
        node: node.into(),
        addr: format!("{node}.test:1").into(),
    }
}

fn after(value: &str) -> RetryAfter {
    RetryAfter::from_node(value.as_bytes()).unwrap()
}

fn route(repeatable: bool) -> Route {
    let mut route = Route::new("r".into(), Pattern::Prefix("/".into()), "p".into());
    route.repeatable = repeatable;
    route
}

fn tries(is_repeatable: bool) -> Tries {
    Tries::new(&route(is_repeatable), false, &pool(&["a", "b", "c"], 1, 1)).at_other_nodes()
}

fn never_sent() -> Failure {
    Failure::NeverSent {
        asked: asked("b"),
        cause: Unsent::Connect,
    }
}

/// Every row of the front door's table: how the try ended, with a free node elsewhere, with full ones only,
/// with none; first for a repeatable request, then for one that is not.
#[test]
fn the_table() {
    use Next::{Again, Another, Return, Stop};
    let table = [
        (
            Try::Unsent,
            [Another, Another, Stop],
            [Another, Another, Stop],
        ),
        (
            Try::Refused,
            [Another, Another, Stop],
            [Another, Another, Stop],
        ),
        (
            Try::GoneAway,
            [Another, Another, Again],
            [Another, Another, Again],
        ),
        (
            Try::Unanswered(asked("a")),
            [Another, Another, Stop],
            [Stop, Stop, Stop],
        ),
        (
            Try::Closed(asked("a")),
            [Another, Another, Stop],
            [Stop, Stop, Stop],
        ),
        (
            Try::Busy(after("1")),
            [Another, Return, Return],
            [Return, Return, Return],
        ),
        (
            Try::Answered,
            [Return, Return, Return],
            [Return, Return, Return],
        ),
        (Try::Lost, [Stop, Stop, Stop], [Stop, Stop, Stop]),
    ];
    let places = [Elsewhere::Free, Elsewhere::Full, Elsewhere::Nobody];
    for (how, repeatable, not_repeatable) in table {
        for (place, (yes, no)) in places
            .into_iter()
            .zip(repeatable.into_iter().zip(not_repeatable))
        {
            assert_eq!(
                tries(true).judge(how.clone(), place),
                yes,
                "repeatable, {how:?}, {place:?}"
            );
            assert_eq!(
                tries(false).judge(how.clone(), place),
                no,
                "not repeatable, {how:?}, {place:?}"
            );
        }
    }
}

#[test]
fn each_node_that_goes_away_is_asked_again_once_where_there_is_no_other() {
    use Next::{Again, Another, Stop};
    let mut tries = tries(false);
    let places = [Elsewhere::Nobody, Elsewhere::Free, Elsewhere::Nobody];
    let said = places.map(|place| tries.judge(Try::GoneAway, place));
    assert_eq!(said, [Again, Another, Again]);
    assert_eq!(tries.judge(Try::GoneAway, Elsewhere::Nobody), Stop);
    assert_eq!(tries.retried(), 1);
}

#[test]
fn a_safe_request_on_a_connection_that_was_closing_is_asked_again_once() {
    use Next::{Again, Another, Stop};
    let (a_pool, closed) = (pool(&["a"], 1, 1), || Try::Closed(asked("a")));
    let mut safe = Tries::new(&route(false), true, &a_pool);
    assert_eq!(safe.judge(closed(), Elsewhere::Free), Again);
    assert_eq!(safe.judge(closed(), Elsewhere::Free), Stop);
    assert_eq!(
        safe.last_word(never_sent()),
        Failure::OutcomeUnknown(asked("a"))
    );
    let mut unsafe_one = Tries::new(&route(false), false, &a_pool);
    assert_eq!(unsafe_one.judge(closed(), Elsewhere::Free), Stop);

    // What is repeatable goes on, and the next node is asked twice as well; not at a front door.
    let mut repeatable = pool(&["a"], 1, 1);
    repeatable.retry_on.repeatable = true;
    let by_pool = Tries::new(&route(false), true, &repeatable);
    let by_route = Tries::new(&route(true), false, &a_pool);
    let places = [Elsewhere::Free, Elsewhere::Free, Elsewhere::Nobody];
    for mut tries in [by_pool, by_route] {
        let mut door = tries.clone().at_other_nodes();
        assert_eq!(
            places.map(|place| tries.judge(closed(), place)),
            [Again, Another, Again]
        );
        assert_eq!(tries.judge(closed(), Elsewhere::Nobody), Stop);
        assert_eq!(tries.retried(), 1);
        assert_eq!(
            places.map(|place| door.judge(closed(), place)),
            [Another, Another, Stop]
        );
    }

    let mut one_try = pool(&["a"], 1, 1);
    one_try.retries = 0;
    let mut once = Tries::new(&route(false), true, &one_try);
    assert_eq!(once.judge(closed(), Elsewhere::Free), Stop);
}

#[test]
fn there_are_no_more_tries_than_one_and_the_retries() {
    for retries in 0..4 {
        let mut pool = pool(&["a"], 1, 1);
        pool.retries = retries;
        let mut tries = Tries::new(&route(true), false, &pool);
        let again = (0..9)
            .filter(|_| tries.judge(Try::Unsent, Elsewhere::Free) == Next::Another)
            .count();
        assert_eq!((again as u32, tries.retried()), (retries, retries));
    }
}

#[test]
fn a_busy_answer_is_tried_elsewhere_once_and_only_where_the_pool_says_so() {
    let mut once = tries(true);
    assert_eq!(
        once.judge(Try::Busy(after("7")), Elsewhere::Free),
        Next::Another
    );
    assert_eq!(
        once.judge(Try::Busy(after("8")), Elsewhere::Free),
        Next::Return
    );
    let mut pool = pool(&["a"], 1, 1);
    pool.retry_busy = false;
    assert_eq!(
        Tries::new(&route(true), false, &pool).judge(Try::Busy(after("7")), Elsewhere::Free),
        Next::Return
    );
}

#[test]
fn after_a_busy_answer_a_broken_try_ends_as_busy() {
    let mut tries = tries(true);
    tries.judge(Try::Busy(after("17")), Elsewhere::Free);
    let busy = Failure::BusyThenLost {
        retry_after: after("17"),
    };
    for failure in [
        never_sent(),
        Failure::OutcomeUnknown(asked("b")),
        Failure::QueueFull,
        Failure::NoHealthyNode,
    ] {
        assert_eq!(tries.last_word(failure), busy);
    }
    for failure in [
        Failure::ClientGone,
        Failure::BudgetSpent {
            asked: asked("b"),
            budget: Duration::ZERO,
        },
    ] {
        assert_eq!(tries.last_word(failure.clone()), failure);
    }
}

#[test]
fn after_a_try_that_was_written_nothing_claims_that_it_was_never_sent() {
    let mut tries = tries(true);
    tries.judge(Try::Unanswered(asked("a")), Elsewhere::Free);
    let unknown = Failure::OutcomeUnknown(asked("a"));
    for failure in [
        never_sent(),
        Failure::QueueWaitSpent,
        Failure::NoHealthyNode,
    ] {
        assert_eq!(tries.last_word(failure), unknown);
    }
    let last = Failure::OutcomeUnknown(asked("b"));
    assert_eq!(tries.last_word(last.clone()), last);
    let budget = Duration::from_secs(1);
    let spent = tries.last_word(Failure::BudgetSpentBefore { budget });
    assert_eq!(
        spent,
        Failure::BudgetSpent {
            asked: asked("a"),
            budget
        }
    );
}

#[test]
fn a_first_failure_stands_as_it_is() {
    assert_eq!(tries(true).last_word(never_sent()), never_sent());
}

#[test]
fn a_write_is_never_sent_twice() {
    let ends = [
        Try::Unsent,
        Try::Refused,
        Try::Unanswered(asked("a")),
        Try::Busy(after("1")),
        Try::Answered,
        Try::Lost,
    ];
    for first in &ends {
        for second in &ends {
            let mut tries = tries(false);
            let mut seen = 0;
            for how in [first, second, second] {
                seen += u32::from(!matches!(how, Try::Unsent | Try::Refused));
                if tries.judge(how.clone(), Elsewhere::Free) != Next::Another {
                    break;
                }
            }
            assert!(seen <= 1, "{first:?}, {second:?}");
        }
    }
}

#[test]
fn what_is_tried_again_is_the_pools_unless_the_route_says_otherwise() {
    let mut pool = pool(&["a"], 1, 1);
    let goes_on = |route: &Route, is_safe, pool: &Pool, how: Try| {
        Tries::new(route, is_safe, pool).judge(how, Elsewhere::Free) == Next::Another
    };
    let unanswered = || Try::Unanswered(asked("a"));
    pool.retry_on.repeatable = true;
    assert!(goes_on(&route(false), true, &pool, unanswered()));
    assert!(!goes_on(&route(false), false, &pool, unanswered()));
    pool.retry_on.unsent = false;
    assert!(goes_on(&route(false), false, &pool, Try::Unsent));
    assert!(!goes_on(&route(false), false, &pool, Try::Refused));

    let mut own = route(true);
    let nothing = RetryOn {
        connect: false,
        unsent: false,
        repeatable: false,
        busy: false,
    };
    own.retry.on = Some(nothing);
    assert!(!goes_on(&own, false, &pool, Try::Unsent));
    assert!(!goes_on(&own, false, &pool, Try::Busy(after("1"))));
    own.retry.on = Some(RetryOn {
        busy: true,
        ..nothing
    });
    pool.retry_busy = false;
    assert!(goes_on(&own, false, &pool, Try::Busy(after("1"))));
    own.retry.attempts = Some(0);
    assert!(!goes_on(&own, false, &pool, Try::Busy(after("1"))));
}

#[test]
fn further_tries_are_never_more_than_their_share_and_what_was_saved() {
    let budget = Budget::full();
    let mut tries = 0;
    for _ in 0..1_000 {
        budget.pay(20);
        if budget.has_one() {
            budget.spend();
            tries += 1;
        }
    }
    assert!((200..=210).contains(&tries), "{tries}");
    (0..99).for_each(|_| budget.pay(100));
    assert_eq!(
        (0..99)
            .filter(|_| {
                let has = budget.has_one();
                budget.spend();
                has
            })
            .count(),
        10
    );
}
