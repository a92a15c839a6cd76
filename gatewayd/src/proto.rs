//! The interface of the control plane, as the build makes it of the files under `proto/`.

#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    rust_2018_idioms,
    unreachable_pub,
    reason = "nobody writes it"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/proto.rs"));
}

pub(crate) use generated::gateway::control::v1 as config;
pub(crate) use generated::pingora::panel::gateway::v1 as runtime;

/// What the interface looks like, for reflection.
pub(crate) const DESCRIBED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/control.bin"));

/// Largest message: a configuration of several documents.
pub(crate) const LARGEST: usize = 32 << 20;
