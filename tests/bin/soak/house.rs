//! The gateway of the acts with faults: its nodes, its shape, its certificate.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use gateway_tests::certs::{Authority, Identity};
use gateway_tests::gateway::Plan;
use gateway_tests::message::Request;
use gateway_tests::ports::Reserved;
use gateway_tests::scratch::Scratch;

use crate::nodes::Nodes;
use crate::running::Running;
use crate::shape::Shape;

/// Everything that runs.
pub(crate) struct House {
    /// The gateway.
    pub(crate) gateway: Running,
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
            tls: Some((chain, key)),
            ..Shape::before(nodes.for_requests(), nodes.for_tunnels())
        };
        Self {
            gateway: Running::starts(Plan::configured(&shape.text())),
            shape,
            nodes,
            authority,
            ports: [Reserved::take(), Reserved::take()],
            taken: TcpListener::bind("127.0.0.1:0").expect("a free port"),
            identity,
            files,
        }
    }

    /// The encrypted listener that stays.
    pub(crate) fn safe(&self) -> SocketAddr {
        self.gateway.door.seen_as("safe").addr()
    }

    /// Puts the certificate in place, or garbage.
    pub(crate) fn certificate_is_good(&self, is_good: bool) {
        let garbage = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n";
        let good = &self.identity.cert_pem;
        let chain = if is_good { good } else { garbage };
        let _ = self.files.file("safe.pem", chain);
    }
}

/// The read that is asked for again and again.
pub(crate) fn read() -> Request {
    Request::get("/table/t/records?limit=1000")
}
