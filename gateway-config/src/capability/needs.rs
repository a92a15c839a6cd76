//! The one place that says which setting needs which capability.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use super::Capability::{
    self, Admin, AllowFrom, Answers, BackupNodes, Balancing, BufferedBodies, CertificateByName,
    ClientAddress, Conditions, ConnectionsPerClient, DefaultSites, Ejection, ErrorPages,
    FieldEdits, H2c, Http2, Http2Bounds, Http2Only, Http2ToNodes, HttpProbes, InFlightBounds,
    ListenerInFlight, LogChoice, NameServers, NamedHostsOnly, NodeTlsNames, ProxyProtocol,
    RateLimits, Redirects, RetryChoice, RouteTimeouts, SeveralListeners, SiteRedirects, SlowStart,
    SocketOptions, StreamedBodies, SystemRoots, TlsChoice, TunnelIdle, Unprobed, Upgrades, Weights,
    WildcardHosts,
};
use super::Need;
use crate::model::{
    Action, Balance, Body, Listener, LogFormat, LogLevel, Model, Name, Node, NodeTls, Pattern,
    Pool, ProbeKind, RetryOn, Route, RouteRetry, Site, Tls, TlsName, Www,
};
use crate::settings::{self as s, Setting};

/// Everything that a model asks of an engine.
pub(super) fn of(model: &Model) -> Vec<Need> {
    let mut asked = Needs::default();
    asked.all_of(model);
    asked.all.sort();
    asked.all.dedup();
    asked.all
}

/// Every setting that may need something, with what that may be.
pub(super) fn rows() -> BTreeSet<(&'static str, Capability)> {
    let mut asked = Needs::default();
    let name = || Name::from("");
    let mut model = Model::new();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    model.listeners.push(Listener::new(name(), address));
    let mut site = Site::new(name(), name());
    site.tls = Some(Arc::new(Tls::new(name(), "".into(), "".into())));
    let all = Pattern::Prefix("/".into());
    site.routes.push(Route::new(name(), all, name()));
    model.sites.push(site);
    let node = Node::new(name(), "".into());
    model.pools.push(Pool::new(name(), vec![node]));
    asked.all_of(&model);
    asked.rows
}

#[derive(Default)]
struct Needs {
    all: Vec<Need>,
    /// What was asked about, whether it is needed or not.
    rows: BTreeSet<(&'static str, Capability)>,
}

impl Needs {
    fn all_of(&mut self, model: &Model) {
        self.process(model, &Model::new());
        for one in &model.listeners {
            self.listener(one);
            let takes_any =
                |site: &Site| site.is_default && site.listeners().any(|name| *name == one.name);
            let is_open = one.redirect_to_https || model.sites.iter().any(takes_any);
            let is_here = |site: &&Site| site.listeners().any(|name| *name == one.name);
            match model.sites.iter().find(is_here) {
                Some(site) => self.need(!is_open, NamedHostsOnly, &s::SITE_HOSTS, &[&site.name]),
                None => self.need(!is_open, NamedHostsOnly, &s::LISTENER_BIND, &[&one.name]),
            }
            if let Some(tls) = &one.tls {
                self.tls(tls);
            }
        }
        for one in &model.sites {
            self.site(one);
        }
        for one in &model.pools {
            self.pool(one);
        }
    }

    /// Adds a capability when it is needed; the names stand for the `*` of the setting's path.
    fn need(&mut self, is_needed: bool, capability: Capability, setting: &Setting, names: &[&str]) {
        self.rows.insert((setting.path, capability));
        if !is_needed {
            return;
        }
        let mut names = names.iter();
        let part = |part: &str| match part {
            "*" => names
                .next()
                .map_or_else(String::new, |name| (*name).to_owned()),
            key => key.to_owned(),
        };
        let path = setting
            .path
            .split('.')
            .map(part)
            .take_while(|part| !part.is_empty());
        let need = Need {
            capability,
            path: path.collect(),
        };
        self.all.push(need);
    }

    /// Adds those capabilities that are needed.
    fn each(&mut self, names: &[&str], all: &[(bool, Capability, &Setting)]) {
        for (is_needed, capability, setting) in all {
            self.need(*is_needed, *capability, setting, names);
        }
    }

    fn process(&mut self, model: &Model, usual: &Model) {
        let (logs, limits) = (&model.logs, &model.limits);
        let per_client = limits.connections_per_client != usual.limits.connections_per_client;
        self.each(
            &[],
            &[
                (logs.format != LogFormat::Json, LogChoice, &s::LOG_FORMAT),
                (!logs.redact.is_empty(), LogChoice, &s::LOG_REDACT),
                (logs.level != LogLevel::Info, LogChoice, &s::LOG_LEVEL),
                (model.admin.is_some(), Admin, &s::ADMIN),
                (
                    !model.resolver.is_empty(),
                    NameServers,
                    &s::RESOLVER_SERVERS,
                ),
                (per_client, ConnectionsPerClient, &s::LIMIT_PER_CLIENT),
            ],
        );
    }

