//! The table of settings: path, kind, default, bounds and one sentence for each of them.
//!
//! What a file may say is decided here and nowhere else: the walk over unknown settings, the
//! bounds of every value and the defaults that the effective configuration spells out are read
//! from these rows. In a path `*` stands for a name the operator chose, or for a list's entry.

use std::time::Duration;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Where it stands: `listeners.*.bind`.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// Whether its values are shown to nobody; see [`secrets`](crate::secrets).
    pub is_secret: bool,
}

/// What a setting takes, with its default and bounds; both bounds are included.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool {
        /// When it is absent.
        default: bool,
    },
    /// A length of time with its unit.
    Duration {
        /// When it is absent; without one, the sentence says what happens.
        default: Option<Duration>,
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
        /// Whether a number without a unit is taken as milliseconds.
        bare_millis: bool,
    },
    /// A whole number, or a list of them; the bounds are those of each.
    Integers {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A whole number.
    Integer {
        /// When it is absent; without one, the sentence says what happens.
        default: Option<u64>,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// Nodes: addresses, or tables with an address.
    Nodes,
    /// A share of a whole, in whole per cent: `"20%"`.
    Share {
        /// When it is absent; without one, the sentence says what happens.
        default: Option<u64>,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A number of bytes with its unit.
    Size {
        /// When it is absent; without one, the sentence says what happens.
        default: Option<u64>,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A table with the settings below it.
    Table,
    /// A table with the settings below it, or one value as its short form.
    TableOr(&'static Kind),
    /// A list of tables with the settings below it.
    TableList,
    /// Tables with the settings below them, each under a name of the operator's.
    Tables,
    /// A text.
    Text,
    /// A table from names of the operator's to texts.
    TextByName,
    /// A text, or a list of texts.
    TextOrTexts,
    /// A table from names of the operator's to texts, or to `true` for whatever text there is.
    TextOrTrueByName,
    /// A list of texts.
    Texts,
    /// One word out of these.
    Word {
        /// When it is absent.
        default: &'static str,
        /// The words there are.
        words: &'static [&'static str],
    },
    /// A list of words out of these, each at most once.
    Words {
        /// When it is absent.
        default: &'static [&'static str],
        /// The words there are.
        words: &'static [&'static str],
    },
}

impl Setting {
    /// The last part of its path: what stands before the `=`.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, key)| key)
    }

    /// The table it stands in; empty for the top level.
    #[must_use]
    pub fn parent(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }

    /// What it takes, in its short form where it has one.
    #[must_use]
    pub fn short(&self) -> Kind {
        match self.kind {
            Kind::TableOr(short) => *short,
            kind => kind,
        }
    }

    /// The default of a number, size or share; 0 for a setting that has none.
    #[must_use]
    pub(crate) fn number<T: TryFrom<u64> + Default>(&self) -> T {
        let value = match self.short() {
            Kind::Integer { default, .. }
            | Kind::Share { default, .. }
            | Kind::Size { default, .. } => default.unwrap_or(0),
            _ => 0,
        };
        T::try_from(value).unwrap_or_default()
    }

    /// The default of a duration; zero for a setting that has none.
    #[must_use]
    pub(crate) fn time(&self) -> Duration {
        match self.short() {
            Kind::Duration { default, .. } => default.unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// The default of a switch.
    #[must_use]
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.kind, Kind::Bool { default: true })
    }

    /// The words it has when none is written.
    #[must_use]
    pub(crate) fn usual_words(&self) -> &'static [&'static str] {
        match self.short() {
            Kind::Words { default, .. } => default,
            _ => &[],
        }
    }

    /// The words it takes.
    #[must_use]
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match self.short() {
            Kind::Word { words, .. } | Kind::Words { words, .. } => words,
            _ => &[],
        }
    }
}

const fn flag() -> Kind {
    Kind::Bool { default: false }
}

const fn on() -> Kind {
    Kind::Bool { default: true }
}

const fn time(default: u64, min: u64, max: u64) -> Kind {
    Kind::Duration {
        default: Some(Duration::from_millis(default)),
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        bare_millis: false,
    }
}

const fn time_or_millis(default: u64, min: u64, max: u64) -> Kind {
    Kind::Duration {
        default: Some(Duration::from_millis(default)),
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        bare_millis: true,
    }
}

const fn no_time(min: u64, max: u64) -> Kind {
    Kind::Duration {
        default: None,
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        bare_millis: false,
    }
}

const fn no_number(min: u64, max: u64) -> Kind {
    Kind::Integer {
        default: None,
        min,
        max,
    }
}

const fn number(default: u64, min: u64, max: u64) -> Kind {
    Kind::Integer {
        default: Some(default),
        min,
        max,
    }
}

const fn bytes(default: u64, min: u64, max: u64) -> Kind {
    Kind::Size {
        default: Some(default),
        min,
        max,
    }
}

const fn word(default: &'static str, words: &'static [&'static str]) -> Kind {
    Kind::Word { default, words }
}

const fn words(default: &'static [&'static str], words: &'static [&'static str]) -> Kind {
    Kind::Words { default, words }
}

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const fn is_marked(marks: &[&str]) -> bool {
    !marks.is_empty()
}

