//! What is written is read again as the same, for models of every kind.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::to_toml;
use crate::check::routes;
use crate::load_source;
use crate::model::{
    AccessLog, Action, Admin, Answer, Balance, Body, Compression, Condition, Edits, ErrorPage,
    FailureStyle, Files, ForwardPath, ForwardedFor, HashBy, HostSent, Hsts, HttpProbe, InFlight,
    Listener, LogFormat, LogLevel, Model, Node, NodeHost, NodeTls, PairFiles, Pattern, Pool,
    ProbeKind, Protocols, Rate, Redirect, RefusedKey, RetryOn, Rewrite, Route, RouteRetry,
    Segments, Site, Tls, TlsName, When, Www,
};
use crate::networks::{self, NetworkSet, Networks};
use crate::snapshot::Snapshot;
use crate::source::Sources;
use crate::spelling::Spelling;
use crate::template::Template;

/// Choices out of a list of numbers that proptest makes, and makes smaller.
struct Choices {
    all: Vec<u32>,
    next: usize,
}

impl Choices {
    fn number(&mut self, least: u32, most: u32) -> u32 {
        let drawn = self.all[self.next % self.all.len()];
        self.next += 1;
        least + drawn % (most - least + 1)
    }

    fn flag(&mut self) -> bool {
        self.number(0, 1) == 1
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        let last = u32::try_from(all.len() - 1).unwrap();
        all[self.number(0, last) as usize].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn time(&mut self, least: u32) -> Duration {
        let unit = self.of(&[1, 1_000, 60_000]);
        Duration::from_millis(u64::from(self.number(least, least + 50) * unit))
    }

    /// Some of these, in their order.
    fn some<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let kept = all.iter().filter(|_| self.flag());
        kept.cloned().collect()
    }

    fn at_least_one<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let some = self.some(all);
        if some.is_empty() {
            vec![self.of(all)]
        } else {
            some
        }
    }

    fn texts(&mut self, all: &[&str]) -> Vec<Arc<str>> {
        self.at_least_one(all).into_iter().map(Into::into).collect()
    }

    fn networks(&mut self) -> Networks {
        let all = [
            "10.0.0.0/8",
            "192.0.2.7",
            "2001:db8::/32",
            "0.0.0.0/0",
            "10.1.0.0/16",
        ];
        let read = |text: &&str| networks::read(text).unwrap();
        let named = |at: usize| {
            let held = all.iter().skip(at).map(read).collect();
            Arc::new(NetworkSet::new(&format!("set-{at}"), held))
        };
        let sets: Vec<_> = self.some(&[0, 1, 2]).into_iter().map(named).collect();
        let own = match sets.is_empty() {
            true => self.at_least_one(&all),
            false => self.some(&all),
        };
        Networks::with(own.iter().map(read).collect(), sets)
    }

    fn rate(&mut self) -> Rate {
        Rate {
            requests: self.number(1, 100),
            per: self.time(100),
            burst: self.number(1, 100),
        }
    }

    fn conditions(&mut self, names: &[&str]) -> Vec<Condition> {
        let names = self.some(names);
        let condition = |name: &str| Condition {
            name: name.into(),
            value: self.maybe(|c| c.of(&["", "1", "a \"b\" \\c"]).into()),
        };
        names.into_iter().map(condition).collect()
    }
}