    fn listener(&mut self, one: &Listener) {
        let usual = Listener::new(one.name.clone(), one.bind);
        let several = !one.also_bind.is_empty();
        let trusts = !one.trusted_proxies.is_empty();
        let proxied = one.proxy_protocol_from.is_some();
        let other_http2 = one.http2_limits != usual.http2_limits;
        let other_tunnel = one.tunnel_idle != usual.tunnel_idle;
        let other_port = one.reuse_port != usual.reuse_port;
        self.each(
            &[&one.name],
            &[
                (several, SeveralListeners, &s::LISTENER_BIND),
                (one.tls.is_some(), Capability::Tls, &s::LISTENER_TLS),
                (one.strict_sni, CertificateByName, &s::LISTENER_STRICT_SNI),
                (one.http2, Http2, &s::LISTENER_ALPN),
                (!one.http1, Http2Only, &s::LISTENER_ALPN),
                (one.h2c, H2c, &s::LISTENER_H2C),
                (one.redirect_to_https, SiteRedirects, &s::LISTENER_REDIRECT),
                (trusts, ClientAddress, &s::LISTENER_TRUSTED),
                (
                    one.client_ip_header.is_some(),
                    ClientAddress,
                    &s::LISTENER_CLIENT_IP,
                ),
                (proxied, ProxyProtocol, &s::LISTENER_PROXY_FROM),
                (
                    one.in_flight.is_some(),
                    ListenerInFlight,
                    &s::LISTENER_IN_FLIGHT,
                ),
                (other_http2, Http2Bounds, &s::LISTENER_HTTP2),
                (other_tunnel, TunnelIdle, &s::LISTENER_TUNNEL_IDLE),
                (other_port, SocketOptions, &s::LISTENER_REUSE_PORT),
                (
                    one.v6only != usual.v6only,
                    SocketOptions,
                    &s::LISTENER_V6ONLY,
                ),
                (
                    one.backlog != usual.backlog,
                    SocketOptions,
                    &s::LISTENER_BACKLOG,
                ),
            ],
        );
    }

    fn tls(&mut self, one: &Tls) {
        let is_http2_only = one.alpn.is_some_and(|offered| !offered.http1);
        self.each(
            &[&one.name],
            &[
                (!one.also.is_empty(), TlsChoice, &s::TLS_ALSO),
                (!one.tls12, TlsChoice, &s::TLS_MIN),
                (!one.tls13, TlsChoice, &s::TLS_MAX),
                (one.suites.is_some(), TlsChoice, &s::TLS_SUITES),
                (one.alpn.is_some(), TlsChoice, &s::TLS_ALPN),
                (is_http2_only, Http2Only, &s::TLS_ALPN),
                (!one.resumption, TlsChoice, &s::TLS_RESUMPTION),
            ],
        );
    }

    fn site(&mut self, one: &Site) {
        let wild = one.hosts.iter().any(|host| host.starts_with("*."));
        let both = one.is_default && !one.hosts.is_empty();
        let pages = !one.error_pages.is_empty();
        self.each(
            &[&one.name],
            &[
                (!one.also_on.is_empty(), SeveralListeners, &s::SITE_LISTENER),
                (wild, WildcardHosts, &s::SITE_HOSTS),
                (both, DefaultSites, &s::SITE_DEFAULT),
                (!one.aliases.is_empty(), SiteRedirects, &s::SITE_ALIASES),
                (one.www != Www::Keep, SiteRedirects, &s::SITE_WWW),
                (one.https, SiteRedirects, &s::SITE_HTTPS),
                (one.hsts.is_some(), Capability::Hsts, &s::SITE_HSTS),
                (one.tls.is_some(), CertificateByName, &s::SITE_TLS),
                (one.allow_from.is_some(), AllowFrom, &s::SITE_ALLOW_FROM),
                (pages, ErrorPages, &s::SITE_ERROR_PAGES),
                (
                    !one.request_edits.is_empty(),
                    FieldEdits,
                    &s::SITE_REQUEST_EDITS,
                ),
                (
                    !one.response_edits.is_empty(),
                    FieldEdits,
                    &s::SITE_RESPONSE_EDITS,
                ),
                (
                    one.compression.is_some(),
                    Capability::Compression,
                    &s::SITE_COMPRESSION,
                ),
                (one.rate.is_some(), RateLimits, &s::SITE_RATE),
            ],
        );
        if let Some(tls) = &one.tls {
            self.tls(tls);
        }
        for route in &one.routes {
            self.route(&one.name, route);
        }
    }

