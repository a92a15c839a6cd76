//! What one worker does for one listener: accepts on the sockets it is given, keeps the connections
//! that come of it, and sees them off when it is relieved.
//!
//! The sockets may change under it, and come and go without a connection noticing. A post that is
//! relieved accepts no more, tells its connections to end, and ends with the last of them, or cuts
//! them when their time is over.
//!
//! Source: RUNTIME §1; adr/0035.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::arrival::{self, Arrival};
use crate::client::Held;
use crate::descriptors::Descriptors;
use crate::drain::{Drain, Leave};
use crate::handover::{Handed, Handing};
use crate::listening::Listening;
use crate::worker::Worker;
use crate::{clock, sockets};

/// How long connections that are queued already are taken from sockets that are left.
const LAST_ACCEPTS: Duration = Duration::from_millis(250);
/// How long a socket that will be closed is open for those whose connection the kernel is still making:
/// a close would reset them, although some of them believe to be connected.
const LAST_HANDSHAKES: Duration = Duration::from_millis(100);
/// How long accepting rests when descriptors have run out.
const REST: Duration = Duration::from_millis(50);

/// What one worker is to do for one listener.
pub(crate) struct Post {
    /// The listener.
    pub(crate) listening: Arc<Listening>,
    /// Its orders; a later one takes the place of an earlier one.
    pub(crate) orders: mpsc::UnboundedReceiver<Orders>,
    /// Its connections open, for those who look on.
    pub(crate) open: Arc<AtomicUsize>,
}

/// What is to be done at a post.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// Where to accept.
    pub(crate) sockets: Vec<Arc<TcpListener>>,
    /// Accept only once others have taken what is queued there for them.
    pub(crate) after: Option<Handed>,
    /// Sockets that nobody accepts on from here on: what is queued there is taken first.
    pub(crate) closing: Vec<Arc<TcpListener>>,
    /// Sockets that others accept on from here on: what is queued there is taken first.
    pub(crate) handing: Vec<Arc<TcpListener>>,
    /// Given up in two steps, when that is done.
    pub(crate) until: Option<Handing>,
    /// Accept no more, and see the connections off.
    pub(crate) leave: Option<Leave>,
}

/// Holds a post until it is relieved and its last connection has ended.
pub(crate) async fn hold(mut post: Post, worker: Arc<Worker>) {
    let mut held = Holding {
        listening: post.listening,
        worker,
        drain: Arc::new(Drain::new()),
        connections: JoinSet::new(),
        open: post.open,
    };
    if let Some(leave) = held.accept(&mut post.orders).await {
        held.see_off(leave, &mut post.orders).await;
    }
    held.open.store(0, Ordering::Release);
}

struct Holding {
    listening: Arc<Listening>,
    worker: Arc<Worker>,
    drain: Arc<Drain>,
    connections: JoinSet<()>,
    open: Arc<AtomicUsize>,
}

impl Holding {
    /// Accepts until relieved; `None` when whoever gives the orders is gone.
    async fn accept(&mut self, orders: &mut mpsc::UnboundedReceiver<Orders>) -> Option<Leave> {
        let worker = Arc::clone(&self.worker);
        let mut sockets = Vec::new();
        let mut turn = 0;
        loop {
            tokio::select! {
                biased;
                order = orders.recv() => {
                    let order = order?;
                    if let Some(leave) = order.leave {
                        // Our shares; a socket is closed as soon as it may be, not later.
                        sockets.clear();
                        self.drain.begin(leave);
                    }
                    // Who connected before the change is answered as before it.
                    self.empty(&order.handing);
                    drop(order.handing);
                    let until = order.until.map(Handing::has_taken);
                    self.close(order.closing).await;
                    drop(until);
                    if order.leave.is_some() {
                        return order.leave;
                    }
                    if let Some(after) = order.after {
                        after.end().await;
                    }
                    sockets = self.listen(&order.sockets).await;
                }
                Some(_) = self.connections.join_next() => self.count(),
                accepted = next(&worker.shared.descriptors, &sockets, &mut turn) => match accepted {
                    Ok(accepted) => self.take(accepted),
                    Err(error) => {
                        self.listening.cannot_accept(&error.to_string());
                        tokio::time::sleep(REST).await;
                    }
                },
            }
        }
    }