fn model(c: &mut Choices) -> Model {
    let mut model = Model::new();
    let profiles: Vec<Tls> = ["a", "b.c"].map(|name| profile(c, name)).into();
    for at in 0..c.number(1, 3) {
        model.listeners.push(listener(c, at, &profiles));
    }
    for at in 0..c.number(1, 3) {
        model.pools.push(pool(c, at));
    }
    for at in 0..c.number(0, 3) {
        let site = site(c, at, &model, &profiles);
        model.sites.push(site);
    }
    let is_tls = |name: &Arc<str>| {
        let mut all = model.listeners.iter();
        all.any(|one| one.name == *name && one.tls.is_some())
    };
    // Nobody is sent to where nothing is.
    if !model.sites.iter().flat_map(Site::listeners).any(is_tls) {
        for one in &mut model.listeners {
            one.redirect_to_https = false;
        }
    }
    // Where no name is known, names are not asked for.
    for one in &mut model.listeners {
        let is_here = |site: &&Site| site.listeners().any(|name| *name == one.name);
        one.strict_sni &= model
            .sites
            .iter()
            .filter(is_here)
            .any(|site| !site.hosts.is_empty());
    }
    model.limits.body_memory = u64::from(c.number(1 << 20, 1 << 30));
    model.limits.certificate_poll = Duration::from_millis(c.number(1_000, 9_999).into());
    model.limits.connections = c.number(1, 9_999);
    model.limits.connections_per_client = c.number(1, 9_999);
    model.limits.handshakes = c.number(1, 9_999);
    let servers = ["127.0.0.1:53", "[::1]:5353"].map(|one| one.parse().unwrap());
    model.resolver = c.maybe(|_| servers.to_vec()).unwrap_or_default();
    model.workers = c.maybe(|c| c.number(1, 256) as u16);
    model.drain = c.time(0);
    model.access_log = c.of(&[
        AccessLog::Off,
        AccessLog::Stdout,
        AccessLog::File("/log é".into()),
    ]);
    model.logs.format = c.of(&[LogFormat::Combined, LogFormat::Json]);
    model.logs.redact = c.maybe(|c| c.texts(&["code", "token"])).unwrap_or_default();
    model.logs.level = c.of(&[
        LogLevel::Debug,
        LogLevel::Error,
        LogLevel::Info,
        LogLevel::Trace,
        LogLevel::Warn,
    ]);
    model.admin = c.maybe(|c| Admin {
        bind: "127.0.0.1:9999".parse().unwrap(),
        allow_from: c.maybe(Choices::networks),
    });
    model
}

fn profile(c: &mut Choices, name: &str) -> Tls {
    let pem = |what: &str| format!("/etc/{name}.{what}").into();
    let (tls12, tls13) = c.of(&[(true, true), (true, false), (false, true)]);
    Tls {
        also: c
            .maybe(|_| PairFiles {
                chain: pem("rsa"),
                key: pem("rsa-key"),
            })
            .into_iter()
            .collect(),
        tls12,
        tls13,
        suites: c
            .maybe(|c| c.at_least_one(&["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"]))
            .filter(|_| tls13),
        alpn: c.maybe(protocols),
        resumption: c.flag(),
        ..Tls::new(name.into(), pem("chain"), pem("key"))
    }
}

fn protocols(c: &mut Choices) -> Protocols {
    let (http1, http2) = c.of(&[(true, true), (true, false), (false, true)]);
    Protocols { http1, http2 }
}

fn listener(c: &mut Choices, at: u32, profiles: &[Tls]) -> Listener {
    let host = c.of(&["127.0.0.1", "[::]", "0.0.0.0"]);
    let bind = format!("{host}:{}", 1_000 + at).parse().unwrap();
    let mut one = Listener::new(format!("l{at}").into(), bind);
    one.also_bind = c
        .maybe(|_| format!("10.0.0.1:{}", 2_000 + at).parse().unwrap())
        .into_iter()
        .collect();
    one.tls = c.maybe(|c| c.of(profiles));
    match one.tls {
        Some(_) => {
            let offered = protocols(c);
            (one.http1, one.http2) = (offered.http1, offered.http2);
            one.strict_sni = c.flag();
        }
        None => (one.h2c, one.redirect_to_https) = (c.flag(), c.flag()),
    }
    if c.flag() {
        one.trusted_proxies = c.networks();
        one.client_ip_header = c.maybe(|c| c.of(&["forwarded", "x-real-ip"]).into());
    }
    one.proxy_protocol_from = c.maybe(Choices::networks);
    one.in_flight = c.maybe(|c| InFlight {
        max: c.number(1, 99),
        when_full: c.number(400, 599) as u16,
    });
    one.head.line = c.number(256, 99_999);
    one.head.fields = c.number(256, 99_999);
    one.head.count = c.number(1, 1_000) as u16;
    one.head.timeout = c.time(1);
    one.http2_limits.streams = c.number(1, 999);
    one.http2_limits.empty_data = c.number(1, 999);
    one.idle = c.time(1);
    one.body_gap = c.time(1);
    one.handshake = c.time(1);
    one.write_gap = c.time(1);
    one.tunnel_idle = c.time(1);
    one.min_rate = c.number(0, 9_999);
    one.reuse_port = c.flag();
    one.v6only = c.flag();
    one.backlog = c.number(1, 65_535);
    one
}

