//! The requests of `edge/` once more, to two others that are configured alike: what they answer, and
//! what reaches a node.
//!
//! A difference stands in the vector's file with its reason; one that does not fails, and so does a
//! reason for what is no difference any more. Compared are the status, the request line at the node,
//! and where a vector names them the text of an answer and the address of a redirect.

use std::ffi::OsString;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gateway_tests::certs::Authority;
use gateway_tests::client::Answer;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::ports::Reserved;
use gateway_tests::scratch::Scratch;
use gateway_tests::vector::{self, Vector, filled, same};
use gateway_tests::wait;

use super::edge::{Differs, Exchange, LISTENERS, identity, tree};

/// A server that is not ours, under way.
struct Peer {
    child: Child,
    ports: Vec<(&'static str, Reserved)>,
    _scratch: Scratch,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What became of a request.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// 0 where the connection was closed without an answer.
    status: u16,
    /// The request line at the node; empty where nothing came.
    node: String,
    body: Option<String>,
    location: Option<String>,
}

#[test]
#[ignore = "wants nginx: cargo xtask differential"]
fn nginx_does_the_same_or_the_difference_is_explained() {
    let program = program("GATEWAY_NGINX");
    differs_as_explained(
        |values, home| {
            for (name, text) in [
                ("nginx.conf", include_str!("peers/nginx.conf")),
                ("shop.conf", include_str!("peers/shop.conf")),
                ("closed.conf", include_str!("peers/closed.conf")),
            ] {
                fs::write(home.join(name), filled(text, values)).unwrap();
            }
            let mut command = Command::new(&program);
            command
                .arg("-p")
                .arg(home)
                .arg("-c")
                .arg(home.join("nginx.conf"));
            command
        },
        |exchange| exchange.nginx.as_ref(),
    );
}

#[test]
#[ignore = "wants Caddy: cargo xtask differential"]
fn caddy_does_the_same_or_the_difference_is_explained() {
    let program = program("GATEWAY_CADDY");
    differs_as_explained(
        |values, home| {
            // Braces are Caddy's own, so its names are capitals.
            let put = |text: String, (name, value): &(&str, String)| {
                let name = name.to_uppercase();
                let port = value.rsplit(':').next().unwrap_or_default();
                let text = text.replace(&format!("{name}_PORT"), port);
                text.replace(&name, value)
            };
            let text = values
                .iter()
                .fold(include_str!("peers/Caddyfile").to_owned(), put);
            fs::write(home.join("Caddyfile"), text).unwrap();
            let mut command = Command::new(&program);
            command.args(["run", "--adapter", "caddyfile", "--config"]);
            command.arg(home.join("Caddyfile")).env("HOME", home);
            command
        },
        |exchange| exchange.caddy.as_ref(),
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "where the program is, is told by whoever has found it"
)]
fn program(variable: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} names the program"))
}

fn differs_as_explained(
    command: impl Fn(&[(&str, String)], &Path) -> Command,
    told: impl Fn(&Exchange) -> Option<&Differs>,
) {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let peer = Peer::starts(&cluster, &authority, command);
    vector::each("edge", |vector: &Vector<Exchange>| {
        let exchange = &vector.content;
        cluster.forgets();
        cluster.always(&Way::Says(exchange.node_says()));
        let answer = exchange.is_asked_at(peer.addr(&exchange.listener), &authority);
        let found = Outcome::of(exchange, answer, &cluster);
        let ours = Outcome::ours(exchange);
        let should =
            told(exchange).map_or_else(|| Outcome::ours(exchange), |told| told.changes(exchange));
        same("what it does", &found, &should)?;
        match told(exchange) {
            Some(_) if should == ours => Err("a difference is explained that is none".to_owned()),
            _ => Ok(()),
        }
    });
}

impl Peer {
    fn starts(
        cluster: &Cluster,
        authority: &Authority,
        command: impl Fn(&[(&str, String)], &Path) -> Command,
    ) -> Self {
        let scratch = Scratch::new();
        let home = scratch.path();
        let signed = identity(authority);
        let put = |name: &str, text: &str| shown(&scratch.file(name, text));
        let ports: Vec<_> = LISTENERS
            .iter()
            .map(|name| (*name, Reserved::take()))
            .collect();
        let mut values = vec![
            ("node", cluster["a"].addr().to_string()),
            ("chain", put("shop.pem", &signed.cert_pem)),
            ("key", put("shop.key", &signed.key_pem)),
            ("page", put("page.html", "<p>gone\n")),
            ("root", tree(&home.join("www"))),
            ("home", shown(home)),
        ];
        values.extend(
            ports
                .iter()
                .map(|(name, port)| (*name, port.addr().to_string())),
        );
        let log = fs::File::create(home.join("said")).unwrap();
        let mut child = command(&values, home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the program");
        let addr = ports[0].1.addr();
        wait::until("its port", wait::SOON, || {
            if let Ok(Some(status)) = child.try_wait() {
                let said = fs::read_to_string(home.join("said")).unwrap_or_default();
                panic!("it ended with {status}: {said}");
            }
            TcpStream::connect(addr).is_ok()
        });
        Self {
            child,
            ports,
            _scratch: scratch,
        }
    }

    fn addr(&self, listener: &str) -> std::net::SocketAddr {
        let port = self.ports.iter().find(|(name, _)| *name == listener);
        port.expect("a listener").1.addr()
    }
}

fn shown(path: &Path) -> String {
    PathBuf::from(path).display().to_string()
}

impl Outcome {
    /// What a peer has done, as far as the vector says what is to be compared.
    fn of(exchange: &Exchange, answer: Option<Answer>, cluster: &Cluster) -> Self {
        let seen = cluster["a"].seen();
        let line = seen
            .first()
            .map(|one| format!("{} {}", one.method, one.target));
        let ours = Self::ours(exchange);
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        let answer = answer.filter(|_| status == ours.status).unwrap_or_default();
        Self {
            status,
            node: line.unwrap_or_default(),
            body: ours.body.map(|_| answer.text()),
            location: ours
                .location
                .map(|_| answer.field("location").unwrap_or_default().to_owned()),
        }
    }

    /// What the vector says, which the gateway is held to elsewhere. How a failure is worded is nobody
    /// else's business.
    fn ours(exchange: &Exchange) -> Self {
        let is_worded = (200..300).contains(&exchange.status);
        let location = exchange.gets.get("location");
        Self {
            status: exchange.status,
            node: exchange.node.clone().unwrap_or_default(),
            body: exchange.body.clone().filter(|_| is_worded),
            location: location.and_then(|lines| lines.first().cloned()),
        }
    }
}

impl Differs {
    /// What a peer does instead.
    fn changes(&self, exchange: &Exchange) -> Outcome {
        assert!(!self.why.is_empty(), "a reason");
        let ours = Outcome::ours(exchange);
        let status = self.status.unwrap_or(ours.status);
        // What is not an answer of the same kind has neither.
        let kept = |text: Option<String>| match status == ours.status {
            true => text,
            false => text.map(|_| String::new()),
        };
        Outcome {
            status,
            node: self.node.clone().unwrap_or(ours.node),
            body: self.body.clone().or_else(|| kept(ours.body)),
            location: self.location.clone().or_else(|| kept(ours.location)),
        }
    }
}
