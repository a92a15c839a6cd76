//! Listening sockets, kept from one generation to the next: several for each address, all on one
//! port, and never closed while the address is served, because closing one resets whoever waits in
//! its queue.
//!
//! Those that a service manager lent us are its own as much as ours: they stay as they are, and open as
//! long as the process, since it has them still and may start another one on them.
//!
//! What is planned is bound and does not listen: a plan may come to nothing, and whoever had connected
//! meanwhile would be reset.
//!
//! Source: RUNTIME §1; adr/0035, adr/0043.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use gateway_config::model::{Listener, Name};
use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};

use crate::fault::Fault;

/// Drops segments with SYN and no others (a filter of the kernel's, on the flags of RFC 9293 §3.1): a
/// client that asks for a connection on a socket about to be closed asks again a second later, and
/// finds who is there then, or nobody. Connections that are made already are not touched.
pub(crate) const NOBODY_NEW: [SockFilter; 4] = [
    // The byte of the flags; if SYN is set, nothing of it; else all of it.
    SockFilter::new(0x30, 0, 0, 13),
    SockFilter::new(0x45, 0, 1, 0x02),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

/// What one socket has to be. Two listeners that ask for the same share the socket over a reload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    addr: SocketAddr,
    /// Port 0 is another port for each listener.
    any_port_of: Option<Name>,
    reuse_port: bool,
    v6only: bool,
}

impl Key {
    /// The sockets that a listener asks for.
    pub(crate) fn of(listener: &Listener) -> impl Iterator<Item = Key> {
        let all = std::iter::once(listener.bind).chain(listener.also_bind.iter().copied());
        all.map(|addr| Key {
            addr,
            any_port_of: (addr.port() == 0).then(|| Arc::clone(&listener.name)),
            reuse_port: listener.reuse_port,
            v6only: listener.v6only,
        })
    }
}

/// The sockets on one address.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// Where they listen.
    pub(crate) addr: SocketAddr,
    /// As many as there have ever been workers; their queues are one each.
    pub(crate) sockets: Vec<Arc<TcpListener>>,
}

/// All sockets there are.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    bound: BTreeMap<Key, Bound>,
    /// What a service manager lent us, whether or not somebody asks for it now.
    lent: Vec<Arc<TcpListener>>,
}

/// What is to be served next on one address.
#[derive(Debug)]
struct Asked {
    /// The listener that asks first.
    listener: Name,
    addr: SocketAddr,
    backlog: i32,
    /// The sockets there are not yet.
    missing: Vec<Arc<TcpListener>>,
    /// Nobody of ours serves the address, nor one that it lies within.
    is_new: bool,
}

/// The addresses that are to be served next, with the sockets they lack. It shares none with those
/// that are served, but for lent ones, so that those can be closed whatever is planned.
#[derive(Debug, Default)]
pub(crate) struct Planned(BTreeMap<Key, Asked>);

impl Sockets {
    /// None but those that were lent; nobody accepts on them yet.
    pub(crate) fn lent(lent: Vec<TcpListener>) -> Self {
        Sockets {
            bound: BTreeMap::new(),
            lent: lent.into_iter().map(Arc::new).collect(),
        }
    }

    /// Whether a socket was lent: it is open and takes connections also when we leave it.
    pub(crate) fn is_lent(&self, socket: &Arc<TcpListener>) -> bool {
        self.lent.iter().any(|lent| Arc::ptr_eq(lent, socket))
    }

    /// Lent sockets that nobody asks for in this plan.
    pub(crate) fn idle(&self, planned: &Planned) -> impl Iterator<Item = &TcpListener> {
        let asked = |lent: &Arc<TcpListener>| {
            let mut missing = planned.0.values().flat_map(|asked| &asked.missing);
            missing.any(|one| Arc::ptr_eq(one, lent))
        };
        let idle = self.lent.iter().filter(move |lent| !asked(lent));
        idle.map(|lent| &**lent)
    }

    /// Binds for these listeners what they lack: new addresses, and more sockets on those there are.
    ///
    /// Lent sockets take the place of new ones on their address. Nothing is changed in
    /// `self`; dropping the result closes what was opened for it. Nobody can connect to what is bound
    /// here, and nobody else can have it.
    ///
    /// # Errors
    /// [`Fault::Bind`] names the listener.
    pub(crate) fn prepare(&self, listeners: &[Listener], workers: usize) -> Result<Planned, Fault> {
        let mut planned = Planned::default();
        for listener in listeners {
            for key in Key::of(listener) {
                let addr = key.addr;
                let asked = self.bind(&key, listener, workers);
                let asked = asked.map_err(|source| Fault::Bind {
                    listener: Arc::clone(&listener.name),
                    addr,
                    source,
                })?;
                planned.0.insert(key, asked);
            }
        }
        Ok(planned)
    }

    /// The sockets that were planned, with those there are. All of them listen.
    pub(crate) fn with(&self, planned: Planned) -> Sockets {
        let bound = planned.0.into_iter().map(|(key, asked)| {
            let there = self.bound.get(&key).map(|bound| bound.sockets.clone());
            let mut sockets: Vec<_> = there.into_iter().flatten().chain(asked.missing).collect();
            sockets.retain(|socket| {
                let listens = listen(socket, asked.backlog);
                // New addresses listen already, and the others are ours.
                if let Err(error) = &listens {
                    tracing::error!(addr = %asked.addr, %error, "cannot listen");
                }
                listens.is_ok()
            });
            let addr = asked.addr;
            (key, Bound { addr, sockets })
        });
        Sockets {
            bound: bound.collect(),
            lent: self.lent.clone(),
        }
    }

