//! Listeners and workers that change while the process runs: who stays must not notice.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use gateway_tests::certs::Authority;
use gateway_tests::client::Conversation;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::ports::Reserved;
use gateway_tests::wait;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use socket2::{SockFilter, SockRef};

/// A gateway with these listeners, each with a site for every host before the same pool.
struct House {
    door: Door,
    pool: String,
    reloads: usize,
}

impl House {
    fn with(cluster: &Cluster, workers: u16, listeners: &[(&str, &str)]) -> Self {
        let node = &cluster["a"];
        let pool = format!(
            "[pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
             [pools.shop.probe]\nevery = \"250ms\"\n",
            node.addr()
        );
        let door = Door::configured(&text(&pool, workers, listeners));
        door.sees_in("a");
        House {
            door,
            pool,
            reloads: 0,
        }
    }

    /// Reloads with other listeners, and waits until it is done.
    fn now_has(&mut self, workers: u16, listeners: &[(&str, &str)]) {
        self.writes(workers, listeners);
        self.reloads += 1;
        let done = self.reloads;
        wait::until("the reload", wait::SOON, || {
            let refused = self.door.log().saying("reload: refused");
            assert!(refused.is_empty(), "{refused:?}");
            self.door.log().saying("reload: applied").len() == done
        });
    }

    fn writes(&self, workers: u16, listeners: &[(&str, &str)]) {
        let path = self.door.scratch().path().join("gateway.toml");
        fs::write(path, text(&self.pool, workers, listeners)).unwrap();
        self.door.signal(Signal::SIGHUP);
    }

    fn addr(&self, listener: &str) -> SocketAddr {
        wait::value(&format!("where {listener} listens"), wait::SOON, || {
            let said = self.door.log().saying("listening");
            let last = said
                .iter()
                .rfind(|entry| entry.text("listener") == listener)?;
            last.text("addr").parse().ok()
        })
    }

    fn connects(&self, listener: &str) -> Conversation {
        Conversation::open(self.addr(listener))
    }

    /// A certificate for a listener, and the settings of one that shows it.
    fn may_encrypt(&mut self, addr: SocketAddr) -> (Authority, String) {
        let authority = Authority::new();
        let signed = authority.signs(&["door.test"]);
        let chain = self.door.scratch().file("side.pem", &signed.cert_pem);
        let key = self.door.scratch().file("side.key", &signed.key_pem);
        let tls = format!("[tls.side]\nchain = {chain:?}\nkey = {key:?}\n");
        self.pool.push_str(&tls);
        (authority, format!("{}\ntls = \"side\"", bind(addr)))
    }

    /// Nothing is accepted while the one worker is held; what comes is queued by the kernel.
    fn while_a_worker_is_held(&mut self, act: impl FnOnce(&mut Self)) {
        let thread = self.worker();
        ptrace::attach(thread).expect("a thread of our own child");
        waitpid(thread, Some(WaitPidFlag::__WALL)).expect("the thread stops");
        act(self);
        ptrace::detach(thread, None).expect("the thread goes on");
    }

    /// Puts a filter on the gateway's own socket that listens there.
    fn filters(&self, addr: SocketAddr, filter: &[SockFilter]) {
        let socket = format!("socket:[{}]", inode(addr).unwrap());
        let open = fs::read_dir(format!("/proc/{}/fd", self.door.pid())).unwrap();
        let is_it = |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to == *socket);
        let descriptor = open.map(|one| one.unwrap().path()).find(is_it).unwrap();
        let number = descriptor.file_name().unwrap().to_str().unwrap().parse();
        let process = rustix::process::Pid::from_raw(self.door.pid().as_raw()).unwrap();
        let process = pidfd_open(process, PidfdFlags::empty()).unwrap();
        let ours = pidfd_getfd(process, number.unwrap(), PidfdGetfdFlags::empty()).unwrap();
        SockRef::from(&ours).attach_filter(filter).unwrap();
    }

    fn worker(&self) -> Pid {
        let threads = format!("/proc/{}/task", self.door.pid());
        let mut threads = fs::read_dir(threads)
            .unwrap()
            .map(|one| one.unwrap().path());
        let is_it = |path: &PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "worker-0\n")
        };
        let thread = threads.find(is_it).unwrap();
        let id = thread.file_name().unwrap().to_string_lossy().parse();
        Pid::from_raw(id.unwrap())
    }
}

fn text(pool: &str, workers: u16, listeners: &[(&str, &str)]) -> String {
    let listener = |(name, settings): &(&str, &str)| {
        format!(
            "[listeners.{name}]\n{settings}\n\
             [sites.{name}]\nlistener = \"{name}\"\npool = \"shop\"\nendpoints = \"shop\"\n"
        )
    };
    let listeners: String = listeners.iter().map(listener).collect();
    format!("workers = {workers}\n{listeners}{pool}")
}

