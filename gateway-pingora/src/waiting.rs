//! What an HTTP/2 stream waits with: the same bounds and the same deadline that an HTTP/1 connection
//! has in its own stream, for one request among several on a connection.
//!
//! Asked by Pingora on each wait (patch 0004), set by [`admit`](crate::step::admit).
//!
//! Source: adr/0044.

use std::sync::Arc;
use std::task::{Context, Poll};

use pingora_core::protocols::http::v2::server::StreamWaits;

use crate::client::{Client, Watch};
use crate::patience::Patience;
use crate::timer::Timer;

/// The waits of one request.
pub(crate) struct Waiting {
    client: Arc<Client>,
    watch: Arc<Watch>,
    body: Patience,
    room: Patience,
    node: Timer,
}

impl Waiting {
    /// Those of a request that has just begun.
    pub(crate) fn new(client: &Arc<Client>, watch: &Arc<Watch>) -> Self {
        Waiting {
            client: Arc::clone(client),
            watch: Arc::clone(watch),
            body: Patience::new(client.read_bounds()),
            room: Patience::new(client.write_bounds()),
            node: Timer::default(),
        }
    }

    fn gives_reader_up(&self) {
        self.watch.gives_reader_up();
        self.client.listening.counts.dropped.slow_reader.one();
    }
}

impl StreamWaits for Waiting {
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.body.poll_wait(cx)
    }

    fn body_moved(&mut self, bytes: usize) -> bool {
        self.body.moved(bytes)
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.room.poll_wait(cx).map(|()| self.gives_reader_up())
    }

    fn room_moved(&mut self, bytes: usize) -> bool {
        // While the client was slow, the node was not asked for more.
        self.watch.moved();
        let is_enough = self.room.moved(bytes);
        if !is_enough {
            self.gives_reader_up();
        }
        is_enough
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.watch.deadline() {
            Some(deadline) => self.node.poll(cx, deadline),
            None => Poll::Pending,
        }
    }
}
