//! What TLS costs: processor time for new connections beside nginx and for resumed ones beside our own,
//! and memory for those that are idle beside HAProxy.
//!
//! All with one certificate on P-256 and TLS 1.3, one worker or thread each, in turns. Times are those of
//! the servers alone; what the client takes is nobody's. Each new connection carries one small request.
//!
//! Source: PERFORMANCE.md, issue of TLS by name.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gateway_tests::certs::{Authority, Identity, Trust};
use gateway_tests::frames::Frames;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::ports::Reserved;
use gateway_tests::scratch::{Scratch, set_mode};
use gateway_tests::wait;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, StreamOwned, SupportedProtocolVersion,
};

use crate::files::{has_two_processors, spent, stays_on};

/// New connections in one turn.
const CONNECTIONS: u32 = 3_000;
const TURNS: usize = 5;
/// Connections that are held, twice.
const HELD: u32 = 1_000;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
const NAME: &str = "door.test";

/// Prints each turn and the medians.
pub(crate) fn measure() {
    if !has_two_processors() {
        println!("NOT MEASURED: TLS needs two processors");
        return;
    }
    let stage = Stage::new();
    match stage.beside(Stage::nginx) {
        Some((_door, ours, nginx)) => stage.handshakes(&ours, &nginx),
        None => println!("NOT MEASURED: new connections need nginx"),
    }
    let client = stage.client(&TLS13, false);
    let in_http1 = |server: &Server| server.grows(|| server.asked(&client));
    let in_http2 = |server: &Server| server.grows(|| server.asked_in_http2(&stage.trust));
    let kinds: [(&str, Grows<'_>); 2] = [("HTTP/1.1", &in_http1), ("HTTP/2", &in_http2)];
    for (kind, grows) in kinds {
        // New ones each time: what another kind has left behind is taken again.
        let Some((_door, ours, haproxy)) = stage.beside(Stage::haproxy) else {
            println!("NOT MEASURED: idle connections need HAProxy");
            return;
        };
        let (own, theirs) = (grows(&ours), grows(&haproxy));
        println!("idle TLS connection of {kind}, KiB: ours {own:.1}, HAProxy {theirs:.1}");
        println!(
            "memory of an idle TLS connection of {kind}: {:.2} of HAProxy's, at most 1.50",
            own / theirs
        );
    }
}

/// The certificate, and what the servers are made of.
struct Stage {
    scratch: Scratch,
    identity: Identity,
    trust: Trust,
}

/// A server under way.
struct Server {
    process: u32,
    addr: SocketAddr,
    /// One that is not ours, or its parent.
    child: Option<Child>,
}

/// How much memory of a server a connection takes, KiB.
type Grows<'a> = &'a dyn Fn(&Server) -> f64;

type Stream = StreamOwned<ClientConnection, TcpStream>;

impl Stage {
    fn new() -> Self {
        let authority = Authority::new();
        let identity = authority.signs(&[NAME]);
        let scratch = Scratch::new();
        let both = [&*identity.cert_pem, &*identity.key_pem].concat();
        for (name, text) in [
            ("t.pem", &identity.cert_pem),
            ("t.key", &identity.key_pem),
            ("both.pem", &both),
        ] {
            set_mode(&scratch.file(name, text), 0o600);
        }
        Stage {
            scratch,
            identity,
            trust: authority.trust(),
        }
    }

    /// Ours and another, on one processor, and whoever measures on the next.
    fn beside(&self, other: fn(&Self) -> Option<Server>) -> Option<(Door, Server, Server)> {
        stays_on(0);
        let door = self.gateway();
        let ours = Server {
            process: u32::try_from(door.pid().as_raw()).ok()?,
            addr: door.addr(),
            child: None,
        };
        let other = other(self);
        stays_on(1);
        Some((door, ours, other?))
    }

    fn gateway(&self) -> Door {
        let text = "workers = 1\n[logs]\naccess = \"off\"\n[limits]\nconnections_per_client = 20_000\n\
             [listeners.door]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n[tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
             [sites.all]\nlistener = \"door\"\nroutes.all = { path = \"/\", answer = { status = 200, body = \"here\" } }\n";
        let plan = Plan::configured(text);
        for (name, pem) in [
            ("t.pem", &self.identity.cert_pem),
            ("t.key", &self.identity.key_pem),
        ] {
            fs::write(plan.path(name), pem).expect("a file of our own");
            set_mode(&plan.path(name), 0o600);
        }
        plan.opens()
    }

    fn nginx(&self) -> Option<Server> {
        let (addr, dir) = (Reserved::take().addr(), self.scratch.path().display());
        let text = format!(
            "worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/errors;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; server {{ listen {addr} ssl; ssl_protocols TLSv1.3;\n\
             ssl_certificate {dir}/t.pem; ssl_certificate_key {dir}/t.key;\n\
             location / {{ return 200 here; }} }} }}\n"
        );
        let conf = self.scratch.file("nginx.conf", &text);
        let mut command = Command::new("nginx");
        let child = command.arg("-c").arg(conf).stderr(Stdio::null());
        let child = child.spawn().ok()?;
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let process = wait::value("nginx's worker", wait::SOON, || {
            let all = fs::read_to_string(&children).ok()?;
            all.split(' ').next()?.parse().ok()
        });
        let child = Some(child);
        Some(Server {
            process,
            addr,
            child,
        })
    }

    fn haproxy(&self) -> Option<Server> {
        let (addr, dir) = (Reserved::take().addr(), self.scratch.path().display());
        let text = format!(
            "global\n  nbthread 1\n  maxconn 4000\n\
             defaults\n  mode http\n  timeout client 300s\n  timeout server 300s\n  timeout connect 5s\n\
             \x20 timeout http-keep-alive 300s\n\
             frontend door\n  bind {addr} ssl crt {dir}/both.pem ssl-min-ver TLSv1.3 alpn h2,http/1.1\n\
             \x20 http-request return status 200 content-type text/plain string here\n"
        );
        let conf = self.scratch.file("haproxy.cfg", &text);
        let mut command = Command::new("haproxy");
        let child = command.arg("-db").arg("-f").arg(conf);
        let child = child.stderr(Stdio::null()).stdout(Stdio::null());
        let child = child.spawn().ok()?;
        wait::until("HAProxy", wait::SOON, || TcpStream::connect(addr).is_ok());
        Some(Server {
            process: child.id(),
            addr,
            child: Some(child),
        })
    }

    /// A client of this version that resumes its sessions, or never does.
    fn client(
        &self,
        version: &'static SupportedProtocolVersion,
        resumes: bool,
    ) -> Arc<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_protocol_versions(&[version]);
        let config = config
            .expect("a version")
            .with_root_certificates(self.trust.roots());
        let mut config = config.with_no_client_auth();
        config.resumption = match resumes {
            true => Resumption::in_memory_sessions(64),
            false => Resumption::disabled(),
        };
        Arc::new(config)
    }

    fn handshakes(&self, ours: &Server, nginx: &Server) {
        let clients = [
            (&TLS13, false),
            (&TLS13, true),
            (&TLS12, false),
            (&TLS12, true),
        ];
        let clients = clients.map(|(version, resumes)| self.client(version, resumes));
        let [full, resuming, full12, resuming12] = &clients;
        for client in [resuming, resuming12] {
            drop(ours.asked(client));
        }
        let at_nginx = self.client(&TLS13, true);
        drop(nginx.asked(&at_nginx));
        let mut ratios = [const { Vec::new() }; 4];
        for turn in 0..TURNS {
            let mut each = [
                (nginx, full, 0),
                (ours, full, 0),
                (ours, resuming, 0),
                (ours, full12, 0),
                (ours, resuming12, 0),
                (nginx, &at_nginx, 0),
            ];
            // Who comes first has the warmer processor, or the colder.
            each.rotate_left(turn);
            for (server, client, ticks) in &mut each {
                *ticks = server.ticks(client);
            }
            each.rotate_right(turn);
            let [theirs, own, resumed, own12, resumed12, nginx_resumed] =
                each.map(|one| f64::from(one.2));
            println!(
                "turn {turn}, ticks for {CONNECTIONS} new connections: nginx {theirs}, resumed {nginx_resumed}; \
                 ours {own}, resumed {resumed}; in TLS 1.2 {own12}, resumed {resumed12}"
            );
            let four = [
                theirs / own,
                own / resumed,
                own12 / resumed12,
                theirs / nginx_resumed,
            ];
            for (all, one) in ratios.iter_mut().zip(four) {
                all.push(one);
            }
        }
        let [of_nginx, resumed, resumed12, nginx_resumed] = ratios.map(median);
        println!("new TLS 1.3 connections per CPU second: {of_nginx:.2} of nginx, at least 1.20");
        println!(
            "resumed: {resumed:.2} of our own full ones, at least 1.50 (nginx: {nginx_resumed:.2} of its own)"
        );
        println!("resumed in TLS 1.2: {resumed12:.2} of our own full ones");
    }
}

impl Server {
    /// A connection on which one request was answered. One of many thousands may be forgotten by a server
    /// that is not ours, which takes no time of it; that one is made again.
    fn asked(&self, client: &Arc<ClientConfig>) -> Stream {
        let made = || {
            self.tries(client)
                .map_err(|why| println!("made again: {why}"))
        };
        match self.child {
            Some(_) => (0..5).find_map(|_| made().ok()).expect("an answer"),
            None => self.tries(client).expect("an answer"),
        }
    }

    fn tries(&self, client: &Arc<ClientConfig>) -> io::Result<Stream> {
        let socket = TcpStream::connect(self.addr)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let session = ClientConnection::new(Arc::clone(client), Trust::name(NAME));
        let mut stream = StreamOwned::new(session.map_err(io::Error::other)?, socket);
        let request = format!("GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        stream.flush()?;
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        while !seen.ends_with(b"here") {
            match stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => seen.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            }
        }
        Ok(stream)
    }

    /// The same in HTTP/2.
    fn asked_in_http2(&self, trust: &Trust) -> Frames {
        let mut client = Frames::open(self.addr, trust, NAME);
        client.begins_with(&[]).asks(1, "GET", "/", true);
        assert_eq!(client.status(1), Some(200), "an answer");
        client
    }

    /// How much memory a connection takes that is held, KiB.
    fn grows<T>(&self, opens: impl Fn() -> T) -> f64 {
        let first: Vec<T> = (0..HELD).map(|_| opens()).collect();
        let before = self.held();
        let second: Vec<T> = (0..HELD).map(|_| opens()).collect();
        let grown = self.held().saturating_sub(before);
        drop((first, second));
        f64::from(grown) / f64::from(HELD)
    }

    /// Processor time, in ticks of the kernel, that new connections take.
    fn ticks(&self, client: &Arc<ClientConfig>) -> u32 {
        let before = spent(self.process);
        let mut resumed = 0;
        for _ in 0..CONNECTIONS {
            let stream = self.asked(client);
            let kind = stream.conn.handshake_kind();
            resumed += u32::from(kind == Some(HandshakeKind::Resumed));
        }
        assert!(
            resumed == 0 || resumed > CONNECTIONS * 9 / 10,
            "{resumed} of {CONNECTIONS} were resumed"
        );
        spent(self.process) - before
    }

    /// Memory that is the process's own, KiB (proc_pid_smaps(5)).
    fn held(&self) -> u32 {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.process));
        let text = text.expect("a process that runs");
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let quit = Command::new("kill").arg(child.id().to_string()).status();
            let _ = quit.and_then(|_| child.wait());
        }
    }
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}
