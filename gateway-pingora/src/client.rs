//! What is known about a client's connection: shared by its stream and by the steps of each
//! request on it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gateway_core::crowd::Member;
use http::HeaderValue;
use tokio::sync::mpsc;

use crate::clock;
use crate::descriptors;
use crate::drain::Drain;
use crate::listening::{Counted, Listening};
use crate::pace::Bounds;
use crate::shown::{Secured, Shown};

/// A client's connection.
pub(crate) struct Client {
    /// Where it came in.
    pub(crate) listening: Arc<Listening>,
    /// Whether the connection is to end.
    pub(crate) drain: Arc<Drain>,
    /// Who called.
    pub(crate) peer: SocketAddr,
    /// The address of who called, as a field value.
    pub(crate) address: HeaderValue,
    /// Until when the node may be silent, in HTTP/1, where one request is served at a time; in HTTP/2
    /// until when the client must have shown what it is. Watched by the stream.
    pub(crate) watch: Arc<Watch>,
    /// What the handshake came to; empty in clear text.
    secured: OnceLock<Secured>,
    /// The body was not framed as announced; the message cannot be read any further.
    broken_body: AtomicBool,
    /// The body came too slowly; HTTP/1 only.
    slow_body: AtomicBool,
    /// Requests that came to be.
    admitted: AtomicU64,
    /// Requests under way, on a connection of HTTP/2.
    serving: AtomicU64,
    /// The answer cannot say that it was cut, so the connection must.
    reset: AtomicBool,
    /// A 101 was sent: bytes pass unjudged from here on.
    tunnel: AtomicBool,
    _held: Held,
}

/// A request under way on a connection of HTTP/2.
pub(crate) struct Serves(Arc<Client>);

impl Drop for Serves {
    fn drop(&mut self) {
        self.0.serving.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a connection holds for as long as its socket is open, lingering included.
pub(crate) struct Held {
    /// Its place among the connections of the listener.
    pub(crate) _counted: Counted,
    /// Its descriptor.
    pub(crate) _descriptor: descriptors::Held,
    /// Its worker does not end before it.
    pub(crate) _alive: mpsc::Sender<()>,
    /// Its place among the connections of its client; `None` for a trusted proxy.
    pub(crate) member: Option<Member>,
}

impl Client {
    /// A connection that has just been accepted.
    pub(crate) fn new(
        listening: Arc<Listening>,
        drain: Arc<Drain>,
        peer: SocketAddr,
        held: Held,
    ) -> Self {
        Client {
            listening,
            drain,
            peer,
            address: address(peer),
            watch: Arc::default(),
            secured: OnceLock::new(),
            broken_body: AtomicBool::new(false),
            slow_body: AtomicBool::new(false),
            admitted: AtomicU64::new(0),
            serving: AtomicU64::new(0),
            reset: AtomicBool::new(false),
            tunnel: AtomicBool::new(false),
            _held: held,
        }
    }

    /// How slowly the client may take an answer.
    pub(crate) fn write_bounds(&self) -> Bounds {
        let listener = self.listening.settings();
        Bounds {
            gap: listener.write_gap,
            rate: listener.min_rate,
        }
    }

    /// How slowly the client may send a body.
    pub(crate) fn read_bounds(&self) -> Bounds {
        let listener = self.listening.settings();
        Bounds {
            gap: listener.body_gap,
            rate: listener.min_rate,
        }
    }

    /// A handshake came to this.
    pub(crate) fn is_secured(&self, secured: Secured) {
        let _ = self.secured.set(secured);
    }

    /// Whether it may ask for this host here: the certificate it was shown covers it (RFC 9110 §7.4),
    /// and a handshake for it could have come to what was agreed on. Who names none asks for the site that
    /// is there for any name.
    pub(crate) fn may_ask_for(&self, host: &str) -> bool {
        let Some(secured) = self.secured.get() else {
            return true;
        };
        let shown = self.listening.shown();
        let allows = |shown: &Arc<Shown>| shown.allows(&secured.agreed, host);
        (host.is_empty() || secured.covered.has(host)) && shown.as_ref().is_none_or(allows)
    }

    /// Whether what was agreed on keeps to what its name is shown now.
    pub(crate) fn keeps_to_its_name(&self) -> bool {
        let shown = self.listening.shown();
        let (Some(secured), Some(shown)) = (self.secured.get(), &*shown) else {
            return true;
        };
        shown.holds(&secured.agreed)
    }

    /// The body is not framed as announced.
    pub(crate) fn break_body(&self) {
        self.broken_body.store(true, Ordering::Relaxed);
    }

    /// Whether the body was not framed as announced.
    pub(crate) fn is_body_broken(&self) -> bool {
        self.broken_body.load(Ordering::Relaxed)
    }

    /// The body comes too slowly.
    pub(crate) fn give_up_body(&self) {
        self.slow_body.store(true, Ordering::Relaxed);
    }

    /// Whether the body came too slowly, on a connection of one request at a time.
    pub(crate) fn is_body_slow(&self) -> bool {
        self.slow_body.load(Ordering::Relaxed)
    }

    /// A request has been admitted.
    pub(crate) fn admit(&self) {
        self.admitted.fetch_add(1, Ordering::Relaxed);
    }

    /// A request is under way until this is dropped.
    pub(crate) fn serves(self: &Arc<Self>) -> Serves {
        self.serving.fetch_add(1, Ordering::Relaxed);
        Serves(Arc::clone(self))
    }

    /// Whether a request is under way.
    pub(crate) fn is_served(&self) -> bool {
        self.serving.load(Ordering::Relaxed) > 0
    }

    /// Requests that have been admitted.
    pub(crate) fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Closes with a reset instead of an end (RFC 9112 §8: a cut answer must be told from a
    /// complete one).
    pub(crate) fn reset(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }

    /// Whether to close with a reset.
    pub(crate) fn take_reset(&self) -> bool {
        self.reset.swap(false, Ordering::Relaxed)
    }

    /// The connection is a tunnel from here on.
    pub(crate) fn tunnel(&self) {
        self.tunnel.store(true, Ordering::Relaxed);
    }

    /// Whether the connection is a tunnel.
    pub(crate) fn is_tunnel(&self) -> bool {
        self.tunnel.load(Ordering::Relaxed)
    }
}

/// An address without its port, IPv4 also where it came in over IPv6.
fn address(peer: SocketAddr) -> HeaderValue {
    // An address is always a value; the other arm is for the types only.
    HeaderValue::try_from(peer.ip().to_canonical().to_string())
        .unwrap_or(HeaderValue::from_static("unknown"))
}

/// A deadline that one side sets and the other watches.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Milliseconds since [`clock::start`]; `u64::MAX` is never.
    deadline: AtomicU64,
    /// Milliseconds by which anything that moves pushes the deadline back; 0 is not at all.
    gap: AtomicU64,
    /// The latest deadline there may be, in milliseconds since [`clock::start`].
    latest: AtomicU64,
    /// The client was given up on: it took its answer too slowly.
    slow_reader: AtomicBool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            deadline: AtomicU64::new(u64::MAX),
            gap: AtomicU64::new(0),
            latest: AtomicU64::new(u64::MAX),
            slow_reader: AtomicBool::new(false),
        }
    }
}

