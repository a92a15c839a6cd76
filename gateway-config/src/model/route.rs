//! A path under a site, and what happens to a request for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Name, Rate, RetryOn};
use crate::networks::Networks;
use crate::routing::Capturing;
use crate::settings as s;
use crate::spelling::Spelling;
use crate::template::Template;

/// A path under a site and what happens there.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name, unique within the site.
    pub name: Name,
    /// Tried before routes with a higher number; at most 1000.
    pub priority: u16,
    /// Methods it takes, compared exactly; empty means every method.
    pub methods: Vec<Arc<str>>,
    /// The paths it takes.
    pub pattern: Pattern,
    /// What else has to hold of a request.
    pub when: When,
    /// Query keys that travel, in the order in which they are sent; `None` carries the query as it is.
    pub query: Option<Vec<Arc<str>>>,
    /// Query keys whose presence is answered 400, each with the sentence of that answer.
    pub refuse_query: Vec<RefusedKey>,
    /// Whether a second request is as good as the first (adr/0012).
    pub repeatable: bool,
    /// From the request read whole to the head of the answer, over all tries.
    pub budget: Duration,
    /// Longest silence inside an answer; `None`: the pool's.
    pub answer_gap: Option<Duration>,
    /// The whole exchange; `None`: not bounded.
    pub total: Option<Duration>,
    /// When it is tried on another node, where that is not as the pool has it.
    pub retry: RouteRetry,
    /// How the body travels.
    pub body: Body,
    /// Whether `Upgrade` is carried and a 101 opens a tunnel.
    pub upgrade: bool,
    /// Requests of one client, besides what the site allows; `None`: not bounded.
    pub rate: Option<Rate>,
    /// What happens to a request.
    pub action: Action,
    /// The pool of [`Action::Pool`]; empty for other actions.
    pub pool: Name,
    /// Which path the node sees.
    pub forward_path: ForwardPath,
    /// Changes to that path.
    pub rewrite: Rewrite,
    /// What captures for an address; no content of its own.
    pub(crate) capturing: Capturing,
}

/// The paths a route takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// This path and no other.
    Exact(Arc<str>),
    /// A shell pattern over the whole path; `*` stays within a segment, `**` does not.
    Glob(Arc<str>),
    /// Every path below this one, on segment boundaries.
    Prefix(Arc<str>),
    /// A regular expression over the whole path.
    Regex(Arc<str>),
    /// Literal segments and captured names, by position.
    Template(Template),
}

/// What else has to hold of a request for a route to take it: all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct When {
    /// Header fields, lower case, sorted.
    pub headers: Vec<Condition>,
    /// Query keys, sorted; compared as a node reads them.
    pub query: Vec<Condition>,
    /// Cookies, sorted.
    pub cookies: Vec<Condition>,
    /// Where the client is; `None`: anywhere.
    pub client: Option<Networks>,
}

/// Something by name that has to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name.
    pub name: Arc<str>,
    /// The value it has to have, compared exactly; `None`: any.
    pub value: Option<Arc<str>>,
}

/// A query key that a route refuses, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedKey {
    /// The key, compared as a node reads it; where segments are decoded, with the raw text.
    pub key: Arc<str>,
    /// The sentence of the 400.
    pub because: Arc<str>,
}

/// How a request body travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Read whole before a node is chosen, at most this many bytes; over it 413.
    Buffer(u64),
    /// Passed on as it comes, at most this many bytes; over it 413.
    Stream(u64),
}

/// What of a pool's retries is otherwise for a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteRetry {
    /// Further tries; `None`: the pool's.
    pub attempts: Option<u32>,
    /// What is tried again; `None`: the pool's.
    pub on: Option<RetryOn>,
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is answered here.
    Answer(Box<Answer>),
    /// It is answered with a file.
    Files(Box<Files>),
    /// It goes to a node of [`Route::pool`].
    Pool,
    /// It is sent elsewhere.
    Redirect(Box<Redirect>),
}

/// An answer without a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status; 200 to 599.
    pub status: u16,
    /// The body; `None`: there is none.
    pub body: Option<Arc<str>>,
    /// What the body is.
    pub content_type: Arc<str>,
}

/// The files of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The directory.
    pub root: PathBuf,
    /// The file that stands for a directory.
    pub index: Arc<str>,
    /// Whether a directory without one is listed.
    pub listing: bool,
    /// The file sent where there is none; `None`: 404.
    pub spa: Option<Arc<str>>,
    /// Codings of which a ready file may lie beside the plain one, the preferred one first.
    pub precompressed: Vec<&'static str>,
}

/// Another address for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    /// Where to.
    pub to: Location,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Whether path and query of the request are put behind it.
    pub keep_path: bool,
}

/// An absolute URL or a path, with captured names in it.
pub type Location = Spelling;

/// Which path the node sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardPath {
    /// The bytes the client sent.
    AsReceived,
    /// The one that was matched.
    Normalised,
}

/// Changes to the path that a node sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Rewrite {
    /// None.
    Keep,
    /// A prefix off, where it is there, then one on; either may be empty. Neither ends in `/`.
    Prefix {
        /// Taken off.
        strip: Arc<str>,
        /// Put on.
        add: Arc<str>,
    },
    /// A new path out of what the pattern captured.
    Template(Spelling),
}

impl Route {
    /// A route to a pool, with every default.
    #[must_use]
    pub fn new(name: Name, pattern: Pattern, pool: Name) -> Self {
        Self {
            name,
            priority: s::ROUTE_PRIORITY.number(),
            methods: Vec::new(),
            pattern,
            when: When::default(),
            query: None,
            refuse_query: Vec::new(),
            repeatable: s::ROUTE_REPEATABLE.is_on(),
            budget: s::POOL_RESPONSE.time(),
            answer_gap: None,
            total: None,
            retry: RouteRetry::default(),
            body: Body::Stream(s::BODY_STREAM.number()),
            upgrade: s::ROUTE_UPGRADE.is_on(),
            rate: None,
            action: Action::Pool,
            pool,
            forward_path: ForwardPath::Normalised,
            rewrite: Rewrite::Keep,
            capturing: Capturing::default(),
        }
    }
}

impl When {
    /// Whether nothing is asked of a request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
            && self.query.is_empty()
            && self.cookies.is_empty()
            && self.client.is_none()
    }
}
