//! The workers as those who give them orders see them: a thread, and the posts it holds.
//!
//! Who holds which post is decided by [`generation`](crate::generation); what is done there is
//! [`post`](crate::post)'s.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::fault::Fault;
use crate::handover::Handed;
use crate::listening::Listening;
use crate::post::{Orders, Post};
use crate::serving::Shared;
use crate::worker;

/// A worker, and its posts in the order of the listeners.
pub(crate) struct Crewman {
    posts: mpsc::UnboundedSender<Post>,
    held: Vec<Held>,
    thread: JoinHandle<()>,
}

/// A post that somebody holds.
pub(crate) struct Held {
    /// Its listener.
    pub(crate) listening: Arc<Listening>,
    orders: mpsc::UnboundedSender<Orders>,
    open: Arc<AtomicUsize>,
}

impl Crewman {
    /// Starts its thread.
    ///
    /// # Errors
    /// [`Fault::Worker`].
    pub(crate) fn hire(number: usize, shared: Arc<Shared>) -> Result<Self, Fault> {
        let (posts, to_hold) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || {
                if let Err(error) = worker::run(to_hold, shared) {
                    tracing::error!(%error, "a worker ended");
                }
            })
            .map_err(Fault::Worker)?;
        Ok(Crewman {
            posts,
            held: Vec::new(),
            thread,
        })
    }

    /// Accepts on these sockets for a listener from here on, or once they have been handed over.
    pub(crate) fn accepts(
        &mut self,
        listening: &Arc<Listening>,
        sockets: Vec<Arc<TcpListener>>,
        after: Option<Handed>,
    ) {
        let is_it = |one: &&Held| Arc::ptr_eq(&one.listening, listening);
        let orders = Orders {
            after,
            sockets,
            ..Orders::default()
        };
        if let Some(held) = self.held.iter().find(is_it) {
            return held.is_told(orders);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let _ = sender.send(orders);
        let _ = self.posts.send(Post {
            listening: Arc::clone(listening),
            orders: receiver,
            open: Arc::clone(&open),
        });
        self.held.push(Held {
            listening: Arc::clone(listening),
            orders: sender,
            open,
        });
    }

    /// Takes it from its post for a listener.
    pub(crate) fn leaves(&mut self, listening: &Arc<Listening>) -> Option<Held> {
        let is_it = |one: &Held| Arc::ptr_eq(&one.listening, listening);
        let at = self.held.iter().position(is_it)?;
        Some(self.held.remove(at))
    }

    /// Takes it from all its posts; its thread ends with the last of them.
    pub(crate) fn retires(self) -> (Vec<Held>, JoinHandle<()>) {
        (self.held, self.thread)
    }
}

impl Held {
    /// Does this from here on.
    pub(crate) fn is_told(&self, orders: Orders) {
        let _ = self.orders.send(orders);
    }

    /// Whether nothing is left of it.
    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_closed()
    }

    /// Its connections open.
    pub(crate) fn connections(&self) -> u32 {
        u32::try_from(self.open.load(Ordering::Acquire)).unwrap_or(u32::MAX)
    }
}
