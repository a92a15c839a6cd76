//! A load of so many requests on kept connections, no faster than they are answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

/// Connections at once.
const CONNECTIONS: u32 = 8;

/// Sends `requests` of these, and reads the answers, each with the same number of body bytes.
pub(crate) fn run(addr: SocketAddr, request: &str, body: usize, requests: u32) {
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| asks(addr, request, body, requests / CONNECTIONS));
        }
    });
}

fn asks(addr: SocketAddr, request: &str, body: usize, requests: u32) {
    let mut stream = TcpStream::connect(addr).expect("a listener on loopback");
    stream.set_nodelay(true).expect("an open socket");
    let mut buffer = vec![0; 256 * 1024];
    for _ in 0..requests {
        stream
            .write_all(request.as_bytes())
            .expect("an open socket");
        hears(&mut stream, &mut buffer, body);
    }
}

/// Reads one answer with a body of `body` bytes.
fn hears(stream: &mut TcpStream, buffer: &mut [u8], body: usize) {
    let mut filled = 0;
    let mut whole = None;
    while whole.is_none_or(|whole| filled < whole) {
        let rest = buffer.get_mut(filled..).expect("answers that fit");
        let read = stream.read(rest).expect("an open socket");
        assert!(read > 0, "the connection has ended");
        filled += read;
        let seen = buffer.get(..filled).unwrap_or_default();
        if whole.is_none()
            && let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n")
        {
            assert!(seen.starts_with(b"HTTP/1.1 200"), "{}", seen.escape_ascii());
            whole = Some(end + 4 + body);
        }
    }
    assert_eq!(Some(filled), whole, "an answer of another length");
}