    fn route(&mut self, site: &str, one: &Route) {
        let is_pool = one.action == Action::Pool;
        let is_whole = matches!(one.body, Body::Buffer(_));
        let is_answer = matches!(one.action, Action::Answer(_));
        let is_files = matches!(one.action, Action::Files(_));
        let is_elsewhere = matches!(one.action, Action::Redirect(_));
        let other_retry = one.retry != RouteRetry::default();
        self.each(
            &[site, &one.name],
            &[
                (is_answer, Answers, &s::ROUTE_ANSWER),
                (is_files, Capability::Files, &s::ROUTE_FILES),
                (is_elsewhere, Redirects, &s::ROUTE_REDIRECT),
                (is_pool && is_whole, BufferedBodies, &s::BODY_BUFFER),
                (is_pool && !is_whole, StreamedBodies, &s::BODY_STREAM),
                (!one.when.headers.is_empty(), Conditions, &s::WHEN_HEADERS),
                (!one.when.cookies.is_empty(), Conditions, &s::WHEN_COOKIES),
                (one.when.client.is_some(), Conditions, &s::WHEN_CLIENT),
                (one.answer_gap.is_some(), RouteTimeouts, &s::ROUTE_IDLE),
                (one.total.is_some(), RouteTimeouts, &s::ROUTE_TOTAL),
                (other_retry, RetryChoice, &s::ROUTE_RETRY),
                (one.upgrade, Upgrades, &s::ROUTE_UPGRADE),
                (one.rate.is_some(), RateLimits, &s::ROUTE_RATE),
            ],
        );
    }

    fn pool(&mut self, one: &Pool) {
        let name: &[&str] = &[&one.name];
        let usual = Pool::new(one.name.clone(), Vec::new());
        let on = RetryOn {
            busy: one.retry_busy,
            ..RetryOn::default()
        };
        let slow = one.slow_start != usual.slow_start;
        let bounded = one.in_flight_total.is_some();
        self.each(
            name,
            &[
                (
                    one.balance != Balance::LeastInFlight,
                    Balancing,
                    &s::POOL_BALANCE,
                ),
                (one.tls != NodeTls::Clear, Capability::NodeTls, &s::POOL_TLS),
                (one.tls == NodeTls::System, SystemRoots, &s::POOL_TLS),
                (
                    one.tls_name != TlsName::Node,
                    NodeTlsNames,
                    &s::POOL_TLS_NAME,
                ),
                (one.http2, Http2ToNodes, &s::POOL_HTTP2),
                (one.host.is_some(), Capability::NodeHost, &s::POOL_HOST),
                (bounded, InFlightBounds, &s::POOL_IN_FLIGHT_TOTAL),
                (one.retry_on != on, RetryChoice, &s::POOL_RETRY_ON),
                (
                    one.retry_budget.is_some(),
                    RetryChoice,
                    &s::POOL_RETRY_BUDGET,
                ),
                (slow, SlowStart, &s::POOL_SLOW_START),
            ],
        );
        for (index, node) in one.nodes.iter().enumerate() {
            let bounded = node.in_flight.is_some();
            self.each(
                &[&one.name, &index.to_string()],
                &[
                    (node.weight != 1, Weights, &s::NODE_WEIGHT),
                    (node.backup, BackupNodes, &s::NODE_BACKUP),
                    (bounded, InFlightBounds, &s::NODE_IN_FLIGHT),
                    (node.tls_name.is_some(), NodeTlsNames, &s::NODE_TLS_NAME),
                ],
            );
        }
        self.watching(name, one, &usual);
    }

    /// How the nodes of a pool are probed and ejected.
    fn watching(&mut self, name: &[&str], one: &Pool, usual: &Pool) {
        let (asks, is_none) = match one.probe.kind {
            ProbeKind::Http(_) | ProbeKind::Tcp => (true, false),
            ProbeKind::None => (false, true),
            ProbeKind::Ready => (false, false),
        };
        let jitter = !is_none && one.probe.jitter != usual.probe.jitter;
        let times = |pool: &Pool| (pool.health.backoff_min, pool.health.backoff_max);
        let counts = one.health.failures != one.health.fall;
        self.each(
            name,
            &[
                (asks, HttpProbes, &s::POOL_PROBE),
                (is_none, Unprobed, &s::POOL_PROBE),
                (jitter, HttpProbes, &s::PROBE_JITTER),
                (counts, Ejection, &s::EJECTION_FAILURES),
                (times(one) != times(usual), Ejection, &s::EJECTION_BACKOFF),
            ],
        );
    }
}
