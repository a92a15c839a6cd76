//! The built `gatewayd`, started for one scenario and ended with it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::certs::Trust;
use crate::client::{Answer, Conversation};
use crate::log::{Entry, Lines};
use crate::message::Request;
use crate::node::Cluster;
use crate::scratch::Scratch;
use crate::wait;

mod effective;
mod metrics;
mod plan;
mod process;

pub use effective::{Effective, duration};
pub use metrics::Metrics;
pub use plan::Plan;
use process::spawn;
pub use process::{Ended, binary, runs};

/// A gateway process under way.
#[derive(Debug)]
pub struct Door {
    child: Mutex<Child>,
    addr: SocketAddr,
    log: Arc<Lines>,
    access: Arc<Lines>,
    scratch: Scratch,
    trust: Option<Trust>,
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

    fn start(
        program: &Path,
        arguments: &[OsString],
        scratch: Scratch,
        trust: Option<Trust>,
    ) -> Self {
        let mut child = spawn(program, arguments);
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
            trust,
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

    /// Waits for a line of the access log.
    #[track_caller]
    #[must_use]
    pub fn access_line(&self, fits: impl Fn(&Entry) -> bool) -> Entry {
        wait::value("a line in the access log", wait::SOON, || {
            self.access.entries().into_iter().find(&fits)
        })
    }

    /// The directory its files lie in.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// A fresh connection to it.
    #[must_use]
    pub fn connect(&self) -> Conversation {
        match &self.trust {
            None => Conversation::open(self.addr),
            Some(trust) => Conversation::open_tls(self.addr, trust, "door.test"),
        }
    }

    /// Asks on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, request: &Request) -> Answer {
        self.connect().asks(request)
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

    /// Lets its one worker take everything that was sent to it before.
    ///
    /// A worker reads its sockets in the order in which they became readable, so what was sent
    /// before the last of these round trips began has been read when it ends.
    #[track_caller]
    pub fn settles(&self) {
        for _ in 0..5 {
            self.get("/health").is(200);
        }
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

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
