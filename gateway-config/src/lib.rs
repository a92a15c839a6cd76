//! The configuration of a gateway: from TOML, or a command line, to a checked, immutable model.
//!
//! The way is `source → raw → check → model → snapshot`, each arrow one way. Knows no engine, no
//! clock and no network; returns findings and never logs.
//!
//! [`load`] takes a file, [`front_door::expand`] the options of a front door; both give a
//! [`Loaded`] or the diagnostics that refuse it. [`check_files`] looks into the certificates and
//! keys they name. [`effective::to_toml`] writes a model out again, and
//! [`Site::route`](model::Site::route) decides which route takes a request.

mod allowlist;
mod check;
mod cluster;
pub mod codes;
mod diagnostic;
pub mod effective;
mod files;
pub mod front_door;
mod load;
pub mod model;
mod names;
mod raw;
mod segment;
pub mod settings;
mod shape;
mod snapshot;
mod source;
pub mod target;
pub mod template;
pub mod value;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use files::{FileRole, NamedFile, check_files};
pub use load::{load, load_source};
pub use snapshot::{Capability, Loaded, Snapshot};
pub use source::{MAX_BYTES, Place, Placed, SourceId, Sources};