fn pool(c: &mut Choices, at: u32) -> Pool {
    let nodes = (0..c.number(1, 3)).map(|node| {
        let addr = format!(
            "{}:{}",
            c.of(&["10.0.0.1", "[::1]", "node_a.example"]),
            80 + node
        );
        let mut one = Node::new(format!("n{node}").into(), addr.into());
        one.weight = c.number(1, 1_000) as u16;
        one.backup = c.flag();
        one.in_flight = c.maybe(|c| c.number(1, 9));
        one.shards = c.maybe(|_| "0..64".into());
        one.replica = c.maybe(|_| "n0".into());
        one
    });
    let nodes = nodes.collect();
    let mut one = Pool::new(format!("p{at}").into(), nodes);
    one.balance = c.of(&[
        Balance::Hash(HashBy::Client),
        Balance::Hash(HashBy::Cookie("Sid".into())),
        Balance::Hash(HashBy::Header("x-user".into())),
        Balance::Hash(HashBy::Uri),
        Balance::LeastInFlight,
        Balance::Random,
        Balance::RoundRobin,
    ]);
    one.tcp_timeout = c.time(1);
    one.connect_timeout = one.tcp_timeout;
    one.tls = c.of(&[
        NodeTls::Clear,
        NodeTls::System,
        NodeTls::Unverified,
        NodeTls::Verified("/ca.pem".into()),
    ]);
    if one.tls != NodeTls::Clear {
        one.connect_timeout += c.time(0).min(Duration::from_secs(60));
        one.tls_name = c.of(&[
            TlsName::Address,
            TlsName::Literal("db.example".into()),
            TlsName::Node,
        ]);
        one.nodes[0].tls_name = c.maybe(|_| "one.example".into());
    }
    one.http2 = c.flag();
    one.host = c.of(&[
        None,
        Some(NodeHost::Client),
        Some(NodeHost::Literal("db.example:80".into())),
        Some(NodeHost::Node),
    ]);
    one.in_flight = c.number(1, 999);
    one.in_flight_total = c.maybe(|c| c.number(1, 999));
    one.queue_wait = c.time(0);
    one.queue = c.number(0, 999);
    one.answer_gap = c.time(1);
    one.keep_idle = c.time(0);
    one.keep_requests = c.number(1, 999);
    one.retries = c.number(0, 100);
    one.retry_on = retry_on(c);
    one.retry_busy = one.retry_on.busy;
    one.retry_budget = c.maybe(|c| c.number(0, 100) as u8);
    one.probe.kind = c.of(&[
        ProbeKind::None,
        ProbeKind::Ready,
        ProbeKind::Tcp,
        ProbeKind::Http(Box::new(HttpProbe {
            path: "/healthz?a=b".into(),
            method: "HEAD".into(),
            host: Some("[::1]:80".into()),
            expect: vec![200, 301],
        })),
    ]);
    one.probe.every = c.time(50);
    one.probe.timeout = c.time(50);
    one.probe.jitter = c.number(0, 50) as u8;
    one.health.fall = c.number(1, 255) as u8;
    one.health.rise = c.number(1, 255) as u8;
    one.health.failures = c.number(1, 255) as u8;
    one.health.floor = c.time(0);
    one.health.keep_last = c.flag();
    one.health.count_traffic = c.flag();
    one.health.backoff_min = c.time(1);
    one.health.backoff_max = one.health.backoff_min + c.time(0);
    if !matches!(one.balance, Balance::Hash(_)) {
        one.slow_start = c.time(0);
    }
    one
}

fn retry_on(c: &mut Choices) -> RetryOn {
    let unsent = c.flag();
    let connect = unsent || c.flag();
    RetryOn {
        connect,
        unsent,
        repeatable: c.flag() || !connect,
        busy: c.flag(),
    }
}

