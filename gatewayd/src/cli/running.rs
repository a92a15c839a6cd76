//! What may be said to a running process.

use std::path::PathBuf;

use clap::Args;

use super::Format;
use super::process::{Address, address, socket_in};

/// Where the running process is.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Reach {
    /// The socket of the running process
    #[arg(long, value_name = "unix:PATH", value_parser = unix)]
    control: Option<PathBuf>,
    /// The state directory of the running process, where its socket is
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// A running process instead of a file.
#[derive(Clone, Debug, Args)]
pub(crate) struct Running {
    /// What a running process serves
    #[arg(long, requires = "where")]
    running: bool,
    /// The socket of the running process
    #[arg(long, value_name = "unix:PATH", value_parser = unix, group = "where", requires = "running")]
    control: Option<PathBuf>,
    /// The state directory of the running process, where its socket is
    #[arg(long, value_name = "DIR", group = "where", requires = "running")]
    state_dir: Option<PathBuf>,
}

/// `status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Go on and print what changes, a line each
    #[arg(long)]
    pub(crate) watch: bool,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `reload`.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Start another generation even where nothing asks for one
    #[arg(long)]
    pub(crate) new_generation: bool,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `drain` and `undrain`.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// The node
    #[arg(value_name = "POOL/NODE", value_parser = node)]
    pub(crate) node: (String, String),
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// `workers`.
#[derive(Debug, Args)]
pub(crate) struct Workers {
    /// So many, 1 to 256, whatever the configuration says; `reset`: as it says
    #[arg(value_name = "N|reset", value_parser = workers)]
    pub(crate) count: Count,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// A number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// As the configuration says.
    Reset,
    /// So many.
    To(u32),
}

/// `snapshots`.
#[derive(Debug, Args)]
pub(crate) struct Snapshots {
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `rollback`.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The snapshot [default: the one before the active one]
    #[arg(value_name = "NUMBER")]
    pub(crate) number: Option<u64>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `stop`.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) reach: Reach,
}

impl Running {
    /// Where the process is, where one is meant.
    pub(crate) fn reach(&self) -> Option<Reach> {
        let (control, state_dir) = (self.control.clone(), self.state_dir.clone());
        self.running.then_some(Reach { control, state_dir })
    }
}

impl Reach {
    /// The process with this socket, or with this state directory.
    pub(super) fn of(control: Option<PathBuf>, state_dir: Option<PathBuf>) -> Self {
        Self { control, state_dir }
    }

    /// The socket of the process.
    pub(crate) fn socket(&self) -> PathBuf {
        match (&self.control, &self.state_dir) {
            (Some(socket), _) => socket.clone(),
            (None, state) => socket_in(state.as_deref().unwrap_or(".".as_ref())),
        }
    }
}

pub(super) fn unix(text: &str) -> Result<PathBuf, String> {
    match address(text) {
        Ok(Address::Unix(path)) => Ok(path),
        Ok(Address::Tcp(_)) => Err("this command speaks to a Unix socket: unix:PATH".to_owned()),
        Err(wrong) => Err(wrong),
    }
}

fn node(text: &str) -> Result<(String, String), String> {
    let (pool, node) = text.split_once('/').unwrap_or_default();
    match pool.is_empty() || node.is_empty() {
        true => Err("the pool and the node are meant here: POOL/NODE".to_owned()),
        false => Ok((pool.to_owned(), node.to_owned())),
    }
}

fn workers(text: &str) -> Result<Count, String> {
    if text == "reset" {
        return Ok(Count::Reset);
    }
    let count = text.parse().ok().filter(|count| (1..=256).contains(count));
    count
        .map(Count::To)
        .ok_or_else(|| "1 to 256, or `reset`, is meant here".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_are_usage() {
        assert_eq!(node("a/b"), Ok(("a".to_owned(), "b".to_owned())));
        assert_eq!(workers("256"), Ok(Count::To(256)));
        assert_eq!(workers("reset"), Ok(Count::Reset));
        for wrong in ["", "a", "/a", "a/"] {
            assert!(node(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "257", "-1", "x", ""] {
            assert!(workers(wrong).is_err(), "{wrong}");
        }
        assert!(unix("tcp:127.0.0.1:1").is_err());
    }
}
