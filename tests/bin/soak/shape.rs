//! What the gateway is configured to be at a moment, and the text that says so.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long what drains may go on; short, so that its end is seen often.
pub(crate) const DRAIN: Duration = Duration::from_secs(8);
/// How long a request may wait for its answer.
pub(crate) const BUDGET: Duration = Duration::from_secs(3);
/// Longest silence inside an answer.
pub(crate) const GAP: Duration = Duration::from_secs(1);

/// The configuration in numbers and names.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Worker threads.
    pub(crate) workers: u16,
    /// Changes with every reload of settings.
    pub(crate) turn: u32,
    /// The listener that comes, goes and moves.
    pub(crate) side: Option<Side>,
    /// An address that somebody else has, to be refused.
    pub(crate) taken: Option<SocketAddr>,
    /// Nodes of the pool that is broken now and then.
    pub(crate) nodes: Vec<(String, SocketAddr)>,
    /// Nodes of the pool that tunnels go to; nobody breaks them.
    pub(crate) live: Vec<(String, SocketAddr)>,
    /// Certificate and key, which the soak overwrites now and then.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// From one probe to the next.
    pub(crate) probe: &'static str,
    /// How long an idle connection to a node is kept.
    pub(crate) keep_idle: &'static str,
}

/// A listener beside those that stay.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Its name; another name on the same address is another listener.
    pub(crate) name: &'static str,
    /// Where it is reached.
    pub(crate) addr: SocketAddr,
    /// Whether it is bound to every address on that port.
    pub(crate) is_wide: bool,
    /// Whether it is encrypted.
    pub(crate) is_tls: bool,
}

impl Shape {
    /// One worker, one clear listener that stays, and these nodes for requests and tunnels.
    pub(crate) fn before(
        nodes: Vec<(String, SocketAddr)>,
        live: Vec<(String, SocketAddr)>,
    ) -> Self {
        Shape {
            workers: 1,
            turn: 0,
            side: None,
            taken: None,
            nodes,
            live,
            tls: None,
            probe: "100ms",
            keep_idle: "2s",
        }
    }

    /// The configuration as a file has it.
    pub(crate) fn text(&self) -> String {
        let idle = 70 + self.turn % 7;
        let mut text = format!(
            "workers = {}\n[logs]\naccess = \"off\"\n[drain]\ndeadline = \"{}s\"\n",
            self.workers,
            DRAIN.as_secs()
        );
        text += &listener("front", "127.0.0.1:0", &format!("idle = \"{idle}s\"\n"));
        if let Some((chain, key)) = &self.tls {
            let _ = writeln!(text, "[tls.safe]\nchain = {chain:?}\nkey = {key:?}");
            text += &listener("safe", "127.0.0.1:0", "tls = \"safe\"\n");
        }
        if let Some(side) = &self.side {
            let tls = if side.is_tls { "tls = \"safe\"\n" } else { "" };
            text += &listener(side.name, &side.bind(), tls);
        }
        if let Some(taken) = self.taken {
            text += &listener("taken", &taken.to_string(), "");
        }
        text += &self.pool("shop", &self.nodes);
        text += &self.pool("live", &self.live);
        text
    }

    fn pool(&self, name: &str, nodes: &[(String, SocketAddr)]) -> String {
        let node = |(name, addr): &(String, SocketAddr)| {
            format!("{{ name = \"{name}\", addr = \"{addr}\" }}")
        };
        let nodes: Vec<String> = nodes.iter().map(node).collect();
        format!(
            "[pools.{name}]\nnodes = [{}]\nkeep_idle = \"{}\"\n\
             timeouts = {{ response = \"{}s\", idle = \"{}s\" }}\n\
             [pools.{name}.probe]\nevery = \"{}\"\n",
            nodes.join(", "),
            self.keep_idle,
            BUDGET.as_secs(),
            GAP.as_secs(),
            self.probe
        )
    }
}

impl Side {
    fn bind(&self) -> String {
        match self.is_wide {
            true => format!("0.0.0.0:{}", self.addr.port()),
            false => self.addr.to_string(),
        }
    }
}

/// A listener with a site for every host: reads that may be repeated, writes that may not, tunnels.
fn listener(name: &str, bind: &str, more: &str) -> String {
    format!(
        "[listeners.{name}]\nbind = \"{bind}\"\n{more}\
         [sites.{name}]\nlistener = \"{name}\"\npool = \"shop\"\nfailures = \"json\"\n\
         [sites.{name}.routes.read]\ntemplate = \"/table/{{t}}/records\"\nmethods = [\"GET\"]\n\
         repeatable = true\npool = \"shop\"\n\
         [sites.{name}.routes.live]\npath = \"/live\"\nupgrade = true\npool = \"live\"\n\
         body = {{ stream = \"1 MiB\" }}\n\
         [sites.{name}.routes.write]\ntemplate = \"/sql\"\npool = \"shop\"\n\
         body = {{ stream = \"1 MiB\" }}\n"
    )
}
