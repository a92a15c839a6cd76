//! How a stand-in node behaves at this moment; may be changed while it runs.

use std::collections::VecDeque;
use std::time::Duration;

use super::record::lock;
use super::{Inner, Node, Ready, Way};

/// What a node does with a fresh connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Serves it.
    Normal,
    /// Ends it with a TCP reset.
    Resets,
    /// Switches to the protocol `echo` before it has read the request, then returns every byte.
    Switches,
    /// Takes it and never says a word, not even a handshake.
    Silent,
}

#[derive(Debug)]
pub(super) struct Switches {
    greeting: Greeting,
    ready: Ready,
    next_ready: VecDeque<Ready>,
    next: VecDeque<Way>,
    always: Way,
    idle: Duration,
    most_requests: usize,
}

impl Switches {
    pub(super) fn normal(name: &str) -> Self {
        Self {
            greeting: Greeting::Normal,
            ready: Ready::serving(name, true),
            next_ready: VecDeque::new(),
            next: VecDeque::new(),
            always: Way::Plainly,
            idle: Duration::from_secs(5),
            most_requests: 1000,
        }
    }
}

impl Node {
    /// Treats every request so from now on, probes excepted.
    pub fn always(&self, way: Way) {
        lock(&self.inner.switches).always = way;
    }

    /// Treats the next requests so, one each, then as [`Node::always`] says.
    pub fn next(&self, ways: impl IntoIterator<Item = Way>) {
        lock(&self.inner.switches).next.extend(ways);
    }

    /// Answers probes so from now on.
    pub fn is_ready(&self, ready: Ready) {
        lock(&self.inner.switches).ready = ready;
    }

    /// Says `"serving": …` from now on.
    pub fn says_serving(&self, serving: bool) {
        self.is_ready(Ready::serving(self.name(), serving));
    }

    /// Treats fresh connections so from now on.
    pub fn greets(&self, greeting: Greeting) {
        lock(&self.inner.switches).greeting = greeting;
    }

    /// Ends connections idle for so long; 5 s unless changed.
    pub fn closes_idle_after(&self, idle: Duration) {
        lock(&self.inner.switches).idle = idle;
    }

    /// Ends a connection after so many requests; 1000 unless changed.
    pub fn closes_after_requests(&self, most: usize) {
        lock(&self.inner.switches).most_requests = most;
    }

    /// Answers the next probes so, one each, then as [`Node::is_ready`] says.
    pub fn next_probes(&self, shapes: impl IntoIterator<Item = Ready>) {
        lock(&self.inner.switches).next_ready.extend(shapes);
    }
}

impl Inner {
    pub(super) fn greeting(&self) -> Greeting {
        lock(&self.switches).greeting
    }

    pub(super) fn ready_shape(&self) -> Ready {
        let mut switches = lock(&self.switches);
        let next = switches.next_ready.pop_front();
        next.unwrap_or_else(|| switches.ready.clone())
    }

    pub(super) fn idle_limit(&self) -> Duration {
        lock(&self.switches).idle
    }

    pub(super) fn most_requests(&self) -> usize {
        lock(&self.switches).most_requests
    }

    pub(super) fn next_way(&self) -> Way {
        let mut switches = lock(&self.switches);
        let next = switches.next.pop_front().or_else(|| self.store.next_way());
        next.unwrap_or_else(|| switches.always.clone())
    }
}
