//! The operators' listener: who may ask, how, and how long. What is answered is left to [`Pages`].
//!
//! HTTP/1 in clear text, GET and HEAD only, on a thread of its own: nothing asked here takes time
//! from a request. A reload may turn to another address, or to other networks.
//!
//! Invariant: nothing is answered to somebody who may not ask, except that they may not.
//!
//! Source: adr/0039.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use gateway_config::model;
use gateway_config::networks::Networks;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

mod connection;

/// What operators may read.
pub(crate) trait Pages: Send + Sync {
    /// The page of a path; `None`: there is none.
    fn page(&self, path: &str) -> Option<Page>;
}

/// Something to read.
pub(crate) struct Page {
    /// Its status.
    pub(crate) status: u16,
    /// The type of its text.
    pub(crate) kind: &'static str,
    /// Its text.
    pub(crate) text: String,
}

/// The listener, if there is one, and how it becomes another.
#[derive(Default)]
pub(crate) struct Admin {
    pages: Arc<OnceLock<Arc<dyn Pages>>>,
    refused: Arc<AtomicU64>,
    running: Mutex<Option<Running>>,
}

/// What the listener is to be next. Dropping it undoes everything.
pub(crate) enum Next {
    /// At another address.
    At(Running),
    /// Nowhere.
    Nowhere,
    /// Where it is, for these networks.
    Same(Option<Networks>),
}

/// A listener; nobody is answered any more once it is dropped.
pub(crate) struct Running {
    bind: SocketAddr,
    runtime: Option<Runtime>,
    /// Until somebody is answered.
    socket: Option<tokio::net::TcpListener>,
    house: Arc<House>,
}

/// Why the listener cannot be where it should be.
#[derive(Debug, thiserror::Error)]
#[error("the operators' listener: {bind} cannot be bound: {why}")]
pub(crate) struct NotBound {
    bind: SocketAddr,
    pub(crate) why: io::Error,
}

/// Operators connected at once.
const OPERATORS: usize = 64;
/// Others, until they have been told that they may not ask.
const STRANGERS: usize = 16;

/// What the connections of a listener share.
struct House {
    pages: Arc<OnceLock<Arc<dyn Pages>>>,
    allow_from: Mutex<Option<Networks>>,
    refused: Arc<AtomicU64>,
    operators: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

impl Admin {
    /// What it takes to be what a snapshot says.
    ///
    /// # Errors
    /// [`NotBound`].
    pub(crate) fn next(&self, wanted: Option<&model::Admin>) -> Result<Next, NotBound> {
        let Some(wanted) = wanted else {
            return Ok(Next::Nowhere);
        };
        let networks = wanted.allow_from.clone();
        let now = self.running();
        if now.as_ref().is_some_and(|now| now.bind == wanted.bind) {
            return Ok(Next::Same(networks));
        }
        drop(now);
        let house = House {
            pages: Arc::clone(&self.pages),
            allow_from: Mutex::new(networks),
            refused: Arc::clone(&self.refused),
            operators: Arc::new(Semaphore::new(OPERATORS)),
            strangers: Arc::new(Semaphore::new(STRANGERS)),
        };
        let running = Running::at(wanted.bind, house).map_err(|why| NotBound {
            bind: wanted.bind,
            why,
        })?;
        Ok(Next::At(running))
    }

    /// It is that from here on.
    pub(crate) fn turn_to(&self, next: Next) {
        let mut now = self.running();
        match (next, &*now) {
            (Next::Same(networks), Some(now)) => now.house.allow(networks),
            (Next::At(mut running), _) => {
                // Before there are pages whoever connects waits for them.
                if self.pages.get().is_some() {
                    running.begins();
                }
                *now = Some(running);
            }
            (Next::Nowhere | Next::Same(_), _) => *now = None,
        }
    }

    /// These are the pages, from here to the end.
    pub(crate) fn shows(&self, pages: Arc<dyn Pages>) {
        // Once for a process.
        let _ = self.pages.set(pages);
        if let Some(running) = &mut *self.running() {
            running.begins();
        }
    }

    /// Answers nobody any more.
    pub(crate) fn close(&self) {
        *self.running() = None;
    }

    /// Requests of those who may not ask, and connections there was no room for.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn at(bind: SocketAddr, house: House) -> io::Result<Self> {
        let socket = std::net::TcpListener::bind(bind)?;
        socket.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("admin")
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let socket = Some(tokio::net::TcpListener::from_std(socket)?);
        drop(entered);
        Ok(Running {
            bind,
            runtime: Some(runtime),
            socket,
            house: Arc::new(house),
        })
    }

    fn begins(&mut self) {
        if let (Some(socket), Some(runtime)) = (self.socket.take(), &self.runtime) {
            if let Ok(addr) = socket.local_addr() {
                tracing::info!(%addr, "admin");
            }
            runtime.spawn(connection::accept(socket, Arc::clone(&self.house)));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl House {
    /// Whether somebody at this address may ask. Where nothing is said, who is on this machine may.
    fn lets_in(&self, from: IpAddr) -> bool {
        let networks = self.allow_from.lock();
        match &*networks.unwrap_or_else(PoisonError::into_inner) {
            Some(networks) => networks.contains(from),
            None => from.to_canonical().is_loopback(),
        }
    }

    fn allow(&self, networks: Option<Networks>) {
        let now = self.allow_from.lock();
        *now.unwrap_or_else(PoisonError::into_inner) = networks;
    }

    fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn page(&self, path: &str) -> Option<Page> {
        self.pages.get()?.page(path)
    }
}
