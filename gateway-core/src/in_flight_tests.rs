use crate::in_flight::{Gate, Taken};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

#[test]
fn a_shut_gate_grants_nothing_and_still_takes_slots_back() {
    let gate = Gate::shut(2);
    assert!(gate.take().is_none());
    gate.open();
    assert!(gate.take().is_some() && gate.take().is_some() && gate.take().is_none());
    gate.shut_again();
    assert_eq!((gate.count(), gate.open_count()), (2, None));
    gate.release();
    gate.release();
    assert!(gate.take().is_none());
    assert_eq!(gate.count(), 0);
}

#[test]
fn a_gate_open_for_one_grants_one_slot_each_time() {
    let gate = Gate::shut(9);
    gate.open_for_one();
    assert_eq!(gate.open_count(), Some(0));
    assert!(!gate.is_open());
    assert_eq!((gate.take(), gate.take()), (Some(Taken::Only), None));
    gate.open_for_one();
    gate.shut_again();
    assert_eq!((gate.take(), gate.count()), (None, 1));
    gate.open_for_one();
    gate.open();
    assert_eq!(gate.take(), Some(Taken::Usual));
    gate.open_for_one();
    assert_eq!((gate.take(), gate.count()), (Some(Taken::Usual), 3));
}

#[test]
fn a_lower_ceiling_waits_for_slots_to_come_back() {
    let gate = Gate::shut(3);
    gate.open();
    assert!((0..3).all(|_| gate.take().is_some()));
    gate.set_ceiling(1);
    gate.release();
    assert!(gate.take().is_none());
    gate.release();
    gate.release();
    assert!(gate.take().is_some() && gate.take().is_none());
}

#[test]
fn threads_never_pass_the_ceiling_and_give_back_what_they_took() {
    for ceiling in [1, 2, 5] {
        let gate = Gate::shut(ceiling);
        let inside = AtomicU32::new(0);
        let over = AtomicBool::new(false);
        gate.open();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for turn in 0..4_000 {
                        if turn % 257 == 0 {
                            gate.shut_again();
                            gate.open();
                        }
                        if gate.take().is_some() {
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            over.fetch_or(now > ceiling, Ordering::SeqCst);
                            if turn % 64 == 0 {
                                thread::yield_now();
                            }
                            inside.fetch_sub(1, Ordering::SeqCst);
                            gate.release();
                        }
                    }
                });
            }
        });
        assert!(!over.load(Ordering::SeqCst), "ceiling {ceiling} passed");
        assert_eq!(gate.count(), 0);
    }
}
