//! The wait for a slot, as a future that needs no runtime.
//!
//! Made by [`pool`](crate::pool), woken by [`queue`](crate::queue). How long it may last is the
//! caller's to decide: it drops the wait.
//!
//! Source: adr/0004.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::node::Slot;
use crate::queue::{Choice, Joined, Queue};

/// How a wait for a slot ended.
#[derive(Debug)]
pub enum Waited {
    /// Every node in rotation has been tried by this request.
    AllTried,
    /// No node is in rotation any more.
    NobodyUp,
    /// A slot on the node that is to take the request.
    Slot(Slot),
}

/// A place in the queue for a slot, as a future.
///
/// Cancel-safe: dropping it leaves the queue at once, and a slot that had been handed to it goes
/// on to the next waiter that may use it. Pending for ever once it has returned its result.
#[derive(Debug)]
#[must_use = "the place in the queue is given up when this is dropped"]
pub struct Wait {
    queue: Arc<Queue<Slot>>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Ended(Option<Waited>),
    Waits(u64),
}

impl Wait {
    pub(crate) fn new(queue: Arc<Queue<Slot>>, joined: Joined<Slot>) -> Self {
        let place = match joined {
            Joined::Ended(choice) => Place::Ended(ended(choice)),
            Joined::Waits(ticket) => Place::Waits(ticket),
        };
        Self { queue, place }
    }
}

impl Future for Wait {
    type Output = Waited;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Waited> {
        if let Place::Waits(ticket) = self.place {
            let Some(choice) = self.queue.poll(ticket, cx.waker()) else {
                return Poll::Pending;
            };
            self.place = Place::Ended(ended(choice));
        }
        match &mut self.place {
            Place::Ended(waited) => waited.take().map_or(Poll::Pending, Poll::Ready),
            Place::Waits(_) => Poll::Pending,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Place::Waits(ticket) = self.place {
            // A slot in what comes back is released here, outside the queue's lock.
            drop(self.queue.leave(ticket).and_then(ended));
        }
    }
}

fn ended(choice: Choice<Slot>) -> Option<Waited> {
    match choice {
        Choice::AllTried => Some(Waited::AllTried),
        Choice::Full => None,
        Choice::NobodyUp => Some(Waited::NobodyUp),
        Choice::Taken(slot) => Some(Waited::Slot(slot)),
    }
}
