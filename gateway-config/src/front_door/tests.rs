use proptest::prelude::*;

use super::*;
use crate::effective;
use crate::load_source;
use crate::model::{Body, NodeTls};

/// A command line under construction: every flag gets a place.
struct Line {
    sources: Sources,
    door: FrontDoor,
}

impl Line {
    fn new() -> Self {
        let mut sources = Sources::default();
        let id = sources.add("command line", "front-door".to_owned());
        let name = Placed::new("door".to_owned(), sources.place(id, 0..10));
        Self {
            sources,
            door: FrontDoor::new(name),
        }
    }

    fn with(mut self, set: impl FnOnce(&mut FrontDoor, Place)) -> Self {
        let place = self.door.name.place.clone();
        set(&mut self.door, place);
        self
    }

    fn upstream(self, name: &str, addr: &str) -> Self {
        self.with(|door, place| {
            door.upstreams.push(Upstream {
                name: Placed::new(name.to_owned(), place.clone()),
                addr: Placed::new(addr.to_owned(), place),
            });
        })
    }

    fn listen(self, addr: &str) -> Self {
        self.with(|door, place| door.listen = Some(Placed::new(addr.to_owned(), place)))
    }

    fn cluster(mut self, text: &str) -> Self {
        self.sources.add("cluster.toml", text.to_owned());
        self.with(|door, place| door.cluster = Some(Placed::new("cluster.toml".into(), place)))
    }

    fn expand(&mut self) -> Result<Loaded, Vec<Diagnostic>> {
        expand(&self.door, &Process::default(), &mut self.sources)
    }

    fn refused(mut self) -> Vec<String> {
        codes(&self.expand().unwrap_err())
    }

    fn warned(mut self) -> Vec<String> {
        codes(&self.expand().unwrap().warnings)
    }
}

fn codes(found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(|one| one.code.to_string()).collect()
}

fn usual() -> Line {
    Line::new()
        .upstream("a", "127.0.0.1:7001")
        .upstream("b", "localhost:7002")
}

#[test]
fn the_preset_has_the_values_of_its_contract() {
    let model = usual().expand().unwrap().snapshot.model().clone();
    let seconds = Duration::from_secs;
    let [listener] = model.listeners.as_slice() else {
        panic!()
    };
    assert_eq!(listener.bind.to_string(), "127.0.0.1:7650");
    assert_eq!((&listener.tls, listener.http2), (&None, false));
    assert_eq!(
        (
            listener.head.line,
            listener.head.fields,
            listener.head.count,
            listener.head.timeout
        ),
        (8_192, 16_384, 64, seconds(30))
    );
    assert_eq!(
        (listener.idle, listener.body_gap),
        (seconds(75), seconds(30))
    );
    assert_eq!(
        (listener.handshake, listener.write_gap),
        (seconds(10), seconds(60))
    );
    assert_eq!(listener.min_rate, 256);
    let [site] = model.sites.as_slice() else {
        panic!()
    };
    assert_eq!((site.routes.len(), site.hosts.len()), (12, 0));
    assert_eq!(site.endpoints.as_deref(), Some("door"));
    assert!(
        site.routes
            .iter()
            .all(|route| route.body == Body::Buffer(8 << 20))
    );
    let [pool] = model.pools.as_slice() else {
        panic!()
    };
    assert_eq!(
        (pool.in_flight, pool.queue, pool.retries),
        (32, 4 * 32 * 2, 2)
    );
    assert_eq!(
        (pool.queue_wait, pool.connect_timeout),
        (seconds(5), seconds(2))
    );
    assert_eq!((pool.keep_idle, pool.keep_requests), (seconds(3), 900));
    assert_eq!((pool.answer_gap, pool.retry_busy), (seconds(60), true));
    assert_eq!(
        (pool.probe.every, pool.probe.timeout),
        (seconds(2), seconds(1))
    );
    assert_eq!(
        (pool.health.fall, pool.health.rise, pool.health.floor),
        (3, 2, seconds(6))
    );
    assert_eq!(
        (pool.health.keep_last, pool.health.count_traffic),
        (false, true)
    );
    assert_eq!(model.limits.body_memory, 256 << 20);
    assert_eq!(model.access_log, AccessLog::Stdout);
}

