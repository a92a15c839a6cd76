//! The built `gatewayd`, started for one scenario and ended with it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::client::{Answer, Conversation, ask};
use crate::log::Lines;
use crate::message::Request;
use crate::node::Cluster;
use crate::scratch::Scratch;
use crate::wait;

mod effective;
mod metrics;
mod plan;

pub use effective::{Effective, duration};
pub use metrics::Metrics;
pub use plan::Plan;

/// Where the built binary lies.
///
/// # Panics
/// When it has not been built.
#[must_use]
pub fn binary() -> PathBuf {
    let path = named_by_environment().unwrap_or_else(beside_this_program);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask test`, or `cargo build -p gatewayd` first",
        path.display()
    );
    path
}

#[allow(
    clippy::disallowed_methods,
    reason = "the stage's only setting: which binary to drive"
)]
fn named_by_environment() -> Option<PathBuf> {
    std::env::var_os("GATEWAYD").map(PathBuf::from)
}

fn beside_this_program() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this program");
    let directory = this.parent().expect("a program lies in a directory");
    let is_test = directory.file_name().is_some_and(|name| name == "deps");
    let built = if is_test {
        directory.parent().unwrap_or(directory)
    } else {
        directory
    };
    built.join("gatewayd")
}

/// A gateway process under way.
#[derive(Debug)]
pub struct Door {
    child: Mutex<Child>,
    addr: SocketAddr,
    log: Arc<Lines>,
    access: Arc<Lines>,
    scratch: Scratch,
}

/// A gateway process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Door {
    /// A front door before these nodes.
    #[must_use]
    pub fn before(cluster: &Cluster) -> Plan {
        Plan::front_door(cluster)
    }

    /// A gateway with this configuration; its first listener must be on port 0.
    #[must_use]
    pub fn configured(text: &str) -> Self {
        Plan::configured(text).opens()
    }

    fn start(arguments: &[OsString], scratch: Scratch) -> Self {
        let mut child = spawn(arguments);
        let log = Lines::follow(child.stderr.take().expect("a piped stderr"));
        let access = Lines::follow(child.stdout.take().expect("a piped stdout"));
        let child = Mutex::new(child);
        let addr = wait::value("the gateway's address", wait::SOON, || {
            let said = log.saying("listening");
            if let Ok(Some(status)) = lock(&child).try_wait() {
                panic!("the gateway ended with {status}: {}", log.all().join("\n"));
            }
            said.first()
                .and_then(|entry| entry.text("addr").parse().ok())
        });
        Self {
            child,
            addr,
            log,
            access,
            scratch,
        }
    }

    /// The address it listens on.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &Lines {
        &self.log
    }

    /// Its access log.
    #[must_use]
    pub fn access(&self) -> &Lines {
        &self.access
    }

    /// The directory its files lie in.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// A fresh connection to it.
    #[must_use]
    pub fn connect(&self) -> Conversation {
        Conversation::open(self.addr)
    }

    /// Asks on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, request: &Request) -> Answer {
        ask(self.addr, request)
    }

    /// `GET` on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn get(&self, target: &str) -> Answer {
        self.ask(&Request::get(target))
    }

    /// `POST` on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn post(&self, target: &str, body: &str) -> Answer {
        self.ask(&Request::post(target, body))
    }

    /// What its `/ready` says of a node.
    #[track_caller]
    #[must_use]
    pub fn node(&self, name: &str) -> Value {
        let ready = self.get("/ready").json();
        let nodes = ready["upstreams"].as_array().cloned().unwrap_or_default();
        let found = nodes.into_iter().find(|node| node["name"] == name);
        found.unwrap_or_else(|| panic!("no node {name} in {ready}"))
    }

    /// Whether a node is in rotation.
    #[track_caller]
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        self.node(name)["state"] == "in"
    }

    /// Waits until a node is in rotation.
    #[track_caller]
    pub fn sees_in(&self, name: &str) {
        wait::until(&format!("{name} in rotation"), wait::EVENTUALLY, || {
            self.is_in(name)
        });
    }

    /// Waits until a node is out of rotation.
    #[track_caller]
    pub fn sees_out(&self, name: &str) {
        wait::until(&format!("{name} out of rotation"), wait::EVENTUALLY, || {
            !self.is_in(name)
        });
    }

    /// Its metrics at this moment.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        answer.is(200);
        Metrics::parse(&answer.text())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(self.pid(), signal);
    }

    /// Asks it to stop (SIGTERM).
    pub fn stops(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ends_within(&self, limit: Duration) -> ExitStatus {
        wait::value("the end of the gateway", limit, || {
            lock(&self.child).try_wait().expect("a child of ours")
        })
    }

    /// Whether it is still there.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(lock(&self.child).try_wait(), Ok(None))
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(lock(&self.child).id()).expect("a process id"))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs the binary with these arguments to its end.
///
/// # Panics
/// When it does not end by itself.
#[track_caller]
pub fn runs(arguments: &[impl AsRef<Path>]) -> Ended {
    let arguments: Vec<OsString> = arguments.iter().map(|a| a.as_ref().into()).collect();
    let mut child = spawn(&arguments);
    let log = Lines::follow(child.stderr.take().expect("a piped stderr"));
    let out = Lines::follow(child.stdout.take().expect("a piped stdout"));
    let ended = wait::maybe(wait::SOON, || child.try_wait().expect("a child of ours"));
    let Some(status) = ended else {
        let _ = child.kill();
        let _ = child.wait();
        panic!("still running with {arguments:?}: {}", log.all().join("\n"));
    };
    wait::maybe(Duration::from_secs(1), || {
        (Arc::strong_count(&log) == 1 && Arc::strong_count(&out) == 1).then_some(())
    });
    Ended {
        status,
        stdout: out.all().join("\n"),
        stderr: log.all().join("\n"),
    }
}

fn spawn(arguments: &[OsString]) -> Child {
    Command::new(binary())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the gateway's binary starts")
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
