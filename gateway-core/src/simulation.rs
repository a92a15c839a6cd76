//! Thousands of requests, probes, reloads and clock steps against a model of one pool.
//!
//! The model knows which nodes are in rotation from what the pool reported, which slots are held
//! and who waits; after every event it says what must be true. A failing seed is printed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_config::model::Pool;

use crate::fixture::{Bell, good, not_serving, poll, pool, start};
use crate::node::{LiveNode, Slot};
use crate::pool::{Pick, PoolState};
use crate::readiness::Observation;
use crate::rotation::Moves;
use crate::tried::{Hints, NodeId};
use crate::wait::{Wait, Waited};

/// A small generator of numbers (xorshift), so that a seed is a whole story.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A request that waits, as the model sees it.
struct Waiter {
    wait: Wait,
    bell: Arc<Bell>,
    hints: Hints,
}

struct World {
    dice: Dice,
    now: Instant,
    config: Pool,
    state: Arc<PoolState>,
    nodes: Vec<Arc<LiveNode>>,
    is_in: Vec<NodeId>,
    slots: Vec<Slot>,
    waiters: Vec<Waiter>,
    ended: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let (config, now) = (pool(&["a", "b", "c"], 2, 6), start());
        let state = PoolState::new(&config, seed, now);
        let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let nodes = state.nodes();
        let (is_in, slots, waiters) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            dice,
            now,
            config,
            state,
            nodes,
            is_in,
            slots,
            waiters,
            ended: 0,
        }
    }

    fn event(&mut self) {
        match self.dice.below(21) {
            20 => self.operator_speaks(),
            0..8 => self.request(),
            8..12 => self.slot_comes_back(),
            12..14 => self.client_goes_away(),
            14..18 => self.node_is_judged(),
            18 => self.now += Duration::from_millis(self.dice.below(4_000) as u64),
            _ => self.reload(),
        }
        self.look_at_waiters();
        self.check();
    }

    fn some_tried(&mut self) -> Hints {
        let mut hints = Hints::none();
        for node in &self.nodes {
            if self.dice.once_in(5) {
                hints.tried.add(node.id());
            }
        }
        hints
    }

    /// The nodes a request may use, each with its requests in flight.
    fn usable(&self, hints: &Hints) -> Vec<(NodeId, u32)> {
        let may_use = |node: &&Arc<LiveNode>| {
            self.is_in.contains(&node.id()) && !hints.tried.contains(node.id())
        };
        self.nodes
            .iter()
            .filter(may_use)
            .map(|node| (node.id(), node.in_flight()))
            .collect()
    }

    fn has_free(&self, hints: &Hints) -> bool {
        self.usable(hints)
            .iter()
            .any(|(_, in_flight)| *in_flight < self.config.in_flight)
    }

    fn request(&mut self) {
        let hints = self.some_tried();
        let usable = self.usable(&hints);
        match self.state.pick(&hints, self.now) {
            Pick::Slot(slot) => {
                let least = usable.iter().map(|(_, in_flight)| *in_flight).min();
                let before = usable
                    .iter()
                    .find(|(id, _)| *id == slot.node().id())
                    .map(|(_, in_flight)| *in_flight);
                assert!(before.is_some(), "picked a node that may not be picked");
                assert_eq!(before, least, "picked a node that is not the least busy");
                self.slots.push(slot);
            }
            Pick::Full => {
                assert!(!usable.is_empty() && !self.has_free(&hints));
                self.join(hints);
            }
            Pick::AllTried => assert!(usable.is_empty() && !self.is_in.is_empty()),
            Pick::NobodyUp => assert!(self.is_in.is_empty()),
        }
    }

    fn join(&mut self, hints: Hints) {
        let is_full = self.waiters.len() >= self.config.queue as usize;
        match self.state.wait(&hints, self.now) {
            Ok(mut wait) => {
                assert!(!is_full, "joined a full queue");
                let bell = Arc::new(Bell::default());
                assert!(
                    poll(&mut wait, &bell).is_none(),
                    "there was nothing to wait for"
                );
                self.waiters.push(Waiter { wait, bell, hints });
            }
            Err(_) => assert!(is_full, "was refused with places left"),
        }
    }

    fn slot_comes_back(&mut self) {
        if !self.slots.is_empty() {
            let at = self.dice.below(self.slots.len());
            let slot = self.slots.swap_remove(at);
            if self.dice.once_in(4) {
                let moves = self.state.exchange_failed(&slot, self.now);
                self.take(&moves);
            } else {
                let moves = self.state.exchange_completed(&slot, self.now);
                self.take(&moves);
            }
        }
    }

    fn client_goes_away(&mut self) {
        if !self.waiters.is_empty() {
            let at = self.dice.below(self.waiters.len());
            self.waiters.remove(at);
            self.ended += 1;
        }
    }

    fn node_is_judged(&mut self) {
        let node = Arc::clone(&self.nodes[self.dice.below(self.nodes.len())]);
        let seen = match self.dice.below(8) {
            0 => not_serving(),
            1 => Observation::Timeout,
            2 => Observation::Status(503),
            _ => good(),
        };
        let moves = self.state.probed(&node, &seen, self.now);
        self.take(&moves);
    }

    fn operator_speaks(&mut self) {
        let node = Arc::clone(&self.nodes[self.dice.below(self.nodes.len())]);
        let drained = self.dice.once_in(2);
        let was_in = self.is_in.contains(&node.id());
        let moves = self
            .state
            .set_drained(node.name(), drained, self.now)
            .unwrap();
        self.take(&moves);
        assert_eq!(node.is_drained(), drained);
        let is_in = self.is_in.contains(&node.id());
        assert!(!(drained && is_in), "drained and in rotation");
        assert!(drained || is_in || !was_in, "let back in, and out");
    }

    fn reload(&mut self) {
        let names = ["a", "b", "c", "d", "e"];
        let kept: Vec<&str> = names
            .into_iter()
            .filter(|_| !self.dice.once_in(4))
            .collect();
        let kept = if kept.is_empty() { vec!["a"] } else { kept };
        self.config = pool(
            &kept,
            1 + self.dice.below(4) as u32,
            self.dice.below(10) as u32,
        );
        let before = std::mem::take(&mut self.nodes);
        let moves = self.state.apply(&self.config, self.now);
        self.nodes = self.state.nodes();
        let gone = |id: &NodeId| !self.nodes.iter().any(|node| node.id() == *id);
        let removed = self.is_in.iter().filter(|id| gone(id)).count();
        assert_eq!(moves.rotations.len(), removed);
        self.is_in
            .retain(|id| self.nodes.iter().any(|node| node.id() == *id));
        for old in before.iter().filter(|old| gone(&old.id())) {
            assert_eq!(self.state.probed(old, &good(), self.now), Moves::default());
        }
    }

    fn take(&mut self, moves: &Moves) {
        for turn in &moves.rotations {
            let node = self
                .nodes
                .iter()
                .find(|node| *node.name() == turn.node)
                .unwrap();
            assert_eq!(turn.was_in, self.is_in.contains(&node.id()));
            assert_ne!(turn.is_in, turn.was_in);
            self.is_in.retain(|id| *id != node.id());
            if turn.is_in {
                self.is_in.push(node.id());
            }
            assert_eq!(turn.total_in, self.is_in.len());
        }
    }

    /// Takes what waiters were given; some of them have gone away without looking at it.
    fn look_at_waiters(&mut self) {
        while let Some(at) = self
            .waiters
            .iter()
            .position(|waiter| waiter.bell.rings() > 0)
        {
            let mut waiter = self.waiters.remove(at);
            self.ended += 1;
            assert_eq!(waiter.bell.rings(), 1, "woken more than once");
            if self.dice.once_in(3) {
                continue;
            }
            match poll(&mut waiter.wait, &waiter.bell) {
                Some(Waited::Slot(slot)) => {
                    let id = slot.node().id();
                    assert!(!waiter.hints.tried.contains(id));
                    let mut before = self
                        .waiters
                        .iter()
                        .take(at)
                        .filter(|earlier| earlier.bell.rings() == 0);
                    assert!(
                        before.all(|earlier| earlier.hints.tried.contains(id)),
                        "somebody was overtaken"
                    );
                    self.slots.push(slot);
                }
                Some(Waited::AllTried) => {
                    assert!(self.usable(&waiter.hints).is_empty() && !self.is_in.is_empty())
                }
                Some(Waited::NobodyUp) => assert!(self.is_in.is_empty()),
                None => panic!("woken for nothing"),
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.state.waiting(), self.waiters.len());
        assert_eq!(self.state.in_rotation(), self.is_in.len());
        for node in &self.nodes {
            assert_eq!(node.is_in_rotation(), self.is_in.contains(&node.id()));
            let held = self
                .slots
                .iter()
                .filter(|slot| slot.node().id() == node.id())
                .count();
            assert_eq!(
                node.in_flight() as usize,
                held,
                "slots out are not slots held"
            );
        }
        for waiter in &self.waiters {
            assert!(!self.has_free(&waiter.hints), "waits beside a free slot");
            assert!(!self.usable(&waiter.hints).is_empty(), "waits for nobody");
        }
    }

    /// Every request ends, and nothing is left of it.
    fn ends(mut self) -> u32 {
        while !self.waiters.is_empty() {
            assert!(!self.slots.is_empty(), "waits while nothing is in flight");
            self.slot_comes_back();
            self.look_at_waiters();
            self.check();
        }
        self.slots.clear();
        self.check();
        assert!(self.nodes.iter().all(|node| node.in_flight() == 0));
        self.ended
    }
}

/// Tells which seed was being played when a test panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the failing seed is {}", self.0);
        }
    }
}

fn play(seed: u64) -> u32 {
    let _told = Seed(seed);
    let mut world = World::new(seed);
    for _ in 0..2_000 {
        world.event();
    }
    world.ends()
}

#[test]
fn whatever_happens_slots_come_back_and_waits_end() {
    let ended: u32 = (0..60).map(play).sum();
    assert!(
        ended > 5_000,
        "only {ended} requests had to wait: the story is too tame"
    );
}
