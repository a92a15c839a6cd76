//! What keeps the data plane from starting or from taking a snapshot.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gateway_config::model::Name;

/// What keeps the data plane from starting or from taking a snapshot. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An address could not be bound.
    #[error("listener `{listener}`: {addr} cannot be bound: {source}")]
    Bind {
        /// The listener.
        listener: Name,
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A file with certificates or a key could not be used.
    #[error("{path}: {because}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        because: String,
    },
    /// Nothing is served any more.
    #[error("the data plane is about to end")]
    Draining,
    /// A file that is sent instead of a failure's sentence could not be used.
    #[error("site `{site}`: {}: {because}", path.display())]
    ErrorPage {
        /// The site.
        site: Name,
        /// The status it is for.
        status: u16,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        because: String,
    },
    /// A directory whose files a route shows could not be opened.
    #[error("route `{route}` of site `{site}`: {}: {because}", path.display())]
    Folder {
        /// The site.
        site: Name,
        /// The route.
        route: Name,
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        because: String,
    },
    /// A metric could not be registered.
    #[error("a metric could not be registered: {0}")]
    Metric(#[from] prometheus::Error),
    /// A node cannot be verified, since no certificate can have the name that would be checked.
    #[error("pool `{pool}`: no certificate is for `{name}`, the name checked of node `{node}`")]
    NodeName {
        /// Its pool.
        pool: Name,
        /// The node.
        node: Name,
        /// The name.
        name: String,
    },
    /// No handshake can be done under a TLS profile.
    #[error("TLS profile `{profile}`: {because}")]
    Profile {
        /// The profile.
        profile: Name,
        /// Why not.
        because: String,
    },
    /// The snapshot needs something that this data plane does not do.
    #[error("{what} is not served by this data plane")]
    NotServed {
        /// What it is.
        what: String,
    },
    /// There is nothing of that name.
    #[error("there is no {what}")]
    Unknown {
        /// What it would be.
        what: String,
    },
    /// A thread or a runtime could not be started.
    #[error("a worker could not be started: {0}")]
    Worker(#[source] io::Error),
}

impl Fault {
    /// A file with certificates or a key, and what is wrong with it.
    pub(crate) fn certificate(path: &Path, because: impl ToString) -> Self {
        Fault::Certificate {
            path: path.to_path_buf(),
            because: because.to_string(),
        }
    }
}
