//! The built `gatewayd`, started for one scenario and ended with it.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::certs::{Authority, Identity, Trust};
use crate::log::{Entry, Lines};
use crate::node::Cluster;
use crate::scratch::{Scratch, set_mode};
use crate::wait;

mod effective;
mod front;
mod metrics;
mod plan;
mod process;

pub use effective::{Effective, duration};
pub use front::Front;
pub use metrics::Metrics;
pub use plan::Plan;
pub use process::{Ended, Followed, binary, follows, runs, runs_in};
use process::{Process, runs_while, spawn};

/// A gateway process under way.
#[derive(Debug)]
pub struct Door {
    process: Process,
    front: Front,
    log: Arc<Lines>,
    access: Arc<Lines>,
    scratch: Scratch,
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

    /// The same over TLS, as `door.test`; its profile has `t.pem` and `t.key`.
    #[must_use]
    pub fn configured_over_tls(text: &str, authority: &Authority, identity: &Identity) -> Self {
        let plan = Plan::configured(text).over_tls(authority);
        std::fs::write(plan.path("t.pem"), &identity.cert_pem).expect("a file of our own");
        std::fs::write(plan.path("t.key"), &identity.key_pem).expect("a file of our own");
        set_mode(&plan.path("t.key"), 0o600);
        plan.opens()
    }

    fn start(
        program: &Path,
        arguments: &[OsString],
        stdin: Stdio,
        scratch: Scratch,
        trust: Option<Trust>,
        meanwhile: impl FnOnce(Pid),
    ) -> Self {
        let mut child = spawn(program, arguments, scratch.path(), stdin);
        let log = Lines::follow(child.stderr.take().expect("a piped stderr"));
        let access = Lines::follow(child.stdout.take().expect("a piped stdout"));
        let process = Process::new(child);
        meanwhile(process.pid());
        let addr = wait::value("the gateway's address", wait::SOON, || {
            let ended = process.status();
            let said = log.saying("listening");
            let addr = said.first().map(|entry| entry.text("addr"));
            if let (Some(status), None) = (ended, &addr) {
                panic!("the gateway ended with {status}: {}", log.all().join("\n"));
            }
            addr?.parse().ok()
        });
        Self {
            process,
            front: Front { addr, trust },
            log,
            access,
            scratch,
        }
    }

    /// Another listener of the same process, by its name in the configuration.
    #[must_use]
    pub fn seen_as(&self, listener: &str) -> Front {
        let said = self.log.waits_for("listening", |entry| {
            entry.text("listener").contains(listener)
        });
        Front {
            addr: said.text("addr").parse().expect("an address"),
            trust: self.front.trust.clone(),
        }
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
        wait::value("the end of the gateway", limit, || self.process.status())
    }

    /// Whether it is still there.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.status().is_none()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.process.pid()
    }
}

impl Deref for Door {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}
