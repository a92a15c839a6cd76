//! Decides whether a request that went wrong on one node is tried on another.
//!
//! A table over what is known about the bytes, not over hope. What the client is told in the end
//! is [`failure`](crate::failure)'s, but for what earlier tries add to it; which node comes next
//! is [`pool`](crate::pool)'s.
//!
//! Invariant: a request that is not repeatable is tried again only when no byte of it was written,
//! when the node has told that it did not begin it, or when its method is safe and the connection it
//! was written on had been about to end. No node is asked more than twice.
//!
//! Source: the retry section of the front door; RFC 9110 §9.2.2; RFC 9112 §9.3.1; RFC 9113 §8.7;
//! adr/0012, adr/0051.

use std::sync::atomic::{AtomicU32, Ordering};

use gateway_config::model::{Pool, RetryOn, Route};

use crate::failure::{Asked, Failure, RetryAfter};

/// How far one try got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Try {
    /// Nothing was written: the name did not resolve, no connection, no handshake.
    Unsent,
    /// HTTP/2: the node refused the stream.
    Refused,
    /// HTTP/2: the node has ended the connection, or is about to, and never began the stream.
    GoneAway,
    /// The first write to this node was entered, and no answer came.
    Unanswered(Asked),
    /// The same, on a connection that had carried requests before and ended: the node may have closed
    /// it before it saw this one.
    Closed(Asked),
    /// A 503 that carries this `Retry-After`.
    Busy(RetryAfter),
    /// Any other answer, whatever its status, also one that cannot be read.
    Answered,
    /// The answer had begun, and was lost.
    Lost,
}

/// Whether another node could take the request. From
/// [`PoolState::elsewhere`](crate::pool::PoolState::elsewhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// A node not tried yet is in rotation and has a free slot.
    Free,
    /// Such nodes are in rotation, and all are full.
    Full,
    /// No node in rotation is left to try.
    Nobody,
}

/// What to do after a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask the same node again, once, on another connection; no try is spent.
    Again,
    /// Try another node.
    Another,
    /// Give the client the answer of the node.
    Return,
    /// Give the client the failure, after [`Tries::last_word`].
    Stop,
}

/// The tries of one request: what it may do, and what it has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tries {
    is_repeatable: bool,
    may_ask_again: bool,
    was_asked_again: bool,
    retries: u32,
    on: RetryOn,
    retried: u32,
    busy: Option<RetryAfter>,
    unanswered: Option<Asked>,
}

impl Tries {
    /// The tries of a request that this route sends to this pool. A request is safe when its method
    /// is (RFC 9110 §9.2.1) and its body, if it has one, could be sent again.
    #[must_use]
    pub fn new(route: &Route, is_safe: bool, pool: &Pool) -> Self {
        let of_pool = RetryOn {
            busy: pool.retry_busy,
            ..pool.retry_on
        };
        let on = route.retry.on.unwrap_or(of_pool);
        let retries = route.retry.attempts.unwrap_or(pool.retries);
        Self {
            is_repeatable: route.repeatable || (on.repeatable && is_safe),
            may_ask_again: (is_safe || route.repeatable) && on.unsent && retries > 0,
            was_asked_again: false,
            retries,
            on,
            retried: 0,
            busy: None,
            unanswered: None,
        }
    }

    /// Each at another node: what was written on a connection that had been about to end is spent too,
    /// as at a front door.
    #[must_use]
    pub fn at_other_nodes(self) -> Self {
        Self {
            may_ask_again: false,
            ..self
        }
    }