fn bind(addr: SocketAddr) -> String {
    format!("bind = \"{addr}\"")
}

const ANY: &str = "bind = \"127.0.0.1:0\"";

fn get() -> Request {
    Request::get("/schema")
}

#[test]
fn a_listener_that_is_added_is_served_and_disturbs_nobody() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY)]);
    let mut idle = house.connects("front");
    idle.asks(&get()).is(200);

    house.now_has(1, &[("front", ANY), ("side", ANY)]);

    house.connects("side").asks(&get()).is(200);
    let answer = idle.asks(&get());
    answer.is(200);
    assert_ne!(answer.field("connection"), Some("close"), "it may stay");
}

#[test]
fn who_is_just_sending_on_a_listener_that_goes_is_served_and_then_told_to_go() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", ANY)]);
    let mut idle = house.connects("side");
    idle.asks(&get()).is(200);
    let side = house.addr("side");

    house.now_has(1, &[("front", ANY)]);

    wait::until("nobody accepts there", wait::SOON, || {
        TcpStream::connect(side).is_err()
    });
    // Longer than the process itself would listen at its end.
    assert!(idle.is_silent_for(Duration::from_millis(300)));
    let answer = idle.asks(&get());
    answer.is(200);
    assert_eq!(answer.field("connection"), Some("close"));
    assert!(idle.is_closed_within(wait::SOON));
}

#[test]
fn what_is_in_flight_on_a_listener_that_goes_is_finished() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", ANY)]);
    cluster.always(&Way::Held);
    let mut client = house.connects("side");
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);

    house.now_has(1, &[("front", ANY)]);
    cluster["a"].lets_go();

    let answer = client.hears();
    answer.is(200);
    assert_eq!(answer.field("connection"), Some("close"));
    assert_eq!(cluster.times_seen("in flight"), 1);
}

#[test]
fn what_drains_is_cut_at_its_deadline() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", ANY)]);
    house.pool.push_str("[drain]\ndeadline = \"300ms\"\n");
    cluster.always(&Way::Held);
    let mut client = house.connects("side");
    client.sends(&Request::post("/sql", "in flight"));
    wait::until("in flight", wait::SOON, || cluster["a"].in_flight() == 1);
    let mut idle = house.connects("side");
    idle.says("GET /schema HTTP/1.1\r\n");

    house.now_has(1, &[("front", ANY)]);

    assert!(client.is_closed_within(wait::SOON));
    assert!(idle.is_closed_within(wait::SOON));
    wait::until("the slot free", wait::SOON, || {
        house.door.node("a")["in_flight"] == 0
    });
}

#[test]
fn a_listener_that_moves_is_served_at_its_new_address_alone() {
    let cluster = Cluster::of(&["a"]);
    let reserved = [Reserved::take(), Reserved::take()];
    let [old, new] = [reserved[0].addr(), reserved[1].addr()];
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", &bind(old))]);

    house.now_has(1, &[("front", ANY), ("side", &bind(new))]);

    Conversation::open(new).asks(&get()).is(200);
    wait::until("nobody at the old one", wait::SOON, || {
        TcpStream::connect(old).is_err()
    });
}

#[test]
fn a_listener_may_move_inside_the_address_it_has() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let free = reserved.addr();
    let wide = SocketAddr::from(([0, 0, 0, 0], free.port()));
    let mut house = House::with(&cluster, 2, &[("front", ANY), ("side", &bind(wide))]);
    Conversation::open(free).asks(&get()).is(200);

    for addr in [free, wide, free] {
        house.now_has(2, &[("front", ANY), ("side", &bind(addr))]);
        for _ in 0..4 {
            Conversation::open(free).asks(&get()).is(200);
        }
    }
}

#[test]
fn nobody_is_lost_who_connects_while_a_listener_moves_inside_its_address() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let free = reserved.addr();
    let wide = SocketAddr::from(([0, 0, 0, 0], free.port()));
    let mut house = House::with(&cluster, 2, &[("front", ANY), ("side", &bind(wide))]);
    let curtain = Curtain::default();

    thread::scope(|scope| {
        let play = curtain.rises();
        scope.spawn(|| {
            while !curtain.is_down() {
                let rush: Vec<Conversation> = (0..100).map(|_| Conversation::open(free)).collect();
                for mut one in rush {
                    one.asks(&get()).is(200);
                }
            }
        });
        for addr in [free, wide].into_iter().cycle().take(60) {
            house.now_has(2, &[("front", ANY), ("side", &bind(addr))]);
        }
        drop(play);
    });
}

