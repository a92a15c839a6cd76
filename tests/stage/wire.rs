//! One connection, clear or TLS, seen from either side.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustls::{ClientConnection, ServerConnection, StreamOwned};
use socket2::SockRef;

/// A connected socket and what is spoken on it.
#[derive(Debug)]
pub enum Wire {
    /// TCP as it is.
    Clear(TcpStream),
    /// TLS, we asked for it.
    TlsClient(Box<StreamOwned<ClientConnection, TcpStream>>),
    /// TLS, we were asked for it.
    TlsServer(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Wire {
    /// The TCP socket underneath.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Clear(socket) => socket,
            Self::TlsClient(stream) => &stream.sock,
            Self::TlsServer(stream) => &stream.sock,
        }
    }

    /// Longest wait of one read.
    pub fn reads_within(&self, limit: Duration) {
        let _ = self.socket().set_read_timeout(Some(limit));
    }

    /// Ends the connection with a TCP reset.
    pub fn reset(self) {
        let socket = SockRef::from(self.socket());
        let _ = socket.set_linger(Some(Duration::ZERO));
    }

    /// Says that nothing more will be sent, and keeps reading.
    pub fn half_close(&mut self) {
        match self {
            Self::Clear(_) => {}
            Self::TlsClient(stream) => stream.conn.send_close_notify(),
            Self::TlsServer(stream) => stream.conn.send_close_notify(),
        }
        let _ = self.flush();
        let _ = self.socket().shutdown(Shutdown::Write);
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Self::Clear(socket) => socket.read(into),
            Self::TlsClient(stream) => stream.read(into),
            Self::TlsServer(stream) => stream.read(into),
        };
        match read {
            // A process that was stopped and goes on: Linux ends a read that has a time limit.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.read(into),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            other => other,
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Clear(socket) => socket.write(bytes),
            Self::TlsClient(stream) => stream.write(bytes),
            Self::TlsServer(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Clear(socket) => socket.flush(),
            Self::TlsClient(stream) => stream.flush(),
            Self::TlsServer(stream) => stream.flush(),
        }
    }
}
