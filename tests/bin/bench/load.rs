//! A load of so many requests on kept connections, no faster than they are answered.
//!
//! The client never sleeps: waking one that does is work of the kernel that is billed to whoever writes to
//! it, and the slower server finds it asleep more often.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Connections at once.
const CONNECTIONS: u32 = 8;

/// Sends `requests` of these, and reads the answers, each with the same number of body bytes.
pub(crate) fn run(addr: SocketAddr, request: &str, body: usize, requests: u32) {
    let mut buffer = vec![0; 256 * 1024];
    let mut connections: Vec<_> = (0..CONNECTIONS)
        .map(|_| Connection::opens(addr, request, requests / CONNECTIONS))
        .collect();
    while !connections.is_empty() {
        connections.retain_mut(|one| {
            one.hears(&mut buffer, body);
            !one.has_ended() || one.asks(request)
        });
    }
}

struct Connection {
    stream: TcpStream,
    /// Requests that are still to be sent.
    left: u32,
    heard: Heard,
}

/// What has come of an answer.
enum Heard {
    Head(Vec<u8>),
    /// All but so many bytes.
    But(usize),
}

impl Connection {
    fn opens(addr: SocketAddr, request: &str, left: u32) -> Self {
        let stream = TcpStream::connect(addr).expect("a listener on loopback");
        stream.set_nodelay(true).expect("an open socket");
        stream.set_nonblocking(true).expect("an open socket");
        let mut connection = Self {
            stream,
            left,
            heard: Heard::But(0),
        };
        connection.asks(request);
        connection
    }

    /// Sends one more request, unless it was the last.
    fn asks(&mut self, request: &str) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        self.heard = Heard::Head(Vec::new());
        let sent = self.stream.write_all(request.as_bytes());
        sent.expect("a socket with room for a request");
        true
    }

    fn has_ended(&self) -> bool {
        matches!(self.heard, Heard::But(0))
    }

    /// Takes what is there.
    fn hears(&mut self, buffer: &mut [u8], body: usize) {
        let read = match self.stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            read => read.expect("an open socket"),
        };
        assert!(read > 0, "the connection has ended");
        let bytes = buffer.get(..read).unwrap_or_default();
        match &mut self.heard {
            Heard::But(missing) => *missing = less(*missing, read),
            Heard::Head(seen) => {
                seen.extend_from_slice(bytes);
                if let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
                    assert!(seen.starts_with(b"HTTP/1.1 200"), "{}", seen.escape_ascii());
                    self.heard = Heard::But(less(end + 4 + body, seen.len()));
                }
            }
        }
    }
}

fn less(missing: usize, read: usize) -> usize {
    missing
        .checked_sub(read)
        .expect("an answer as long as it says")
}
