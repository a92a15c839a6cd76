//! A worker: one thread, one runtime, one socket for each listener, one Pingora proxy with a pool of
//! connections of its own. Workers share nothing but counters and the snapshot.
//!
//! Source: adr/0014.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use pingora_core::apps::HttpServerOptions;
use pingora_core::protocols::http::v2::server::H2Options;
use pingora_core::server::configuration::ServerConf;
use pingora_proxy::HttpProxy;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use crate::client::{Client, Held};
use crate::connections_out::ConnectionsOut;
use crate::listening::Listening;
use crate::proxy::Door;
use crate::serving::Shared;
use crate::stream::Conn;
use crate::{clock, connection};

/// Idle connections to nodes that a worker keeps.
const KEPT: usize = 512;
/// Most tries of one request, as far as Pingora is concerned: the pool's own number is below it.
const MAX_TRIES: usize = 1024;
/// Streams at once on one HTTP/2 connection.
const STREAMS: u32 = 100;
/// How long connections that are queued already are taken once the process goes down.
const LAST_ACCEPTS: Duration = Duration::from_millis(250);
/// How long accepting rests when descriptors have run out.
const REST: Duration = Duration::from_millis(50);

/// What the connections of one worker share.
pub(crate) struct Worker {
    /// Serves requests.
    pub(crate) proxy: Arc<HttpProxy<Door>>,
    /// What all workers share.
    pub(crate) shared: Arc<Shared>,
    /// Turns true when the process goes down.
    pub(crate) drain: watch::Receiver<bool>,
}

/// Serves on these sockets until the drain has ended or its time is over. Blocks.
///
/// # Errors
/// When the runtime cannot be made.
pub(crate) fn run(
    sockets: Vec<(Arc<Listening>, TcpListener)>,
    shared: Arc<Shared>,
    drain: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let worker = Arc::new(Worker {
            proxy: proxy(&shared),
            shared,
            drain,
        });
        let (alive, mut all_gone) = mpsc::channel::<()>(1);
        for (listening, socket) in sockets {
            let socket = tokio::net::TcpListener::from_std(socket)?;
            tokio::spawn(accept(
                socket,
                listening,
                Arc::clone(&worker),
                alive.clone(),
            ));
        }
        drop(alive);
        let mut drain = worker.drain.clone();
        let _ = drain.wait_for(|drain| *drain).await;
        let length = worker.shared.serving.load().snapshot.model().drain;
        // Ends when the last connection has dropped its sender.
        let _ = tokio::time::timeout(length, all_gone.recv()).await;
        Ok(())
    })
}

fn proxy(shared: &Arc<Shared>) -> Arc<HttpProxy<Door>> {
    let conf = ServerConf {
        threads: 1,
        max_retries: MAX_TRIES,
        upstream_keepalive_pool_size: KEPT,
        // Nobody is trusted but whom a pool names; see `tls`.
        ca_file: Some("/dev/null".to_owned()),
        ..ServerConf::default()
    };
    let door = Door {
        shared: Arc::clone(shared),
        connections: ConnectionsOut::default(),
    };
    let mut proxy = HttpProxy::new(door, Arc::new(conf));
    let idle = shared
        .serving
        .load()
        .snapshot
        .model()
        .listeners
        .iter()
        .map(|one| one.idle)
        .max();
    let mut options = HttpServerOptions::default();
    // Answered by us like any other method.
    options.allow_connect_method_proxying = true;
    options.h2_idle_timeout = idle;
    proxy.server_options = Some(options);
    let mut http2 = H2Options::new();
    http2
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(64 * 1024);
    proxy.h2_options = Some(http2);
    proxy.handle_init_modules();
    Arc::new(proxy)
}

/// Accepts until the process goes down, and then what is queued already.
async fn accept(
    socket: tokio::net::TcpListener,
    listening: Arc<Listening>,
    worker: Arc<Worker>,
    alive: mpsc::Sender<()>,
) {
    let mut drain = worker.drain.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = drain.wait_for(|drain| *drain) => break,
            accepted = worker.shared.descriptors.accept(&socket) => accepted,
        };
        match accepted {
            Ok(accepted) => spawn(accepted, &listening, &worker, &alive),
            Err(error) => {
                listening.cannot_accept(&error.to_string());
                tokio::time::sleep(REST).await;
            }
        }
    }
    // What the kernel has queued is asked of the kernel: the runtime may not know of it yet.
    let Ok(socket) = socket.into_std() else {
        return;
    };
    let last = clock::now() + LAST_ACCEPTS;
    while clock::now() < last {
        let Ok((stream, peer)) = socket.accept() else {
            return;
        };
        let stream = stream
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = stream {
            spawn((stream, peer), &listening, &worker, &alive);
        }
    }
}

fn spawn(
    (stream, peer): (TcpStream, SocketAddr),
    listening: &Arc<Listening>,
    worker: &Arc<Worker>,
    alive: &mpsc::Sender<()>,
) {
    let most = worker
        .shared
        .serving
        .load()
        .snapshot
        .model()
        .limits
        .connections;
    let Some(counted) = listening.connect(most) else {
        return listening.cannot_accept("as many connections as may be are open");
    };
    let held = Held {
        _counted: counted,
        _descriptor: worker.shared.descriptors.hold(),
        _alive: alive.clone(),
    };
    let client = Arc::new(Client::new(Arc::clone(listening), peer, held));
    tokio::spawn(start(stream, client, Arc::clone(worker)));
}

/// Does the handshake, if there is one, in time and among a bounded number; then serves.
async fn start(stream: TcpStream, client: Arc<Client>, worker: Arc<Worker>) {
    let _ = stream.set_nodelay(true);
    let listening = &client.listening;
    let conn = match listening.tls.load_full() {
        None => Conn::plain(stream, Arc::clone(&client)),
        Some(config) => {
            let most = worker
                .shared
                .serving
                .load()
                .snapshot
                .model()
                .limits
                .handshakes;
            let Some(_under_way) = listening.begin_handshake(most) else {
                return listening.cannot_accept("as many handshakes as may be are under way");
            };
            let handshake = Box::pin(tokio_rustls::TlsAcceptor::from(config).accept(stream));
            match tokio::time::timeout(listening.listener.handshake, handshake).await {
                Ok(Ok(stream)) => Conn::tls(stream, Arc::clone(&client)),
                Ok(Err(_)) | Err(_) => return,
            }
        }
    };
    connection::serve(Box::new(conn), client, worker).await;
}
