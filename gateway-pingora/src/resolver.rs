//! Asks what a name means: the hosts file first, then the name servers of the configuration or of the
//! system.
//!
//! The only one here who speaks DNS. When a name is asked again, and who hears of it, is
//! [`names`](crate::names)'s. Keeps no answer. The system's two files are read anew when they change.
//!
//! Source: RFC 1034, RFC 1035; adr/0052.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use hickory_resolver::{TokioResolver, system_conf};

/// What a change of the system's is noticed by.
const FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];
/// Longest wait for one answer of one name server.
const ONE_ANSWER: Duration = Duration::from_secs(2);
/// Longest wait for what a name means, however many are asked.
const WHOLE: Duration = Duration::from_secs(8);

/// Knows whom to ask.
pub(crate) struct Resolver(Mutex<State>);

struct State {
    servers: Vec<SocketAddr>,
    made: Option<Made>,
}

/// Made of the files as they were then.
struct Made {
    resolver: TokioResolver,
    files: [Option<SystemTime>; FILES.len()],
}

/// What a name means, for how long; or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// No name server could be asked, or none gave an answer.
    Failed(String),
    /// These addresses, at least one.
    Found(Vec<IpAddr>, Duration),
    /// There is no address of that name.
    Nothing,
}

impl Resolver {
    /// Asks these name servers; those of the system when there are none.
    pub(crate) fn new(servers: &[SocketAddr]) -> Self {
        Resolver(Mutex::new(State {
            servers: servers.to_vec(),
            made: None,
        }))
    }

    /// From here on these are asked.
    pub(crate) fn turn_to(&self, servers: &[SocketAddr]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.servers != servers {
            state.servers = servers.to_vec();
            state.made = None;
        }
    }

    /// Asks what a name means. Waits for 8 s at most.
    ///
    /// Cancel-safe: an answer that is not waited for is forgotten.
    pub(crate) async fn ask(&self, name: &str) -> Answer {
        let resolver = match self.current() {
            Ok(resolver) => resolver,
            Err(error) => return Answer::Failed(error.to_string()),
        };
        // Names with an underscore are no host names, and in use.
        let Ok(asked) = Name::from_str_relaxed(name) else {
            return Answer::Nothing;
        };
        match tokio::time::timeout(WHOLE, resolver.lookup_ip(asked)).await {
            Err(_) => Answer::Failed("no answer in time".to_owned()),
            Ok(Err(error)) if error.is_no_records_found() => Answer::Nothing,
            Ok(Err(error)) => Answer::Failed(error.to_string()),
            Ok(Ok(found)) => {
                let ttls = found.as_lookup().answers().iter().map(|one| one.ttl);
                let ttl = ttls.min().unwrap_or(0);
                match found.iter().collect::<Vec<_>>() {
                    none if none.is_empty() => Answer::Nothing,
                    found => Answer::Found(found, Duration::from_secs(ttl.into())),
                }
            }
        }
    }

    fn current(&self) -> Result<TokioResolver, NetError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = FILES.map(|path| fs::metadata(path).and_then(|file| file.modified()).ok());
        if let Some(made) = state.made.as_ref().filter(|made| made.files == files) {
            return Ok(made.resolver.clone());
        }
        let resolver = make(&state.servers)?;
        state.made = Some(Made {
            resolver: resolver.clone(),
            files,
        });
        Ok(resolver)
    }
}

fn make(servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let (config, mut options) = match servers {
        // resolv.conf(5): without the file, the name server of this machine is asked.
        [] => system_conf::read_system_conf().unwrap_or_else(|_| {
            let own = NameServerConfig::udp_and_tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
            let config = ResolverConfig::from_name_servers(vec![own]);
            (config, ResolverOpts::default())
        }),
        servers => {
            let servers = servers.iter().copied().map(server).collect();
            let config = ResolverConfig::from_name_servers(servers);
            (config, ResolverOpts::default())
        }
    };
    options.timeout = options.timeout.min(ONE_ANSWER);
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // An answer is kept by who asked, for as long as it holds.
    options.cache_size = 0;
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    *builder.options_mut() = options;
    builder.build()
}

fn server(at: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(at.ip());
    let on_port = |mut one: ConnectionConfig| {
        one.port = at.port();
        one
    };
    server.connections = server.connections.into_iter().map(on_port).collect();
    server
}