/// Takes no bare acknowledgement: whoever has asked for a connection believes to have it, and the kernel
/// has it only with the first bytes.
const ONLY_SYN_AND_PUSH: [SockFilter; 4] = [
    SockFilter::new(0x30, 0, 0, 13),
    SockFilter::new(0x45, 1, 0, 0x0a),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

#[test]
fn who_is_still_being_connected_when_a_listener_goes_is_served() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", ANY)]);
    let addr = house.addr("side");
    house.filters(addr, &ONLY_SYN_AND_PUSH);
    let mut early = None;
    house.while_a_worker_is_held(|house| {
        early = Some(Conversation::open(addr));
        house.now_has(1, &[("front", ANY)]);
    });
    // The order to go is carried out now, and a socket that is closed at once is not seen any more.
    let _ = wait::maybe(Duration::from_millis(20), || (!listens(addr)).then_some(()));

    early.unwrap().asks(&get()).is(200);

    wait::until("the socket to be closed", wait::SOON, || !listens(addr));
}

/// Whether a socket listens there.
fn listens(addr: SocketAddr) -> bool {
    inode(addr).is_some()
}

/// The inode of the socket that listens there (proc_net_tcp(5): in hexadecimal, 0A is LISTEN).
fn inode(addr: SocketAddr) -> Option<String> {
    let listening = format!(":{:04X} 00000000:0000 0A ", addr.port());
    let sockets = fs::read_to_string("/proc/self/net/tcp").unwrap();
    let line = sockets.lines().find(|line| line.contains(&listening))?;
    line.split_whitespace().nth(9).map(str::to_owned)
}

#[test]
fn another_name_on_the_same_address_takes_over_without_a_gap() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let mut house = House::with(&cluster, 2, &[("front", ANY), ("old", &bind(addr))]);
    let mut idle = Conversation::open(addr);
    idle.asks(&get()).is(200);

    house.now_has(2, &[("front", ANY), ("new", &bind(addr))]);

    for _ in 0..4 {
        let mut fresh = Conversation::open(addr);
        assert_ne!(fresh.asks(&get()).field("connection"), Some("close"));
    }
    assert_eq!(idle.asks(&get()).field("connection"), Some("close"));
}

#[test]
fn a_clear_listener_becomes_an_encrypted_one_on_the_same_address() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", &bind(addr))]);
    let mut idle = Conversation::open(addr);
    idle.asks(&get()).is(200);
    let (authority, encrypted) = house.may_encrypt(addr);

    house.now_has(1, &[("front", ANY), ("side", &encrypted)]);

    let mut fresh = Conversation::open_tls(addr, &authority.trust(), "door.test");
    fresh.asks(&get()).is(200);
    assert_eq!(idle.asks(&get()).field("connection"), Some("close"));
}

#[test]
fn who_waits_in_the_queue_while_a_listener_turns_to_tls_is_answered_in_clear_text() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", &bind(addr))]);
    let (authority, encrypted) = house.may_encrypt(addr);

    let mut early = Vec::new();
    house.while_a_worker_is_held(|house| {
        early.extend((0..20).map(|_| Conversation::open(addr)));
        house.now_has(1, &[("front", ANY), ("side", &encrypted)]);
    });

    for mut one in early {
        one.asks(&get()).is(200);
    }
    let mut fresh = Conversation::open_tls(addr, &authority.trust(), "door.test");
    fresh.asks(&get()).is(200);
}

#[test]
fn who_waits_in_the_queue_while_a_listener_turns_to_clear_text_is_answered_over_tls() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let mut house = House::with(&cluster, 1, &[("front", ANY)]);
    let (authority, encrypted) = house.may_encrypt(addr);
    house.now_has(1, &[("front", ANY), ("side", &encrypted)]);

    let mut early = Vec::new();
    house.while_a_worker_is_held(|house| {
        early.extend((0..20).map(|_| TcpStream::connect(addr).unwrap()));
        house.now_has(1, &[("front", ANY), ("side", &bind(addr))]);
    });

    for one in early {
        let mut tls = authority.trust().client("door.test", one);
        let asked =
            tls.write_all(b"GET /schema HTTP/1.1\r\nHost: door.test\r\nConnection: close\r\n\r\n");
        let mut answer = Vec::new();
        let _ = asked.and_then(|()| tls.read_to_end(&mut answer));
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    }
    Conversation::open(addr).asks(&get()).is(200);
}

/// The next frame of HTTP/2: type, flags and payload (RFC 9113 §4.1).
fn frame(from: &mut impl Read) -> std::io::Result<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    from.read_exact(&mut head)?;
    let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    from.read_exact(&mut payload)?;
    Ok((head[3], head[4], payload))
}

