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
use crate::source::{Origin, Sources};

mod needs;

macro_rules! capabilities {
    ($($name:ident = $what:literal $(, $cure:literal)?;)*) => {
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

            /// What to write to do without it, where that is more than to leave the setting out.
            fn cure(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => [$($cure)?].first().copied(),)*
                }
            }
        }
    };
}

capabilities! {
    Admin = "the operators' listener";
    AllowFrom = "letting in certain networks only";
    Answers = "answers without a node", "send the route to a `pool`, or leave it out";
    BackupNodes = "nodes that are asked only when no other may be";
    Balancing = "choosing nodes otherwise than by the fewest requests in flight";
    BufferedBodies = "reading a body whole before a node is chosen", "pass the body on: `body = { stream = \"1 GiB\" }`";
    CertificateByName = "certificates and rules of a handshake by the name asked for";
    ClientAddress = "reading a client's address from fields of trusted proxies";
    Compression = "compressing answers";
    Conditions = "conditions on header fields, cookies and the client's network";
    ConnectionsPerClient = "a bound on the connections of one client that is not the usual one";
    DefaultSites = "sites that take the names nobody has beside names of their own";
    Ejection = "ejection by counts of its own, or for a time of its own";
    ErrorPages = "files instead of the sentences of failures";
    FieldEdits = "changes to header fields";
    Files = "files of a directory", "send the route to a `pool`, or leave it out";
    H2c = "HTTP/2 with clients, by prior knowledge";
    Hsts = "`Strict-Transport-Security`";
    Http2 = "HTTP/2 with clients", "offer HTTP/1.1 alone: `alpn = [\"http/1.1\"]`";
    Http2Bounds = "bounds on HTTP/2 connections that are not the usual ones";
    Http2Only = "HTTP/2 without HTTP/1.1", "offer `http/1.1` too";
    Http2ToNodes = "HTTP/2 to nodes";
    HttpProbes = "probes that ask for any HTTP answer, or for a connection", "write `probe = { kind = \"ready\" }`";
    InFlightBounds = "bounds on requests in flight on a pool, or one node of it";
    ListenerInFlight = "a bound on the requests in flight on a listener";
    LogChoice = "the combined format, masked query values and levels of the log";
    NameServers = "name servers other than the system's";
    NamedHostsOnly = "listeners without a site for names that nobody has", "leave `hosts` out of one site of each listener";
    NodeHost = "a `Host` for nodes that the pool chooses";
    NodeTls = "TLS to nodes";
    NodeTlsNames = "names in nodes' certificates other than the nodes' own";
    ProxyProtocol = "PROXY headers of clients";
    RateLimits = "bounds on the requests of one client";
    Redirects = "redirects of a route", "send the route to a `pool`, or leave it out";
    RetryChoice = "retries by other rules than the usual ones";
    RouteTimeouts = "times of a route that are not its pool's, or bound the whole exchange";
    SeveralListeners = "several addresses of a listener, or several listeners of a site", "keep one of them";
    SiteRedirects = "redirects from one name of a site to another, and to HTTPS";
    SlowStart = "a full share only some time after a return";
    SocketOptions = "options of listening sockets that are not the usual ones";
    StreamedBodies = "passing a body on as it comes", "read the body whole: `body = { buffer = \"1 MiB\" }`";
    SystemRoots = "trust in whom the system trusts", "say whom to trust: `tls = { ca = \"…\" }`";
    Tls = "TLS with clients";
    TlsChoice = "several certificates, versions, suites and resumption of a TLS profile";
    TunnelIdle = "times of tunnels that are not the usual ones";
    Unprobed = "pools whose nodes are not probed", "write `probe = { kind = \"ready\" }`";
    Upgrades = "tunnels after a 101";
    Weights = "weights of nodes";
    WildcardHosts = "hosts with a wildcard", "name every host";
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
    /// The path as it is written in a file; an entry of a list by its number.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.path)
    }
}

fn shown(path: &[String]) -> String {
    let mut text = path.first().cloned().unwrap_or_default();
    let is_of_pool = text == "pools";
    for (index, part) in path.iter().enumerate().skip(1) {
        text.push_str(&match index {
            3 if is_of_pool && path.get(2).is_some_and(|list| list == "nodes") => {
                format!("[{part}]")
            }
            _ => format!(".{part}"),
        });
    }
    text
}

