use std::time::Duration;

use super::*;
use crate::around::Around;

/// A process whose owner is the interface, to which nobody has applied anything.
pub(crate) fn started() -> Arc<Reload> {
    let start = Start {
        owner: Box::new(Applied::default()),
        state: None,
        last_good: false,
    };
    let first = start.looks().expect("nothing to be found wrong");
    let (_guard, log) = crate::log::start();
    let around = Arc::new(Around::new(log));
    first
        .starts(&around, &[], &Arc::default())
        .expect("nothing to be served")
}

#[tokio::test(start_paused = true)]
async fn who_waits_longer_than_may_be_is_told_busy_and_nothing_changes() {
    let reload = started();
    let turn = Arc::clone(&reload.turn).lock_owned().await;
    let limit = PATIENCE + Duration::from_secs(1);

    let refused = tokio::time::timeout(limit, reload.set_workers(Some(2))).await;

    let refused = refused.unwrap().unwrap_err();
    assert!(matches!(refused, Refused::Busy(_)), "{refused}");
    assert_eq!(reload.status().overrides, Overrides::default());
    assert!(reload.status().refusal.is_none(), "no change was refused");
    drop(turn);
    reload.set_workers(Some(2)).await.unwrap();
    assert_eq!(reload.status().overrides.workers, Some(2));
}

#[tokio::test(start_paused = true)]
async fn who_waits_a_while_is_served_when_the_one_before_is_done() {
    let reload = started();
    let turn = Arc::clone(&reload.turn).lock_owned().await;
    let second = Arc::clone(&reload);
    let second = tokio::spawn(async move { second.set_workers(Some(3)).await });

    tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
    assert!(!second.is_finished());
    drop(turn);

    second.await.unwrap().unwrap();
    assert_eq!(reload.status().overrides.workers, Some(3));
}
