//! From an accepted connection to one that is served: whose it is, whether that client may have one
//! more, and the handshake. Each is done in time, or the connection is closed and counted.
//!
//! Source: GATEWAY §5, §7, §8; adr/0045.

use std::future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use gateway_core::crowd::Member;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::client::{Client, Held};
use crate::counts::Handshake;
use crate::drain::{Drain, Leave};
use crate::gate::proxy_header::{NoHeader, ProxyHeader};
use crate::listening::{Listening, NoPlace, Shaking};
use crate::stream::Conn;
use crate::worker::Worker;
use crate::{clock, connection, handshake};

/// Bytes looked at ahead of a PROXY header's end; the longest without additions has fewer.
const AHEAD: usize = 256;

/// A connection that has just been accepted.
pub(crate) struct Arrival {
    /// The connection.
    pub(crate) stream: TcpStream,
    /// Who connected: the client, or a proxy before it.
    pub(crate) peer: SocketAddr,
    /// Where it came in.
    pub(crate) listening: Arc<Listening>,
    /// Whether it is to end.
    pub(crate) drain: Arc<Drain>,
    /// What it holds.
    pub(crate) held: Held,
}

/// Serves a connection to its end, if it may be.
pub(crate) async fn serve(arrival: Arrival, worker: Arc<Worker>) {
    let Arrival {
        mut stream,
        peer,
        listening,
        drain,
        mut held,
    } = arrival;
    let _ = stream.set_nodelay(true);
    let listener = Arc::clone(&listening.settings());
    let Some(peer) = client_of(&mut stream, peer, &listening, &drain).await else {
        return;
    };
    if !listener.trusted_proxies.contains(peer.ip()) {
        let Some(member) = join(&listening, peer, &worker) else {
            return;
        };
        held.member = Some(member);
    }
    // Before it is known what is shown, so that no change goes by unseen.
    let turned = listening.watch_shown();
    if listening.shown().is_none() {
        let client = Arc::new(Client::new(listening, drain, peer, held));
        let conn = Conn::plain(stream, Arc::clone(&client));
        return connection::serve(Box::new(conn), client, worker).await;
    }
    let own = Arc::new(Drain::new());
    let client = Arc::new(Client::new(listening, Arc::clone(&own), peer, held));
    let Some(conn) = shake_hands(stream, &client, &drain, &worker).await else {
        return;
    };
    let ends = ends_with(Arc::clone(&client), drain, turned, Arc::clone(&worker));
    tokio::select! {
        biased;
        () = ends => {}
        () = connection::serve(Box::new(conn), client, worker) => {}
    }
}

/// Tells an encrypted connection to end: with all those of its post, or alone, when it does not keep to
/// what its name is shown any more. Returns when its time is over and it is no tunnel: it is cut then.
async fn ends_with(
    client: Arc<Client>,
    of_post: Arc<Drain>,
    mut turned: watch::Receiver<()>,
    worker: Arc<Worker>,
) {
    let mut told = of_post.watch();
    loop {
        let ends = client.drain.leave().map(|leave| leave.ends);
        // Neither sender can be gone before us: we hold both.
        tokio::select! {
            _ = told.changed() => {
                if let Some(leave) = of_post.leave() {
                    client.drain.begin(leave);
                }
            }
            _ = turned.changed() => {
                if !client.keeps_to_its_name() {
                    let length = worker.shared.serving.load().snapshot.model().drain;
                    let until = clock::now() + length;
                    client.drain.begin(Leave { idle_until: until, ends: until });
                }
            }
            () = comes(ends), if !client.is_tunnel() => {
                if !client.is_tunnel() {
                    return;
                }
            }
        }
    }
}

/// Waits for a moment; without one, for ever.
async fn comes(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => future::pending().await,
    }
}

/// Whose connection it is: of who connected, or of whom a PROXY header names, where one is required.
async fn client_of(
    stream: &mut TcpStream,
    peer: SocketAddr,
    listening: &Listening,
    drain: &Drain,
) -> Option<SocketAddr> {
    let listener = Arc::clone(&listening.settings());
    let from = listener.proxy_protocol_from.as_ref();
    if !from.is_some_and(|networks| networks.contains(peer.ip())) {
        return Some(peer);
    }
    let mut header = ProxyHeader::default();
    let until = clock::now() + listener.head.timeout;
    let read = match begins(stream, until, drain).await {
        Ok(()) => in_time(read(stream, &mut header), until, drain).await,
        Err(Silent::TooLong) => None,
        Err(Silent::Drained) => Some(Err(Unread::Left)),
    };
    match read {
        Some(Ok(client)) => Some(client.unwrap_or(peer)),
        // Who only looks whether somebody listens leaves without a word.
        Some(Err(Unread::Left)) if header.is_empty() => None,
        Some(Err(Unread::Left | Unread::None)) | None => {
            listening.counts.refused.proxy_header.one();
            None
        }
    }
}

