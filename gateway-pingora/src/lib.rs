//! The data plane: executes snapshots on Pingora. The only crate that knows Pingora, and no public
//! item of it says so.
//!
//! Read `connection`, then `proxy` and its steps: that is a request's way, downward.

mod access;
mod affinity;
mod arrival;
mod body_memory;
mod capability;
mod certificates;
mod client;
mod clock;
mod compress;
mod connection;
mod connections_out;
mod counts;
mod crew;
mod ctx;
mod departed;
mod descriptors;
mod drain;
mod engine;
pub mod explain;
mod exposition;
mod fault;
mod fields;
mod folder;
mod forwarded;
mod gate;
mod generation;
mod handover;
mod http2;
mod ids;
mod listening;
mod made;
mod metrics;
mod origin;
mod pace;
mod patience;
mod peer;
mod pools;
mod post;
mod probe_io;
mod probing;
mod proxy;
mod series;
mod serving;
mod shown;
mod site;
mod sockets;
mod step;
mod stream;
mod telemetry;
mod threshold;
mod timer;
mod tls;
mod translate;
mod view;
mod waiting;
mod worker;

pub use capability::CAPABILITIES;
pub use certificates::{check_certificates, check_names};
pub use engine::{Engine, Options, Prepared};
pub use exposition::{Exposition, Kind};
pub use fault::Fault;
pub use threshold::Threshold;
pub use view::{Applied, DataPlane, DrainingView, ListenerView, NodeHealth, PoolView};
