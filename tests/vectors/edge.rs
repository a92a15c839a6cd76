//! `edge/`: what sites, routes and redirects do with a request, and what a node then sees.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;

use flate2::read::GzDecoder;
use gateway_tests::certs::{Authority, Identity};
use gateway_tests::client::{Answer, Conversation};
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::{Head, to_byte};
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::vector::{self, Vector, filled, same};
use gateway_tests::wait;
use serde::Deserialize;

type Wanted = BTreeMap<String, Vec<String>>;

/// The listeners of `edge.gateway.toml`.
pub(super) const LISTENERS: [&str; 6] = ["plain", "secret", "inner", "behind", "told", "onward"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    #[serde(default = "plain")]
    pub(super) listener: String,
    /// Request line and field lines, without the line that ends the head.
    ask: Vec<String>,
    /// What the node answers.
    #[serde(default = "ok")]
    reply_status: u16,
    /// Field lines of the node's answer.
    #[serde(default)]
    reply: Vec<(String, String)>,
    /// A text that the node's body is a thousand times.
    reply_body: Option<String>,
    pub(super) status: u16,
    pub(super) body: Option<String>,
    /// A text that the body is a thousand times, once its gzip is undone.
    unpacked: Option<String>,
    #[serde(default)]
    pub(super) gets: Wanted,
    /// Method and target that reach the node; nothing does without.
    pub(super) node: Option<String>,
    #[serde(default)]
    node_gets: Wanted,
    /// What nginx does instead.
    pub(super) nginx: Option<Differs>,
    /// What Caddy does instead.
    pub(super) caddy: Option<Differs>,
}

/// What another server does with the same request, where it is not the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Differs {
    /// Why.
    pub(super) why: String,
    /// 0: it closes without an answer.
    pub(super) status: Option<u16>,
    /// Empty: nothing reaches the node.
    pub(super) node: Option<String>,
    pub(super) body: Option<String>,
    pub(super) location: Option<String>,
}

fn ok() -> u16 {
    200
}

fn plain() -> String {
    "plain".to_owned()
}

#[test]
fn a_request_is_decided_as_the_tables_say_and_nothing_else_reaches_a_node() {
    let cluster = Cluster::of(&["a"]);
    let authority = Authority::new();
    let door = gateway(&cluster, &authority);

    vector::each("edge", |vector: &Vector<Exchange>| {
        let exchange = &vector.content;
        cluster.forgets();
        if exchange.node.is_some() {
            cluster.next([Way::Says(exchange.node_says())]);
        }
        let addr = door.seen_as(&exchange.listener).addr();
        let answer = exchange.is_asked_at(addr, &authority).expect("an answer");
        same("status", answer.status, exchange.status)?;
        if let Some(body) = &exchange.body {
            same("body", answer.text(), body.clone())?;
        }
        if let Some(text) = &exchange.unpacked {
            let mut plain = String::new();
            let mut unpacker = GzDecoder::new(&answer.body[..]);
            unpacker
                .read_to_string(&mut plain)
                .map_err(|error| error.to_string())?;
            same("body", plain, text.repeat(1000))?;
        }
        values(&answer.head, &exchange.gets)?;
        at_node(&cluster, exchange)
    });
}

fn gateway(cluster: &Cluster, authority: &Authority) -> Door {
    let plan = Plan::configured("");
    let signed = identity(authority);
    let put = |name: &str, text: &str| {
        let path = plan.path(name);
        std::fs::write(&path, text).expect("a file of our own");
        path.display().to_string()
    };
    let key = put("shop.key", &signed.key_pem);
    gateway_tests::scratch::set_mode(&plan.path("shop.key"), 0o600);
    let values = [
        ("node", cluster["a"].addr().to_string()),
        ("chain", put("shop.pem", &signed.cert_pem)),
        ("key", key),
        ("page", put("page.html", "<p>gone\n")),
        ("root", tree(&plan.path("www"))),
    ];
    let text = include_str!("edge.gateway.toml");
    put("gateway.toml", &filled(text, &values));
    let door = plan.opens();
    let ask = "GET /pub/x HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    let addr = door.seen_as("plain").addr();
    let asks = || {
        Conversation::open(addr)
            .says(ask)
            .expects_answer_to("GET")
            .hears()
    };
    wait::until("the node in rotation", wait::SOON, || asks().status != 503);
    door
}

/// What is shown over TLS: not for every name that there is a site for.
pub(super) fn identity(authority: &Authority) -> Identity {
    authority.signs(&[
        "new.example",
        "www.new.example",
        "older.example",
        "*.wide.example",
        "192.0.2.7",
    ])
}

/// A directory with files to be shown, and others that are not.
pub(super) fn tree(root: &Path) -> String {
    for name in ["sub/.git", ".well-known", "empty"] {
        std::fs::create_dir_all(root.join(name)).expect("a directory of our own");
    }
    for (name, text) in [
        ("index.html", "<p>home\n"),
        ("a b.txt", "0123456789"),
        ("style.css", "body{}"),
        ("style.css.br", "brotli"),
        (".env", "secret"),
        (".well-known/x", "known"),
        ("sub/one.txt", "one"),
        ("sub/.git/config", "secret"),
    ] {
        std::fs::write(root.join(name), text).expect("a file of our own");
    }
    std::os::unix::fs::symlink("/etc/passwd", root.join("out")).expect("a link of our own");
    root.display().to_string()
}

impl Exchange {
    /// What the node answers.
    pub(super) fn node_says(&self) -> Reply {
        let add = |reply: Reply, (name, value): &(String, String)| reply.field(name, value);
        let body = self.reply_body.as_deref().unwrap_or_default();
        let reply = Reply::new(self.reply_status);
        let reply = self.reply.iter().fold(reply, add);
        reply.body(body.repeat(1000).into_bytes())
    }

    /// Its answer; `None` where the connection was closed without one.
    pub(super) fn is_asked_at(&self, addr: SocketAddr, authority: &Authority) -> Option<Answer> {
        let mut client = match &*self.listener {
            "secret" | "inner" => Conversation::open_tls(addr, &authority.trust(), "new.example"),
            _ => Conversation::open(addr),
        };
        let head = format!("{}\r\n\r\n", self.ask.join("\r\n"));
        let bytes: Vec<u8> = head.chars().map(to_byte).collect();
        let method = head.split(' ').next().unwrap_or_default();
        client.says(bytes).expects_answer_to(method);
        client.listens().expect("an answer or an end")
    }
}

fn at_node(cluster: &Cluster, exchange: &Exchange) -> Result<(), String> {
    let seen = cluster["a"].seen();
    let reached: Vec<String> = seen
        .iter()
        .map(|one| format!("{} {}", one.method, one.target))
        .collect();
    same(
        "what reached the node",
        reached,
        exchange.node.iter().cloned().collect(),
    )?;
    match seen.first() {
        Some(one) => values(&one.head, &exchange.node_gets),
        None => Ok(()),
    }
}

fn values(head: &Head, wanted: &Wanted) -> Result<(), String> {
    for (name, values) in wanted {
        let found: Vec<String> = head.all(name).into_iter().map(str::to_owned).collect();
        same(name, found, values.clone())?;
    }
    Ok(())
}