fn site(c: &mut Choices, at: u32, model: &Model, profiles: &[Tls]) -> Site {
    let names: Vec<Arc<str>> = model.listeners.iter().map(|one| one.name.clone()).collect();
    let mut listeners = c.at_least_one(&names).into_iter();
    let mut one = Site::new(format!("s{at}").into(), listeners.next().unwrap());
    one.also_on = listeners.collect();
    // Names of its own, so that no two sites take the same.
    one.hosts = vec![
        format!("*.s{at}.example").into(),
        format!("s{at}.example").into(),
    ];
    one.is_default = false;
    if at == 0 {
        one.is_default = true;
        one.hosts = c.maybe(|_| one.hosts.clone()).unwrap_or_default();
    }
    if !one.hosts.is_empty() && c.flag() {
        one.aliases = vec![format!("alias{at}.example").into()];
        one.primary = Some(format!("s{at}.example").into());
    }
    one.www = c.of(&[Www::Add, Www::Keep, Www::Remove]);
    let is_tls = |name: &Arc<str>| {
        model
            .listeners
            .iter()
            .any(|listener| listener.name == *name && listener.tls.is_some())
    };
    one.https = one.listeners().any(is_tls) && c.flag();
    one.hsts = c.maybe(|c| Hsts {
        max_age: c.time(0),
        subdomains: c.flag(),
        preload: c.flag(),
    });
    let own = c.maybe(|c| Arc::new(c.of(profiles)));
    one.tls = own.filter(|_| one.listeners().any(is_tls));
    one.allow_from = c.maybe(Choices::networks);
    one.segments = c.of(&[Segments::Decoded, Segments::Normalised]);
    one.merge_slashes = one.segments == Segments::Decoded || c.flag();
    one.failures = c.of(&[FailureStyle::Json, FailureStyle::Text]);
    one.error_pages = c
        .maybe(|_| ErrorPage {
            status: 404,
            file: "/404 \"x\".html".into(),
        })
        .into_iter()
        .collect();
    one.endpoints = c.maybe(|c| c.of(&model.pools).name);
    one.forwarded_for = c.of(&[ForwardedFor::Append, ForwardedFor::Replace]);
    one.request_fields = c.maybe(|c| {
        c.some(&["accept", "cookie"])
            .into_iter()
            .map(Into::into)
            .collect()
    });
    one.response_fields = c.maybe(|c| {
        c.some(&["etag", "vary"])
            .into_iter()
            .map(Into::into)
            .collect()
    });
    one.request_edits = edits(c);
    one.response_edits = edits(c);
    one.compression = c.maybe(|c| Compression {
        codings: c.of(&[vec!["br"], vec!["zstd", "gzip"], vec!["gzip", "br"]]),
        min_size: u64::from(c.number(0, 9_999)),
    });
    one.rate = c.maybe(Choices::rate);
    one.host = c.of(&[HostSent::Client, HostSent::Node]);
    for number in 0..c.number(1, 5) {
        let route = route(c, number, one.segments, model);
        one.routes.push(route);
    }
    routes::sort(&mut one.routes);
    one
}

fn edits(c: &mut Choices) -> Edits {
    Edits {
        set: c
            .some(&[("x-a", "b"), ("x.b", "\"q\" \\")])
            .iter()
            .map(|(a, b)| ((*a).into(), (*b).into()))
            .collect(),
        remove: c
            .some(&["server", "x-c"])
            .into_iter()
            .map(Into::into)
            .collect(),
    }
}

