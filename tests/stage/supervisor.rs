//! A service manager as the gateway sees it: a socket that takes messages.

use std::ffi::{OsStr, OsString};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::scratch::Scratch;
use crate::wait;

/// A service manager that hears what it is told.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixDatagram,
    name: OsString,
    _scratch: Scratch,
}

impl Supervisor {
    /// One whose socket is a path.
    #[must_use]
    pub fn at_a_path() -> Self {
        let scratch = Scratch::new();
        let path = scratch.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket in our own directory");
        Self {
            socket,
            name: path.into(),
            _scratch: scratch,
        }
    }

    /// One whose socket is in no directory.
    #[must_use]
    pub fn without_a_path() -> Self {
        let scratch = Scratch::new();
        let name = scratch.path().join("notify").into_os_string();
        let addr = SocketAddr::from_abstract_name(name.as_encoded_bytes()).expect("a short name");
        let socket = UnixDatagram::bind_addr(&addr).expect("a name of our own");
        let mut named = OsString::from("@");
        named.push(name);
        Self {
            socket,
            name: named,
            _scratch: scratch,
        }
    }

    /// What the gateway is to be told in `NOTIFY_SOCKET`.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The next message, line by line.
    ///
    /// # Panics
    /// When none comes.
    #[track_caller]
    #[must_use]
    pub fn hears(&self) -> Vec<String> {
        self.socket
            .set_read_timeout(Some(wait::SOON))
            .expect("a timeout");
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).expect("a message");
        let text = String::from_utf8_lossy(&bytes[..length]);
        text.lines().map(str::to_owned).collect()
    }

    /// Whether nothing has been said that was not heard.
    #[must_use]
    pub fn heard_all(&self) -> bool {
        self.socket.set_nonblocking(true).expect("a socket of ours");
        let nothing = self.socket.recv(&mut [0; 1]).is_err();
        self.socket
            .set_nonblocking(false)
            .expect("a socket of ours");
        nothing
    }
}
