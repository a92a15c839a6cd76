use std::time::Duration;

use super::*;
use crate::fixture::{good, not_serving, rules, start};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

/// One node, its rules and the time.
struct Scene {
    health: Health,
    rules: Rules,
    now: Instant,
    is_last: bool,
}

impl Scene {
    fn new(health: Health) -> Self {
        Self {
            health,
            rules: rules(),
            now: start(),
            is_last: false,
        }
    }

    /// In rotation, with the floor long past.
    fn settled() -> Self {
        let mut scene = Self::new(Health::at_start());
        assert_eq!(scene.good(), Some(Turn::In));
        scene.passes(60 * SECOND)
    }

    fn passes(mut self, time: Duration) -> Self {
        self.now += time;
        self
    }

    fn probe(&mut self, seen: &Observation) -> Option<Turn> {
        self.health
            .probed(seen, &self.rules, self.is_last, self.now)
    }

    fn good(&mut self) -> Option<Turn> {
        self.probe(&good())
    }

    fn bad(&mut self) -> Option<Turn> {
        self.probe(&Observation::Timeout)
    }

    fn breaks(&mut self) -> Option<Turn> {
        self.health
            .exchange_failed(&self.rules, self.is_last, false, self.now)
    }
}

#[test]
fn case_58_failures_with_a_good_probe_between_never_eject_and_three_in_a_row_do() {
    let mut scene = Scene::settled();
    for _ in 0..20 {
        assert_eq!((scene.bad(), scene.bad(), scene.good()), (None, None, None));
    }
    assert_eq!((scene.bad(), scene.bad()), (None, None));
    assert_eq!(scene.bad(), Some(Turn::Out(Why::Timeout)));
    assert_eq!(scene.good(), None);
    assert_eq!(scene.good(), Some(Turn::In));
}

#[test]
fn two_good_probes_must_follow_each_other() {
    let mut scene = Scene::settled();
    scene.probe(&not_serving());
    for _ in 0..5 {
        assert_eq!((scene.good(), scene.bad()), (None, None));
    }
    assert_eq!((scene.good(), scene.good()), (None, Some(Turn::In)));
}

#[test]
fn the_first_verdict_decides_alone() {
    let mut scene = Scene::new(Health::at_start());
    assert!(!scene.health.is_in() && !scene.health.is_probed());
    assert_eq!(scene.bad(), None);
    assert_eq!(scene.health.why(), Some(Why::Timeout));
    assert_eq!((scene.good(), scene.good()), (None, Some(Turn::In)));
    assert_eq!(Scene::new(Health::at_start()).good(), Some(Turn::In));
    let mut scene = Scene::new(Health::at_start());
    assert_eq!(scene.probe(&not_serving()), None);
    assert!(!scene.health.is_in() && scene.health.is_probed());
}

#[test]
fn a_node_added_later_is_out_until_its_first_good_probe() {
    let mut scene = Scene::new(Health::added());
    assert_eq!(
        (scene.bad(), scene.probe(&not_serving()), scene.breaks()),
        (None, None, None)
    );
    assert_eq!(scene.good(), Some(Turn::In));
}

#[test]
fn within_the_floor_counts_do_not_eject_and_go_on_counting() {
    let mut scene = Scene::new(Health::at_start());
    scene.good();
    scene = scene.passes(6 * SECOND - Duration::from_nanos(1));
    for _ in 0..9 {
        assert_eq!(scene.bad(), None);
    }
    assert_eq!(scene.health.consecutive_failures(), 9);
    scene = scene.passes(Duration::from_nanos(1));
    assert_eq!(scene.bad(), Some(Turn::Out(Why::Timeout)));
}

#[test]
fn a_node_that_does_not_serve_is_out_whatever_streak_or_floor() {
    let mut scene = Scene::new(Health::at_start());
    scene.is_last = true;
    scene.rules.keep_last = true;
    scene.good();
    assert_eq!(
        scene.probe(&not_serving()),
        Some(Turn::Out(Why::NotServing))
    );
    assert_eq!(scene.health.document().serving, Some(false));
}