fn route(c: &mut Choices, at: u32, segments: Segments, model: &Model) -> Route {
    let of_segments = [
        Pattern::Prefix("/a/".into()),
        Pattern::Prefix("/".into()),
        Pattern::Template(Template::parse("/a b/{x}/é").unwrap()),
    ];
    let of_paths = [
        Pattern::Exact("/a/b".into()),
        Pattern::Glob("/a/**/*.{png,jpg}".into()),
        Pattern::Regex(r#"/(?<x>[a-z]+)/["\\d]+"#.into()),
    ];
    let pattern = match segments == Segments::Normalised && c.flag() {
        true => c.of(&of_paths),
        false => c.of(&of_segments),
    };
    let can_capture = matches!(pattern, Pattern::Regex(_) | Pattern::Template(_));
    let spelling = |text: &str| Spelling::parse(text).unwrap();
    let mut one = Route::new(format!("r{at}").into(), pattern, c.of(&model.pools).name);
    one.priority = c.number(0, 1_000) as u16;
    one.methods = c
        .some(&["GET", "POST"])
        .into_iter()
        .map(Into::into)
        .collect();
    one.when = When {
        headers: c.conditions(&["x-a", "x.b"]),
        query: c.conditions(&["page", "q"]),
        cookies: c.conditions(&["Beta", "a"]),
        client: c.maybe(Choices::networks),
    };
    one.query = c.maybe(|c| c.some(&["b", "a"]).into_iter().map(Into::into).collect());
    one.refuse_query = c
        .maybe(|_| RefusedKey {
            key: "x.y".into(),
            because: "no \"é\"".into(),
        })
        .into_iter()
        .collect();
    let bytes = u64::from(c.number(0, 99_999));
    one.body = c.of(&[Body::Buffer(bytes), Body::Stream(bytes)]);
    one.rate = c.maybe(Choices::rate);
    one.total = c.maybe(|c| c.time(1));
    let is_all = one.pattern == Pattern::Prefix("/".into());
    one.action = action(c, can_capture, is_all);
    if one.action != Action::Pool {
        one.pool = "".into();
        return one;
    }
    one.repeatable = c.flag();
    one.budget = c.time(1);
    one.answer_gap = c.maybe(|c| c.time(1));
    one.retry = RouteRetry {
        attempts: c.maybe(|c| c.number(0, 100)),
        on: c.maybe(retry_on),
    };
    one.upgrade = c.flag();
    if segments == Segments::Normalised {
        one.rewrite = c.of(&[
            Rewrite::Keep,
            Rewrite::Prefix {
                strip: "/a".into(),
                add: "/b/c".into(),
            },
            Rewrite::Prefix {
                strip: "".into(),
                add: "/b".into(),
            },
            Rewrite::Template(spelling(if can_capture { "/n/{x}" } else { "/n" })),
        ]);
        if one.rewrite == Rewrite::Keep {
            one.forward_path = c.of(&[ForwardPath::AsReceived, ForwardPath::Normalised]);
        }
    }
    one
}

fn action(c: &mut Choices, can_capture: bool, is_all: bool) -> Action {
    let to = match (can_capture, is_all) {
        (true, _) => "https://x.example/{x}?a#b",
        (false, true) => "https://x.example:81/elsewhere",
        (false, false) => "/elsewhere",
    };
    c.of(&[
        Action::Pool,
        Action::Pool,
        Action::Answer(Box::new(Answer {
            status: 204,
            body: None,
            content_type: "text/plain; charset=utf-8".into(),
        })),
        Action::Answer(Box::new(Answer {
            status: 503,
            body: Some("é\n\t\u{1}".into()),
            content_type: "text/html".into(),
        })),
        Action::Files(Box::new(Files {
            root: "/srv".into(),
            index: "i.html".into(),
            listing: true,
            spa: Some("s.html".into()),
            precompressed: vec!["zstd", "br"],
        })),
        Action::Redirect(Box::new(Redirect {
            to: Spelling::parse(to).unwrap(),
            status: 303,
            keep_path: !to.contains('?'),
        })),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_written_is_read_again_as_the_same(all in prop::collection::vec(any::<u32>(), 1..400)) {
        let first = model(&mut Choices { all, next: 0 });
        let text = to_toml(&first);
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.clone());
        let again = load_source(id, &mut sources).map_err(|found| {
            let lines: Vec<String> = found.iter().map(|one| one.first_line(&sources).to_string()).collect();
            TestCaseError::fail(format!("{}\n{text}", lines.join("\n")))
        })?;
        prop_assert_eq!(again.snapshot.model(), &first, "{}", &text);
        prop_assert_eq!(again.snapshot.canonical(), text);
        let first = Snapshot::new(first);
        prop_assert_eq!(again.snapshot.hash(), first.hash());
    }
}
