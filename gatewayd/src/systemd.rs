//! What systemd is told, and what it hands over.
//!
//! Tells it when the process serves, reloads, stops, and that it is alive; takes the sockets that
//! it has opened. Leaves to the process when that is. Without systemd, nothing happens.
//!
//! Invariant: nobody ever waits for systemd. What it does not take in time is dropped.
//!
//! Source: `sd_notify(3)`, `sd_listen_fds(3)`, `systemd.service(5)` on `Type=notify-reload`.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use listenfd::ListenFd;
use nix::time::{ClockId, clock_gettime};
use socket2::SockRef;

use crate::cli;

/// So many messages wait for systemd; it takes them at once unless it is stuck.
const WAITING: usize = 64;

/// The longest status line; a message must fit into 4096 bytes.
const CHARACTERS: usize = 500;

/// The way to systemd, if it wants to hear.
#[derive(Debug)]
pub(crate) struct Supervisor {
    messages: Option<SyncSender<String>>,
}

impl Supervisor {
    /// Finds out whether systemd wants to hear; from then on it hears that this runtime is alive,
    /// if it asks for that. Call it on the runtime that must not be stuck.
    pub(crate) fn found() -> Self {
        let messages = messages();
        if let (Some(messages), Some(every)) = (&messages, watchdog()) {
            tokio::spawn(keep_alive(messages.clone(), every / 2));
        }
        Self { messages }
    }

    /// Everything asked for is served: after the start, and after each reload.
    pub(crate) fn is_ready(&self, status: &str) {
        self.tell(format!("READY=1\n{}", status_line(status)));
    }

    /// A reload has begun.
    pub(crate) fn is_reloading(&self) {
        self.tell(format!(
            "RELOADING=1\n{}{}",
            monotonic(),
            status_line("reloading")
        ));
    }

    /// The end has begun.
    pub(crate) fn is_stopping(&self, status: &str) {
        self.tell(format!("STOPPING=1\n{}", status_line(status)));
    }

    fn tell(&self, message: String) {
        if let Some(messages) = &self.messages {
            // Full means that systemd is stuck, and gone that nobody listens.
            let _ = messages.try_send(message);
        }
    }
}

/// The sockets that systemd has opened for us, to be used where their addresses are asked for.
///
/// Call it once, first of all: the descriptors are known by nothing but their numbers.
pub(crate) fn inherited() -> Vec<TcpListener> {
    let mut given = ListenFd::from_env();
    let taken = (0..given.len()).map(|at| {
        let listener = given.take_tcp_listener(at)?;
        listener.map_or(Ok(None), |listener| {
            if SockRef::from(&listener).is_listener()? {
                Ok(Some(listener))
            } else {
                Err(io::Error::other("a socket that does not listen"))
            }
        })
    });
    let used = |one: io::Result<Option<TcpListener>>| {
        one.unwrap_or_else(|why| {
            tracing::error!(%why, "an inherited descriptor is not used");
            None
        })
    };
    taken.filter_map(used).collect()
}

/// Where messages go; a thread of its own takes them there, because systemd may be slow.
fn messages() -> Option<SyncSender<String>> {
    let named = cli::environment("NOTIFY_SOCKET").filter(|name| !name.is_empty())?;
    let (messages, waiting) = sync_channel(WAITING);
    let begun = address(&named).and_then(|to| {
        let socket = UnixDatagram::unbound()?;
        let carries = move || carry(&socket, &to, &waiting);
        thread::Builder::new().name("systemd".into()).spawn(carries)
    });
    if let Err(why) = begun {
        tracing::error!(%why, "systemd is not told anything");
        return None;
    }
    Some(messages)
}

fn carry(socket: &UnixDatagram, to: &SocketAddr, waiting: &Receiver<String>) {
    let mut is_heard = true;
    for message in waiting {
        let sent = socket.send_to_addr(message.as_bytes(), to);
        if let (Err(why), true) = (&sent, is_heard) {
            tracing::error!(%why, "systemd does not hear");
        }
        is_heard = sent.is_ok();
    }
}

/// A path, or a name that is in no directory.
fn address(named: &OsStr) -> io::Result<SocketAddr> {
    match named.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(named),
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => {
            let said = format!("NOTIFY_SOCKET is {named:?}, neither a path nor an abstract name");
            Err(io::Error::other(said))
        }
    }
}

/// How soon systemd has to hear from this very process again.
fn watchdog() -> Option<Duration> {
    let number = |name| cli::environment(name)?.to_str()?.parse::<u64>().ok();
    if cli::environment("WATCHDOG_PID").is_some()
        && number("WATCHDOG_PID") != Some(u64::from(std::process::id()))
    {
        return None;
    }
    number("WATCHDOG_USEC")
        .filter(|microseconds| *microseconds > 1)
        .map(Duration::from_micros)
}

async fn keep_alive(messages: SyncSender<String>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let _ = messages.try_send("WATCHDOG=1\n".to_owned());
    }
}

/// The time that systemd compares with the time of its own signal.
fn monotonic() -> String {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or_else(
        |_| String::new(),
        |now| format!("MONOTONIC_USEC={}\n", Duration::from(now).as_micros()),
    )
}

/// One line, whatever the status says: the next line would be an order.
fn status_line(status: &str) -> String {
    let plain = status.chars().take(CHARACTERS);
    let plain: String = plain
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("STATUS={plain}\n")
}

#[cfg(test)]
mod tests;
