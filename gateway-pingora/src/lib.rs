//! The data plane: executes snapshots on Pingora. The only crate that knows Pingora, and no public
//! item of it says so.
//!
//! Read `connection`, then `proxy` and its steps: that is a request's way, downward.

mod body_memory;
mod capability;
mod certificates;
mod client;
mod clock;
mod connection;
mod connections_out;
mod ctx;
mod descriptors;
mod endpoint;
mod engine;
mod fault;
mod fields;
mod gate;
mod ids;
mod listening;
mod metrics;
mod pace;
mod peer;
mod pools;
mod probe_io;
mod proxy;
mod serving;
mod socket;
mod step;
mod stream;
mod telemetry;
mod timer;
mod tls;
mod translate;
mod worker;

pub use capability::CAPABILITIES;
pub use certificates::check_certificates;
pub use engine::Engine;
pub use fault::Fault;