impl Watch {
    /// One deadline, whatever moves.
    pub(crate) fn until(&self, deadline: Instant) {
        self.gap.store(0, Ordering::Relaxed);
        self.deadline
            .store(millis(clock::since_start(deadline)), Ordering::Relaxed);
    }

    /// A longest silence, counted from `now` and from each time something moves.
    pub(crate) fn silence(&self, gap: Duration, now: Instant) {
        self.gap.store(millis(gap), Ordering::Relaxed);
        self.deadline
            .store(millis(clock::since_start(now + gap)), Ordering::Relaxed);
    }

    /// Something moved.
    pub(crate) fn moved(&self) {
        let gap = self.gap.load(Ordering::Relaxed);
        if gap > 0 {
            let now = millis(clock::since_start(clock::now()));
            self.deadline
                .store(now.saturating_add(gap), Ordering::Relaxed);
        }
    }

    /// No deadline is later than this one until it is cleared.
    pub(crate) fn never_after(&self, latest: Option<Instant>) {
        let latest = latest.map_or(u64::MAX, |at| millis(clock::since_start(at)));
        self.latest.store(latest, Ordering::Relaxed);
    }

    /// There is no deadline.
    pub(crate) fn clear(&self) {
        self.gap.store(0, Ordering::Relaxed);
        self.deadline.store(u64::MAX, Ordering::Relaxed);
        self.latest.store(u64::MAX, Ordering::Relaxed);
    }

    /// The client takes its answer too slowly, and is given up on.
    pub(crate) fn gives_reader_up(&self) {
        self.slow_reader.store(true, Ordering::Relaxed);
    }

    /// Whether the client took its answer too slowly.
    pub(crate) fn is_reader_slow(&self) -> bool {
        self.slow_reader.load(Ordering::Relaxed)
    }

    fn earliest(&self) -> u64 {
        let deadline = self.deadline.load(Ordering::Relaxed);
        deadline.min(self.latest.load(Ordering::Relaxed))
    }

    /// The deadline, if there is one.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.earliest() {
            u64::MAX => None,
            since => clock::start().checked_add(Duration::from_millis(since)),
        }
    }

    /// Whether there is a deadline.
    pub(crate) fn is_set(&self) -> bool {
        self.deadline.load(Ordering::Relaxed) != u64::MAX
    }

    /// Whether it has passed.
    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