/// Waits for the first byte, or the end.
///
/// # Errors
/// Neither came before `until`, or before who is idle is to leave.
async fn begins(stream: &TcpStream, until: Instant, drain: &Drain) -> Result<(), Silent> {
    let begun = clock::now();
    let mut told = drain.watch();
    let mut first = [0];
    loop {
        told.borrow_and_update();
        let listens = drain.listens_until(begun, until);
        tokio::select! {
            biased;
            _ = stream.peek(&mut first) => return Ok(()),
            _ = told.changed() => {}
            () = tokio::time::sleep_until(listens.into()) => {
                return Err(if listens < until { Silent::Drained } else { Silent::TooLong });
            }
        }
    }
}

/// What comes of something that a client has begun. `None`: it was not done in time, which is `until`
/// or, when connections are to end, a little later than an idle one ends.
async fn in_time<F: Future>(begun: F, until: Instant, drain: &Drain) -> Option<F::Output> {
    let mut begun = pin!(begun);
    let since = clock::now();
    let mut told = drain.watch();
    loop {
        told.borrow_and_update();
        let ends = drain.begins_until(since, until);
        tokio::select! {
            biased;
            came_to = &mut begun => return Some(came_to),
            _ = told.changed() => {}
            () = tokio::time::sleep_until(ends.into()) => return None,
        }
    }
}

async fn read(
    stream: &mut TcpStream,
    header: &mut ProxyHeader,
) -> Result<Option<SocketAddr>, Unread> {
    let mut ahead = [0; AHEAD];
    while !header.is_complete() {
        let seen = stream.peek(&mut ahead).await.map_err(|_| Unread::Left)?;
        if seen == 0 {
            return Err(Unread::Left);
        }
        let taken = header.take(ahead.get(..seen).unwrap_or_default())?;
        let part = ahead.get_mut(..taken).unwrap_or_default();
        // They are there: this does not wait.
        stream.read_exact(part).await.map_err(|_| Unread::Left)?;
    }
    Ok(header.client()?)
}

/// Why nothing is waited for on a connection on which nothing was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silent {
    /// Who is idle is to leave.
    Drained,
    /// It took too long.
    TooLong,
}

/// Why there is no PROXY header.
enum Unread {
    /// Who connected has left, or was to.
    Left,
    /// What came is none.
    None,
}

impl From<NoHeader> for Unread {
    fn from(_: NoHeader) -> Self {
        Unread::None
    }
}

fn join(listening: &Listening, peer: SocketAddr, worker: &Worker) -> Option<Member> {
    let serving = worker.shared.serving.load();
    let most = serving.snapshot.model().limits.connections_per_client;
    let member = listening.crowd.join(peer.ip(), most);
    if member.is_none() {
        listening.counts.refused.client.one();
        listening.cannot_accept("a client has as many connections as one may");
    }
    member
}

/// Does the handshake, in time and, once it has begun, among a bounded number.
async fn shake_hands(
    stream: TcpStream,
    client: &Arc<Client>,
    drain: &Drain,
    worker: &Worker,
) -> Option<Conn> {
    let listening = &client.listening;
    let until = clock::now() + listening.settings().handshake;
    let came_to = match begins(&stream, until, drain).await {
        Ok(()) => {
            let _under_way = take_place(client, worker)?;
            let handshake = Box::pin(handshake::shake_hands(stream, listening));
            in_time(handshake, until, drain).await
        }
        Err(Silent::TooLong) => None,
        // Nobody has begun a handshake that could have come to anything.
        Err(Silent::Drained) => return None,
    };
    let came_to = came_to.unwrap_or(Err(Handshake::Slow));
    let counts = &listening.counts.handshakes;
    counts.count(came_to.as_ref().err().copied().unwrap_or(Handshake::Done));
    let (stream, secured) = came_to.ok()?;
    client.is_secured(secured);
    Some(Conn::tls(stream, Arc::clone(client)))
}

/// A place among the handshakes under way, if the client may have one.
fn take_place(client: &Client, worker: &Worker) -> Option<Shaking> {
    let listening = &client.listening;
    let most = worker
        .shared
        .serving
        .load()
        .snapshot
        .model()
        .limits
        .handshakes;
    let place = listening.begin_handshake(client.peer.ip(), most);
    let (count, why) = match place {
        Ok(place) => return Some(place),
        Err(NoPlace::Client) => (
            &listening.counts.refused.client,
            "a client has as many handshakes under way as one may",
        ),
        Err(NoPlace::Full) => (
            &listening.counts.refused.handshakes,
            "as many handshakes as may be are under way",
        ),
    };
    count.one();
    listening.cannot_accept(why);
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;

    /// What comes of a silent connection that has `patience` and is told to leave after `idle`.
    fn silent(patience: Duration, idle: Option<Duration>) -> Result<(), Silent> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await;
            let (stream, _) = listener.accept().await.unwrap();
            let (now, drain) = (clock::now(), Drain::new());
            if let Some(idle) = idle {
                let idle_until = now + idle;
                let ends = now + Duration::from_secs(60);
                drain.begin(Leave { idle_until, ends });
            }
            begins(&stream, now + patience, &drain).await
        })
    }

    #[test]
    fn who_says_nothing_is_slow_only_where_nobody_else_ends_it() {
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(60));
        assert_eq!(silent(short, None), Err(Silent::TooLong));
        assert_eq!(silent(short, Some(long)), Err(Silent::TooLong));
        assert_eq!(silent(long, Some(short)), Err(Silent::Drained));
    }
}