    /// Whether it may be sent again after bytes of it have left, and has a try left for that.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        self.is_repeatable && self.retried < self.retries
    }

    /// Whether anything may still come for which it is sent again after bytes of it have left. Nodes that
    /// `may_refuse` can tell that they never began it, as those of HTTP/2 do.
    #[must_use]
    pub fn may_go_again(&self, may_refuse: bool) -> bool {
        let at_the_same = !self.was_asked_again;
        let at_another = self.on.unsent && self.retried < self.retries;
        self.may_repeat()
            || (self.may_ask_again && at_the_same)
            || (may_refuse && (at_the_same || at_another))
    }

    /// Its body cannot be sent again: from here on it is spent once it has been written.
    pub fn never_again(&mut self) {
        self.is_repeatable = false;
    }

    /// What to do after a try that ended like `how`. Remembers it when the request goes on.
    pub fn judge(&mut self, how: Try, elsewhere: Elsewhere) -> Next {
        let next = self.next(&how, elsewhere);
        match next {
            Next::Again => self.was_asked_again = true,
            Next::Another => {
                self.retried = self.retried.saturating_add(1);
                self.was_asked_again = false;
            }
            Next::Return | Next::Stop => return next,
        }
        match how {
            Try::Busy(after) => self.busy = Some(after),
            Try::Unanswered(asked) | Try::Closed(asked) => self.unanswered = Some(asked),
            Try::Unsent | Try::Refused | Try::GoneAway | Try::Answered | Try::Lost => {}
        }
        next
    }

    fn next(&self, how: &Try, elsewhere: Elsewhere) -> Next {
        let may_go_on = self.retried < self.retries && elsewhere != Elsewhere::Nobody;
        match how {
            Try::Unsent if may_go_on && self.on.connect => Next::Another,
            Try::Refused | Try::GoneAway if may_go_on && self.on.unsent => Next::Another,
            Try::Closed(_) if self.may_ask_again && !self.was_asked_again => Next::Again,
            Try::Unanswered(_) | Try::Closed(_) if may_go_on && self.is_repeatable => Next::Another,
            Try::GoneAway if !self.was_asked_again => Next::Again,
            Try::Busy(_) if may_go_on && self.may_leave_busy(elsewhere) => Next::Another,
            Try::Busy(_) | Try::Answered => Next::Return,
            Try::Unsent
            | Try::Refused
            | Try::GoneAway
            | Try::Unanswered(_)
            | Try::Closed(_)
            | Try::Lost => Next::Stop,
        }
    }

    fn may_leave_busy(&self, elsewhere: Elsewhere) -> bool {
        self.is_repeatable && self.on.busy && self.busy.is_none() && elsewhere == Elsewhere::Free
    }

    /// Further tries there may be after the first, at most.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Tries made after the first.
    #[must_use]
    pub fn retried(&self) -> u32 {
        self.retried
    }

    /// What the client is told when the last try came to `failure`, given the tries before it.
    ///
    /// After a busy answer the client is told to come back when that node asked it to. After a
    /// try that was written and not answered, *never sent* would be a lie: the node that may have
    /// carried the request out is named instead.
    #[must_use]
    pub fn last_word(&self, failure: Failure) -> Failure {
        let is_unserved = failure.is_for_want_of_a_node();
        match (&self.busy, &self.unanswered, failure) {
            (Some(after), _, Failure::BudgetSpentBefore { .. }) => Failure::BusyThenLost {
                retry_after: after.clone(),
            },
            (Some(after), _, _) if is_unserved => Failure::BusyThenLost {
                retry_after: after.clone(),
            },
            (_, Some(asked), Failure::BudgetSpentBefore { budget }) => Failure::BudgetSpent {
                asked: asked.clone(),
                budget,
            },
            (_, Some(asked), failure) if is_unserved && !failure.is_outcome_unknown() => {
                Failure::OutcomeUnknown(asked.clone())
            }
            (_, _, failure) => failure,
        }
    }
}

/// Bounds the tries after the first to a share of the requests, so that they cannot make an outage
/// worse.
///
/// Every request pays in its share of a try, every further try takes a whole one out. So many may
/// be saved as a quiet pool should be able to make at once.
///
/// Source: GATEWAY §6.
#[derive(Debug)]
pub(crate) struct Budget {
    /// In hundredths of a try.
    saved: AtomicU32,
}

impl Budget {
    /// Hundredths of a try that may be saved: ten tries.
    const MOST: u32 = 1_000;

    /// As much as may be saved.
    pub(crate) fn full() -> Self {
        Self {
            saved: AtomicU32::new(Self::MOST),
        }
    }

    /// Takes in a request, which pays so many per cent of a try.
    pub(crate) fn pay(&self, percent: u8) {
        self.change(|saved| (saved + u32::from(percent)).min(Self::MOST));
    }

    /// Takes in a further try.
    pub(crate) fn spend(&self) {
        self.change(|saved| saved.saturating_sub(100));
    }

    /// Whether there is enough for one.
    pub(crate) fn has_one(&self) -> bool {
        self.saved.load(Ordering::Relaxed) >= 100
    }

    fn change(&self, to: impl Fn(u32) -> u32) {
        let _ = self
            .saved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| {
                Some(to(saved))
            });
    }
}

#[cfg(test)]
mod tests;
