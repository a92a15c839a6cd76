use super::*;
use crate::failure::Unsent;
use crate::fixture::pool;
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

fn tries(is_repeatable: bool) -> Tries {
    Tries::new(is_repeatable, &pool(&["a", "b", "c"], 1, 1))
}

fn never_sent() -> Failure {
    Failure::NeverSent {
        asked: asked("b"),
        cause: Unsent::Connect,
    }
}

/// Every row of the table: how the try ended, with a free node elsewhere, with full ones only,
/// with none; first for a repeatable request, then for one that is not.
#[test]
fn the_table() {
    use Next::{Another, Return, Stop};
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
            Try::Unanswered(asked("a")),
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
fn there_are_no_more_tries_than_one_and_the_retries() {
    for retries in 0..4 {
        let mut pool = pool(&["a"], 1, 1);
        pool.retries = retries;
        let mut tries = Tries::new(true, &pool);
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
        Tries::new(true, &pool).judge(Try::Busy(after("7")), Elsewhere::Free),
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
