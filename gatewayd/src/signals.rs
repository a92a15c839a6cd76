//! Signals, as what they tell the process.
//!
//! Source: the signals of the runtime contract.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

/// What a signal tells the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// HUP: read the configuration again.
    Reload,
    /// USR1: open log files again.
    Reopen,
    /// INT or TERM: end; with this exit if it is told a second time.
    Stop(Exit),
}

/// The signals the process listens to. From when this exists, none of them ends it by itself.
pub(crate) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    reopen: Signal,
    terminate: Signal,
    /// USR2 has no meaning yet, and must not be the end meanwhile.
    _reserved: Signal,
}

impl Signals {
    /// Listens.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            reopen: signal(SignalKind::user_defined1())?,
            terminate: signal(SignalKind::terminate())?,
            _reserved: signal(SignalKind::user_defined2())?,
        })
    }

    /// The next thing the process is told.
    ///
    /// Cancel-safe: yes.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.hangup.recv() => Told::Reload,
            _ = self.interrupt.recv() => Told::Stop(Exit::Interrupted),
            _ = self.reopen.recv() => Told::Reopen,
            _ = self.terminate.recv() => Told::Stop(Exit::Terminated),
        }
    }

    /// Returns when the process is told to end; what else it is told waits for [`next`](Self::next).
    ///
    /// Cancel-safe: yes.
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
