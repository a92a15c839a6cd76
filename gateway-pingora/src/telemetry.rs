//! What is written to the log and to the access log: names of events and fields, declared once.

use std::io::Write;
use std::sync::Arc;

use arc_swap::ArcSwap;
use gateway_config::model::Name;
use gateway_core::rotation::Moves;
use serde::Serialize;
use tracing_appender::non_blocking::NonBlocking;

/// One line for each change of rotation, and one for each range that is lost or held again.
pub(crate) fn moves(pool: &Name, moves: &Moves) {
    for rotation in &moves.rotations {
        tracing::info!(
            pool = &**pool,
            node = &*rotation.node,
            addr = &*rotation.addr,
            r#in = rotation.is_in,
            was = rotation.was_in,
            why = rotation.why.map(|why| why.to_string()),
            by = rotation.by.as_str(),
            total_in = rotation.total_in,
            "rotation"
        );
    }
    for range in &moves.ranges {
        match range.is_held {
            true => tracing::info!(pool = &**pool, range = &*range.range, "range held again"),
            false => tracing::warn!(pool = &**pool, range = &*range.range, "range without node"),
        }
    }
}

/// One line of the access log.
#[derive(Serialize)]
pub(crate) struct AccessLine<'a> {
    /// The request's id.
    pub(crate) id: &'a str,
    /// The client's address.
    pub(crate) client: std::net::IpAddr,
    /// The listener.
    pub(crate) listener: &'a str,
    /// The site, once one was found.
    pub(crate) site: Option<&'a str>,
    /// The method; absent when the head could not be read.
    pub(crate) method: Option<&'a str>,
    /// The path without its query, at most 1 KiB of it.
    pub(crate) path: Option<&'a str>,
    /// The version of HTTP.
    pub(crate) protocol: Option<&'static str>,
    /// The status answered; absent when nobody was there to answer.
    pub(crate) status: Option<u16>,
    /// Bytes of the request body.
    pub(crate) bytes_in: u64,
    /// Bytes of the answer's body.
    pub(crate) bytes_out: u64,
    /// From the end of the head to the end of the answer, in seconds.
    pub(crate) seconds: f64,
    /// The route that matched.
    pub(crate) route: Option<&'a str>,
    /// The pool it goes to.
    pub(crate) pool: Option<&'a str>,
    /// The node asked last.
    pub(crate) node: Option<&'a str>,
    /// Its address.
    pub(crate) addr: Option<&'a str>,
    /// Nodes asked.
    pub(crate) tries: u32,
    /// The code of a failure of ours.
    pub(crate) code: Option<&'static str>,
    /// Its reason.
    pub(crate) reason: Option<&'static str>,
    /// The snapshot the request was served by.
    pub(crate) snapshot: Option<&'a str>,
    /// The version of TLS.
    pub(crate) tls: Option<&'a str>,
}

/// Where access lines go, which a reload may change. Never blocks: a queue that is full drops lines
/// and counts them.
pub(crate) struct AccessLog(ArcSwap<Option<NonBlocking>>);

impl AccessLog {
    /// Lines go there; `None`: nowhere.
    pub(crate) fn new(to: Option<NonBlocking>) -> Self {
        AccessLog(ArcSwap::from_pointee(to))
    }

    /// Whether anybody reads the lines.
    pub(crate) fn is_on(&self) -> bool {
        self.0.load().is_some()
    }

    /// Writes one line.
    pub(crate) fn write(&self, line: &AccessLine<'_>) {
        let Ok(mut bytes) = serde_json::to_vec(line) else {
            return;
        };
        bytes.push(b'\n');
        // Held for no longer than it takes to put the line into the queue.
        let to = self.0.load();
        if let Some(mut writer) = Option::clone(&to) {
            let _ = writer.write_all(&bytes);
        }
    }

    /// Lines go there from here on. When it returns nobody is writing to where they went before, so
    /// that this can be closed.
    pub(crate) fn turn_to(&self, to: Option<NonBlocking>) {
        let mut before = self.0.swap(Arc::new(to));
        while Arc::get_mut(&mut before).is_none() {
            std::thread::yield_now();
        }
    }
}