#[test]
fn http2_is_told_to_go_before_it_is_told_which_request_was_the_last() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let mut house = House::with(&cluster, 1, &[("front", ANY)]);
    let (authority, encrypted) = house.may_encrypt(addr);
    house.now_has(1, &[("front", ANY), ("side", &encrypted)]);
    let socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(wait::SOON)).unwrap();
    let trust = authority.trust();
    let mut tls = trust.client_offering(&[b"h2"], "door.test", socket);
    // RFC 9113 §3.4: the preface, and settings without any.
    tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let (settings, ..) = frame(&mut tls).unwrap();
    assert_eq!(settings, 4);

    house.now_has(1, &[("front", ANY)]);

    let mut last_streams = Vec::new();
    while let Ok((kind, flags, payload)) = frame(&mut tls) {
        match (kind, flags & 1) {
            (6, 0) => {
                tls.write_all(b"\0\0\x08\x06\x01\0\0\0\0").unwrap();
                tls.write_all(&payload).unwrap();
            }
            (7, _) => last_streams.push(u32::from_be_bytes(payload[..4].try_into().unwrap())),
            _ => {}
        }
    }
    // RFC 9113 §6.8: first any number, then the one that it came to.
    assert_eq!(last_streams, [0x7fff_ffff, 0]);
}

#[test]
fn workers_come_and_go_and_every_connection_is_answered() {
    let cluster = Cluster::of(&["a"]);
    let reserved = Reserved::take();
    let addr = reserved.addr();
    let side = bind(addr);
    let listeners = [("front", ANY), ("side", side.as_str())];
    let mut house = House::with(&cluster, 1, &listeners);

    for workers in [2, 4, 1, 3, 2, 1] {
        // Connected before the change, and silent until after it.
        let silent: Vec<Conversation> = (0..20).map(|_| Conversation::open(addr)).collect();
        house.now_has(workers, &listeners);
        for mut early in silent {
            early.asks(&get()).is(200);
        }
        for _ in 0..20 {
            Conversation::open(addr).asks(&get()).is(200);
        }
    }
}

#[test]
fn a_tunnel_lives_through_changes_of_other_listeners_and_of_its_own_settings() {
    let cluster = Cluster::of(&["a"]);
    let mut house = House::with(&cluster, 1, &[("front", ANY), ("side", ANY)]);
    house.pool.push_str("[sites.front.routes.all]\npath = \"/\"\npool = \"shop\"\nupgrade = true\nbody = { stream = \"1 MiB\" }\n");
    house.now_has(1, &[("front", ANY), ("side", ANY)]);
    cluster.always(&Way::SwitchesAndEchoes);
    let mut tunnel = house.connects("front");
    let upgrade = get()
        .field("Connection", "Upgrade")
        .field("Upgrade", "echo");
    tunnel.asks(&upgrade).is(101);

    house.now_has(1, &[("front", ANY)]);
    house.now_has(
        1,
        &[("front", &format!("{ANY}\nidle = \"7s\"")), ("late", ANY)],
    );

    tunnel.says("still there?");
    assert_eq!(tunnel.hears_bytes(12), b"still there?");
}

#[test]
fn a_port_that_somebody_else_has_is_refused_with_the_listener_and_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let house = House::with(&cluster, 1, &[("front", ANY)]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let mut idle = house.connects("front");
    idle.asks(&get()).is(200);

    house.writes(2, &[("front", ANY), ("fresh", ANY), ("side", &bind(addr))]);
    wait::until("the refusal", wait::SOON, || {
        let said = house.door.log().saying("reload: refused");
        said.iter().any(|entry| {
            let why = entry.text("why");
            why.contains("`side`") && why.contains(&addr.to_string())
        })
    });

    assert_ne!(idle.asks(&get()).field("connection"), Some("close"));
    let names: Vec<_> = house.door.log().saying("listening");
    assert!(names.iter().all(|entry| entry.text("listener") == "front"));
}

#[test]
fn one_listener_may_have_several_addresses_and_get_one_more() {
    let cluster = Cluster::of(&["a"]);
    let reserved = [Reserved::take(), Reserved::take()];
    let [one, two] = [reserved[0].addr(), reserved[1].addr()];
    let several = |all: &[SocketAddr]| {
        format!(
            "bind = {:?}",
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        )
    };
    let mut house = House::with(&cluster, 2, &[("front", ANY), ("side", &several(&[one]))]);
    let mut idle = Conversation::open(one);
    idle.asks(&get()).is(200);

    house.now_has(2, &[("front", ANY), ("side", &several(&[one, two]))]);

    Conversation::open(two).asks(&get()).is(200);
    assert_ne!(idle.asks(&get()).field("connection"), Some("close"));
}
