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
        /// When it is absent.
        default: Duration,
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
        /// Whether a number without a unit is taken as milliseconds.
        bare_millis: bool,
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
    /// Tables with the settings below them, each under a name of the operator's.
    Tables,
    /// A text.
    Text,
    /// A table from names of the operator's to texts.
    TextByName,
    /// A list of texts.
    Texts,
    /// One word out of these.
    Word {
        /// When it is absent.
        default: &'static str,
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
}

const fn flag() -> Kind {
    Kind::Bool { default: false }
}

const fn on() -> Kind {
    Kind::Bool { default: true }
}

const fn time(default: u64, min: u64, max: u64) -> Kind {
    Kind::Duration {
        default: Duration::from_millis(default),
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        bare_millis: false,
    }
}

const fn time_or_millis(default: u64, min: u64, max: u64) -> Kind {
    Kind::Duration {
        default: Duration::from_millis(default),
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
        bare_millis: true,
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

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

macro_rules! settings {
    ($($name:ident = $path:literal, $kind:expr, $sentence:literal;)*) => {
        $(
            #[doc = $sentence]
            pub(crate) static $name: Setting =
                Setting { path: $path, kind: $kind, sentence: $sentence };
        )*

        /// Every setting there is, in the order in which they are explained.
        pub static SETTINGS: &[&Setting] = &[$(&$name,)*];
    };
}

settings! {
    WORKERS = "workers", Kind::Integer { default: None, min: 1, max: 256 }, "Worker threads; one per available core when absent.";

    LISTENERS = "listeners", Kind::Tables, "Addresses that accept connections.";
    LISTENER_BIND = "listeners.*.bind", Kind::Text, "The IP address and port on which connections are accepted.";
    LISTENER_TLS = "listeners.*.tls", Kind::Text, "The TLS profile of this listener; clear text when absent.";
    LISTENER_HTTP2 = "listeners.*.http2", Kind::Bool { default: true }, "Whether HTTP/2 is offered during the TLS handshake; without TLS always off.";
    LISTENER_HEAD = "listeners.*.head", Kind::Table, "Bounds on a request head.";
    HEAD_LINE = "listeners.*.head.line", bytes(16 * KIB, 256, MIB), "Longest request line; over it 414.";
    HEAD_FIELDS = "listeners.*.head.fields", bytes(64 * KIB, 256, MIB), "All header lines together; over it 431.";
    HEAD_COUNT = "listeners.*.head.count", number(128, 1, 1_000), "Number of header lines; over it 431.";
    HEAD_TIMEOUT = "listeners.*.head.timeout", time(30 * SECOND, 1, HOUR), "From the first byte to the end of the head; over it 408.";
    LISTENER_IDLE = "listeners.*.idle", time(75 * SECOND, 1, DAY), "How long an idle connection of a client is kept.";
    LISTENER_BODY_GAP = "listeners.*.body_gap", time(60 * SECOND, 1, HOUR), "Longest silence inside a request body; over it 408.";
    LISTENER_HANDSHAKE = "listeners.*.handshake", time(10 * SECOND, 1, HOUR), "How long a TLS handshake may take.";
    LISTENER_WRITE_GAP = "listeners.*.write_gap", time(60 * SECOND, 1, HOUR), "Longest time in which a client takes no byte of an answer.";
    LISTENER_MIN_RATE = "listeners.*.min_rate", bytes(256, 0, MIB), "Least bytes per second, averaged over 30 s, at which a client sends or takes a body.";

    TLS = "tls", Kind::Tables, "Certificates with their keys, for listeners to name.";
    TLS_CHAIN = "tls.*.chain", Kind::Text, "PEM file with the certificate chain, the listener's own certificate first.";
    TLS_KEY = "tls.*.key", Kind::Text, "PEM file with the private key, readable by its owner only.";

    SITES = "sites", Kind::Tables, "The names served together, and what happens to requests for them.";
    SITE_LISTENER = "sites.*.listener", Kind::Text, "The listener on which the site is served.";
    SITE_HOSTS = "sites.*.hosts", Kind::Texts, "Host names of the site; every name that no other site has when absent.";
    SITE_POOL = "sites.*.pool", Kind::Text, "The pool that takes what no route of the site takes.";
    SITE_SEGMENTS = "sites.*.segments", word("normalised", &["decoded", "normalised"]), "How a path becomes segments: normalised as RFC 3986 has it, or split first and decoded one by one.";
    SITE_FAILURES = "sites.*.failures", word("text", &["json", "text"]), "How a failure of the gateway is written.";
    SITE_ENDPOINTS = "sites.*.endpoints", Kind::Text, "The pool about which the site itself answers /health, /ready and /metrics; absent, they are ordinary paths.";
    SITE_FORWARDED_FOR = "sites.*.forwarded_for", word("replace", &["append", "replace"]), "Whether a client's X-Forwarded-For is replaced by its address or appended to.";
    SITE_REQUEST_FIELDS = "sites.*.request_fields", Kind::Texts, "Header fields carried to the node; all but hop-by-hop ones when absent.";
    SITE_RESPONSE_FIELDS = "sites.*.response_fields", Kind::Texts, "Header fields carried to the client; all but hop-by-hop ones when absent.";
    SITE_HOST = "sites.*.host", word("client", &["client", "node"]), "Whether the node sees the client's Host or its own address.";

    ROUTES = "sites.*.routes", Kind::Tables, "Paths under a site and what happens there.";
    ROUTE_PATH = "sites.*.routes.*.path", Kind::Text, "A prefix: takes every path below it, by whole segments.";
    ROUTE_TEMPLATE = "sites.*.routes.*.template", Kind::Text, "Literal segments and captured names, matched by position: /table/{t}/records.";
    ROUTE_METHODS = "sites.*.routes.*.methods", Kind::Texts, "Methods the route takes, compared exactly; every method when absent.";
    ROUTE_QUERY = "sites.*.routes.*.query", Kind::Texts, "Query keys that travel, in the order in which they are sent; the whole query when absent.";
    ROUTE_REFUSE_QUERY = "sites.*.routes.*.refuse_query", Kind::TextByName, "Query keys that are answered 400, each with the sentence of that answer.";
    ROUTE_REPEATABLE = "sites.*.routes.*.repeatable", flag(), "Whether a request may be sent again after bytes of it have left.";
    ROUTE_BUDGET = "sites.*.routes.*.budget", time(60 * SECOND, 1, DAY), "From the request read whole to the head of the answer, over all tries; over it 504.";
    ROUTE_BODY = "sites.*.routes.*.body", Kind::Table, "How the request body travels: read whole first, or passed on as it comes.";
    BODY_BUFFER = "sites.*.routes.*.body.buffer", Kind::Size { default: None, min: 0, max: GIB }, "Read whole before a node is chosen, at most this many bytes; over it 413.";
    BODY_STREAM = "sites.*.routes.*.body.stream", Kind::Size { default: Some(GIB), min: 0, max: 1 << 50 }, "Passed on as it comes, at most this many bytes; over it 413.";
    ROUTE_UPGRADE = "sites.*.routes.*.upgrade", flag(), "Whether Upgrade is carried and a 101 opens a tunnel.";
    ROUTE_POOL = "sites.*.routes.*.pool", Kind::Text, "The pool the request goes to; the site's own pool when absent.";

    POOLS = "pools", Kind::Tables, "Nodes that may serve the same request.";
    POOL_NODES = "pools.*.nodes", Kind::Nodes, "The nodes: addresses, or tables with an address and a name.";
    NODE_ADDR = "pools.*.nodes.*.addr", Kind::Text, "HOST:PORT of the node.";
    NODE_NAME = "pools.*.nodes.*.name", Kind::Text, "The node's name, which is also the TLS server name; its address with - for : when absent.";
    NODE_SHARDS = "pools.*.nodes.*.shards", Kind::Text, "Shards the node starts as the primary of, as its cluster writes them.";
    NODE_REPLICA = "pools.*.nodes.*.replica", Kind::Text, "The node of which it is a copy.";
    POOL_TLS = "pools.*.tls", Kind::Table, "TLS to the nodes; clear text when absent.";
    POOL_TLS_CA = "pools.*.tls.ca", Kind::Text, "PEM file with the only certificates trusted; the name checked is the node's name.";
    POOL_TLS_VERIFY = "pools.*.tls.verify", on(), "Whether the nodes' certificates are checked.";
    POOL_IN_FLIGHT = "pools.*.in_flight", number(1_024, 1, 1_000_000), "Requests in flight per node.";
    POOL_QUEUE_WAIT = "pools.*.queue_wait", time(5 * SECOND, 0, HOUR), "Longest wait for a free slot; over it 503.";
    POOL_QUEUE = "pools.*.queue", Kind::Integer { default: None, min: 0, max: u32::MAX as u64 }, "Requests that may wait at once; four times the requests in flight of all nodes when absent.";
    POOL_CONNECT_TIMEOUT = "pools.*.connect_timeout", time(5 * SECOND, 1, HOUR), "Connect and handshake, each try.";
    POOL_ANSWER_GAP = "pools.*.answer_gap", time(60 * SECOND, 1, DAY), "Longest silence inside an answer, once its head has come.";
    POOL_KEEP_IDLE = "pools.*.keep_idle", time(4 * SECOND, 0, DAY), "How long an idle connection to a node is kept.";
    POOL_KEEP_REQUESTS = "pools.*.keep_requests", number(1_000, 1, u32::MAX as u64), "Requests on one connection to a node; the last one asks for its end.";
    POOL_RETRIES = "pools.*.retries", number(2, 0, 100), "Further tries after the first, each on another node.";
    POOL_RETRY_BUSY = "pools.*.retry_busy", flag(), "Whether a 503 with Retry-After is tried once on another node when the route is repeatable.";
    POOL_PROBE = "pools.*.probe", Kind::Table, "How nodes are asked whether they are ready.";
    PROBE_EVERY = "pools.*.probe.every", time(2 * SECOND, 50, DAY), "From the start of one probe to the start of the next.";
    PROBE_TIMEOUT = "pools.*.probe.timeout", time(SECOND, 50, DAY), "How long a probe may take; no longer than the interval, unless may_outlive says so.";
    PROBE_MAY_OUTLIVE = "pools.*.probe.may_outlive", flag(), "Whether a probe may take longer than the interval and so delay the next one.";
    POOL_HEALTH = "pools.*.health", Kind::Table, "What probes and failures of real requests do to a node.";
    HEALTH_FALL = "pools.*.health.fall", number(3, 1, 255), "Consecutive failures to leave rotation.";
    HEALTH_RISE = "pools.*.health.rise", number(2, 1, 255), "Consecutive good probes to return.";
    HEALTH_FLOOR = "pools.*.health.floor", time(0, 0, HOUR), "Time after a change of rotation in which counts do not eject.";
    HEALTH_KEEP_LAST = "pools.*.health.keep_last", on(), "Whether counts never eject the last node.";
    HEALTH_COUNT_TRAFFIC = "pools.*.health.count_traffic", on(), "Whether transport failures of real requests count.";

    LIMITS = "limits", Kind::Table, "Bounds of the whole process.";
    LIMIT_BODY_MEMORY = "limits.body_memory", bytes(256 * MIB, MIB, 1 << 50), "Request bodies held in memory at once; over it 503.";
    LIMIT_CONNECTIONS = "limits.connections", number(20_000, 1, 10_000_000), "Connections per listener.";
    LIMIT_HANDSHAKES = "limits.handshakes", number(1_000, 1, 10_000_000), "TLS handshakes under way per listener.";

    LOGS = "logs", Kind::Table, "What is written about requests.";
    LOG_ACCESS = "logs.access", Kind::Text, "One JSON line per request: off, stdout, or the file they are appended to; stdout when absent.";

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
                } => (min..=max).contains(&default),
                Kind::Integer { default, min, max } | Kind::Size { default, min, max } => {
                    default.is_none_or(|value| (min..=max).contains(&value))
                }
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
