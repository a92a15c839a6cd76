//! Addresses on loopback that nobody else can take while a scenario runs.
//!
//! A node that is down must still own its port: otherwise a neighbouring test could be given it and
//! answer in its place. So every node keeps a second socket bound to its address that never
//! listens; a connection meanwhile is refused by the kernel.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::wait;

const BACKLOG: i32 = 4096;

/// A loopback address that stays ours until dropped.
#[derive(Debug)]
pub struct Reserved {
    addr: SocketAddr,
    _keeper: Socket,
}

impl Reserved {
    /// Takes a free loopback port; nothing listens on it yet, so connections are refused.
    #[must_use]
    pub fn take() -> Self {
        Self::bind(1, 0).expect("a free loopback port")
    }

    /// Takes the same port on these addresses of loopback, `127.0.0.N`.
    #[must_use]
    pub fn take_on(last: &[u8]) -> Vec<Self> {
        let found = wait::maybe(wait::SOON, || {
            let (first, others) = last.split_first()?;
            let first = Self::bind(*first, 0).ok()?;
            let port = first.addr.port();
            let others = others.iter().map(|last| Self::bind(*last, port));
            let others: io::Result<Vec<Self>> = others.collect();
            Some([vec![first], others.ok()?].into_iter().flatten().collect())
        });
        found.expect("a port that is free on all of them")
    }

    fn bind(last: u8, port: u16) -> io::Result<Self> {
        let socket = tcp_socket();
        socket.bind(&SocketAddr::from(([127, 0, 0, last], port)).into())?;
        let addr = socket.local_addr()?;
        socket.set_reuse_address(true)?;
        Ok(Self {
            addr: addr.as_socket().expect("an IP address"),
            _keeper: socket,
        })
    }

    /// The address held.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Starts listening on the address held; may be called again once the listener is dropped.
    ///
    /// # Errors
    /// What the kernel says when it will not have it.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let socket = tcp_socket();
        socket.set_reuse_address(true)?;
        socket.bind(&self.addr.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    }
}

/// A loopback address where nobody is heard: as many connections wait there as may, and whoever comes
/// gets no word.
#[derive(Debug)]
pub struct Deaf {
    addr: SocketAddr,
    _listener: Socket,
    _waiting: Vec<TcpStream>,
}

impl Deaf {
    /// One of its own.
    #[must_use]
    pub fn take() -> Self {
        let listener = tcp_socket();
        listener
            .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
            .expect("a free loopback port");
        listener.listen(0).expect("a bound socket");
        let addr = listener.local_addr().expect("a bound socket");
        let addr = addr.as_socket().expect("an IP address");
        let connects = || TcpStream::connect_timeout(&addr, Duration::from_millis(200)).ok();
        Self {
            addr,
            _waiting: std::iter::from_fn(connects).collect(),
            _listener: listener,
        }
    }

    /// The address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Ends listening on a socket, whoever else has it: a child that is just being started does, and with it
/// alone closing our end would leave it open, and a connection made that nobody answers.
pub fn listens_no_more(socket: &TcpListener) {
    SockRef::from(socket)
        .shutdown(Shutdown::Both)
        .expect("a socket that listens");
}

fn tcp_socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).expect("a TCP socket")
}
