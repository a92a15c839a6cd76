//! A listener as it runs: its settings, what it shows in handshakes, and how many are connected. Lives
//! as long as the listener is served, over any number of snapshots.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use gateway_config::model::{Listener, Name};
use gateway_core::crowd::{self, Crowd, Member};
use tokio::sync::watch;

use crate::clock;
use crate::counts::ListenerCounts;
use crate::shown::Shown;

/// A listener as it runs. Shared by all workers.
pub(crate) struct Listening {
    /// Its name.
    pub(crate) name: Name,
    settings: ArcSwap<Listener>,
    /// What a handshake shows; `None` in clear text.
    tls: ArcSwapOption<Shown>,
    /// Told after that has changed.
    turned: watch::Sender<()>,
    /// What is counted of it.
    pub(crate) counts: ListenerCounts,
    /// How many connections each client has.
    pub(crate) crowd: Arc<Crowd>,
    connections: AtomicU32,
    handshakes: AtomicU32,
    /// How many handshakes each client has under way.
    shaking: Arc<Crowd>,
    in_flight: AtomicU32,
    /// When it was last said that connections are not taken, in milliseconds; 0 is never.
    said: AtomicU64,
}

/// One of a bounded number; given back when dropped.
pub(crate) struct Counted {
    listening: Arc<Listening>,
    counter: fn(&Listening) -> &AtomicU32,
}

/// A place among the handshakes under way; given back when dropped.
pub(crate) struct Shaking {
    _counted: Counted,
    _member: Option<Member>,
}

/// Why there is no place for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The client has its share.
    Client,
    /// All are taken.
    Full,
}

impl Listening {
    /// A listener without connections.
    pub(crate) fn new(listener: Listener, tls: Option<Arc<Shown>>) -> Self {
        Listening {
            name: Arc::clone(&listener.name),
            settings: ArcSwap::from_pointee(listener),
            tls: ArcSwapOption::new(tls),
            turned: watch::Sender::new(()),
            counts: ListenerCounts::default(),
            crowd: Arc::default(),
            connections: AtomicU32::new(0),
            handshakes: AtomicU32::new(0),
            shaking: Arc::default(),
            in_flight: AtomicU32::new(0),
            said: AtomicU64::new(0),
        }
    }

    /// Its settings at this moment.
    pub(crate) fn settings(&self) -> Guard<Arc<Listener>> {
        self.settings.load()
    }

    /// The next request, the next handshake, are under these.
    pub(crate) fn apply(&self, listener: Listener, tls: Option<Arc<Shown>>) {
        self.settings.store(Arc::new(listener));
        self.show(tls);
    }

    /// The next handshakes show this, and connections that do not keep to it are to end.
    pub(crate) fn show(&self, tls: Option<Arc<Shown>>) {
        self.tls.store(tls);
        self.turned.send_replace(());
    }

    /// What a handshake shows at this moment; `None` in clear text.
    pub(crate) fn shown(&self) -> Guard<Option<Arc<Shown>>> {
        self.tls.load()
    }

    /// Told whenever a handshake shows something else.
    pub(crate) fn watch_shown(&self) -> watch::Receiver<()> {
        self.turned.subscribe()
    }

    /// Whether its connections are encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        self.settings.load().tls.is_some()
    }

    /// Connections open.
    pub(crate) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Acquire)
    }

    /// Says why connections are not taken, at most once a second whatever the number of workers.
    pub(crate) fn cannot_accept(&self, why: &str) {
        let now = clock::since_start(clock::now()).as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX).max(1);
        let is_due = |said: u64| (said == 0 || now.saturating_sub(said) >= 1000).then_some(now);
        if self
            .said
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, is_due)
            .is_ok()
        {
            tracing::warn!(listener = &*self.name, why, "cannot accept");
        }
    }

    /// Counts a connection, unless there are `most`.
    pub(crate) fn connect(self: &Arc<Self>, most: u32) -> Option<Counted> {
        self.count(|listening| &listening.connections, most)
    }

    /// Counts a handshake under way, of which there may be `most`, and of one client a share of that;
    /// who is trusted to speak for many has no share.
    ///
    /// # Errors
    /// There are as many as may be.
    pub(crate) fn begin_handshake(
        self: &Arc<Self>,
        client: IpAddr,
        most: u32,
    ) -> Result<Shaking, NoPlace> {
        let member = match self.settings().trusted_proxies.contains(client) {
            true => None,
            false => {
                let member = self.shaking.join(client, crowd::share(most));
                Some(member.ok_or(NoPlace::Client)?)
            }
        };
        let counted = self.count(|listening| &listening.handshakes, most);
        Ok(Shaking {
            _counted: counted.ok_or(NoPlace::Full)?,
            _member: member,
        })
    }

    /// Counts a request in flight, unless there are `most`.
    pub(crate) fn begin_request(self: &Arc<Self>, most: u32) -> Option<Counted> {
        self.count(|listening| &listening.in_flight, most)
    }

    fn count(self: &Arc<Self>, counter: fn(&Self) -> &AtomicU32, most: u32) -> Option<Counted> {
        let more = |count: u32| (count < most).then(|| count + 1);
        counter(self)
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .ok()?;
        Some(Counted {
            listening: Arc::clone(self),
            counter,
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.counter)(&self.listening).fetch_sub(1, Ordering::AcqRel);
    }
}
