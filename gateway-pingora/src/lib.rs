//! The data plane.
