//! What stands before Pingora's parser: it sees only heads and bodies that were judged here.
//!
//! [`scan`] finds a request head, [`head`] judges it, [`chunks`] follows a chunked body; all are pure. The
//! stream of a connection ([`Conn`](crate::stream::Conn)) feeds them and hands on what passed.
//!
//! Source: RFC 9112; adr/0015.

pub(crate) mod chunks;
pub(crate) mod head;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
