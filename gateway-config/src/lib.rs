//! The configuration of a gateway: from TOML, or a command line, to a checked, immutable model.
//!
//! The way is `source → raw → check → model → snapshot`, each arrow one way. Knows no engine, no
//! clock and no network; returns findings and never logs.
//!
//! [`load`](fn@load) takes a file or a folder of them, [`front_door::expand`] the options of a front door; both give a
//! [`Loaded`] or the diagnostics that refuse it. [`check_files`] looks into the certificates and
//! keys they name, [`capability::unserved`] finds what an engine does not execute.
//! [`effective::to_toml`] writes a model out again, [`Snapshot::site`] finds the site of a host and
//! [`Site::route_with`](model::Site::route_with) the route that takes a request.

mod allowlist;
pub mod canonical;
pub mod capability;
mod check;
mod cluster;
pub mod codes;
pub mod cost;
mod diagnostic;
mod dialect;
mod document;
pub mod effective;
mod endpoint;
mod files;
pub mod front_door;
mod hosts;
mod layout;
mod load;
mod masking;
pub mod model;
mod names;
pub mod networks;
mod origins;
mod pattern;
mod raw;
mod routing;
pub mod schema;
mod secrets;
mod segment;
pub mod settings;
mod shape;
mod snapshot;
mod source;
pub mod spelling;
mod syntax;
pub mod target;
pub mod template;
pub mod value;

pub use capability::Capability;
pub use diagnostic::{Diagnostic, Label, Severity};
pub use endpoint::Endpoint;
pub use files::{
    FileRole, MAX_PAGE, NamedFile, certificates, check_files, pairs, read_certificates, read_pem,
};
pub use hosts::{FoundAt, FoundBy, Hosts};
pub use load::{load, load_all, load_all_for, load_source, load_sources, load_sources_for};
pub use masking::{HIDDEN, without_logins};
pub use origins::Origins;
pub use snapshot::{Found, Loaded, Snapshot};
pub use source::{MARK, MAX_BYTES, Origin, Place, Placed, SourceId, Sources};