/// Everything that a model asks of an engine, setting by setting.
#[must_use]
pub fn needs(model: &Model) -> Vec<Need> {
    needs::of(model)
}

/// What of a setting an engine does not execute, for pages and editors; `None`: it executes all.
#[must_use]
pub fn unserved_of(path: &str, served: &[Capability]) -> Option<String> {
    let rows = needs::rows();
    let missing = rows
        .iter()
        .filter(|(setting, capability)| *setting == path && !served.contains(capability));
    let what: Vec<&str> = missing.map(|(_, capability)| capability.what()).collect();
    (!what.is_empty()).then(|| format!("Not served yet: {}.", what.join("; ")))
}

/// A finding for each setting that asks for something that is not among what an engine executes.
///
/// Places are those of the files the configuration was read from, as far as the setting is in them.
#[must_use]
pub fn unserved(loaded: &Loaded, served: &[Capability], sources: &Sources) -> Vec<Diagnostic> {
    let missing = missing(loaded.snapshot.model(), served);
    if missing.is_empty() {
        return Vec::new();
    }
    let origins = Origins::read(&loaded.origin, sources);
    let told = missing.iter().map(|need| told(need, &origins));
    let mut found: Vec<Diagnostic> = told.collect();
    Diagnostic::sort(&mut found);
    found
}

/// The same of a model that is refused: of what was written only, since what it is by default may
/// have been meant otherwise.
pub(crate) fn unserved_as_written(
    model: &Model,
    served: &[Capability],
    (origin, sources): (&Origin, &Sources),
) -> Vec<Diagnostic> {
    let missing = missing(model, served);
    if missing.is_empty() {
        return Vec::new();
    }
    let origins = Origins::read(origin, sources);
    let written = missing
        .iter()
        .filter(|need| origins.place(&need.path).is_some());
    written.map(|need| told(need, &origins)).collect()
}

/// What a model needs and an engine does not execute, each once, by its path.
fn missing(model: &Model, served: &[Capability]) -> Vec<Need> {
    let mut missing: Vec<Need> = needs(model)
        .into_iter()
        .filter(|need| !served.contains(&need.capability))
        .collect();
    missing.sort_by(|a, b| a.path.cmp(&b.path));
    missing.dedup_by(|a, b| a.path == b.path);
    missing
}

