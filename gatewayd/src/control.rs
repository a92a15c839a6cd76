//! The interface to the running process: gRPC on a Unix socket, or over TCP with mutual TLS.
//!
//! Decides who is heard and turns messages into calls of the [`reload`](crate::reload), which
//! decides everything else. Runs on a thread of its own, so that a fault here costs one call.
//!
//! Invariant: nothing that an unadmitted peer sends is read, except for its handshake.
//!
//! Source: adr/0033.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use crate::cli::{self, Address};
use crate::proto::config::gateway_config_server::GatewayConfigServer;
use crate::proto::runtime::gateway_runtime_server::GatewayRuntimeServer;
use crate::proto::{DESCRIBED, LARGEST};
use crate::reload::Reload;

mod admission;
mod calls_config;
mod calls_runtime;
mod connection;
mod convert;
mod end;
mod refusal;
mod socket;
mod tls;
mod watch;

use admission::Admission;
use connection::{Connection, Listener};
use end::{End, Ends};
use socket::Socket;

/// What keeps the interface from being there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotBound {
    /// An address is not to be had.
    #[error("--control {address}: {why}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        why: String,
    },
    /// The disk takes no socket.
    #[error("{path}: {why}")]
    Disk {
        /// Where it should be.
        path: String,
        /// Why not.
        why: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("--control-{flag} {path}: {why}")]
    File {
        /// The flag that names it.
        flag: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such group.
    #[error("--control-group {0}: there is no such group")]
    Group(String),
}

/// The interface; gone when this is.
pub(crate) struct Control {
    running: Option<Running>,
    _sockets: Vec<Socket>,
}

/// Whoever answers.
struct Running {
    runtime: Runtime,
    answers: JoinHandle<()>,
    ends: Ends,
}

/// The interface before anybody is heard.
pub(crate) struct Bound {
    listeners: Vec<(Listener, Option<Socket>)>,
    admission: Arc<Admission>,
}

/// A call may take so long; what it began goes on to its end.
const CALL: Duration = Duration::from_secs(90);
/// How long calls under way may take to be answered, and watchers to hear of it, when all ends.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Calls at once on one connection.
const CALLS: u32 = 32;
/// A peer that is silent for so long is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(30);
/// Largest message that asks for something other than a configuration.
const SMALL: usize = 64 << 10;

impl Control {
    /// Takes the addresses. Nobody is answered yet.
    ///
    /// # Errors
    /// [`NotBound`].
    pub(crate) fn bind(addresses: &[Address], settings: &cli::Control) -> Result<Bound, NotBound> {
        let admission = Arc::new(Admission::of(settings)?);
        let mut listeners = Vec::new();
        for address in addresses {
            listeners.push(match address {
                Address::Tcp(addr) => (Listener::tcp(*addr, tls::config(settings)?)?, None),
                Address::Unix(path) => {
                    let (listener, socket) = socket::bind(path, admission.group())?;
                    (Listener::Unix(listener), Some(socket))
                }
            });
        }
        Ok(Bound {
            listeners,
            admission,
        })
    }

    /// Answers nobody any more, after those who have asked. Blocks for a moment at most.
    pub(crate) fn ends(mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        running.ends.come();
        let answers = async { tokio::time::timeout(LAST_WORDS, running.answers).await };
        let _ = running.runtime.block_on(answers);
        running.runtime.shutdown_background();
    }
}

impl Bound {
    /// Answers from here on; `ask` is told when somebody wants the process to end.
    ///
    /// # Errors
    /// What the system says of another thread.
    pub(crate) fn serve(self, reload: &Arc<Reload>, ask: mpsc::Sender<()>) -> io::Result<Control> {
        if self.listeners.is_empty() {
            return Ok(Control {
                running: None,
                _sockets: Vec::new(),
            });
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("control-api")
            .enable_all()
            .build()?;
        let (admitted, incoming) = mpsc::channel(1);
        let mut sockets = Vec::new();
        let guard = runtime.enter();
        for (listener, socket) in self.listeners {
            let accepting = listener.accepts(Arc::clone(&self.admission), admitted.clone())?;
            tokio::spawn(accepting);
            sockets.extend(socket);
        }
        let (ends, end) = end::pair();
        let calls = answer(Arc::clone(reload), self.admission, incoming, (ask, end));
        let answers = tokio::spawn(calls);
        drop(guard);
        Ok(Control {
            running: Some(Running {
                runtime,
                answers,
                ends,
            }),
            _sockets: sockets,
        })
    }
}

async fn answer(
    reload: Arc<Reload>,
    admission: Arc<Admission>,
    incoming: mpsc::Receiver<io::Result<Connection>>,
    (ask, mut end): (mpsc::Sender<()>, End),
) {
    let (health, health_service) = tonic_health::server::health_reporter();
    let watched = watch::start(Arc::clone(&reload), health, end.clone());
    let runtime = calls_runtime::Calls {
        reload: Arc::clone(&reload),
        admission,
        ask,
    };
    let config = calls_config::Calls { reload, watched };
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIBED)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    let served = Server::builder()
        .timeout(CALL)
        .max_concurrent_streams(CALLS)
        .http2_keepalive_interval(Some(SILENCE))
        .add_service(health_service)
        // Old clients and new ones ask for it under two names.
        .add_optional_service(reflection().build_v1().ok())
        .add_optional_service(reflection().build_v1alpha().ok())
        .add_service(GatewayRuntimeServer::new(runtime).max_decoding_message_size(SMALL))
        .add_service(GatewayConfigServer::new(config).max_decoding_message_size(LARGEST))
        .serve_with_incoming_shutdown(ReceiverStream::new(incoming), async move {
            end.comes().await;
        })
        .await;
    if let Err(why) = served {
        tracing::error!(%why, "the interface is gone");
    }
}
