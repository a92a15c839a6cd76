//! The access log: one line for each request, written so that nobody who sends a request can write a
//! line of his own.
//!
//! What a line says is left to the steps, where lines end up to the process. Lines are ASCII, and no
//! longer than what is cut here allows. Never blocks: a queue that is full drops lines.
//!
//! Source: GATEWAY §10; adr/0039.

use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use gateway_config::model::{LogFormat, Logs};
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use tracing_appender::non_blocking::NonBlocking;

use crate::clock;

mod combined;

pub(crate) use combined::is_named;

/// Longest path or target in a line, in bytes as they came.
const MAX_TARGET: usize = 1024;
/// Longest name of a host, which is longer than any there is.
const MAX_HOST: usize = 256;
/// Longest method.
const MAX_METHOD: usize = 64;

/// One line of the access log.
#[derive(Serialize)]
pub(crate) struct AccessLine<'a> {
    /// When the request ended, in seconds since 1970.
    pub(crate) time: f64,
    /// The request's id.
    pub(crate) id: &'a str,
    /// The client's address.
    pub(crate) client: IpAddr,
    /// The listener.
    pub(crate) listener: &'a str,
    /// The site, once one was found.
    pub(crate) site: Option<&'a str>,
    /// The host asked for.
    #[serde(serialize_with = "host")]
    pub(crate) host: Option<&'a str>,
    /// The method; absent when the head could not be read.
    #[serde(serialize_with = "method")]
    pub(crate) method: Option<&'a str>,
    /// The target; here the path without its query.
    #[serde(rename = "path", serialize_with = "path")]
    pub(crate) target: Option<&'a [u8]>,
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
    /// The generation that served when the request came.
    pub(crate) generation: u64,
    /// The snapshot the request was served by.
    pub(crate) snapshot: Option<&'a str>,
    /// The version of TLS.
    pub(crate) tls: Option<&'a str>,
    /// The page the client comes from, as it says; combined only.
    #[serde(skip)]
    pub(crate) referrer: Option<&'a [u8]>,
    /// What the client says it is; combined only.
    #[serde(skip)]
    pub(crate) agent: Option<&'a [u8]>,
}

/// Where access lines go, and how they are written; a reload may change both.
pub(crate) struct AccessLog {
    to: ArcSwap<Target>,
}

struct Target {
    /// `None`: nowhere.
    writer: Option<NonBlocking>,
    logs: Logs,
}

impl AccessLog {
    /// Lines go there; `None`: nowhere.
    pub(crate) fn new(writer: Option<NonBlocking>, logs: &Logs) -> Self {
        let logs = logs.clone();
        AccessLog {
            to: ArcSwap::from_pointee(Target { writer, logs }),
        }
    }

    /// Whether anybody reads the lines.
    pub(crate) fn is_on(&self) -> bool {
        self.to.load().writer.is_some()
    }

    /// Writes one line.
    pub(crate) fn write(&self, line: &AccessLine<'_>) {
        // Held for no longer than it takes to put the line into the queue.
        let to = self.to.load();
        let Some(mut writer) = to.writer.clone() else {
            return;
        };
        if let Ok(bytes) = line.written(&to.logs) {
            let _ = writer.write_all(&bytes);
        }
    }

    /// Lines are written like that from here on, and to `writer` if one is given. When it returns
    /// nobody is writing to where they went before, so that this can be closed.
    pub(crate) fn turn_to(&self, writer: Option<Option<NonBlocking>>, logs: &Logs) {
        let now = self.to.load();
        if writer.is_none() && now.logs == *logs {
            return;
        }
        let writer = writer.unwrap_or_else(|| now.writer.clone());
        drop(now);
        let logs = logs.clone();
        let mut before = self.to.swap(Arc::new(Target { writer, logs }));
        while Arc::get_mut(&mut before).is_none() {
            std::thread::yield_now();
        }
    }
}

impl<'a> AccessLine<'a> {
    /// A line about a client whose request could not be read.
    pub(crate) fn unread(id: &'a str, client: IpAddr, listener: &'a str) -> Self {
        AccessLine {
            time: clock::unix_seconds(),
            id,
            client,
            listener,
            site: None,
            host: None,
            method: None,
            target: None,
            protocol: None,
            status: None,
            bytes_in: 0,
            bytes_out: 0,
            seconds: 0.0,
            route: None,
            pool: None,
            node: None,
            addr: None,
            tries: 0,
            code: None,
            reason: None,
            generation: 0,
            snapshot: None,
            tls: None,
            referrer: None,
            agent: None,
        }
    }

    /// The line with its end.
    fn written(&self, logs: &Logs) -> io::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(768);
        match logs.format {
            LogFormat::Combined => combined::write(&mut line, self, &logs.redact)?,
            LogFormat::Json => {
                self.serialize(&mut serde_json::Serializer::with_formatter(
                    &mut line, Ascii,
                ))?;
            }
        }
        line.push(b'\n');
        Ok(line)
    }
}

/// Writes what is no visible ASCII as `\u`: some readers end a line at U+0085, some screens obey U+009B.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
        if fragment.as_bytes().iter().all(is_plain) {
            return out.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        for character in fragment.chars() {
            match u8::try_from(character).ok().filter(is_plain) {
                Some(byte) => out.write_all(&[byte])?,
                None => {
                    for unit in character.encode_utf16(&mut units) {
                        write!(out, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn host<S: Serializer>(host: &Option<&str>, to: S) -> Result<S::Ok, S::Error> {
    text(host.map(str::as_bytes), MAX_HOST, to)
}

fn method<S: Serializer>(method: &Option<&str>, to: S) -> Result<S::Ok, S::Error> {
    text(method.map(str::as_bytes), MAX_METHOD, to)
}

fn path<S: Serializer>(target: &Option<&[u8]>, to: S) -> Result<S::Ok, S::Error> {
    let before = target.map(|target| {
        let end = target.iter().position(|&byte| byte == b'?');
        end.and_then(|end| target.get(..end)).unwrap_or(target)
    });
    text(before, MAX_TARGET, to)
}

/// What a client sent, cut; what is no text stands as U+FFFD.
fn text<S: Serializer>(bytes: Option<&[u8]>, most: usize, to: S) -> Result<S::Ok, S::Error> {
    let text = bytes.map(|bytes| String::from_utf8_lossy(cut(bytes, most)));
    text.serialize(to)
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
