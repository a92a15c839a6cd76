//! One handshake, as a client of its own making begins it, and what came of it.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, StreamOwned,
    SupportedProtocolVersion,
};

use crate::certs::{Identity, Trust};
use crate::client::Conversation;

/// How long a handshake may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a client says first. Its sessions are its own: two handshakes of one hello may share one.
pub struct Hello {
    config: Arc<ClientConfig>,
    name: String,
}

/// A handshake that has ended well.
pub struct Shaken {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

impl Hello {
    /// Asks for this name, with all that is usual.
    #[must_use]
    pub fn to(name: &str, trust: &Trust) -> Self {
        Self::speaking(name, trust, rustls::ALL_VERSIONS, |_| true)
    }

    /// The same with these versions, and the suites whose names fit.
    #[must_use]
    pub fn speaking(
        name: &str,
        trust: &Trust,
        versions: &[&'static SupportedProtocolVersion],
        suite: impl Fn(&str) -> bool,
    ) -> Self {
        let mut provider = ring::default_provider();
        provider
            .cipher_suites
            .retain(|one| one.suite().as_str().is_some_and(&suite));
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .expect("a suite of each version")
            .with_root_certificates(trust.roots())
            .with_no_client_auth();
        config.resumption = Resumption::in_memory_sessions(8);
        Self {
            config: Arc::new(config),
            name: name.to_owned(),
        }
    }

    /// The same, offering these protocols by ALPN.
    #[must_use]
    pub fn offering(self, protocols: &[&str]) -> Self {
        let bytes = |one: &&str| one.as_bytes().to_vec();
        self.with(|config| config.alpn_protocols = protocols.iter().map(bytes).collect())
    }

    /// The same without saying for which name.
    #[must_use]
    pub fn without_a_name(self) -> Self {
        self.with(|config| config.enable_sni = false)
    }

    fn with(mut self, change: impl FnOnce(&mut ClientConfig)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// Does the handshake.
    ///
    /// # Errors
    /// What it came to instead, in the library's words.
    pub fn shakes(&self, addr: SocketAddr) -> io::Result<Shaken> {
        self.shakes_over(TcpStream::connect(addr)?, || {})
    }

    /// Does the handshake on this connection, and something else in the middle of the hello.
    ///
    /// # Errors
    /// What it came to instead, in the library's words.
    pub fn shakes_over(
        &self,
        mut socket: TcpStream,
        meanwhile: impl FnOnce(),
    ) -> io::Result<Shaken> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = Trust::name(&self.name);
        let mut conn =
            ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        let mut hello = Vec::new();
        conn.write_tls(&mut hello)?;
        let (begin, rest) = hello.split_at(hello.len() / 2);
        socket.write_all(begin)?;
        meanwhile();
        socket.write_all(rest)?;
        while conn.is_handshaking() {
            conn.complete_io(&mut socket)?;
        }
        Ok(Shaken {
            stream: StreamOwned::new(conn, socket),
        })
    }

    /// The first bytes of the handshake, with another name of the same length in them.
    #[must_use]
    pub fn bytes_for(&self, name: &str) -> Vec<u8> {
        assert_eq!(name.len(), self.name.len(), "only the name may differ");
        let config = Arc::clone(&self.config);
        let mut conn = ClientConnection::new(config, Trust::name(&self.name)).expect("a client");
        let mut bytes = Vec::new();
        let _ = conn.write_tls(&mut bytes).expect("a hello in memory");
        let own = self.name.as_bytes();
        let at = bytes.windows(own.len()).position(|part| part == own);
        let at = at.expect("the name in the hello");
        bytes.splice(at..at + own.len(), name.bytes());
        bytes
    }

    /// Why the handshake fails.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    #[must_use]
    pub fn fails(&self, addr: SocketAddr) -> String {
        match self.shakes(addr) {
            Ok(_) => panic!("the handshake for {} came to its end", self.name),
            Err(why) => why.to_string(),
        }
    }
}

impl Shaken {
    /// Whether this certificate was shown, now or when the session began.
    #[must_use]
    pub fn shows(&self, identity: &Identity) -> bool {
        let shown = self.stream.conn.peer_certificates();
        shown.and_then(<[_]>::first) == Some(identity.certificate())
    }

    /// Whether an earlier session went on.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.stream.conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The version agreed on.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.stream.conn.protocol_version()
    }

    /// The name of the suite agreed on.
    #[must_use]
    pub fn suite(&self) -> Option<&'static str> {
        let suite = self.stream.conn.negotiated_cipher_suite();
        suite.and_then(|suite| suite.suite().as_str())
    }

    /// The protocol agreed on.
    #[must_use]
    pub fn protocol(&self) -> Option<&str> {
        let name = self.stream.conn.alpn_protocol();
        name.and_then(|name| std::str::from_utf8(name).ok())
    }

    /// Goes on as a connection of HTTP/1.
    #[must_use]
    pub fn converses(self) -> Conversation {
        Conversation::over_tls(self.stream)
    }

    /// Ends the connection in order, with what the server sent after the handshake read: its tickets.
    pub fn ends(mut self) {
        let request = b"GET /end HTTP/1.1\r\nHost: end\r\nConnection: close\r\n\r\n";
        let _ = self.stream.write_all(request);
        let _ = io::copy(&mut self.stream, &mut io::sink());
    }
}
