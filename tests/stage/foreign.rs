//! A client of the interface that is not ours: Python's `grpcio`, which learns from reflection what
//! may be called.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::certs::Identity;
use crate::scratch::Scratch;

/// What names the Python that has `grpcio`.
const PYTHON: &str = "GATEWAY_GRPC_PYTHON";
/// What speaks gRPC on both sides of a gateway.
const THROUGH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/foreign/through.py");

/// A client in the making.
#[derive(Clone, Debug)]
pub struct Foreign {
    flags: Vec<OsString>,
    address: String,
}

/// A call under way, which answers more than once.
#[derive(Debug)]
pub struct Following {
    child: std::process::Child,
}

impl Foreign {
    /// Calls this address: `unix:PATH` or `HOST:PORT`.
    #[must_use]
    pub fn of(address: impl Display) -> Self {
        Self {
            flags: Vec::new(),
            address: address.to_string(),
        }
    }

    /// As another user of this machine.
    #[must_use]
    pub fn as_user(self, uid: u32) -> Self {
        self.flag("--uid", uid.to_string())
    }

    /// Over TLS, trusting this authority, to the server of this name.
    #[must_use]
    pub fn over_tls(self, scratch: &Scratch, authority: &str, name: &str) -> Self {
        let ca = scratch.file("foreign-ca.pem", authority);
        self.flag("--ca", ca).flag("--name", name)
    }

    /// Shows this certificate.
    #[must_use]
    pub fn showing(self, scratch: &Scratch, shown: &Identity) -> Self {
        let cert = scratch.file("foreign.pem", &shown.cert_pem);
        let key = scratch.file("foreign.key", &shown.key_pem);
        self.flag("--cert", cert).flag("--key", key)
    }

    /// Calls `SERVICE/METHOD` and gives back the answer, or the status as
    /// `{"code", "message", "details"}`.
    ///
    /// # Panics
    /// When there is neither.
    #[track_caller]
    #[must_use]
    pub fn calls(&self, method: &str, request: &Value) -> Value {
        let called = self.command(method, request).output().expect("a Python");
        let said = String::from_utf8_lossy(&called.stdout);
        let line = said.lines().next().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|_| {
            let complaint = String::from_utf8_lossy(&called.stderr);
            panic!("no answer to {method}: {complaint}")
        })
    }

    /// Calls something that answers `most` times.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn follows(&self, method: &str, most: usize) -> Following {
        let this = self.clone().flag("--take", most.to_string());
        let mut command = this.command(method, &Value::Object(serde_json::Map::new()));
        let child = command.stdout(Stdio::piped()).spawn().expect("a Python");
        Following { child }
    }

    fn flag(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.flags.extend([name.into(), value.into()]);
        self
    }

    fn command(&self, method: &str, request: &Value) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/foreign/control.py");
        let mut command = Command::new(python());
        command.arg(script).args(&self.flags);
        command
            .arg(&self.address)
            .arg(method)
            .arg(request.to_string());
        command
    }
}

impl Following {
    /// Everything it was told, once it has been told as much as it wanted.
    ///
    /// # Panics
    /// When it was told something that is not JSON.
    #[must_use]
    pub fn told(self) -> Vec<Value> {
        let output = self.child.wait_with_output().expect("a child of ours");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = |line| serde_json::from_str(line).expect("JSON");
        said.lines().map(line).collect()
    }
}

/// A server of gRPC that is not ours.
#[derive(Debug)]
pub struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    /// Starts one, in clear text.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start() -> Self {
        let mut command = Command::new(python());
        command.arg(THROUGH).arg("serve");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a Python");
        let mut port = String::new();
        let said = child.stdout.take().expect("a piped stdout");
        BufReader::new(said).read_line(&mut port).expect("a port");
        let port = port.trim().parse().expect("a port");
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self { child, addr }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// What a client of gRPC that is not ours is told by a [`Server`] through a gateway.
///
/// # Panics
/// When it is told nothing.
#[must_use]
pub fn asks_through(addr: SocketAddr, scratch: &Scratch, authority: &str, name: &str) -> Value {
    let ca = scratch.file("foreign-ca.pem", authority);
    let mut command = Command::new(python());
    command.args([THROUGH, "ask", &addr.to_string()]);
    let asked = command.arg(ca).arg(name).output().expect("a Python");
    let complaint = String::from_utf8_lossy(&asked.stderr);
    serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("nothing: {complaint}"))
}

#[allow(
    clippy::disallowed_methods,
    reason = "whoever runs these tests says which Python has what they need"
)]
fn python() -> PathBuf {
    let named = std::env::var_os(PYTHON);
    named.map(PathBuf::from).expect("GATEWAY_GRPC_PYTHON")
}
