//! A request's steps, one file each, in the order in which a request meets them. A step reads the
//! session, asks core or the snapshot, and acts; none calls another.

pub(crate) mod admit;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod choose;
pub(crate) mod endpoint;
pub(crate) mod files;
pub(crate) mod finish;
pub(crate) mod judge;
pub(crate) mod route;
pub(crate) mod screen;
pub(crate) mod send;