#[test]
fn what_would_be_unsafe_or_useless_is_refused() {
    let flag = |set: fn(&mut FrontDoor) -> &mut Option<Place>| {
        move |door: &mut FrontDoor, place| *set(door) = Some(place)
    };
    let file = |place| Some(Placed::new(PathBuf::from("x.pem"), place));
    assert_eq!(Line::new().refused(), ["G0301"]);
    assert_eq!(usual().upstream("a", "127.0.0.1:7003").refused(), ["G0102"]);
    assert_eq!(usual().upstream("c", "127.0.0.1").refused(), ["G0202"]);
    assert_eq!(usual().listen("0.0.0.0:7650").refused(), ["G0402"]);
    assert_eq!(usual().listen("nonsense").refused(), ["G0202"]);
    assert_eq!(usual().upstream("c", "10.0.0.1:1").refused(), ["G0403"]);
    assert_eq!(usual().upstream("c", "node-c:1").refused(), ["G0403"]);
    assert_eq!(
        usual()
            .with(|door, place| door.tls_key = file(place))
            .refused(),
        ["G0401"]
    );
    assert_eq!(
        usual()
            .with(flag(|door| &mut door.no_ddl))
            .with(flag(|door| &mut door.allow_ops))
            .refused(),
        ["G0404"]
    );
    assert_eq!(
        usual()
            .with(flag(|door| &mut door.insecure_skip_verify))
            .with(|door, place| door.upstream_ca = file(place))
            .refused(),
        ["G0405"]
    );
    let zero = |place| Some(Placed::new(Duration::ZERO, place));
    assert_eq!(
        usual()
            .with(|door, place| door.read_timeout = zero(place))
            .refused(),
        ["G0204"]
    );
    let one = |place| Some(Placed::new(Duration::from_millis(49), place));
    assert_eq!(
        usual()
            .with(|door, place| door.health_timeout = one(place))
            .refused(),
        ["G0204"]
    );
    let many = |place| Some(Placed::new(256, place));
    assert_eq!(
        usual()
            .with(|door, place| door.health_fail = many(place))
            .refused(),
        ["G0204"]
    );
}

#[test]
fn what_is_allowed_on_request_is_allowed_and_said() {
    let open = usual()
        .listen("0.0.0.0:7650")
        .upstream("c", "10.0.0.1:1")
        .with(|door, place| door.insecure_no_tls = Some(place));
    assert!(open.warned().is_empty());
    let skip = usual().with(|door, place| door.insecure_skip_verify = Some(place));
    assert_eq!(skip.warned(), ["G0406"]);
    let trust = usual().with(|door, place| door.trust_forwarded_for = Some(place));
    assert_eq!(trust.warned(), ["G0407"]);
    assert_eq!(usual().upstream("c", "127.0.0.1:7001").warned(), ["G0507"]);
}

#[test]
fn a_ca_encrypts_traffic_to_nodes_and_a_probe_may_outlive_a_short_interval() {
    let mut line = usual().upstream("c", "10.0.0.1:1").with(|door, place| {
        door.upstream_ca = Some(Placed::new("ca.pem".into(), place.clone()));
        door.health_interval = Some(Placed::new(Duration::from_millis(200), place));
    });
    let loaded = line.expand().unwrap();
    let pool = &loaded.snapshot.model().pools[0];
    assert_eq!(pool.tls, NodeTls::Verified("ca.pem".into()));
    assert_eq!(pool.probe.timeout, Duration::from_secs(1));
    assert_eq!(loaded.files.len(), 1);
}

const CLUSTER: &str = r#"
schema_leader = "a"
colour = "ignored"
[[node]]
name = "a"
addr = "127.0.0.1:7001"
shards = "0.."
[[node]]
name = "b"
addr = "127.0.0.1:7002"
replica = "a"
[[node]]
name = "c"
addr = "127.0.0.1:7003"
replica = "a"
"#;

