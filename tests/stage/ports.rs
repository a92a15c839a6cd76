//! Addresses on loopback that nobody else can take while a scenario runs.
//!
//! A node that is down must still own its port: otherwise a neighbouring test could be given it and
//! answer in its place. So every node keeps a second socket bound to its address that never
//! listens; a connection meanwhile is refused by the kernel.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

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
        let first = tcp_socket();
        first
            .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .expect("a free loopback port");
        let addr = first
            .local_addr()
            .expect("a bound socket has an address")
            .as_socket()
            .expect("an IP address");
        first.set_reuse_address(true).expect("SO_REUSEADDR");
        Self {
            addr,
            _keeper: first,
        }
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