#[test]
fn a_good_probe_ends_both_streaks_and_an_exchange_only_its_own() {
    let mut scene = Scene::settled();
    scene.bad();
    scene.bad();
    scene.breaks();
    let _ = scene.health.exchange_completed(false, scene.now);
    assert_eq!(
        (
            scene.health.consecutive_failures(),
            scene.health.traffic_failures()
        ),
        (2, 0)
    );
    scene.breaks();
    assert_eq!(scene.health.consecutive_failures(), 2);
    scene.good();
    assert_eq!(
        (
            scene.health.consecutive_failures(),
            scene.health.traffic_failures()
        ),
        (0, 0)
    );
}

#[test]
fn the_streaks_are_separate_and_either_ejects() {
    let mut scene = Scene::settled();
    scene.bad();
    scene.bad();
    assert_eq!((scene.breaks(), scene.breaks()), (None, None));
    assert_eq!(scene.breaks(), Some(Turn::Out(Why::Unreachable)));
    let mut scene = Scene::settled();
    scene.rules.count_traffic = false;
    assert!((0..9).all(|_| scene.breaks().is_none()));
    assert_eq!(scene.health.consecutive_failures(), 0);
}

#[test]
fn counts_never_eject_the_last_node_where_it_is_kept() {
    let mut scene = Scene::settled();
    (scene.is_last, scene.rules.keep_last) = (true, true);
    assert!((0..9).all(|_| scene.bad().is_none() && scene.breaks().is_none()));
    scene.is_last = false;
    assert!(scene.bad().is_some());
    let mut scene = Scene::settled();
    scene.is_last = true;
    assert!(scene.bad().or(scene.bad()).or(scene.bad()).is_some());
}

#[test]
fn why_is_the_latest_reason_while_out_and_last_ok_the_latest_good_probe() {
    let mut scene = Scene::settled();
    let ok = scene.health.last_ok();
    assert!(ok.is_some());
    scene.probe(&not_serving());
    scene.probe(&Observation::Status(503));
    assert_eq!(scene.health.why(), Some(Why::Status(503)));
    assert_eq!(scene.health.document().serving, None);
    scene.good();
    assert_eq!(scene.health.why(), Some(Why::Status(503)));
    assert_eq!(scene.health.last_ok(), Some(scene.now));
    scene.good();
    assert_eq!(scene.health.why(), None);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Bad,
    Breaks,
    Completes,
    Good,
    NotServing,
    Waits(u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Bad),
        3 => Just(Event::Breaks),
        1 => Just(Event::Completes),
        3 => Just(Event::Good),
        1 => Just(Event::NotServing),
        3 => (0..9u8).prop_map(Event::Waits),
    ];
    prop::collection::vec(event, 0..80)
}