#[test]
fn a_cluster_file_gives_nodes_and_a_flag_moves_one() {
    let mut line = Line::new()
        .cluster(CLUSTER)
        .upstream("b", "127.0.0.1:9002")
        .upstream("d", "127.0.0.1:9004");
    let loaded = line.expand().unwrap();
    assert!(loaded.warnings.is_empty());
    let nodes: Vec<String> = loaded.snapshot.model().pools[0]
        .nodes
        .iter()
        .map(|node| {
            format!(
                "{} {} {}",
                node.name,
                node.addr,
                node.replica.as_deref().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        nodes,
        [
            "a 127.0.0.1:7001 -",
            "b 127.0.0.1:9002 a",
            "c 127.0.0.1:7003 a",
            "d 127.0.0.1:9004 -"
        ]
    );
}

#[test]
fn what_the_cluster_would_refuse_is_a_warning() {
    let warned = |from: &str, to: &str| {
        assert!(CLUSTER.contains(from));
        Line::new().cluster(&CLUSTER.replacen(from, to, 1)).warned()
    };
    assert_eq!(warned("\"0..\"", "\"0..64\""), ["G0501"]);
    assert_eq!(warned("\"0..\"", "\"5..\""), ["G0501"]);
    assert_eq!(warned("\"0..\"", "\"x\""), ["G0508"]);
    assert_eq!(warned("replica = \"a\"", "shards = \"64..\""), ["G0502"]);
    assert_eq!(warned("replica = \"a\"", ""), ["G0503"]);
    assert_eq!(warned("replica = \"a\"", "replica = \"c\""), ["G0505"]);
    assert_eq!(warned("replica = \"a\"", "replica = \"z\""), ["G0505"]);
    assert_eq!(warned("schema_leader = \"a\"", ""), ["G0506"]);
    assert_eq!(
        warned("schema_leader = \"a\"", "schema_leader = \"z\""),
        ["G0506"]
    );
    assert_eq!(warned("127.0.0.1:7003", "127.0.0.1:7002"), ["G0507"]);
    let two = CLUSTER.split("[[node]]\nname = \"c\"").next().unwrap();
    assert_eq!(Line::new().cluster(two).warned(), ["G0504"]);
}

#[test]
fn no_pool_can_be_made_of_these_cluster_files() {
    let refused = |from: &str, to: &str| {
        let codes = Line::new()
            .cluster(&CLUSTER.replacen(from, to, 1))
            .refused();
        codes.first().cloned().unwrap()
    };
    assert_eq!(refused("name = \"b\"", ""), "G0004");
    assert_eq!(refused("addr = \"127.0.0.1:7002\"", "addr = 5"), "G0004");
    assert_eq!(refused("name = \"b\"", "name = \"a\""), "G0102");
    assert_eq!(refused("127.0.0.1:7002", "127.0.0.1:0"), "G0202");
    assert_eq!(refused("name = \"b\"", "name = "), "G0001");
    assert_eq!(Line::new().cluster("node = []").refused(), ["G0301"]);
    let mut line = Line::new();
    let place = line.door.name.place.clone();
    line.door.cluster = Some(Placed::new("absent/cluster.toml".into(), place));
    assert_eq!(line.refused(), ["G0005"]);
}

/// Options over which the two ways of saying them must agree.
fn any_door() -> impl Strategy<Value = Line> {
    let nodes = prop::collection::btree_map("[a-z][a-z0-9.-]{0,6}", 1u16.., 1..4);
    let times = (
        prop::option::of(1u64..100_000),
        prop::option::of(50u64..5_000),
        prop::option::of(0u64..100_000),
    );
    let numbers = (
        prop::option::of(0u64..9),
        prop::option::of(1u64..99),
        0u8..3,
    );
    (nodes, times, numbers, any::<[bool; 4]>()).prop_map(
        |(nodes, (read, interval, wait), (retries, in_flight, tier), [tls, ca, trust, open])| {
            let mut line = Line::new();
            for (name, port) in nodes {
                line = line.upstream(&name, &format!("127.0.0.1:{port}"));
            }
            line.with(|door, place| {
                let time = |millis: u64| Placed::new(Duration::from_millis(millis), place.clone());
                let number = |value: u64| Placed::new(value, place.clone());
                let path = |text: &str| Some(Placed::new(PathBuf::from(text), place.clone()));
                door.read_timeout = read.map(time);
                door.query_timeout = read.map(time);
                door.health_interval = interval.map(time);
                door.queue_wait = wait.map(time);
                door.max_retries = retries.map(number);
                door.in_flight = in_flight.map(number);
                door.no_ddl = (tier == 1).then(|| place.clone());
                door.allow_ops = (tier == 2).then(|| place.clone());
                door.trust_forwarded_for = trust.then(|| place.clone());
                door.insecure_no_tls = open.then(|| place.clone());
                if tls {
                    door.tls_cert = path("/etc/gateway/\"chain\".pem");
                    door.tls_key = path("/etc/gateway/key.pem");
                }
                if ca {
                    door.upstream_ca = path("/etc/gateway/ca.pem");
                }
            })
        },
    )
}

impl std::fmt::Debug for Line {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.door.to_toml(&Process::default()))
    }
}

proptest! {
    #[test]
    fn the_effective_text_and_the_printed_preset_load_to_the_same_model(mut line in any_door()) {
        let first = line.expand().unwrap().snapshot;
        for text in [effective::to_toml(first.model()), line.door.to_toml(&Process::default())] {
            let mut sources = Sources::default();
            let id = sources.add("gateway.toml", text);
            let again = load_source(id, &mut sources).unwrap().snapshot;
            prop_assert_eq!(again.model(), first.model());
            prop_assert_eq!(again.hash(), first.hash());
        }
    }
}