    /// The sockets on one address.
    pub(crate) fn get(&self, key: &Key) -> Option<&Bound> {
        self.bound.get(key)
    }

    /// The share of one worker among so many in all the sockets of these addresses. Every socket
    /// has one worker, and every worker has one socket at least of each address.
    pub(crate) fn share(
        &self,
        keys: &[Key],
        worker: usize,
        workers: usize,
    ) -> Vec<Arc<TcpListener>> {
        let workers = workers.max(1);
        let bound = keys.iter().filter_map(|key| self.bound.get(key));
        let share = bound.flat_map(|bound| {
            let few = bound.sockets.len();
            let is_own =
                move |at: usize| at % workers == worker || worker >= few && worker % few == at;
            let own = bound.sockets.iter().enumerate();
            own.filter(move |(at, _)| is_own(*at)).map(|(_, one)| one)
        });
        share.cloned().collect()
    }

    fn bind(&self, key: &Key, listener: &Listener, workers: usize) -> io::Result<Asked> {
        let backlog = i32::try_from(listener.backlog).unwrap_or(i32::MAX);
        let known = self.bound.get(key);
        let mut missing = Vec::new();
        let addr = match known {
            Some(bound) => bound.addr,
            None => self.first(key, &mut missing)?,
        };
        let there = known.map_or(&[][..], |bound| &bound.sockets);
        let any = there.first().or(missing.first());
        let may_share = any.map_or(Ok(true), |one| SockRef::from(&**one).reuse_port())?;
        while there.len() + missing.len() < workers && may_share {
            missing.push(Arc::new(bind(addr, key.v6only)?.into()));
        }
        Ok(Asked {
            listener: Arc::clone(&listener.name),
            addr,
            backlog,
            missing,
            is_new: !self.is_ours(addr),
        })
    }

    /// The address. The lent socket that is on it is put to the `missing` ones.
    fn first(&self, key: &Key, missing: &mut Vec<Arc<TcpListener>>) -> io::Result<SocketAddr> {
        let is_there =
            |one: &&Arc<TcpListener>| one.local_addr().is_ok_and(|addr| addr == key.addr);
        if let Some(lent) = self.lent.iter().find(is_there) {
            lent.set_nonblocking(true)?;
            missing.push(Arc::clone(lent));
            return Ok(key.addr);
        }
        match key.reuse_port || self.is_ours(key.addr) {
            // Whoever else is there has agreed to share, or is us.
            true => Ok(key.addr),
            false => alone(key),
        }
    }

    /// Whether one of our sockets is where this one would be: then it is not somebody else who is
    /// there. The more particular address gets the connections.
    fn is_ours(&self, addr: SocketAddr) -> bool {
        self.bound.values().any(|bound| {
            let (ours, theirs) = (bound.addr.ip(), addr.ip());
            bound.addr.port() == addr.port()
                && (ours == theirs || ours.is_unspecified() || theirs.is_unspecified())
        })
    }
}

impl Planned {
    /// Listens on the addresses that nobody of ours serves. From here on clients wait in the queue, so
    /// it comes right before the plan is carried out.
    ///
    /// # Errors
    /// [`Fault::Bind`], when somebody has come to listen there after all.
    pub(crate) fn listen(&self) -> Result<(), Fault> {
        for asked in self.0.values().filter(|asked| asked.is_new) {
            for socket in &asked.missing {
                listen(socket, asked.backlog).map_err(|source| Fault::Bind {
                    listener: Arc::clone(&asked.listener),
                    addr: asked.addr,
                    source,
                })?;
            }
        }
        Ok(())
    }
}

/// Makes sure that nobody else is on an address, not even somebody who would share it; gives the
/// port that the system picks for port 0.
fn alone(key: &Key) -> io::Result<SocketAddr> {
    let socket = open(key.addr, key.v6only)?;
    socket.bind(&key.addr.into())?;
    // Somebody who has bound it and does not listen yet is in the way of this only. Best effort: without
    // the filter, who comes right now is reset.
    let _ = socket.attach_filter(&NOBODY_NEW);
    socket.listen(1)?;
    Ok(socket.local_addr()?.as_socket().unwrap_or(key.addr))
}

fn bind(addr: SocketAddr, v6only: bool) -> io::Result<Socket> {
    let socket = open(addr, v6only)?;
    socket.set_reuse_port(true)?;
    socket.bind(&addr.into())?;
    // It was allowed to come to an address with connections of before on it. A socket that does not
    // listen keeps others off its address only as long as it allows nobody else the same.
    socket.set_reuse_address(false)?;
    Ok(socket)
}

fn listen(socket: &TcpListener, backlog: i32) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_reuse_address(true)?;
    socket.listen(backlog)
}

fn open(addr: SocketAddr, v6only: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if addr.is_ipv6() {
        socket.set_only_v6(v6only)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests;
