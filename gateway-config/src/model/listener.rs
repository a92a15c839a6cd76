//! Where clients come in: addresses, TLS and the bounds of what is taken.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Name;
use crate::networks::Networks;
use crate::settings as s;

/// An address that accepts connections, with its TLS and the limits of what comes in.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Its name.
    pub name: Name,
    /// The address bound; the first of several.
    pub bind: SocketAddr,
    /// Further addresses bound.
    pub also_bind: Vec<SocketAddr>,
    /// The profile shown where no site has one for the name asked for; `None` is clear text.
    pub tls: Option<Tls>,
    /// Whether a handshake is refused that asks for a name of no site, or for none. Only on a TLS
    /// listener.
    pub strict_sni: bool,
    /// Whether HTTP/1.1 is offered by ALPN; always on a clear listener.
    pub http1: bool,
    /// Whether HTTP/2 is offered by ALPN. Only on a TLS listener.
    pub http2: bool,
    /// Whether HTTP/2 is taken by prior knowledge. Only on a clear listener.
    pub h2c: bool,
    /// Whether every request is sent on to HTTPS.
    pub redirect_to_https: bool,
    /// Whose forwarding fields are believed; empty: nobody's.
    pub trusted_proxies: Networks,
    /// The field that holds the client's address, lower case; used only for trusted proxies.
    pub client_ip_header: Option<Arc<str>>,
    /// From where a PROXY header is required; it is refused from elsewhere. `None`: from nowhere.
    pub proxy_protocol_from: Option<Networks>,
    /// Requests in flight at once; `None`: not bounded.
    pub in_flight: Option<InFlight>,
    /// Bounds on a request head.
    pub head: HeadLimits,
    /// Bounds on an HTTP/2 connection.
    pub http2_limits: Http2Limits,
    /// How long an idle connection is kept, HTTP/2 included.
    pub idle: Duration,
    /// Longest silence inside a request body.
    pub body_gap: Duration,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// Longest time in which a client takes no byte of an answer.
    pub write_gap: Duration,
    /// How long a tunnel may be silent in both directions.
    pub tunnel_idle: Duration,
    /// Least average rate, in bytes per second over 30 s, at which a client sends or takes a body.
    pub min_rate: u32,
    /// Whether other processes may listen on the same address.
    pub reuse_port: bool,
    /// Whether an IPv6 address takes IPv6 connections only.
    pub v6only: bool,
    /// Connections the system may hold until they are accepted.
    pub backlog: u32,
}

/// A bound on requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Most at once.
    pub max: u32,
    /// The status of the answer when there are more; 400 to 599.
    pub when_full: u16,
}

/// Bounds on a request head. RFC 9110 §2.3 leaves them to the implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadLimits {
    /// Bytes of the request line without its CRLF; over it 414.
    pub line: u32,
    /// Bytes of all field lines together, CRLFs included; over it 431.
    pub fields: u32,
    /// Number of field lines; over it 431.
    pub count: u16,
    /// From the first byte to the end of the head; over it 408.
    pub timeout: Duration,
}

/// Bounds on one HTTP/2 connection; over them GOAWAY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Limits {
    /// Streams open at once.
    pub streams: u32,
    /// Streams reset by the client in 10 s.
    pub resets: u32,
    /// Pings in 10 s.
    pub pings: u32,
    /// SETTINGS frames in 10 s.
    pub settings: u32,
    /// Empty DATA frames in a row.
    pub empty_data: u32,
}

/// A TLS profile: a certificate chain with its private key, and the rules of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Name of the profile.
    pub name: Name,
    /// PEM file with the chain, leaf first.
    pub chain: PathBuf,
    /// PEM file with the private key, readable by its owner only.
    pub key: PathBuf,
    /// Further certificates for the same names.
    pub also: Vec<PairFiles>,
    /// Whether TLS 1.2 is spoken.
    pub tls12: bool,
    /// Whether TLS 1.3 is spoken; at least one of the two is.
    pub tls13: bool,
    /// IANA names of the suites that may be agreed on, sorted; `None`: all there are.
    pub suites: Option<Vec<&'static str>>,
    /// The protocols offered for names of the profile; `None`: the listener's.
    pub alpn: Option<Protocols>,
    /// Whether sessions may be resumed.
    pub resumption: bool,
}

/// The files of a certificate chain and its private key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairFiles {
    /// PEM file with the chain, leaf first.
    pub chain: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
}

/// Protocols offered by ALPN; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    /// HTTP/1.1.
    pub http1: bool,
    /// HTTP/2, which is preferred.
    pub http2: bool,
}

impl Listener {
    /// A clear listener with every default.
    #[must_use]
    pub fn new(name: Name, bind: SocketAddr) -> Self {
        Self {
            name,
            bind,
            also_bind: Vec::new(),
            tls: None,
            strict_sni: s::LISTENER_STRICT_SNI.is_on(),
            http1: true,
            http2: false,
            h2c: s::LISTENER_H2C.is_on(),
            redirect_to_https: false,
            trusted_proxies: Networks::default(),
            client_ip_header: None,
            proxy_protocol_from: None,
            in_flight: None,
            head: HeadLimits {
                line: s::HEAD_LINE.number(),
                fields: s::HEAD_FIELDS.number(),
                count: s::HEAD_COUNT.number(),
                timeout: s::HEAD_TIMEOUT.time(),
            },
            http2_limits: Http2Limits {
                streams: s::HTTP2_STREAMS.number(),
                resets: s::HTTP2_RESETS.number(),
                pings: s::HTTP2_PINGS.number(),
                settings: s::HTTP2_SETTINGS.number(),
                empty_data: s::HTTP2_EMPTY_DATA.number(),
            },
            idle: s::LISTENER_IDLE.time(),
            body_gap: s::LISTENER_BODY_GAP.time(),
            handshake: s::LISTENER_HANDSHAKE.time(),
            write_gap: s::LISTENER_WRITE_GAP.time(),
            tunnel_idle: s::LISTENER_TUNNEL_IDLE.time(),
            min_rate: s::LISTENER_MIN_RATE.number(),
            reuse_port: s::LISTENER_REUSE_PORT.is_on(),
            v6only: s::LISTENER_V6ONLY.is_on(),
            backlog: s::LISTENER_BACKLOG.number(),
        }
    }

    /// Every address bound.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        std::iter::once(self.bind).chain(self.also_bind.iter().copied())
    }
}

impl Tls {
    /// A profile with every default.
    #[must_use]
    pub fn new(name: Name, chain: PathBuf, key: PathBuf) -> Self {
        Self {
            name,
            chain,
            key,
            also: Vec::new(),
            tls12: true,
            tls13: true,
            suites: None,
            alpn: None,
            resumption: s::TLS_RESUMPTION.is_on(),
        }
    }

    /// Every certificate of the profile, in its order.
    pub fn certificates(&self) -> impl Iterator<Item = PairFiles> {
        let own = PairFiles {
            chain: self.chain.clone(),
            key: self.key.clone(),
        };
        std::iter::once(own).chain(self.also.iter().cloned())
    }
}
