//! What stands before Pingora's parser: it sees only heads and bodies that were judged here.
//!
//! [`scan`] finds a request head, [`head`] judges it, [`chunks`] follows a chunked body, [`frames`] counts
//! the frames of HTTP/2; all are pure. The stream of a connection ([`Conn`](crate::stream::Conn)) feeds
//! them and hands on what passed.
//!
//! Source: RFC 9112, RFC 9113; adr/0015, adr/0044.

pub(crate) mod chunks;
pub(crate) mod frames;
pub(crate) mod head;
pub(crate) mod proxy_header;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
