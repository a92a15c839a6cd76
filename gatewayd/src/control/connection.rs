//! Connections of admitted peers: accepted, their handshake done, and what they are read from.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::NotBound;
use super::admission::{Admission, Peer};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long to wait after the system could not accept.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening socket of the interface.
pub(super) enum Listener {
    /// Over TCP, with mutual TLS.
    Tcp(std::net::TcpListener, Arc<ServerConfig>),
    /// On a Unix socket.
    Unix(std::os::unix::net::UnixListener),
}

/// A connection of an admitted peer.
pub(super) struct Connection {
    stream: Stream,
    peer: Peer,
    _place: OwnedSemaphorePermit,
}

enum Stream {
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

type Admitted = mpsc::Sender<io::Result<Connection>>;

impl Listener {
    /// Listens on a TCP address.
    ///
    /// # Errors
    /// [`NotBound::Address`].
    pub(super) fn tcp(addr: SocketAddr, config: Arc<ServerConfig>) -> Result<Self, NotBound> {
        let bound = std::net::TcpListener::bind(addr).and_then(|bound| {
            bound.set_nonblocking(true)?;
            tracing::info!(addr = %bound.local_addr()?, "control");
            Ok(bound)
        });
        match bound {
            Ok(bound) => Ok(Self::Tcp(bound, config)),
            Err(why) => Err(NotBound::Address {
                address: format!("tcp:{addr}"),
                why: why.to_string(),
            }),
        }
    }

    /// Accepts as long as there is somebody to hand admitted peers to.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub(super) fn accepts(
        self,
        admission: Arc<Admission>,
        admitted: Admitted,
    ) -> io::Result<Pin<Box<dyn Future<Output = ()> + Send>>> {
        Ok(match self {
            Self::Tcp(listener, config) => {
                let listener = TcpListener::from_std(listener)?;
                Box::pin(accept_tcp(listener, config.into(), admission, admitted))
            }
            Self::Unix(listener) => {
                let listener = UnixListener::from_std(listener)?;
                Box::pin(accept_unix(listener, admission, admitted))
            }
        })
    }
}

async fn accept_unix(listener: UnixListener, admission: Arc<Admission>, admitted: Admitted) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let peer = stream.peer_cred().map_err(|why| why.to_string());
        let peer = peer.and_then(|peer| admission.user(&peer));
        let peer = match peer {
            Ok(peer) => peer,
            Err(why) => {
                admission.refuse(&"unix", &why);
                continue;
            }
        };
        let Some(place) = admission.place_on_unix() else {
            admission.refuse(&peer, "too many connections");
            continue;
        };
        let stream = Stream::Unix(stream);
        let connection = Connection {
            stream,
            peer,
            _place: place,
        };
        if admitted.send(Ok(connection)).await.is_err() {
            return;
        }
    }
}

async fn accept_tcp(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    admission: Arc<Admission>,
    admitted: Admitted,
) {
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Some(place) = admission.place_on_tcp() else {
            admission.refuse(&from, "too many connections");
            continue;
        };
        let (acceptor, admission, admitted) =
            (acceptor.clone(), Arc::clone(&admission), admitted.clone());
        tokio::spawn(async move {
            let (stream, peer) = match greet(stream, from, &acceptor, &admission).await {
                Ok(greeted) => greeted,
                Err(why) => return admission.refuse(&from, &why),
            };
            let stream = Stream::Tls(Box::new(stream));
            let connection = Connection {
                stream,
                peer,
                _place: place,
            };
            // Nobody is left to answer it when the process ends.
            let _ = admitted.send(Ok(connection)).await;
        });
    }
}

async fn greet(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: &TlsAcceptor,
    admission: &Admission,
) -> Result<(TlsStream<TcpStream>, Peer), String> {
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    let greeted = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
    let stream = greeted
        .map_err(|_| "no handshake in time".to_owned())?
        .map_err(|why| why.to_string())?;
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(<[_]>::first);
    let peer = match shown {
        Some(certificate) => admission.named(certificate, from)?,
        None => return Err("it showed no certificate".to_owned()),
    };
    Ok((stream, peer))
}

impl Connected for Connection {
    /// Whom a call comes from.
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, into),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
