//! What `run` and `front-door` may be told of the process itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// The process itself: what outlives it, and who may tell it things.
#[derive(Clone, Debug, Args)]
pub(crate) struct Process {
    /// Where snapshots, drains and the worker count outlive the process
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// When this configuration cannot be served, serve the last one that could
    #[arg(long, requires = "state_dir")]
    pub(crate) last_good: bool,
    #[command(flatten)]
    pub(crate) control: Control,
}

/// Who may tell the running process things, and where.
#[derive(Clone, Debug, Args)]
pub(crate) struct Control {
    /// Where it can be told things; tcp needs the three files below [default: unix:control.sock in the state directory]
    #[arg(
        long = "control",
        value_name = "unix:PATH|tcp:ADDR",
        value_parser = address
    )]
    pub(crate) at: Vec<Address>,
    /// A group that may use the Unix socket, besides this user and root
    #[arg(long = "control-group", value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Certificate chain shown over tcp
    #[arg(long = "control-cert", value_name = "FILE", requires_all = ["key", "ca"])]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key
    #[arg(long = "control-key", value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Whose certificates are accepted from peers over tcp
    #[arg(long = "control-ca", value_name = "FILE", requires = "cert")]
    pub(crate) ca: Option<PathBuf>,
    /// A DNS name or URI in the certificate of a peer that is admitted over tcp
    #[arg(
        long = "control-admit",
        value_name = "NAME",
        default_value = "panel-api"
    )]
    pub(crate) admit: Vec<String>,
}

/// Where a process can be told things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// Over TCP, with mutual TLS.
    Tcp(SocketAddr),
    /// On a Unix socket.
    Unix(PathBuf),
}

impl Process {
    /// Where it can be told things: as it was said, or in the state directory.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        match &self.state_dir {
            Some(state) if self.control.at.is_empty() => vec![Address::Unix(socket_in(state))],
            Some(_) | None => self.control.at.clone(),
        }
    }

    /// What is wrong with it as a whole.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        let is_tcp = |one: &Address| matches!(one, Address::Tcp(_));
        let has_tcp = self.control.at.iter().any(is_tcp);
        match (has_tcp, &self.control.cert) {
            (true, None) => Some(
                "--control tcp:… needs --control-cert, --control-key and --control-ca: over TCP only peers with a certificate are heard",
            ),
            (false, Some(_)) => Some("--control-cert is for --control tcp:… only"),
            (true, Some(_)) | (false, None) => None,
        }
    }
}

/// The socket of a process with this state directory.
pub(crate) fn socket_in(state: &std::path::Path) -> PathBuf {
    state.join("control.sock")
}

/// Reads where a process can be told things.
///
/// # Errors
/// What it should look like.
pub(crate) fn address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return Ok(Address::Unix(path.into()));
    }
    let tcp = text.strip_prefix("tcp:").and_then(|addr| addr.parse().ok());
    tcp.map(Address::Tcp)
        .ok_or_else(|| "unix:PATH, or tcp:IP:PORT, is meant here".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_be_told_things_has_two_forms() {
        assert_eq!(address("unix:/a"), Ok(Address::Unix("/a".into())));
        assert_eq!(
            address("tcp:[::1]:7"),
            Ok(Address::Tcp("[::1]:7".parse().unwrap()))
        );
        for wrong in [
            "",
            "/a",
            "unix:",
            "tcp:",
            "tcp:7",
            "tcp:localhost:7",
            "http://a",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
