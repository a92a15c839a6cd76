//! The gateway with its nodes, and the one way to change it: write the file, send HUP, hear what came
//! of it.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use gateway_tests::certs::{Authority, Identity};
use gateway_tests::client::ask;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::leash::Leash;
use gateway_tests::message::Request;
use gateway_tests::ports::Reserved;
use gateway_tests::scratch::Scratch;
use gateway_tests::wait;
use nix::sys::signal::Signal;

use crate::nodes::Nodes;
use crate::shape::Shape;

/// How long a reload may take on a busy machine.
const RELOAD: Duration = Duration::from_secs(20);
/// Everything that runs.
pub(crate) struct House {
    /// The gateway.
    pub(crate) gateway: Door,
    /// What it is configured to be.
    pub(crate) shape: Shape,
    /// The nodes behind it.
    pub(crate) nodes: Arc<Nodes>,
    /// Who signed the gateway's certificate.
    pub(crate) authority: Authority,
    /// The ports on which the side listener may be.
    pub(crate) ports: [Reserved; 2],
    /// Holds a port that the gateway is told to take.
    pub(crate) taken: TcpListener,
    identity: Identity,
    files: Scratch,
    read: usize,
    _leash: Leash,
}

impl House {
    /// Starts nodes and gateway.
    pub(crate) fn opens() -> Self {
        let nodes = Arc::new(Nodes::start());
        let authority = Authority::new();
        let identity = authority.signs(&["door.test"]);
        let files = Scratch::new();
        let chain = files.file("safe.pem", &identity.cert_pem);
        let key = files.file("safe.key", &identity.key_pem);
        let shape = Shape {
            workers: 1,
            turn: 0,
            side: None,
            taken: None,
            nodes: nodes.for_requests(),
            live: nodes.for_tunnels(),
            tls: Some((chain, key)),
            probe: "100ms",
        };
        let gateway = Plan::configured(&shape.text()).opens();
        let leash = Leash::on(gateway.pid());
        let house = Self {
            gateway,
            shape,
            nodes,
            authority,
            ports: [Reserved::take(), Reserved::take()],
            taken: TcpListener::bind("127.0.0.1:0").expect("a free port"),
            identity,
            files,
            read: 0,
            _leash: leash,
        };
        wait::until("the nodes in rotation", wait::SOON, || {
            ask(house.front(), &read()).status == 200
        });
        house
    }

    /// The clear listener that stays.
    pub(crate) fn front(&self) -> SocketAddr {
        self.gateway.addr()
    }

    /// The encrypted listener that stays.
    pub(crate) fn safe(&self) -> SocketAddr {
        self.gateway.seen_as("safe").addr()
    }

    /// What a read through the gateway is answered with.
    pub(crate) fn expected(&self) -> Vec<u8> {
        self.nodes.answers(&read())
    }

    /// Puts the certificate in place, or garbage.
    pub(crate) fn certificate_is_good(&self, is_good: bool) {
        let garbage = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n";
        let chain = if is_good {
            &self.identity.cert_pem
        } else {
            garbage
        };
        let _ = self.files.file("safe.pem", chain);
    }

    /// Reloads with this text, and gives the gateway's word for how it went.
    pub(crate) fn reloads(&mut self, text: &str) -> String {
        let path = self.gateway.scratch().path().join("gateway.toml");
        fs::write(path, text).expect("our own file");
        self.read += self.gateway.log().after(self.read).len();
        self.gateway.signal(Signal::SIGHUP);
        let said = wait::maybe(RELOAD, || {
            let lines = self.gateway.log().after(self.read);
            lines.into_iter().find(|line| line.contains("\"reload: "))
        });
        said.unwrap_or_else(|| "nothing".to_owned())
    }
}

/// The read that is asked for again and again.
pub(crate) fn read() -> Request {
    Request::get("/table/t/records?limit=1000")
}
