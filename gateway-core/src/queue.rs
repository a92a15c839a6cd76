//! Lets requests wait for a slot, first come, first served, and never too many of them.
//!
//! Leaves to [`pool`](crate::pool) which node is best and to [`node`](crate::node) what a slot is;
//! here a slot is only something of a node with an identity. A release looks at one atomic count
//! and goes on unless somebody waits.
//!
//! Invariants: a slot goes to the first waiter that may use it; a newcomer keeps a slot only when
//! no waiter may use it; a waiter that goes away leaves no entry behind.
//!
//! Source: adr/0004.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::tried::{Hints, NodeId};

/// The queue of a pool holds as many requests as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("as many requests wait for a slot as may")]
pub struct QueueFull;

/// A slot of some node.
pub(crate) trait OfNode {
    /// Which node it is of.
    fn node_id(&self) -> NodeId;
}

/// How a wait ends, or what a look at the nodes finds.
#[derive(Debug)]
pub(crate) enum Choice<S> {
    /// Every node in rotation has been tried.
    AllTried,
    /// A node that may take the request is in rotation, and every such node is full.
    Full,
    /// No node is in rotation.
    NobodyUp,
    /// A slot has been taken.
    Taken(S),
}

/// What joining the queue came to.
#[derive(Debug)]
pub(crate) enum Joined<S> {
    /// There is nothing to wait for.
    Ended(Choice<S>),
    /// The number under which the request waits.
    Waits(u64),
}

/// Requests that wait for a slot.
#[derive(Debug)]
pub(crate) struct Queue<S> {
    waiting: AtomicUsize,
    line: Mutex<Line<S>>,
}

#[derive(Debug)]
struct Line<S> {
    limit: usize,
    next: u64,
    waiters: BTreeMap<u64, Waiter>,
    ended: BTreeMap<u64, Choice<S>>,
}

#[derive(Debug)]
struct Waiter {
    hints: Hints,
    waker: Option<Waker>,
}

impl<S: OfNode> Queue<S> {
    /// An empty queue for at most `limit` requests.
    pub(crate) fn new(limit: u32) -> Self {
        let line = Line {
            limit: bound(limit),
            next: 0,
            waiters: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        Self {
            waiting: AtomicUsize::new(0),
            line: Mutex::new(line),
        }
    }

    /// Changes the bound. Requests above a lower one go on waiting.
    pub(crate) fn set_limit(&self, limit: u32) {
        self.line().limit = bound(limit);
    }

    /// Requests waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Looks for a slot on behalf of a newcomer while others wait. Never leaves an entry behind.
    pub(crate) fn overtake(
        &self,
        hints: &Hints,
        choose: impl Fn(&Hints) -> Choice<S>,
    ) -> (Choice<S>, Vec<Waker>) {
        let mut wakers = Vec::new();
        let choice = self.serve_newcomer(&mut self.line(), hints, choose, &mut wakers);
        (choice, wakers)
    }

    /// Joins the end of the queue, unless there is nothing to wait for.
    ///
    /// # Errors
    /// [`QueueFull`] when as many requests wait as may.
    pub(crate) fn join(
        &self,
        hints: &Hints,
        choose: impl Fn(&Hints) -> Choice<S>,
    ) -> (Result<Joined<S>, QueueFull>, Vec<Waker>) {
        let mut wakers = Vec::new();
        let mut line = self.line();
        // Counted before the last look at the nodes: whoever releases a slot after that look sees
        // the count and comes to the line.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let joined = match self.serve_newcomer(&mut line, hints, choose, &mut wakers) {
            Choice::Full if line.waiters.len() >= line.limit => Err(QueueFull),
            Choice::Full => {
                let ticket = line.next;
                line.next += 1;
                line.waiters.insert(
                    ticket,
                    Waiter {
                        hints: hints.clone(),
                        waker: None,
                    },
                );
                return (Ok(Joined::Waits(ticket)), wakers);
            }
            ended @ (Choice::AllTried | Choice::NobodyUp | Choice::Taken(_)) => {
                Ok(Joined::Ended(ended))
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        (joined, wakers)
    }

    /// Every slot the newcomer finds goes to the first waiter that may use it; what no waiter may
    /// use is the newcomer's.
    fn serve_newcomer(
        &self,
        line: &mut Line<S>,
        hints: &Hints,
        choose: impl Fn(&Hints) -> Choice<S>,
        wakers: &mut Vec<Waker>,
    ) -> Choice<S> {
        loop {
            match choose(hints) {
                Choice::Taken(slot) => match line.first_for(slot.node_id()) {
                    Some(ticket) => wakers.extend(self.end(line, ticket, Choice::Taken(slot))),
                    None => return Choice::Taken(slot),
                },
                other @ (Choice::AllTried | Choice::Full | Choice::NobodyUp) => return other,
            }
        }
    }

    /// Gives a slot of `node`, if one can be taken, to the first waiter that may use it.
    pub(crate) fn pass(&self, node: NodeId, take: impl FnOnce() -> Option<S>) -> Option<Waker> {
        let mut line = self.line();
        let ticket = line.first_for(node)?;
        let slot = take()?;
        self.end(&mut line, ticket, Choice::Taken(slot))
    }

    /// Looks at every waiter again, in order, after nodes or their ceilings have changed.
    pub(crate) fn settle(&self, choose: impl Fn(&Hints) -> Choice<S>) -> Vec<Waker> {
        let mut line = self.line();
        let tickets: Vec<u64> = line.waiters.keys().copied().collect();
        let mut wakers = Vec::new();
        for ticket in tickets {
            let Some(waiter) = line.waiters.get(&ticket) else {
                continue;
            };
            match choose(&waiter.hints) {
                Choice::Full => {}
                ended @ (Choice::AllTried | Choice::NobodyUp | Choice::Taken(_)) => {
                    wakers.extend(self.end(&mut line, ticket, ended));
                }
            }
        }
        wakers
    }

    /// How the wait has ended; else the waker is kept for when it does.
    pub(crate) fn poll(&self, ticket: u64, waker: &Waker) -> Option<Choice<S>> {
        let mut line = self.line();
        if let Some(ended) = line.ended.remove(&ticket) {
            return Some(ended);
        }
        if let Some(waiter) = line.waiters.get_mut(&ticket) {
            match &mut waiter.waker {
                Some(kept) => kept.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        None
    }

    /// Leaves the queue. What had already been handed over comes back, for the caller to release.
    pub(crate) fn leave(&self, ticket: u64) -> Option<Choice<S>> {
        let mut line = self.line();
        if line.waiters.remove(&ticket).is_some() {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        line.ended.remove(&ticket)
    }

    fn end(&self, line: &mut Line<S>, ticket: u64, how: Choice<S>) -> Option<Waker> {
        let waiter = line.waiters.remove(&ticket)?;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        line.ended.insert(ticket, how);
        waiter.waker
    }

    fn line(&self) -> MutexGuard<'_, Line<S>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Line<S> {
    fn first_for(&self, node: NodeId) -> Option<u64> {
        let may_use = |(ticket, waiter): (&u64, &Waiter)| {
            (!waiter.hints.tried.contains(node)).then_some(*ticket)
        };
        self.waiters.iter().find_map(may_use)
    }
}

fn bound(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