/// Plays events, and calls `check` with the scene before each, the event and what it turned.
fn play(
    mut scene: Scene,
    events: &[Event],
    mut check: impl FnMut(&Scene, Event, Option<Turn>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for event in events {
        let before = Scene {
            health: scene.health.clone(),
            rules: scene.rules.clone(),
            ..scene
        };
        let turn = match event {
            Event::Bad => scene.bad(),
            Event::Breaks => scene.breaks(),
            Event::Completes => {
                let _ = scene.health.exchange_completed(false, scene.now);
                None
            }
            Event::Good => scene.good(),
            Event::NotServing => scene.probe(&not_serving()),
            Event::Waits(seconds) => {
                scene.now += u32::from(*seconds) * SECOND;
                None
            }
        };
        prop_assert_eq!(
            scene.health.is_in(),
            turn.map_or(before.health.is_in(), |turn| turn == Turn::In)
        );
        prop_assert!(!scene.health.is_in() || scene.health.why().is_none());
        check(&before, *event, turn)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_node_never_comes_in_but_by_a_good_probe(events in events(), added in any::<bool>()) {
        let health = if added { Health::added() } else { Health::at_start() };
        play(Scene::new(health), &events, |_, event, turn| {
            prop_assert!(turn != Some(Turn::In) || matches!(event, Event::Good));
            Ok(())
        })?;
    }

    #[test]
    fn saying_no_always_ends_in_being_out(events in events()) {
        play(Scene::new(Health::at_start()), &events, |before, event, turn| {
            let is_told = matches!(event, Event::NotServing) && before.health.is_in();
            prop_assert!(!is_told || turn == Some(Turn::Out(Why::NotServing)));
            Ok(())
        })?;
    }

    #[test]
    fn counts_never_eject_early_or_within_the_floor(events in events()) {
        let mut last_change: Option<Instant> = None;
        play(Scene::new(Health::at_start()), &events, |before, event, turn| {
            if turn.is_some_and(|turn| turn != Turn::In) && !matches!(event, Event::NotServing) {
                prop_assert!(before.health.consecutive_failures() + 1 >= 3);
                prop_assert!(last_change.is_some_and(|at| before.now - at >= 6 * SECOND));
            }
            if turn.is_some() {
                last_change = Some(before.now);
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_exchange_never_changes_the_rotation(events in events()) {
        play(Scene::new(Health::at_start()), &events, |_, event, turn| {
            prop_assert!(turn.is_none() || !matches!(event, Event::Completes | Event::Waits(_)));
            Ok(())
        })?;
    }

    #[test]
    fn fewer_failures_in_a_row_than_fall_never_eject(runs in prop::collection::vec(0..3usize, 0..30)) {
        let mut scene = Scene::settled();
        for run in runs {
            for _ in 0..run {
                prop_assert_eq!(scene.bad(), None);
                prop_assert_eq!(scene.breaks(), None);
            }
            scene.good();
        }
        prop_assert!(scene.health.is_in());
    }
}

/// A node nobody probes, which breaks until it is out.
fn ejected() -> Scene {
    let mut scene = Scene::new(Health::unprobed());
    assert!(scene.health.is_in() && scene.health.is_probed());
    scene.rules.backoff_min = 10 * SECOND;
    scene.rules.backoff_max = 50 * SECOND;
    assert_eq!((scene.breaks(), scene.breaks()), (None, None));
    assert_eq!(scene.breaks(), Some(Turn::Out(Why::Unreachable)));
    scene
}

fn left(scene: &Scene) -> Option<Duration> {
    let until = scene.health.ejected_until();
    until.map(|until| until.saturating_duration_since(scene.now))
}

#[test]
fn a_node_nobody_probes_is_out_for_longer_after_each_failed_trial_and_back_after_a_good_one() {
    let mut scene = ejected();
    assert_eq!(left(&scene), Some(10 * SECOND));
    for seconds in [20, 40, 50, 50] {
        let (is_last, now) = (scene.is_last, scene.now);
        let failed = scene
            .health
            .exchange_failed(&scene.rules, is_last, true, now);
        assert_eq!((failed, left(&scene)), (None, Some(seconds * SECOND)));
    }
    let back = scene.health.exchange_completed(true, scene.now);
    assert_eq!((back, left(&scene)), (Some(Turn::In), None));
    assert_eq!(scene.health.consecutive_failures(), 0);
    assert_eq!((scene.breaks(), scene.breaks()), (None, None));
    scene = scene.passes(6 * SECOND);
    assert!(scene.breaks().is_some());
    assert_eq!(left(&scene), Some(10 * SECOND), "it begins anew");
}

#[test]
fn of_a_node_that_is_out_only_the_trial_counts() {
    let mut scene = ejected();
    assert_eq!(scene.breaks(), None);
    let completed = scene.health.exchange_completed(false, scene.now);
    assert_eq!((completed, left(&scene)), (None, Some(10 * SECOND)));
}

#[test]
fn a_node_may_come_under_probes_and_be_left_to_itself_again() {
    let mut scene = ejected();
    assert_eq!(scene.health.set_watched(true, scene.now), None);
    assert_eq!(
        (left(&scene), scene.good(), scene.good()),
        (None, None, Some(Turn::In))
    );
    scene.probe(&not_serving());
    assert_eq!(scene.health.set_watched(false, scene.now), None);
    assert_eq!(left(&scene), Some(Duration::ZERO), "one may try it at once");
    for unseen in [Health::at_start(), Health::added()] {
        let mut scene = Scene::new(unseen);
        assert_eq!(scene.health.set_watched(false, scene.now), Some(Turn::In));
    }
}

#[test]
fn traffic_has_a_number_of_its_own() {
    let mut scene = Scene::settled();
    scene.rules.failures = 5;
    assert!((0..4).all(|_| scene.breaks().is_none()));
    assert!(scene.breaks().is_some());
    let mut scene = Scene::settled();
    scene.rules.failures = 5;
    assert!(scene.bad().or(scene.bad()).or(scene.bad()).is_some());
}
