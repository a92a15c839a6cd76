//! The acts, each with a ledger of its own.

pub(crate) mod end;
pub(crate) mod faults;
mod rest;
pub(crate) mod scarce;
pub(crate) mod steady;
