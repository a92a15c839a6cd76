//! What an engine has to be able to do for a model, and where the model asks for it.
//!
//! Derived from the content alone, so that a front door and the same settings written out need the
//! same things. An engine says what it executes; everything else is refused, a finding for each
//! setting that asks for it, with the same words from `check` and at the start.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::Model;
use crate::origins::Origins;
use crate::snapshot::Loaded;
use crate::source::Sources;

mod needs;

macro_rules! capabilities {
    ($($name:ident = $what:literal;)*) => {
        /// Something an engine has to be able to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Capability {
            $(#[doc = $what] $name,)*
        }

        impl Capability {
            /// What it is, in a few words.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }
        }
    };
}

capabilities! {
    Admin = "the operators' listener";
    AllowFrom = "letting in certain networks only";
    Answers = "answers without a node";
    BackupNodes = "nodes that are asked only when no other may be";
    Balancing = "choosing nodes otherwise than by the fewest requests in flight";
    BufferedBodies = "reading a body whole before a node is chosen";
    CertificateByName = "certificates and rules of a handshake by the name asked for";
    ClientAddress = "reading a client's address from fields of trusted proxies";
    Compression = "compressing answers";
    Conditions = "conditions on header fields, cookies and the client's network";
    ConnectionsPerClient = "a bound on the connections of one client that is not the usual one";
    DefaultSites = "sites that take the names nobody has beside names of their own";
    Ejection = "ejection by counts of its own, or for a time of its own";
    ErrorPages = "files instead of the sentences of failures";
    FieldEdits = "changes to header fields";
    Files = "files of a directory";
    H2c = "HTTP/2 with clients, by prior knowledge";
    Hsts = "`Strict-Transport-Security`";
    Http2 = "HTTP/2 with clients";
    Http2Bounds = "bounds on HTTP/2 connections that are not the usual ones";
    Http2Only = "HTTP/2 without HTTP/1.1";
    Http2ToNodes = "HTTP/2 to nodes";
    HttpProbes = "probes that ask for any HTTP answer, or for a connection";
    InFlightBounds = "bounds on requests in flight on a listener, a pool, or one node of it";
    LogChoice = "the combined format, masked query values and levels of the log";
    NamedHostsOnly = "listeners without a site for names that nobody has";
    NodeHost = "a `Host` for nodes that the pool chooses";
    NodeTls = "TLS to nodes";
    NodeTlsNames = "names in nodes' certificates other than the nodes' own";
    ProxyProtocol = "PROXY headers of clients";
    RateLimits = "bounds on the requests of one client";
    Redirects = "redirects of a route";
    RetryChoice = "retries by other rules than the usual ones";
    RouteTimeouts = "times of a route that are not its pool's, or bound the whole exchange";
    SeveralListeners = "several addresses of a listener, or several listeners of a site";
    SiteRedirects = "redirects from one name of a site to another, and to HTTPS";
    SlowStart = "a full share only some time after a return";
    SocketOptions = "options of listening sockets that are not the usual ones";
    StreamedBodies = "passing a body on as it comes";
    SystemRoots = "trust in whom the system trusts";
    Tls = "TLS with clients";
    TlsChoice = "several certificates, versions, suites and resumption of a TLS profile";
    TunnelIdle = "times of tunnels that are not the usual ones";
    Unprobed = "pools whose nodes are not probed";
    Upgrades = "tunnels after a 101";
    Weights = "weights of nodes";
    WildcardHosts = "hosts with a wildcard";
}

/// A capability, and the setting that asks for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// What has to be done.
    pub capability: Capability,
    /// The setting, with the names of its tables: `sites.shop.hsts`.
    pub path: Vec<String>,
}

impl Need {
    /// The path as it is written in a file.
    #[must_use]
    pub fn shown(&self) -> String {
        self.path.join(".")
    }
}

/// Everything that a model asks of an engine, setting by setting.
#[must_use]
pub fn needs(model: &Model) -> Vec<Need> {
    needs::of(model)
}

/// A finding for each setting that asks for something that is not among what an engine executes.
///
/// Places are those of the files the configuration was read from, as far as the setting is in them.
#[must_use]
pub fn unserved(loaded: &Loaded, served: &[Capability], sources: &Sources) -> Vec<Diagnostic> {
    let mut missing: Vec<Need> = needs(loaded.snapshot.model())
        .into_iter()
        .filter(|need| !served.contains(&need.capability))
        .collect();
    missing.sort_by(|a, b| a.path.cmp(&b.path));
    missing.dedup_by(|a, b| a.path == b.path);
    if missing.is_empty() {
        return Vec::new();
    }
    let origins = Origins::read(&loaded.origin, sources);
    let mut found: Vec<Diagnostic> = missing
        .iter()
        .map(|need| {
            let title = format!("`{}` is not executed by this data plane", need.shown());
            let found = Diagnostic::error(codes::NOT_SERVED, title);
            match origins.nearest(&need.path) {
                Some(place) => found.at(place, format!("asks for {}", need.capability.what())),
                None => found,
            }
        })
        .collect();
    Diagnostic::sort(&mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_source;

    #[test]
    fn each_setting_that_is_not_executed_is_told_at_its_place() {
        let mut sources = Sources::default();
        let text = include_str!("../../tests/config/unserved.toml");
        let id = sources.add("gateway.toml", text.to_owned());
        let loaded = load_source(id, &mut sources).unwrap();
        let told = |served: &[Capability]| -> Vec<String> {
            let found = unserved(&loaded, served, &sources);
            let lines = found.iter().map(|one| one.first_line(&sources).to_string());
            lines.collect()
        };
        let all: Vec<Capability> = needs(loaded.snapshot.model())
            .iter()
            .map(|need| need.capability)
            .collect();
        assert!(told(&all).is_empty());
        let some: Vec<Capability> = all
            .into_iter()
            .filter(|one| *one != Capability::Hsts)
            .collect();
        assert_eq!(
            told(&some),
            [
                "gateway.toml:8:1: error[G0317]: `sites.shop.hsts` is not executed by this data plane"
            ]
        );
    }
}
