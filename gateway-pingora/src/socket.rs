//! Binds listening sockets: one for each worker, all on one address.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections the kernel may queue; it cuts this to what the system allows.
const BACKLOG: i32 = 65535;

/// `count` sockets on `addr`; with port 0 all on the port the system picks.
///
/// Sharing a port is agreed on among these sockets only: an address that any other socket listens
/// on is refused, also one that would be willing to share.
///
/// # Errors
/// What the system says of the address.
pub(crate) fn bind(addr: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let alone = open(addr, false)?;
    let addr = alone.local_addr()?.as_socket().unwrap_or(addr);
    drop(alone);
    (0..count)
        .map(|_| open(addr, true).map(Into::into))
        .collect()
}

fn open(addr: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_a_port_and_nobody_else_does() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let sockets = bind(any, 3).unwrap();
        let addr = sockets[0].local_addr().unwrap();
        assert!(
            sockets
                .iter()
                .all(|socket| socket.local_addr().unwrap() == addr)
        );
        assert_eq!(bind(addr, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
