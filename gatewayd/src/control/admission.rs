//! Decides who may call: by user on a Unix socket, by name in the certificate over TCP.
//!
//! The unknown case is *no*. A peer that is refused is logged and counted, and nothing it sends is
//! read.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::{Gid, Group, Uid};
use tokio::net::unix::UCred;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use x509_parser::extensions::GeneralName;

use super::NotBound;
use crate::cli;

/// Connections at once, on each transport: whoever fills the one over TCP, where everybody may begin a
/// handshake, keeps nobody from the other.
const CONNECTIONS: u32 = 64;

/// Who may call.
pub(super) struct Admission {
    us: Uid,
    group: Option<Gid>,
    admit: Vec<String>,
    refused: AtomicU64,
    tcp: Arc<Semaphore>,
    unix: Arc<Semaphore>,
}

/// Somebody who was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over TCP, under this admitted name.
    Named(String, SocketAddr),
    /// On the Unix socket, as this user.
    User(u32),
}

impl Admission {
    /// The policy of the command line.
    ///
    /// # Errors
    /// [`NotBound::Group`].
    pub(super) fn of(settings: &cli::Control) -> Result<Self, NotBound> {
        let group = settings.group.as_deref().map(|name| {
            let named = Group::from_name(name).ok().flatten().map(|group| group.gid);
            named
                .or_else(|| name.parse().ok().map(Gid::from_raw))
                .ok_or_else(|| NotBound::Group(name.to_owned()))
        });
        Ok(Self {
            us: Uid::effective(),
            group: group.transpose()?,
            admit: settings.admit.clone(),
            refused: AtomicU64::new(0),
            tcp: Arc::new(Semaphore::new(CONNECTIONS as usize)),
            unix: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        })
    }

    /// The group that may use the Unix socket.
    pub(super) fn group(&self) -> Option<Gid> {
        self.group
    }

    /// Whether a peer of the Unix socket may call.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn user(&self, peer: &UCred) -> Result<Peer, String> {
        let uid = Uid::from_raw(peer.uid());
        let is_in = |group: Gid| {
            peer.gid() == group.as_raw()
                || peer
                    .pid()
                    .is_some_and(|pid| groups(pid).contains(&group.as_raw()))
        };
        match uid == self.us || uid.is_root() || self.group.is_some_and(is_in) {
            true => Ok(Peer::User(peer.uid())),
            false => Err(format!("user {} may not call", peer.uid())),
        }
    }

    /// Whether a peer with this certificate, which has been verified, may call. Its names are
    /// those of the subject alternative name; the common name is none.
    ///
    /// # Errors
    /// Why not.
    ///
    /// Source: RFC 9525 §2 (the common name is not looked at).
    pub(super) fn named(&self, certificate: &[u8], from: SocketAddr) -> Result<Peer, String> {
        let names = names(certificate);
        let admitted = names.iter().find(|name| self.admit.contains(name));
        match admitted {
            Some(name) => Ok(Peer::Named(name.clone(), from)),
            None => Err(format!("none of its names {names:?} is admitted")),
        }
    }

    /// Takes in that a peer was not heard.
    pub(super) fn refuse(&self, peer: &dyn fmt::Display, why: &str) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%peer, why, "control: refused");
    }

    /// Peers that were not heard, so far.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// A place for one more connection over TCP, if there is one.
    pub(super) fn place_on_tcp(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.tcp).try_acquire_owned().ok()
    }

    /// A place for one more connection on the Unix socket, if there is one.
    pub(super) fn place_on_unix(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.unix).try_acquire_owned().ok()
    }

    /// Connections at the moment.
    pub(super) fn connections(&self) -> u32 {
        let taken = |places: &Semaphore| {
            let free = u32::try_from(places.available_permits()).unwrap_or_default();
            CONNECTIONS.saturating_sub(free)
        };
        taken(&self.tcp) + taken(&self.unix)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name, from) => write!(out, "{name} at {from}"),
            Self::User(uid) => write!(out, "user {uid}"),
        }
    }
}

/// The groups of a process besides its first one.
fn groups(pid: i32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:"));
    let groups = line.unwrap_or_default().split_whitespace();
    groups.filter_map(|group| group.parse().ok()).collect()
}

/// The DNS names, in lower case, and URIs that a certificate is for.
fn names(certificate: &[u8]) -> Vec<String> {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
        return Vec::new();
    };
    let Ok(Some(alternatives)) = parsed.subject_alternative_name() else {
        return Vec::new();
    };
    let names = alternatives.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        })
        .collect()
}
