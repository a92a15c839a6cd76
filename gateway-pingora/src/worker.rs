//! A worker: one thread, one runtime, one Pingora proxy with a pool of connections to nodes of its
//! own. Workers share nothing but counters and the snapshot.
//!
//! Which listeners it serves is told to it while it runs: it outlives generations, and so do its
//! connections on both sides. What it does for one listener is `post`'s.
//!
//! Source: adr/0014, adr/0035.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pingora_core::apps::HttpServerOptions;
use pingora_core::server::configuration::ServerConf;
use pingora_proxy::HttpProxy;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connections_out::ConnectionsOut;
use crate::post::{self, Post};
use crate::proxy::Door;
use crate::serving::Shared;

/// Idle connections to nodes that a worker keeps.
const KEPT: usize = 512;
/// Most tries of one request, as far as Pingora is concerned: the pool's own number is below it.
const MAX_TRIES: usize = 1024;
/// How long connections that are closed already may take to be gone, once nothing else is left: a
/// client may still have to read its last answer.
const LAST_LINGER: Duration = Duration::from_secs(5);

/// What the connections of one worker share.
pub(crate) struct Worker {
    /// Serves requests.
    pub(crate) proxy: Arc<HttpProxy<Door>>,
    /// What all workers share.
    pub(crate) shared: Arc<Shared>,
    /// Held by each connection until its socket is closed.
    pub(crate) alive: mpsc::Sender<()>,
}

/// Serves the posts it is given, until no more can come and the last has ended. Blocks.
///
/// # Errors
/// When the runtime cannot be made.
pub(crate) fn run(posts: mpsc::UnboundedReceiver<Post>, shared: Arc<Shared>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(posts, shared));
    Ok(())
}

async fn serve(mut posts: mpsc::UnboundedReceiver<Post>, shared: Arc<Shared>) {
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    let worker = Arc::new(Worker {
        proxy: proxy(&shared),
        shared,
        alive,
    });
    let mut held = JoinSet::new();
    loop {
        tokio::select! {
            post = posts.recv() => match post {
                Some(post) => { held.spawn(post::hold(post, Arc::clone(&worker))); }
                None => break,
            },
            Some(_) = held.join_next() => {}
        }
    }
    while held.join_next().await.is_some() {}
    drop(worker);
    let _ = tokio::time::timeout(LAST_LINGER, all_gone.recv()).await;
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
    let mut options = HttpServerOptions::default();
    // Answered by us like any other method.
    options.allow_connect_method_proxying = true;
    proxy.server_options = Some(options);
    proxy.handle_init_modules();
    Arc::new(proxy)
}
