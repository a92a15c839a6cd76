//! The names served together, and what crosses them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Name, Route, Tls};
use crate::networks::Networks;
use crate::routing::Routing;
use crate::settings as s;

/// The names served together, and what happens to a request for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Its name.
    pub name: Name,
    /// The listener it is served on; the first of several.
    pub listener: Name,
    /// Further listeners it is served on; sorted.
    pub also_on: Vec<Name>,
    /// Host names, lower case, sorted, `*.parent` among them; empty means every name that no other
    /// site of the listener has.
    pub hosts: Vec<Arc<str>>,
    /// The one of the hosts to which others are redirected; `None`: nobody is.
    pub primary: Option<Arc<str>>,
    /// Whether it also takes names that nobody has; always where `hosts` is empty.
    pub is_default: bool,
    /// Names redirected to the primary one, lower case, sorted.
    pub aliases: Vec<Arc<str>>,
    /// Whether requests are redirected to a name with or without `www`.
    pub www: Www,
    /// Whether clear-text requests are redirected to HTTPS.
    pub https: bool,
    /// Said in every answer over HTTPS; `None`: not said.
    pub hsts: Option<Hsts>,
    /// The profile of its names; `None`: the listener's.
    pub tls: Option<Arc<Tls>>,
    /// From where clients may come; `None`: from everywhere.
    pub allow_from: Option<Networks>,
    /// How a path becomes segments.
    pub segments: Segments,
    /// Whether several slashes in a row are one.
    pub merge_slashes: bool,
    /// How a failure of ours is written.
    pub failures: FailureStyle,
    /// Files sent instead of a failure's sentence, by status.
    pub error_pages: Vec<ErrorPage>,
    /// Whether `/health`, `/ready` and `/metrics` are answered here, about this pool.
    pub endpoints: Option<Name>,
    /// What becomes of a client's `X-Forwarded-For`.
    pub forwarded_for: ForwardedFor,
    /// Request fields carried to the node, lower case; `None` carries all but hop-by-hop ones.
    pub request_fields: Option<Vec<Arc<str>>>,
    /// Answer fields carried to the client, lower case; `None` carries all but hop-by-hop ones.
    pub response_fields: Option<Vec<Arc<str>>>,
    /// Changes to request fields before a node sees them.
    pub request_edits: Edits,
    /// Changes to answer fields before the client sees them.
    pub response_edits: Edits,
    /// How answers are compressed; `None`: they are not.
    pub compression: Option<Compression>,
    /// Requests of one client; `None`: not bounded.
    pub rate: Option<Rate>,
    /// What `Host` the node sees, where its pool does not say.
    pub host: HostSent,
    /// Its routes, in the order in which they are tried.
    pub routes: Vec<Route>,
    /// The look-up made of the routes; no content of its own.
    pub(crate) routing: Routing,
}

/// Whether requests are redirected to a name with or without `www`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Www {
    /// To the name with it.
    Add,
    /// To neither.
    Keep,
    /// To the name without it.
    Remove,
}

/// `Strict-Transport-Security`. Source: RFC 6797 §6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hsts {
    /// How long browsers keep to HTTPS.
    pub max_age: Duration,
    /// Whether names below are meant too.
    pub subdomains: bool,
    /// Whether it may be put into the lists of browsers.
    pub preload: bool,
}

/// How a path becomes segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// Split first, decode each, drop empty ones, refuse dot segments as names.
    Decoded,
    /// RFC 3986 §6.2.2: dot segments removed, unreserved escapes decoded.
    Normalised,
}

/// How a failure of ours is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureStyle {
    /// `{"error":…,"code":…}`, with sentences that name the node asked.
    Json,
    /// One short sentence of plain text that names no node.
    Text,
}

/// A file sent instead of a failure's sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// The status it is sent with; 400 to 599.
    pub status: u16,
    /// The file.
    pub file: PathBuf,
}

/// What becomes of a client's `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedFor {
    /// The peer's address is appended after every line the client sent.
    Append,
    /// Only the peer's address is sent.
    Replace,
}

/// Changes to header fields: first those to take out, then those to set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Fields with the value each is set to; names lower case, sorted.
    pub set: Vec<(Arc<str>, Arc<str>)>,
    /// Fields taken out, lower case, sorted.
    pub remove: Vec<Arc<str>>,
}

/// How answers are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Codings by their names in HTTP, the preferred one first.
    pub codings: Vec<&'static str>,
    /// Shorter answers stay as they are.
    pub min_size: u64,
}

/// How many requests one client may send: an IPv4 address, or an IPv6 /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests …
    pub requests: u32,
    /// … within this time.
    pub per: Duration,
    /// At once.
    pub burst: u32,
}

/// What `Host` the node sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSent {
    /// The client's own.
    Client,
    /// The address of the node dialled.
    Node,
}

impl Site {
    /// A site without routes that takes every name, with every default.
    #[must_use]
    pub fn new(name: Name, listener: Name) -> Self {
        Self {
            name,
            listener,
            also_on: Vec::new(),
            hosts: Vec::new(),
            primary: None,
            is_default: true,
            aliases: Vec::new(),
            www: Www::Keep,
            https: s::SITE_HTTPS.is_on(),
            hsts: None,
            tls: None,
            allow_from: None,
            segments: Segments::Normalised,
            merge_slashes: s::SITE_MERGE_SLASHES.is_on(),
            failures: FailureStyle::Text,
            error_pages: Vec::new(),
            endpoints: None,
            forwarded_for: ForwardedFor::Replace,
            request_fields: None,
            response_fields: None,
            request_edits: Edits::default(),
            response_edits: Edits::default(),
            compression: None,
            rate: None,
            host: HostSent::Client,
            routes: Vec::new(),
            routing: Routing::default(),
        }
    }

    /// Whether it is an allowlist as a front door is one, with the front door's table of statuses and tries.
    #[must_use]
    pub fn is_front_door(&self) -> bool {
        self.segments == Segments::Decoded
    }

    /// Every listener it is served on.
    pub fn listeners(&self) -> impl Iterator<Item = &Name> {
        std::iter::once(&self.listener).chain(&self.also_on)
    }
}

impl Edits {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }
}
