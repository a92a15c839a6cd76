//! The front door: a preset that expands into an ordinary listener, site and pool.
//!
//! Decides every value that the preset sets, and refuses at start what would make a door that is
//! unsafe or of no use. Called with the flags of the command line and with `[front_door.NAME]` of
//! a file; nothing that runs can tell the two apart, or either from settings written out.
//!
//! Source: adr/0011.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::allowlist::{self, Tier};
use crate::check::{self, Parts};
use crate::cluster;
use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::{FileRole, NamedFile};
use crate::model::{
    AccessLog, FailureStyle, ForwardedFor, Health, HostSent, Model, Name, Pool, Probe, ProbeKind,
    RetryOn, Segments, Site,
};
use crate::settings::{self as s, Setting};
use crate::snapshot::{Loaded, Snapshot};
use crate::source::{Origin, Place, Placed, Sources};

pub use crate::check::{access_log, check_path};

mod ends;
mod print;

/// What a front door was asked to be, each answer with its place; absent means the default.
#[derive(Clone, Debug)]
pub struct FrontDoor {
    /// Name of the listener, site, pool and TLS profile it becomes.
    pub name: Placed<String>,
    /// Where to listen.
    pub listen: Option<Placed<String>>,
    /// The cluster's own file.
    pub cluster: Option<Placed<PathBuf>>,
    /// Nodes, in the order in which they were named.
    pub upstreams: Vec<Upstream>,
    /// Carry the data routes only.
    pub no_ddl: Option<Place>,
    /// Carry the operator's routes too.
    pub allow_ops: Option<Place>,
    /// Budget of the four data routes that have 60 s.
    pub query_timeout: Option<Placed<Duration>>,
    /// Further tries.
    pub max_retries: Option<Placed<u64>>,
    /// Requests in flight per node.
    pub in_flight: Option<Placed<u64>>,
    /// Longest wait for a free slot.
    pub queue_wait: Option<Placed<Duration>>,
    /// Connect and handshake, each try.
    pub connect_timeout: Option<Placed<Duration>>,
    /// From one probe to the next.
    pub health_interval: Option<Placed<Duration>>,
    /// How long a probe may take.
    pub health_timeout: Option<Placed<Duration>>,
    /// Consecutive failures to leave rotation.
    pub health_fail: Option<Placed<u64>>,
    /// Consecutive good probes to return.
    pub health_pass: Option<Placed<u64>>,
    /// Certificate chain shown to clients.
    pub tls_cert: Option<Placed<PathBuf>>,
    /// Its private key.
    pub tls_key: Option<Placed<PathBuf>>,
    /// The only certificates trusted of nodes.
    pub upstream_ca: Option<Placed<PathBuf>>,
    /// TLS to nodes, unverified.
    pub insecure_skip_verify: Option<Place>,
    /// Clear text beyond this machine.
    pub insecure_no_tls: Option<Place>,
    /// Append to a client's `X-Forwarded-For`.
    pub trust_forwarded_for: Option<Place>,
    /// The request head, and each silence inside a body.
    pub read_timeout: Option<Placed<Duration>>,
}

/// A node named one by one.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its name, which is also the TLS server name.
    pub name: Placed<String>,
    /// Its address.
    pub addr: Placed<String>,
}

/// What the command line says about the whole process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Worker threads.
    pub workers: Option<Placed<u64>>,
    /// Where the access log goes; the standard output when absent.
    pub access_log: Option<Placed<AccessLog>>,
}

impl FrontDoor {
    /// A front door of which only the name has been said.
    #[must_use]
    pub fn new(name: Placed<String>) -> Self {
        Self {
            name,
            listen: None,
            cluster: None,
            upstreams: Vec::new(),
            no_ddl: None,
            allow_ops: None,
            query_timeout: None,
            max_retries: None,
            in_flight: None,
            queue_wait: None,
            connect_timeout: None,
            health_interval: None,
            health_timeout: None,
            health_fail: None,
            health_pass: None,
            tls_cert: None,
            tls_key: None,
            upstream_ca: None,
            insecure_skip_verify: None,
            insecure_no_tls: None,
            trust_forwarded_for: None,
            read_timeout: None,
        }
    }

    /// The `gateway.toml` that asks for the same door.
    #[must_use]
    pub fn to_toml(&self, process: &Process) -> String {
        print::to_toml(self, process)
    }
}

/// Splits `NAME=ADDR` at the first `=`.
///
/// # Errors
/// `G0408` when a half is missing or empty.
pub fn split_upstream(text: &Placed<String>) -> Result<Upstream, Diagnostic> {
    match text.value.split_once('=') {
        Some((name, addr)) if !name.is_empty() && !addr.is_empty() => Ok(Upstream {
            name: Placed::new(name.to_owned(), text.place.clone()),
            addr: Placed::new(addr.to_owned(), text.place.clone()),
        }),
        _ => Err(Diagnostic::error(
            codes::NO_UPSTREAM_PARTS,
            format!("`{}` is not NAME=ADDR", text.value.escape_debug()),
        )
        .at(&text.place, "a name, `=` and an address")
        .help("for example --upstream a=10.0.0.11:7654")),
    }
}