    /// Tells the connections to end, and waits for it as long as may be.
    async fn see_off(&mut self, leave: Leave, orders: &mut mpsc::UnboundedReceiver<Orders>) {
        let mut leave = leave;
        self.drain.begin(leave);
        while !self.connections.is_empty() {
            tokio::select! {
                biased;
                Some(_) = self.connections.join_next() => self.count(),
                () = tokio::time::sleep_until(leave.ends.into()) => self.connections.shutdown().await,
                Some(Orders { leave: Some(sooner), .. }) = orders.recv() => {
                    leave = leave.sooner(sooner);
                    self.drain.begin(leave);
                }
            }
        }
    }

    /// Shares of these sockets, for this worker's own runtime. Waits for descriptors if it must: nobody
    /// else may be there to accept.
    async fn listen(&self, sockets: &[Arc<TcpListener>]) -> Vec<tokio::net::TcpListener> {
        let share = |one: &Arc<TcpListener>| tokio::net::TcpListener::from_std(one.try_clone()?);
        loop {
            match sockets.iter().map(share).collect::<io::Result<_>>() {
                Ok(shares) => return shares,
                Err(error) => {
                    self.listening.cannot_accept(&error.to_string());
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    /// Takes what is queued on sockets that will be closed, and once more what the kernel was still making
    /// then, and closes them.
    async fn close(&mut self, closing: Vec<Arc<TcpListener>>) {
        if closing.is_empty() {
            return;
        }
        for socket in &closing {
            // Best effort: without it, who comes between the last look and the close is reset.
            let _ = SockRef::from(&**socket).attach_filter(&sockets::NOBODY_NEW);
        }
        self.empty(&closing);
        tokio::time::sleep(LAST_HANDSHAKES).await;
        self.empty(&closing);
    }

    /// Takes what is queued on sockets. It is asked of the kernel: the runtime may not know of it yet.
    fn empty(&mut self, sockets: &[Arc<TcpListener>]) {
        let last = clock::now() + LAST_ACCEPTS;
        for socket in sockets {
            while clock::now() < last {
                let Ok((stream, peer)) = socket.accept() else {
                    break;
                };
                let stream = stream
                    .set_nonblocking(true)
                    .and_then(|()| TcpStream::from_std(stream));
                if let Ok(stream) = stream {
                    self.take((stream, peer));
                }
            }
        }
    }

    fn take(&mut self, (stream, peer): (TcpStream, SocketAddr)) {
        let shared = &self.worker.shared;
        let most = shared.serving.load().snapshot.model().limits.connections;
        let Some(counted) = self.listening.connect(most) else {
            self.listening.counts.refused.full.one();
            let why = "as many connections as may be are open";
            return self.listening.cannot_accept(why);
        };
        self.listening.counts.accepted.one();
        let held = Held {
            _counted: counted,
            _descriptor: shared.descriptors.hold(&stream),
            _alive: self.worker.alive.clone(),
            member: None,
        };
        let arrival = Arrival {
            stream,
            peer,
            listening: Arc::clone(&self.listening),
            drain: Arc::clone(&self.drain),
            held,
        };
        let worker = Arc::clone(&self.worker);
        self.connections.spawn(arrival::serve(arrival, worker));
        self.count();
    }

    fn count(&self) {
        self.open.store(self.connections.len(), Ordering::Release);
    }
}

/// The next connection on any of these sockets; a busy one does not starve the others.
async fn next(
    descriptors: &Descriptors,
    sockets: &[tokio::net::TcpListener],
    turn: &mut usize,
) -> io::Result<(TcpStream, SocketAddr)> {
    descriptors.check()?;
    poll_fn(|cx| {
        let (before, from) = sockets.split_at(*turn % sockets.len().max(1));
        for socket in from.iter().chain(before) {
            if let Poll::Ready(accepted) = socket.poll_accept(cx) {
                *turn = turn.wrapping_add(1);
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}