/// The finding about a need that is not met. Where the setting was not written, what it stands in is
/// named, and that it is missing there.
fn told(need: &Need, origins: &Origins) -> Diagnostic {
    let is_written = |length: &usize| {
        need.path
            .get(..*length)
            .is_some_and(|path| origins.place(path).is_some())
    };
    let whole = need.path.len();
    let written = (1..=whole).rev().find(is_written).unwrap_or(whole);
    let (table, rest) = need.path.split_at_checked(written).unwrap_or_default();
    let (what, usual) = match need.path.last() {
        Some(key) if rest.is_empty() => {
            (format!("`{}`", need.shown()), format!("leave `{key}` out"))
        }
        _ => (
            format!("`{}` without `{}`", shown(table), shown(rest)),
            format!(
                "write `{}`; what it is by default is not executed",
                shown(rest)
            ),
        ),
    };
    let title = format!("{what} is not executed by this data plane");
    let found = Diagnostic::error(codes::NOT_SERVED, title);
    let found = match origins.place(table) {
        Some(place) => found.at(place, format!("asks for {}", need.capability.what())),
        None => found,
    };
    found.help(need.capability.cure().map_or(usual, str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_source;

    /// What is told of a text by an engine that does nothing: title, what stands at its place, cure.
    fn refused(text: &str) -> Vec<String> {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let loaded = load_source(id, &mut sources).unwrap();
        let one = |one: &Diagnostic| {
            let label = one.labels.first().unwrap();
            let at = &sources.text(id)[label.place.span.clone()];
            format!("{} @{at}@ {}", one.title, one.cured_by().unwrap())
        };
        let found = unserved(&loaded, &[], &sources);
        found.iter().map(one).collect()
    }

    #[test]
    fn a_setting_that_is_told_was_written_or_is_said_to_be_missing() {
        let text = "[listeners.web]\nbind = \"127.0.0.1:80\"\n\
                    [sites.shop]\nlistener = \"web\"\nhosts = [\"shop.example\"]\npool = \"p\"\n\
                    [pools.p]\nnodes = [\"10.0.0.1:80\", { addr = \"10.0.0.2:80\", weight = 2 }]\n";
        let found = refused(text);
        for told in [
            "`sites.shop.hosts` is not executed by this data plane @hosts@ leave `hosts` out of one site of each listener",
            "`pools.p` without `probe` is not executed by this data plane @p@ write `probe = { kind = \"ready\" }`",
            "`pools.p.nodes[1].weight` is not executed by this data plane @weight@ leave `weight` out",
        ] {
            assert!(found.iter().any(|one| one == told), "{told}\n{found:#?}");
        }
    }

    #[test]
    fn what_is_not_executed_is_told_with_whatever_else_refuses() {
        let mut sources = Sources::default();
        let text = "[listeners.web]\nbind = \"127.0.0.1:80\"\n\
                    [sites.shop]\nlistener = \"web\"\nhosts = [\"shop.example\"]\npool = \"q\"\n\
                    [pools.p]\nnodes = [\"10.0.0.1:80\"]\n";
        let id = sources.add("gateway.toml", text.to_owned());
        let found = crate::load_sources_for(&[id], &[], &mut sources).unwrap_err();
        let codes: Vec<String> = found.iter().map(|one| one.code.to_string()).collect();
        // What a pool without a probe asks for has not been written.
        assert_eq!(codes, ["G0317", "G0104"], "{found:#?}");
        // What was taken out was not written either.
        let text = "[listeners.web]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"web\"\n\
                    pool = \"p\"\n[pools.p]\nnodes = [\"10.0.0.1:80\"]\nprobe = [1]\n";
        let id = sources.add("wrong.toml", text.to_owned());
        let found = crate::load_sources_for(&[id], &[], &mut sources).unwrap_err();
        assert!(
            !found.iter().any(|one| one.title.contains("probe` is not")),
            "{found:#?}"
        );
    }

    #[test]
    fn what_is_not_served_of_a_setting_can_be_told_without_a_configuration() {
        let of = |path: &str| unserved_of(path, &[]);
        assert_eq!(
            of("sites.*.hsts").unwrap(),
            "Not served yet: `Strict-Transport-Security`."
        );
        assert!(of("sites.*.routes.*.redirect").is_some());
        assert!(of("pools.*.probe").unwrap().contains("; "));
        assert_eq!(of("sites.*.segments"), None);
        assert_eq!(unserved_of("sites.*.hsts", &[Capability::Hsts]), None);
        // Whatever a configuration can be refused for is among them.
        let mut sources = Sources::default();
        let text = include_str!("../../tests/config/furnished.toml");
        let id = sources.add("gateway.toml", text.to_owned());
        let loaded = load_source(id, &mut sources).unwrap();
        let asked = needs(loaded.snapshot.model());
        let all: Vec<Capability> = needs::rows().iter().map(|(_, one)| *one).collect();
        assert!(asked.iter().all(|need| all.contains(&need.capability)));
    }

    #[test]
    fn whatever_is_told_has_a_place_and_a_cure() {
        for text in [
            include_str!("../../tests/config/edge.toml"),
            include_str!("../../tests/config/furnished.toml"),
        ] {
            let found = refused(text);
            assert!(found.len() > 5);
            for one in found {
                assert!(!one.ends_with(' ') && !one.contains("@@"), "{one}");
            }
        }
    }

    #[test]
    fn each_setting_that_is_not_executed_is_told_at_its_place() {
        let mut sources = Sources::default();
        let text = include_str!("../../tests/config/furnished.toml");
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
            .filter(|one| !matches!(one, Capability::Http2Only | Capability::WildcardHosts))
            .collect();
        assert_eq!(
            told(&some),
            [
                "gateway.toml:24:1: error[G0317]: `tls.api.alpn` is not executed by this data plane",
                "gateway.toml:32:1: error[G0317]: `sites.shop.hosts` is not executed by this data plane",
            ]
        );
    }
}