/// Expands a front door into a whole snapshot; reads the cluster file it names.
///
/// # Errors
/// Every reason to refuse it at once, with warnings after them.
pub fn expand(
    door: &FrontDoor,
    process: &Process,
    sources: &mut Sources,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let mut parts = Parts::default();
    add(door, sources, &mut findings, &mut parts);
    let workers = process
        .workers
        .as_ref()
        .filter(|workers| check::in_range(&s::WORKERS, workers, &mut findings))
        .and_then(|workers| u16::try_from(workers.value).ok());
    if findings.refuse() {
        return Err(findings.into_sorted());
    }
    let access_log = process.access_log.as_ref();
    if let Some(Placed {
        value: AccessLog::File(path),
        place,
    }) = access_log
    {
        let named = Placed::new(path.clone(), place.clone());
        parts.files.push(NamedFile::new(&named, FileRole::Log));
    }
    let model = Model {
        listeners: parts.listeners,
        sites: parts.sites,
        pools: parts.pools,
        workers,
        access_log: access_log.map_or(AccessLog::Stdout, |log| log.value.clone()),
        ..Model::new()
    };
    Ok(Loaded {
        snapshot: Snapshot::new(model),
        warnings: findings.into_sorted(),
        files: parts.files,
        origin: Origin::default(),
    })
}

/// Adds what a front door becomes; what is wrong with it is in the findings.
pub(crate) fn add(
    door: &FrontDoor,
    sources: &mut Sources,
    findings: &mut Findings,
    parts: &mut Parts,
) {
    check_ranges(door, findings);
    let name: Name = door.name.value.as_str().into();
    let tier = tier(door, findings);
    parts
        .listeners
        .push(ends::listener(door, &name, findings, &mut parts.files));
    parts.sites.push(site(door, &name, tier, findings));
    let nodes = nodes(door, sources, findings);
    let tls = ends::node_tls(door, &nodes, findings, &mut parts.files);
    let in_flight = number(&s::DOOR_IN_FLIGHT, door.in_flight.as_ref());
    let nodes = nodes.into_iter().map(|one| one.node).collect::<Vec<_>>();
    let connect = time(&s::DOOR_CONNECT_TIMEOUT, door.connect_timeout.as_ref());
    let fall = number(&s::DOOR_HEALTH_FAIL, door.health_fail.as_ref());
    let rise = number(&s::DOOR_HEALTH_PASS, door.health_pass.as_ref());
    let usual = Pool::new(name, nodes);
    parts.pools.push(Pool {
        tls,
        in_flight,
        queue_wait: time(&s::DOOR_QUEUE_WAIT, door.queue_wait.as_ref()),
        queue: Pool::usual_queue(in_flight, usual.nodes.len()),
        connect_timeout: connect,
        tcp_timeout: connect,
        answer_gap: ANSWER_GAP,
        keep_idle: KEEP_IDLE,
        keep_requests: KEEP_REQUESTS,
        retries: number(&s::DOOR_MAX_RETRIES, door.max_retries.as_ref()),
        retry_busy: true,
        retry_on: RetryOn {
            busy: true,
            ..RetryOn::default()
        },
        probe: Probe {
            kind: ProbeKind::Ready,
            every: time(&s::DOOR_HEALTH_INTERVAL, door.health_interval.as_ref()),
            timeout: time(&s::DOOR_HEALTH_TIMEOUT, door.health_timeout.as_ref()),
            jitter: usual.probe.jitter,
        },
        health: Health {
            floor: FLOOR,
            keep_last: false,
            count_traffic: true,
            ..Health::new(fall, rise)
        },
        ..usual
    });
}

/// Values given as flags have not met their bounds yet; those of a file have, and pass again.
fn check_ranges(door: &FrontDoor, findings: &mut Findings) {
    let times = [
        (&s::DOOR_QUERY_TIMEOUT, &door.query_timeout),
        (&s::DOOR_QUEUE_WAIT, &door.queue_wait),
        (&s::DOOR_CONNECT_TIMEOUT, &door.connect_timeout),
        (&s::DOOR_HEALTH_INTERVAL, &door.health_interval),
        (&s::DOOR_HEALTH_TIMEOUT, &door.health_timeout),
        (&s::DOOR_READ_TIMEOUT, &door.read_timeout),
    ];
    for (setting, value) in times {
        if let Some(value) = value {
            check::time_in_range(setting, value, findings);
        }
    }
    let numbers = [
        (&s::DOOR_MAX_RETRIES, &door.max_retries),
        (&s::DOOR_IN_FLIGHT, &door.in_flight),
        (&s::DOOR_HEALTH_FAIL, &door.health_fail),
        (&s::DOOR_HEALTH_PASS, &door.health_pass),
    ];
    for (setting, value) in numbers {
        if let Some(value) = value {
            check::in_range(setting, value, findings);
        }
    }
}

