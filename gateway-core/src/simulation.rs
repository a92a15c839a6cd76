//! Thousands of requests, probes, reloads and clock steps against a model of one pool.
//!
//! The model knows which nodes are in rotation from what the pool reported, which slots are held
//! and who waits; after every event it says what must be true. A failing seed is printed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_config::model::{Balance, HashBy, Pool, ProbeKind};

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

/// What kind of pool a story is about.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Of nodes with weights and backups, chosen in any way.
    Balanced,
    /// With a bound on what all nodes have in flight together.
    Bounded,
    /// As a front door has it.
    Probed,
    /// Of nodes that nobody probes.
    Unprobed,
}

/// A request that waits, as the model sees it.
struct Waiter {
    wait: Wait,
    bell: Arc<Bell>,
    hints: Hints,
}

struct World {
    kind: Kind,
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
        let kinds = [Kind::Balanced, Kind::Bounded, Kind::Probed, Kind::Unprobed];
        let kind = kinds[(seed % 4) as usize];
        let now = start();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let config = told(kind, &mut dice, pool(&["a", "b", "c"], 2, 6));
        let state = PoolState::new(&config, seed, now);
        let nodes = state.nodes();
        let is_in = nodes.iter().filter(|node| node.is_in_rotation());
        let is_in = is_in.map(|node| node.id()).collect();
        let (slots, waiters) = (Vec::new(), Vec::new());
        Self {
            kind,
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
            (self.is_in.contains(&node.id()) || self.may_be_tried(node))
                && !hints.tried.contains(node.id())
        };
        self.nodes
            .iter()
            .filter(may_use)
            .map(|node| (node.id(), node.in_flight()))
            .collect()
    }

    /// Whether a node that is out has been out for long enough, and nobody is trying it.
    fn may_be_tried(&self, node: &LiveNode) -> bool {
        let view = node.view();
        let mut of_it = self
            .slots
            .iter()
            .filter(|slot| slot.node().id() == node.id());
        view.ejected_until.is_some_and(|until| until <= self.now)
            && !view.is_drained
            && view.in_flight < view.ceiling
            && !of_it.any(Slot::is_trial)
    }

    fn ceiling(&self, id: NodeId) -> u32 {
        let mut named = self.nodes.iter().zip(&self.config.nodes);
        let of = named.find(|(node, _)| node.id() == id).unwrap().1.in_flight;
        of.unwrap_or(self.config.in_flight)
    }

    fn has_free(&self, hints: &Hints) -> bool {
        let total = self.config.in_flight_total;
        total.is_none_or(|total| self.slots.len() < total as usize)
            && self
                .usable(hints)
                .iter()
                .any(|(id, in_flight)| *in_flight < self.ceiling(*id))
    }

    fn is_backup(&self, id: NodeId) -> bool {
        let mut named = self.nodes.iter().zip(&self.config.nodes);
        named.any(|(node, told)| node.id() == id && told.backup)
    }

    fn request(&mut self) {
        let mut hints = self.some_tried();
        hints.key = (!self.dice.once_in(3)).then(|| self.dice.below(1 << 30) as u32);
        let usable = self.usable(&hints);
        let has_free = self.has_free(&hints);
        // What this request finds out about time goes to whoever waited before it.
        let is_given_away = !self.waiters.is_empty() && self.is_trial_due();
        match self.state.pick(&hints, self.now) {
            Pick::Slot(slot) => {
                self.check_choice(&usable, &slot, is_given_away);
                assert!(has_free, "picked where nothing was free");
                self.slots.push(slot);
            }
            Pick::Full => {
                assert!(is_given_away || (!usable.is_empty() && !has_free));
                self.join(hints);
            }
            Pick::AllTried => assert!(is_given_away || (usable.is_empty() && self.is_anybody_up())),
            Pick::NobodyUp => assert!(!self.is_anybody_up()),
        }
    }

    fn is_anybody_up(&self) -> bool {
        !self.is_in.is_empty() || self.is_trial_due()
    }

    fn is_trial_due(&self) -> bool {
        self.nodes.iter().any(|node| self.may_be_tried(node))
    }

    fn check_choice(&self, usable: &[(NodeId, u32)], slot: &Slot, is_given_away: bool) {
        let id = slot.node().id();
        let before = usable.iter().find(|(one, _)| *one == id);
        assert!(before.is_some(), "picked a node that may not be picked");
        assert_eq!(
            slot.is_trial(),
            !self.is_in.contains(&id),
            "tried a node that is in"
        );
        let has_room = |one: &&(NodeId, u32)| one.1 < self.ceiling(one.0);
        let mut primaries = usable.iter().filter(has_room);
        let is_spare = primaries.all(|(one, _)| self.is_backup(*one));
        assert!(
            !self.is_backup(id) || is_spare,
            "picked a backup beside a free node"
        );
        if self.kind != Kind::Balanced && !is_given_away {
            let least = usable.iter().map(|(_, in_flight)| in_flight).min();
            let own = before.map(|(_, in_flight)| in_flight);
            assert_eq!(own, least, "picked a node that is not the least busy");
        }
    }

    fn join(&mut self, hints: Hints) {
        let is_full = self.state.waiting() >= self.config.queue as usize;
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
            let moves = match self.dice.below(8) {
                0 | 1 => self.state.exchange_failed(&slot, self.now),
                2 | 3 => Moves::default(),
                _ => self.state.exchange_completed(&slot, self.now),
            };
            self.take(&moves);
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
        if self.kind == Kind::Unprobed {
            return;
        }
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
        let config = pool(
            &kept,
            1 + self.dice.below(4) as u32,
            self.dice.below(10) as u32,
        );
        self.config = told(self.kind, &mut self.dice, config);
        let before = std::mem::take(&mut self.nodes);
        let moves = self.state.apply(&self.config, &[], &[], self.now);
        self.nodes = self.state.nodes();
        let gone = |id: &NodeId| !self.nodes.iter().any(|node| node.id() == *id);
        let removed = self.is_in.iter().filter(|id| gone(id)).count();
        assert_eq!(moves.rotations.len(), removed);
        self.is_in
            .retain(|id| self.nodes.iter().any(|node| node.id() == *id));
        let is_new = |node: &&Arc<LiveNode>| !before.iter().any(|old| old.id() == node.id());
        let unprobed = self.kind == Kind::Unprobed;
        let fresh = self.nodes.iter().filter(|node| unprobed && is_new(node));
        self.is_in.extend(fresh.map(|node| node.id()));
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
                // Who was trying the node may have gone away since.
                Some(Waited::AllTried) => {
                    assert!(self.is_trial_due() || self.usable(&waiter.hints).is_empty())
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
            // Time alone lets nobody in who waits: the next request that comes finds out.
            assert!(
                self.is_trial_due() || !self.has_free(&waiter.hints),
                "waits beside a free slot"
            );
            assert!(!self.usable(&waiter.hints).is_empty(), "waits for nobody");
        }
        for node in &self.nodes {
            let of_it = self
                .slots
                .iter()
                .filter(|slot| slot.node().id() == node.id());
            let trials = of_it.filter(|slot| slot.is_trial()).count();
            assert!(trials <= 1, "two requests try one node");
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

/// What the file says of a pool of this kind, beside its nodes and their slots.
fn told(kind: Kind, dice: &mut Dice, pool: Pool) -> Pool {
    let mut pool = pool;
    match kind {
        Kind::Probed => {}
        Kind::Bounded => pool.in_flight_total = Some(1 + dice.below(4) as u32),
        Kind::Unprobed => {
            pool.probe.kind = ProbeKind::None;
            pool.health.keep_last = dice.once_in(3);
            pool.health.floor = Duration::ZERO;
            pool.health.backoff_min = Duration::from_secs(1);
            pool.health.backoff_max = Duration::from_secs(8);
        }
        Kind::Balanced => {
            let ways = [
                Balance::Hash(HashBy::Uri),
                Balance::LeastInFlight,
                Balance::Random,
                Balance::RoundRobin,
            ];
            pool.balance = ways[dice.below(4)].clone();
            pool.slow_start = Duration::from_secs(dice.below(2) as u64 * 10);
            for node in &mut pool.nodes {
                node.weight = 1 + dice.below(5) as u16;
                node.backup = dice.once_in(3);
                node.in_flight = dice.once_in(3).then_some(1);
            }
        }
    }
    pool
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
    let ended: u32 = (0..80).map(play).sum();
    assert!(
        ended > 5_000,
        "only {ended} requests had to wait: the story is too tame"
    );
}