macro_rules! settings {
    ($($name:ident = $path:literal, $kind:expr, $sentence:literal $(, $secret:ident)?;)*) => {
        $(
            #[doc = $sentence]
            pub(crate) static $name: Setting = Setting {
                path: $path,
                kind: $kind,
                sentence: $sentence,
                is_secret: is_marked(&[$(stringify!($secret))?]),
            };
        )*

        /// Every setting there is, in the order in which they are explained.
        pub static SETTINGS: &[&Setting] = &[$(&$name,)*];
    };
}

const IN_FLIGHT: Kind = no_number(1, 100_000_000);
const HSTS_AGE: Kind = no_time(0, 365 * DAY);
const ANSWER: Kind = no_number(200, 599);
const CODING: &[&str] = &["br", "gzip", "zstd"];
const CODINGS: Kind = words(&["br", "gzip"], CODING);
const TLS_TO_NODES: Kind = flag();
const BALANCE: Kind = word(
    "least-in-flight",
    &["least-in-flight", "random", "round-robin"],
);
const ALPN: &[&str] = &["h2", "http/1.1"];
const RETRY_ON: &[&str] = &["busy", "connect", "repeatable", "unsent"];
const TLS_VERSIONS: &[&str] = &["1.2", "1.3"];
const SUITES: &[&str] = &[
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

settings! {
    WORKERS = "workers", no_number(1, 256), "Worker threads; one per available core when absent.";

    LISTENERS = "listeners", Kind::Tables, "Addresses that accept connections.";
    LISTENER_BIND = "listeners.*.bind", Kind::TextOrTexts, "The IP address and port on which connections are accepted, or several of them.";
    LISTENER_STRICT_SNI = "listeners.*.strict_sni", flag(), "Whether a TLS handshake is refused that asks for a name of no site, or for none.";
    LISTENER_TLS = "listeners.*.tls", Kind::Text, "The TLS profile shown where a site names none; clear text when absent.";
    LISTENER_ALPN = "listeners.*.alpn", words(&["h2", "http/1.1"], ALPN), "The protocols offered during the TLS handshake; on a clear listener HTTP/1.1 needs no offer.";
    LISTENER_H2C = "listeners.*.h2c", flag(), "Whether a clear listener takes HTTP/2 from clients that begin with it (prior knowledge).";
    LISTENER_REDIRECT = "listeners.*.redirect", word("none", &["https", "none"]), "Whether every request is sent on to the same address of its site over HTTPS.";
    LISTENER_TRUSTED = "listeners.*.trusted_proxies", Kind::Texts, "Networks whose forwarding fields are believed; nobody's when absent.";
    LISTENER_CLIENT_IP = "listeners.*.client_ip_header", Kind::Text, "The field from which a trusted proxy's client is read; X-Forwarded-For when absent.";
    LISTENER_PROXY_FROM = "listeners.*.proxy_protocol_from", Kind::Texts, "Networks that must begin a connection with a PROXY header, which is refused from all others.";
    LISTENER_IN_FLIGHT = "listeners.*.in_flight", Kind::TableOr(&IN_FLIGHT), "Requests in flight on the listener at once; not bounded when absent.";
    LISTENER_IN_FLIGHT_MAX = "listeners.*.in_flight.max", IN_FLIGHT, "Most requests in flight at once.";
    LISTENER_IN_FLIGHT_FULL = "listeners.*.in_flight.when_full", number(503, 400, 599), "The status of the answer when there are more.";
    LISTENER_HEAD = "listeners.*.head", Kind::Table, "Bounds on a request head.";
    HEAD_LINE = "listeners.*.head.line", bytes(16 * KIB, 256, MIB), "Longest request line; over it 414.";
    HEAD_FIELDS = "listeners.*.head.fields", bytes(64 * KIB, 256, MIB), "All header lines together; over it 431.";
    HEAD_COUNT = "listeners.*.head.count", number(128, 1, 1_000), "Number of header lines; over it 431.";
    HEAD_TIMEOUT = "listeners.*.head.timeout", time(30 * SECOND, 1, HOUR), "From the first byte to the end of the head; over it 408.";
    LISTENER_HTTP2 = "listeners.*.http2", Kind::Table, "Bounds on one HTTP/2 connection; over them it is told to go away.";
    HTTP2_STREAMS = "listeners.*.http2.streams", number(100, 1, 10_000), "Streams open at once.";
    HTTP2_RESETS = "listeners.*.http2.resets", number(100, 1, 100_000), "Streams that the client resets within 10 s.";
    HTTP2_PINGS = "listeners.*.http2.pings", number(100, 1, 100_000), "Pings within 10 s.";
    HTTP2_SETTINGS = "listeners.*.http2.settings", number(100, 1, 100_000), "Changes of settings within 10 s.";
    HTTP2_EMPTY_DATA = "listeners.*.http2.empty_data", number(10, 1, 10_000), "Frames of data without data, one after another.";
    LISTENER_IDLE = "listeners.*.idle", time(75 * SECOND, 1, DAY), "How long an idle connection of a client is kept.";
    LISTENER_BODY_GAP = "listeners.*.body_gap", time(60 * SECOND, 1, HOUR), "Longest silence inside a request body; over it 408.";
    LISTENER_HANDSHAKE = "listeners.*.handshake", time(10 * SECOND, 1, HOUR), "How long a TLS handshake may take.";
    LISTENER_WRITE_GAP = "listeners.*.write_gap", time(60 * SECOND, 1, HOUR), "Longest time in which a client takes no byte of an answer.";
    LISTENER_TUNNEL_IDLE = "listeners.*.tunnel_idle", time(600 * SECOND, 1, DAY), "How long a tunnel may be silent in both directions.";
    LISTENER_MIN_RATE = "listeners.*.min_rate", bytes(256, 0, MIB), "Least bytes per second, averaged over 30 s, at which a client sends or takes a body.";
    LISTENER_REUSE_PORT = "listeners.*.reuse_port", flag(), "Whether other processes, or a listener of all addresses beside one of a single address, may listen on the same port.";
    LISTENER_V6ONLY = "listeners.*.v6only", on(), "Whether an IPv6 address takes IPv6 connections only.";
    LISTENER_BACKLOG = "listeners.*.backlog", number(65_535, 1, 65_535), "Connections the system may hold until they are accepted.";

    TLS = "tls", Kind::Tables, "Certificates with their keys and the rules of a handshake, for listeners and sites to name.";
    TLS_CHAIN = "tls.*.chain", Kind::Text, "PEM file with the certificate chain, the site's own certificate first.";
    TLS_KEY = "tls.*.key", Kind::Text, "PEM file with the private key, readable by its owner only.";
    TLS_ALSO = "tls.*.also", Kind::TableList, "Further certificates for the same names, of which one the client supports is shown.";
    TLS_ALSO_CHAIN = "tls.*.also.*.chain", Kind::Text, "PEM file with the chain of a further certificate.";
    TLS_ALSO_KEY = "tls.*.also.*.key", Kind::Text, "PEM file with its private key.";
    TLS_MIN = "tls.*.min", word("1.2", TLS_VERSIONS), "Oldest version of TLS spoken.";
    TLS_MAX = "tls.*.max", word("1.3", TLS_VERSIONS), "Newest version of TLS spoken.";
    TLS_SUITES = "tls.*.suites", words(SUITES, SUITES), "Cipher suites that may be agreed on.";
    TLS_ALPN = "tls.*.alpn", words(&[], ALPN), "The protocols offered to those who ask for one of its names; the listener's when absent.";
    TLS_RESUMPTION = "tls.*.resumption", on(), "Whether a client may resume an earlier session.";

    ADDRESS_SETS = "address_sets", Kind::Tables, "Networks under a name, for lists of networks to hold as @NAME.";
    SET_CIDRS = "address_sets.*.cidrs", Kind::Texts, "The networks, or single addresses.";

    SITES = "sites", Kind::Tables, "The names served together, and what happens to requests for them.";
    SITE_LISTENER = "sites.*.listener", Kind::TextOrTexts, "The listener on which the site is served, or several of them.";
    SITE_HOSTS = "sites.*.hosts", Kind::Texts, "Host names of the site, the one others are redirected to first; `*.parent` stands for one label; every name that no other site has when absent.";
    SITE_DEFAULT = "sites.*.default", flag(), "Whether the site also takes the names that no site of its listeners has.";
    SITE_ALIASES = "sites.*.aliases", Kind::Texts, "Names whose requests are redirected to the first of the hosts.";
    SITE_WWW = "sites.*.www", word("keep", &["add", "keep", "remove"]), "Whether requests are redirected to the name with www, to the one without, or to neither.";
    SITE_HTTPS = "sites.*.https", flag(), "Whether requests in clear text are redirected to HTTPS.";
    SITE_HSTS = "sites.*.hsts", Kind::TableOr(&HSTS_AGE), "How long browsers shall use HTTPS only, said in every answer over HTTPS; not said when absent.";
    HSTS_MAX_AGE = "sites.*.hsts.max_age", HSTS_AGE, "How long the promise holds.";
    HSTS_SUBDOMAINS = "sites.*.hsts.subdomains", flag(), "Whether it holds for all names below, too.";
    HSTS_PRELOAD = "sites.*.hsts.preload", flag(), "Whether browsers may put it into the list they are shipped with.";
    SITE_TLS = "sites.*.tls", Kind::Text, "The TLS profile of the site's names; the listener's when absent.";
    SITE_ALLOW_FROM = "sites.*.allow_from", Kind::Texts, "Networks, addresses and @sets from which clients may come; from everywhere when absent.";
    SITE_POOL = "sites.*.pool", Kind::Text, "The pool that takes what no route of the site takes.";
    SITE_SEGMENTS = "sites.*.segments", word("normalised", &["decoded", "normalised"]), "How a path becomes segments: normalised as RFC 3986 has it, or split first and decoded one by one.";
    SITE_MERGE_SLASHES = "sites.*.merge_slashes", on(), "Whether several slashes in a row are one.";
    SITE_FAILURES = "sites.*.failures", word("text", &["json", "text"]), "How a failure of the gateway is written.";
    SITE_ERROR_PAGES = "sites.*.error_pages", Kind::TextByName, "Files sent instead of a failure's sentence, by status: { 404 = \"missing.html\" }.";
    SITE_ENDPOINTS = "sites.*.endpoints", Kind::Text, "The pool about which the site itself answers /health, /ready and /metrics; absent, they are ordinary paths.";
    SITE_FORWARDED_FOR = "sites.*.forwarded_for", word("replace", &["append", "replace"]), "Whether a client's X-Forwarded-For is replaced by its address or appended to.";
    SITE_REQUEST_FIELDS = "sites.*.request_fields", Kind::Texts, "Header fields carried to the node; all but hop-by-hop ones when absent.";
    SITE_RESPONSE_FIELDS = "sites.*.response_fields", Kind::Texts, "Header fields carried to the client; all but hop-by-hop ones when absent.";
    SITE_REQUEST_EDITS = "sites.*.request_edits", Kind::Table, "Changes to the fields of a request before a node sees it.";
    REQUEST_SET = "sites.*.request_edits.set", Kind::TextByName, "Fields to set, each replacing what is there.", secret;
    REQUEST_REMOVE = "sites.*.request_edits.remove", Kind::Texts, "Fields to take out.";
    SITE_RESPONSE_EDITS = "sites.*.response_edits", Kind::Table, "Changes to the fields of an answer before the client sees it.";
    RESPONSE_SET = "sites.*.response_edits.set", Kind::TextByName, "Fields to set, each replacing what is there.", secret;
    RESPONSE_REMOVE = "sites.*.response_edits.remove", Kind::Texts, "Fields to take out.";
    SITE_COMPRESSION = "sites.*.compression", Kind::TableOr(&CODINGS), "How answers are compressed for clients that accept it; not at all when absent.";
    COMPRESSION_CODINGS = "sites.*.compression.codings", CODINGS, "The codings there are to choose from, the preferred one first.";
    COMPRESSION_MIN = "sites.*.compression.min_size", bytes(KIB, 0, GIB), "Answers shorter than this stay as they are.";
    SITE_RATE = "sites.*.rate", Kind::Table, "Requests that one client may send to the site; over it 429; not bounded when absent.";
    SITE_RATE_REQUESTS = "sites.*.rate.requests", no_number(1, 1_000_000), "How many requests.";
    SITE_RATE_PER = "sites.*.rate.per", time(SECOND, 100, DAY), "Within which time.";
    SITE_RATE_BURST = "sites.*.rate.burst", no_number(1, 1_000_000), "How many at once; as many as `requests` when absent.";
    SITE_HOST = "sites.*.host", word("client", &["client", "node"]), "Whether the node sees the client's Host or its own address, where its pool does not say.";

    ROUTES = "sites.*.routes", Kind::Tables, "Paths under a site and what happens there.";
    ROUTE_EXACT = "sites.*.routes.*.exact", Kind::Text, "The one path it takes.";
    ROUTE_TEMPLATE = "sites.*.routes.*.template", Kind::Text, "Literal segments and captured names, matched by position: /table/{t}/records.";
    ROUTE_GLOB = "sites.*.routes.*.glob", Kind::Text, "A shell pattern over the whole path: * within a segment, ** across them, ?, [a-z], {one,other}.";
    ROUTE_REGEX = "sites.*.routes.*.regex", Kind::Text, "A regular expression that has to match the whole path.";
    ROUTE_PATH = "sites.*.routes.*.path", Kind::Text, "A prefix: takes every path below it, by whole segments.";
    ROUTE_PRIORITY = "sites.*.routes.*.priority", number(100, 0, 1_000), "Routes with a lower number are tried first; among equals the more exact pattern is.";
    ROUTE_METHODS = "sites.*.routes.*.methods", Kind::Texts, "Methods the route takes, compared exactly; every method when absent.";
    ROUTE_WHEN = "sites.*.routes.*.when", Kind::Table, "What else has to hold of a request for the route to take it; all of it.";
    WHEN_HEADERS = "sites.*.routes.*.when.headers", Kind::TextOrTrueByName, "Header fields and the value each has to have, or true for any.", secret;
    WHEN_QUERY = "sites.*.routes.*.when.query", Kind::TextOrTrueByName, "Query keys and the value each has to have, or true for any.", secret;
    WHEN_COOKIES = "sites.*.routes.*.when.cookies", Kind::TextOrTrueByName, "Cookies and the value each has to have, or true for any.", secret;
    WHEN_CLIENT = "sites.*.routes.*.when.client", Kind::Texts, "Networks, addresses and @sets of which the client's address has to be.";
    ROUTE_QUERY = "sites.*.routes.*.query", Kind::Texts, "Query keys that travel, in the order in which they are sent; the whole query when absent.";
    ROUTE_REFUSE_QUERY = "sites.*.routes.*.refuse_query", Kind::TextByName, "Query keys that are answered 400, each with the sentence of that answer.";
    ROUTE_REPEATABLE = "sites.*.routes.*.repeatable", flag(), "Whether a request may be sent again after bytes of it have left.";
    ROUTE_TIMEOUTS = "sites.*.routes.*.timeouts", Kind::Table, "How long the route's requests may take.";
    ROUTE_RESPONSE = "sites.*.routes.*.timeouts.response", no_time(1, DAY), "From the request read whole to the head of the answer, over all tries; over it 504; the pool's when absent.";
    ROUTE_IDLE = "sites.*.routes.*.timeouts.idle", no_time(1, DAY), "Longest silence inside an answer, once its head has come; the pool's when absent.";
    ROUTE_TOTAL = "sites.*.routes.*.timeouts.total", no_time(1, DAY), "The whole exchange, answer included; not bounded when absent.";
    ROUTE_RETRY = "sites.*.routes.*.retry", Kind::Table, "When a failed request is tried on another node; what is left out is the pool's.";
    ROUTE_RETRY_ATTEMPTS = "sites.*.routes.*.retry.attempts", no_number(0, 100), "Further tries after the first, each on another node; the pool's when absent.";
    ROUTE_RETRY_ON = "sites.*.routes.*.retry.on", words(&[], RETRY_ON), "What is tried again, as of the pool: `busy` only of what is repeatable. The pool's when absent.";
    ROUTE_BODY = "sites.*.routes.*.body", Kind::Table, "How the request body travels: read whole first, or passed on as it comes.";
    BODY_BUFFER = "sites.*.routes.*.body.buffer", Kind::Size { default: None, min: 0, max: GIB }, "Read whole before a node is chosen, at most this many bytes; over it 413.";
    BODY_STREAM = "sites.*.routes.*.body.stream", Kind::Size { default: Some(GIB), min: 0, max: 1 << 50 }, "Passed on as it comes, at most this many bytes; over it 413.";
    ROUTE_UPGRADE = "sites.*.routes.*.upgrade", flag(), "Whether Upgrade is carried and a 101 opens a tunnel.";
    ROUTE_RATE = "sites.*.routes.*.rate", Kind::Table, "Requests that one client may send to the route, besides what its site allows; over it 429; not bounded when absent.";
    ROUTE_RATE_REQUESTS = "sites.*.routes.*.rate.requests", no_number(1, 1_000_000), "How many requests.";
    ROUTE_RATE_PER = "sites.*.routes.*.rate.per", time(SECOND, 100, DAY), "Within which time.";
    ROUTE_RATE_BURST = "sites.*.routes.*.rate.burst", no_number(1, 1_000_000), "How many at once; as many as `requests` when absent.";
    ROUTE_FORWARD_PATH = "sites.*.routes.*.forward_path", word("normalised", &["as-received", "normalised"]), "Whether the node sees the path that was matched, or the bytes the client sent.";
    ROUTE_REWRITE = "sites.*.routes.*.rewrite", Kind::Table, "Changes to the path before the node sees it.";
    REWRITE_STRIP = "sites.*.routes.*.rewrite.strip", Kind::Text, "A prefix taken off, by whole segments, where it is there.";
    REWRITE_ADD = "sites.*.routes.*.rewrite.add", Kind::Text, "A prefix put before it.";
    REWRITE_TEMPLATE = "sites.*.routes.*.rewrite.template", Kind::Text, "A new path, in which the names that the route's pattern captures stand for what they captured.";
    ROUTE_POOL = "sites.*.routes.*.pool", Kind::Text, "The pool the request goes to; the site's own pool when there is no other action.";
    ROUTE_REDIRECT = "sites.*.routes.*.redirect", Kind::TableOr(&Kind::Text), "Answers with another address: an absolute URL or a path, in which captured names stand for what they captured.";
    REDIRECT_TO = "sites.*.routes.*.redirect.to", Kind::Text, "The other address.";
    REDIRECT_STATUS = "sites.*.routes.*.redirect.status", number(308, 301, 308), "301, 302, 303, 307 or 308.";
    REDIRECT_KEEP_PATH = "sites.*.routes.*.redirect.keep_path", flag(), "Whether path and query of the request are put behind the other address.";
    ROUTE_ANSWER = "sites.*.routes.*.answer", Kind::TableOr(&ANSWER), "Answers with this status, and nothing else unless said.";
    ANSWER_STATUS = "sites.*.routes.*.answer.status", ANSWER, "The status.";
    ANSWER_BODY = "sites.*.routes.*.answer.body", Kind::Text, "The body; none when absent.";
    ANSWER_TYPE = "sites.*.routes.*.answer.content_type", Kind::Text, "What the body is; text/plain; charset=utf-8 when absent.";
    ROUTE_FILES = "sites.*.routes.*.files", Kind::TableOr(&Kind::Text), "Answers with the files of a directory.";
    FILES_ROOT = "sites.*.routes.*.files.root", Kind::Text, "The directory.";
    FILES_INDEX = "sites.*.routes.*.files.index", Kind::Text, "The file that stands for a directory; index.html when absent.";
    FILES_LISTING = "sites.*.routes.*.files.listing", flag(), "Whether a directory without one is listed.";
    FILES_SPA = "sites.*.routes.*.files.spa", Kind::Text, "The file sent, with 200, where there is none; 404 when absent.";
    FILES_PRECOMPRESSED = "sites.*.routes.*.files.precompressed", words(&[], CODING), "Codings of which a ready file may lie beside the plain one, the preferred one first.";

    POOLS = "pools", Kind::Tables, "Nodes that may serve the same request.";
    POOL_NODES = "pools.*.nodes", Kind::Nodes, "The nodes: addresses, or tables with an address and more.";
    NODE_ADDR = "pools.*.nodes.*.addr", Kind::Text, "HOST:PORT of the node.";
    NODE_NAME = "pools.*.nodes.*.name", Kind::Text, "The node's name; when absent its address with - for :, of more than 63 characters the first 54 and a number made of all of them.";
    NODE_WEIGHT = "pools.*.nodes.*.weight", number(1, 1, 1_000), "Its share of the requests, compared with the others'.";
    NODE_BACKUP = "pools.*.nodes.*.backup", flag(), "Whether it is asked only when no other node may take the request.";
    NODE_IN_FLIGHT = "pools.*.nodes.*.in_flight", no_number(1, 1_000_000), "Requests in flight on this node; the pool's number when absent.";
    NODE_TLS_NAME = "pools.*.nodes.*.tls_name", Kind::Text, "The name checked in its certificate; what the pool says when absent.";
    NODE_SHARDS = "pools.*.nodes.*.shards", Kind::Text, "Shards the node starts as the primary of, as its cluster writes them.";
    NODE_REPLICA = "pools.*.nodes.*.replica", Kind::Text, "The node of which it is a copy.";
    POOL_BALANCE = "pools.*.balance", Kind::TableOr(&BALANCE), "How a node is chosen; as a table, by what the choice is to stay the same.";
    BALANCE_BY = "pools.*.balance.by", word("client", &["client", "cookie", "header", "uri"]), "What is hashed: the client's address, the path and query, or the field or cookie named.";
    BALANCE_NAME = "pools.*.balance.name", Kind::Text, "The header field or cookie.";
    POOL_HOST = "pools.*.host", Kind::Text, "The Host that nodes see: client, node for their own address, or this name; what the site says when absent.";
    POOL_HTTP2 = "pools.*.http2", flag(), "Whether nodes are spoken to in HTTP/2.";
    POOL_TLS = "pools.*.tls", Kind::TableOr(&TLS_TO_NODES), "TLS to the nodes, trusting whom the system trusts unless said otherwise; clear text when absent.";
    POOL_TLS_CA = "pools.*.tls.ca", Kind::Text, "PEM file with the only certificates trusted; those of the system when absent.";
    POOL_TLS_VERIFY = "pools.*.tls.verify", on(), "Whether the nodes' certificates are checked.";
    POOL_TLS_NAME = "pools.*.tls.name", Kind::Text, "The name checked: node for the node's name, address for its host, or this one; the node's name when absent.";
    POOL_IN_FLIGHT = "pools.*.in_flight", number(1_024, 1, 1_000_000), "Requests in flight per node.";
    POOL_IN_FLIGHT_TOTAL = "pools.*.in_flight_total", no_number(1, 10_000_000), "Requests in flight on the whole pool; not bounded when absent.";
    POOL_QUEUE_WAIT = "pools.*.queue_wait", time(5 * SECOND, 0, HOUR), "Longest wait for a free slot; over it 503.";
    POOL_QUEUE = "pools.*.queue", no_number(0, u32::MAX as u64), "Requests that may wait at once; four times the requests in flight of all nodes when absent.";
    POOL_TIMEOUTS = "pools.*.timeouts", Kind::Table, "How long nodes may take.";
    POOL_CONNECT = "pools.*.timeouts.connect", time(5 * SECOND, 1, HOUR), "To connect, each try; over it 504.";
    POOL_HANDSHAKE = "pools.*.timeouts.tls", time(10 * SECOND, 1, HOUR), "To connect and end the TLS handshake, each try; never less than `connect`; over it 504.";
    POOL_RESPONSE = "pools.*.timeouts.response", time(60 * SECOND, 1, DAY), "From the request read whole to the head of the answer, over all tries; over it 504; for routes that do not say.";
    POOL_ANSWER_GAP = "pools.*.timeouts.idle", time(60 * SECOND, 1, DAY), "Longest silence inside an answer, once its head has come.";
    POOL_KEEP_IDLE = "pools.*.keep_idle", time(4 * SECOND, 0, DAY), "How long an idle connection to a node is kept.";
    POOL_KEEP_REQUESTS = "pools.*.keep_requests", number(1_000, 1, u32::MAX as u64), "Requests on one connection to a node; the last one asks for its end.";
    POOL_RETRY = "pools.*.retry", Kind::Table, "When a failed request is tried on another node.";
    POOL_RETRIES = "pools.*.retry.attempts", number(2, 0, 100), "Further tries after the first, each on another node.";
    POOL_RETRY_ON = "pools.*.retry.on", words(&["unsent"], RETRY_ON), "What is tried again: connections that failed, all that a node cannot have begun, safe methods besides the routes that are repeatable, and once, of what is repeatable, a 503 with Retry-After.";
    POOL_RETRY_BUDGET = "pools.*.retry.budget", Kind::Share { default: None, min: 0, max: 100 }, "Tries again, as a share of the requests, after ten that are always there when the pool was quiet; not bounded when absent.";
    POOL_PROBE = "pools.*.probe", Kind::Table, "How nodes are asked whether they are up; not at all when absent.";
    PROBE_KIND = "pools.*.probe.kind", word("ready", &["http", "none", "ready", "tcp"]), "A readiness document, any HTTP answer expected, or a connection; http when absent and a setting of http is there.";
    PROBE_PATH = "pools.*.probe.path", Kind::Text, "The path asked for; / when absent.";
    PROBE_METHOD = "pools.*.probe.method", Kind::Text, "The method; GET when absent.";
    PROBE_HOST = "pools.*.probe.host", Kind::Text, "The Host sent; the node's address when absent.";
    PROBE_EXPECT = "pools.*.probe.expect", Kind::Integers { min: 100, max: 599 }, "The status that is good, or several; 200 when absent.";
    PROBE_EVERY = "pools.*.probe.every", time(2 * SECOND, 50, DAY), "From the start of one probe to the start of the next.";
    PROBE_TIMEOUT = "pools.*.probe.timeout", time(SECOND, 50, DAY), "How long a probe may take; no longer than the interval, unless may_outlive says so.";
    PROBE_MAY_OUTLIVE = "pools.*.probe.may_outlive", flag(), "Whether a probe may take longer than the interval and so delay the next one.";
    PROBE_JITTER = "pools.*.probe.jitter", Kind::Share { default: Some(5), min: 0, max: 50 }, "How far an interval may be off, either way, so that probes do not march in step.";
    PROBE_RISE = "pools.*.probe.rise", number(2, 1, 255), "Consecutive good probes to return.";
    PROBE_FALL = "pools.*.probe.fall", number(3, 1, 255), "Consecutive failures to leave rotation.";
    POOL_EJECTION = "pools.*.ejection", Kind::Table, "What failures of real requests do to a node.";
    EJECTION_COUNT_TRAFFIC = "pools.*.ejection.count_traffic", on(), "Whether transport failures of real requests count.";
    EJECTION_FAILURES = "pools.*.ejection.failures", no_number(1, 255), "Consecutive failures of real requests to leave rotation; as many as failed probes when absent.";
    EJECTION_BACKOFF = "pools.*.ejection.backoff", Kind::Table, "How long a node without probes is out before one request tries it.";
    BACKOFF_MIN = "pools.*.ejection.backoff.min", time(10 * SECOND, 1, DAY), "The first time; it doubles with every failed trial.";
    BACKOFF_MAX = "pools.*.ejection.backoff.max", time(300 * SECOND, 1, DAY), "The longest time.";
    EJECTION_FLOOR = "pools.*.ejection.floor", time(0, 0, HOUR), "Time after a change of rotation in which counts do not eject.";
    EJECTION_KEEP_LAST = "pools.*.ejection.keep_last", on(), "Whether counts never eject the last node.";
    POOL_SLOW_START = "pools.*.slow_start", time(0, 0, HOUR), "How long a node that returns takes to get its full share.";

    LIMITS = "limits", Kind::Table, "Bounds of the whole process.";
    LIMIT_BODY_MEMORY = "limits.body_memory", bytes(256 * MIB, MIB, 1 << 50), "Request bodies held in memory at once; over it 503. A quarter of it bounds what compresses answers.";
    LIMIT_CERTIFICATE_POLL = "limits.certificate_poll", time(60 * SECOND, SECOND, DAY), "Longest time until a change in the files of certificates and keys is seen.";
    LIMIT_CONNECTIONS = "limits.connections", number(20_000, 1, 10_000_000), "Connections per listener.";
    LIMIT_PER_CLIENT = "limits.connections_per_client", number(1_000, 1, 10_000_000), "Connections per client address and listener; trusted proxies are not counted.";
    LIMIT_HANDSHAKES = "limits.handshakes", number(1_000, 1, 10_000_000), "TLS handshakes under way per listener; one client has at most a quarter of them.";

    RESOLVER = "resolver", Kind::Table, "Who is asked what the names of nodes mean.";
    RESOLVER_SERVERS = "resolver.servers", Kind::Texts, "Name servers, each an IP address with a port or without, then 53; those of /etc/resolv.conf when absent.";

    LOGS = "logs", Kind::Table, "What is written about requests, and about the process.";
    LOG_ACCESS = "logs.access", Kind::Text, "One line per request: off, stdout, or the file they are appended to, as a path with a / in it; stdout when absent.";
    LOG_FORMAT = "logs.format", word("json", &["combined", "json"]), "How such a line is written.";
    LOG_REDACT = "logs.redact", Kind::Texts, "Query keys whose values are never written; none when absent.";
    LOG_LEVEL = "logs.level", word("info", &["debug", "error", "info", "trace", "warn"]), "How much the process says about itself.";

    ADMIN = "admin", Kind::Table, "The listener for operators: /livez, /readyz, /metrics and a status page; none when absent.";
    ADMIN_BIND = "admin.bind", Kind::Text, "The IP address and port on which it accepts connections.";
    ADMIN_ALLOW_FROM = "admin.allow_from", Kind::Texts, "Networks, addresses and @sets from which operators may come; from this machine only when absent.";

    DRAIN = "drain", Kind::Table, "How the process stops.";
    DRAIN_DEADLINE = "drain.deadline", time(30 * SECOND, 0, DAY), "How long requests in flight may go on.";

    FRONT_DOORS = "front_door", Kind::Tables, "One address before a cluster: makes a listener, a site and a pool of its name.";
    DOOR_LISTEN = "front_door.*.listen", Kind::Text, "Where to listen; 127.0.0.1:7650 when absent.";
    DOOR_CLUSTER = "front_door.*.cluster", Kind::Text, "The cluster's own file, of which the name and address of every node are used.";
    DOOR_UPSTREAMS = "front_door.*.upstreams", Kind::TextByName, "Nodes by name, each with its address; goes before the address in the cluster file.";
    DOOR_NO_DDL = "front_door.*.no_ddl", flag(), "Carry the data routes only.";
    DOOR_ALLOW_OPS = "front_door.*.allow_ops", flag(), "Carry the operator's routes too.";
    DOOR_QUERY_TIMEOUT = "front_door.*.query_timeout", time(60 * SECOND, 1, DAY), "The budget of the four data routes that have 60 s; keep it at or above the nodes' own.";
    DOOR_MAX_RETRIES = "front_door.*.max_retries", number(2, 0, 100), "Further tries, each on another node.";
    DOOR_IN_FLIGHT = "front_door.*.in_flight", number(32, 1, 1_000_000), "Requests in flight per node.";
    DOOR_QUEUE_WAIT = "front_door.*.queue_wait", time(5 * SECOND, 0, HOUR), "Longest wait for a free slot, never beyond the budget.";
    DOOR_CONNECT_TIMEOUT = "front_door.*.connect_timeout", time(2 * SECOND, 1, HOUR), "Connect and handshake, each try.";
    DOOR_HEALTH_INTERVAL = "front_door.*.health_interval", time_or_millis(2 * SECOND, 50, DAY), "From one probe of a node to the next.";
    DOOR_HEALTH_TIMEOUT = "front_door.*.health_timeout", time_or_millis(SECOND, 50, DAY), "How long a probe may take; one that outlives the interval delays the next.";
    DOOR_HEALTH_FAIL = "front_door.*.health_fail", number(3, 1, 255), "Consecutive failures to leave rotation.";
    DOOR_HEALTH_PASS = "front_door.*.health_pass", number(2, 1, 255), "Consecutive good probes to return.";
    DOOR_TLS_CERT = "front_door.*.tls_cert", Kind::Text, "PEM file with the certificate chain shown to clients; needs tls_key.";
    DOOR_TLS_KEY = "front_door.*.tls_key", Kind::Text, "PEM file with its private key, readable by its owner only.";
    DOOR_UPSTREAM_CA = "front_door.*.upstream_ca", Kind::Text, "TLS to the nodes, trusting only this PEM file; the name checked is the node's name.";
    DOOR_INSECURE_SKIP_VERIFY = "front_door.*.insecure_skip_verify", flag(), "TLS to the nodes without checking their certificates.";
    DOOR_INSECURE_NO_TLS = "front_door.*.insecure_no_tls", flag(), "Allow clear text with clients and nodes on other machines.";
    DOOR_TRUST_FORWARDED_FOR = "front_door.*.trust_forwarded_for", flag(), "Append to a client's X-Forwarded-For instead of replacing it.";
    DOOR_READ_TIMEOUT = "front_door.*.read_timeout", time(30 * SECOND, 1, HOUR), "The whole request head, and each silence inside a body.";
}

/// A setting that has another name than it had.
#[derive(Clone, Copy, Debug)]
pub struct Renamed {
    /// Its former path.
    pub from: &'static str,
    /// Its path, in the same table.
    pub to: &'static str,
    /// Whether the former name is refused; before that it works and is warned of.
    pub is_refused: bool,
}

/// Settings on their way to another name: one release warns, the next refuses, and with the one
/// after that the row goes.
pub static RENAMED: &[Renamed] = &[];

/// Where a front door listens when nothing else is said.
pub const DOOR_ADDRESS: &str = "127.0.0.1:7650";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_lies_within_its_bounds() {
        for one in SETTINGS {
            let fits = match one.kind {
                Kind::Duration {
                    default, min, max, ..
                } => default.is_none_or(|value| (min..=max).contains(&value)),
                Kind::Integer { default, min, max }
                | Kind::Share { default, min, max }
                | Kind::Size { default, min, max } => {
                    default.is_none_or(|value| (min..=max).contains(&value))
                }
                Kind::Words { default, words } => default.iter().all(|word| words.contains(word)),
                Kind::Word { default, words } => words.contains(&default),
                _ => true,
            };
            assert!(fits, "{}", one.path);
            assert!(one.sentence.ends_with('.'), "{}", one.path);
        }
    }

    #[test]
    fn every_setting_stands_in_a_table_that_is_a_setting() {
        for one in SETTINGS.iter().filter(|one| !one.parent().is_empty()) {
            let table = one.parent().trim_end_matches(".*");
            assert!(
                SETTINGS.iter().any(|other| other.path == table),
                "{}",
                one.path
            );
        }
    }
}