fn tier(door: &FrontDoor, findings: &mut Findings) -> Tier {
    match (&door.no_ddl, &door.allow_ops) {
        (None, None) => Tier::Ddl,
        (Some(_), None) => Tier::Data,
        (None, Some(_)) => Tier::Ops,
        (Some(less), Some(more)) => {
            findings.push(
                Diagnostic::error(
                    codes::TIERS_CONTRADICT,
                    "fewer routes and more routes at once",
                )
                .at(more, "adds the operator's routes")
                .at(less, "leaves the data routes only")
                .help("keep one of the two"),
            );
            Tier::Data
        }
    }
}

fn site(door: &FrontDoor, name: &Name, tier: Tier, findings: &mut Findings) -> Site {
    if let Some(place) = &door.trust_forwarded_for {
        let title = "X-Forwarded-For of clients is passed on, with their address behind it";
        findings.push(Diagnostic::warning(codes::TRUSTED_FORWARDED, title).at(
            place,
            "right only behind a load balancer that nobody can go round",
        ));
    }
    let query = time(&s::DOOR_QUERY_TIMEOUT, door.query_timeout.as_ref());
    let mut routes = allowlist::routes(tier, query, name).unwrap_or_default();
    check::routes::sort(&mut routes);
    Site {
        segments: Segments::Decoded,
        failures: FailureStyle::Json,
        endpoints: Some(name.clone()),
        forwarded_for: match door.trust_forwarded_for {
            Some(_) => ForwardedFor::Append,
            None => ForwardedFor::Replace,
        },
        request_fields: Some(texts(&["authorization", "content-type"])),
        response_fields: Some(texts(&["content-type", "retry-after", "www-authenticate"])),
        host: HostSent::Node,
        routes,
        ..Site::new(name.clone(), name.clone())
    }
}

/// A node, and where its address was written.
pub(crate) struct PlacedNode {
    pub(crate) node: crate::model::Node,
    pub(crate) place: Place,
}

/// The nodes of the cluster file, their addresses replaced by those named one by one, and the
/// nodes that only were named one by one.
fn nodes(door: &FrontDoor, sources: &mut Sources, findings: &mut Findings) -> Vec<PlacedNode> {
    let listed = match &door.cluster {
        // What is no path has been told.
        Some(path) if path.value.as_os_str().is_empty() => return Vec::new(),
        Some(path) => match cluster::read(path, sources, findings) {
            Some(listed) => listed,
            None => return Vec::new(),
        },
        None => Vec::new(),
    };
    let mut seen = check::Seen::default();
    let mut nodes = Vec::new();
    for one in &listed {
        let named = door
            .upstreams
            .iter()
            .find(|named| named.name.value == one.name.value);
        let addr = named.map_or(&one.addr, |named| &named.addr);
        if let Some(mut node) = seen.node(findings, Some(one.name.clone()), addr.clone()) {
            node.shards = one.shards.as_deref().map(Into::into);
            node.replica = one.replica.as_deref().map(Into::into);
            nodes.push(PlacedNode {
                node,
                place: addr.place.clone(),
            });
        }
    }
    let mut first = std::collections::BTreeMap::new();
    for named in &door.upstreams {
        if let Some(place) = first.insert(&named.name.value, &named.name.place) {
            let title = format!("two nodes are called `{}`", named.name.value.escape_debug());
            findings.push(
                Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&named.name.place, place),
            );
        } else if !listed.iter().any(|one| one.name.value == named.name.value)
            && let Some(node) = seen.node(findings, Some(named.name.clone()), named.addr.clone())
        {
            nodes.push(PlacedNode {
                node,
                place: named.addr.place.clone(),
            });
        }
    }
    if listed.is_empty() && door.upstreams.is_empty() {
        findings.push(
            Diagnostic::error(codes::NO_NODE, "a front door without a node")
                .at(&door.name.place, "nobody to send a request to")
                .help("name nodes with --upstream NAME=ADDR (`upstreams`) or --cluster FILE (`cluster`)"),
        );
    }
    nodes
}

fn time(setting: &Setting, value: Option<&Placed<Duration>>) -> Duration {
    value.map_or_else(|| setting.time(), |placed| placed.value)
}

fn number<T: TryFrom<u64> + Default>(setting: &Setting, value: Option<&Placed<u64>>) -> T {
    let value = value.and_then(|placed| T::try_from(placed.value).ok());
    value.unwrap_or_else(|| setting.number())
}

fn texts(all: &[&str]) -> Vec<Arc<str>> {
    all.iter().map(|one| Arc::from(*one)).collect()
}

/// Longest silence inside an answer.
const ANSWER_GAP: Duration = Duration::from_secs(60);
/// Nodes close an idle connection after 5 s; the door does so first.
const KEEP_IDLE: Duration = Duration::from_secs(3);
/// Nodes close a connection after 1000 requests; the door does so first.
const KEEP_REQUESTS: u32 = 900;
/// Time after a change of rotation in which counts do not eject.
const FLOOR: Duration = Duration::from_secs(6);

#[cfg(test)]
mod tests;
