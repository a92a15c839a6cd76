//! Sites and routes as they were typed.

use serde::Deserialize;
use toml::Spanned;

use super::{Leaf, List, Named, OneOrMany, Presence, Quantity, Short};

/// `[sites.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Site {
    pub(crate) listener: Leaf<OneOrMany<String>>,
    pub(crate) hosts: List,
    pub(crate) default: Leaf<bool>,
    pub(crate) aliases: List,
    pub(crate) www: Leaf<String>,
    pub(crate) https: Leaf<bool>,
    pub(crate) hsts: Leaf<Short<Quantity, Hsts>>,
    pub(crate) tls: Leaf<String>,
    pub(crate) allow_from: List,
    pub(crate) pool: Leaf<String>,
    pub(crate) segments: Leaf<String>,
    pub(crate) merge_slashes: Leaf<bool>,
    pub(crate) failures: Leaf<String>,
    #[serde(default)]
    pub(crate) error_pages: Named<Spanned<String>>,
    pub(crate) endpoints: Leaf<String>,
    pub(crate) forwarded_for: Leaf<String>,
    pub(crate) request_fields: List,
    pub(crate) response_fields: List,
    #[serde(default)]
    pub(crate) request_edits: Edits,
    #[serde(default)]
    pub(crate) response_edits: Edits,
    pub(crate) compression: Leaf<Short<Vec<Spanned<String>>, Compression>>,
    pub(crate) rate: Leaf<Rate>,
    pub(crate) host: Leaf<String>,
    #[serde(default)]
    pub(crate) routes: Named<Route>,
}

/// The long form of `hsts`.
#[derive(Debug, Deserialize)]
pub(crate) struct Hsts {
    pub(crate) max_age: Leaf<Quantity>,
    pub(crate) subdomains: Leaf<bool>,
    pub(crate) preload: Leaf<bool>,
}

/// `request_edits` or `response_edits`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Edits {
    #[serde(default)]
    pub(crate) set: Named<Spanned<String>>,
    pub(crate) remove: List,
}

/// The long form of `compression`.
#[derive(Debug, Deserialize)]
pub(crate) struct Compression {
    pub(crate) codings: List,
    pub(crate) min_size: Leaf<Quantity>,
}

/// `rate` of a site or route.
#[derive(Debug, Deserialize)]
pub(crate) struct Rate {
    pub(crate) requests: Leaf<i64>,
    pub(crate) per: Leaf<Quantity>,
    pub(crate) burst: Leaf<i64>,
}

/// `[sites.NAME.routes.NAME]`.
#[derive(Debug, Deserialize)]
pub(crate) struct Route {
    pub(crate) exact: Leaf<String>,
    pub(crate) template: Leaf<String>,
    pub(crate) glob: Leaf<String>,
    pub(crate) regex: Leaf<String>,
    pub(crate) path: Leaf<String>,
    pub(crate) priority: Leaf<i64>,
    pub(crate) methods: List,
    #[serde(default)]
    pub(crate) when: When,
    pub(crate) query: List,
    #[serde(default)]
    pub(crate) refuse_query: Named<Spanned<String>>,
    pub(crate) repeatable: Leaf<bool>,
    #[serde(default)]
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: Leaf<Retry>,
    pub(crate) body: Leaf<Body>,
    pub(crate) upgrade: Leaf<bool>,
    pub(crate) rate: Leaf<Rate>,
    pub(crate) forward_path: Leaf<String>,
    pub(crate) rewrite: Leaf<Rewrite>,
    pub(crate) pool: Leaf<String>,
    pub(crate) redirect: Leaf<Short<String, Redirect>>,
    pub(crate) answer: Leaf<Short<i64, Answer>>,
    pub(crate) files: Leaf<Short<String, Files>>,
}

/// `when` of a route.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct When {
    #[serde(default)]
    pub(crate) headers: Named<Spanned<Presence>>,
    #[serde(default)]
    pub(crate) query: Named<Spanned<Presence>>,
    #[serde(default)]
    pub(crate) cookies: Named<Spanned<Presence>>,
    pub(crate) client: List,
}

/// `timeouts` of a route.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Timeouts {
    pub(crate) response: Leaf<Quantity>,
    pub(crate) idle: Leaf<Quantity>,
    pub(crate) total: Leaf<Quantity>,
}

/// `retry` of a route.
#[derive(Debug, Deserialize)]
pub(crate) struct Retry {
    pub(crate) attempts: Leaf<i64>,
    pub(crate) on: List,
}

/// `body = { … }` of a route.
#[derive(Debug, Deserialize)]
pub(crate) struct Body {
    pub(crate) buffer: Leaf<Quantity>,
    pub(crate) stream: Leaf<Quantity>,
}

/// `rewrite` of a route.
#[derive(Debug, Deserialize)]
pub(crate) struct Rewrite {
    pub(crate) strip: Leaf<String>,
    pub(crate) add: Leaf<String>,
    pub(crate) template: Leaf<String>,
}

/// The long form of `redirect`.
#[derive(Debug, Deserialize)]
pub(crate) struct Redirect {
    pub(crate) to: Leaf<String>,
    pub(crate) status: Leaf<i64>,
    pub(crate) keep_path: Leaf<bool>,
}

/// The long form of `answer`.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) status: Leaf<i64>,
    pub(crate) body: Leaf<String>,
    pub(crate) content_type: Leaf<String>,
}

/// The long form of `files`.
#[derive(Debug, Deserialize)]
pub(crate) struct Files {
    pub(crate) root: Leaf<String>,
    pub(crate) index: Leaf<String>,
    pub(crate) listing: Leaf<bool>,
    pub(crate) spa: Leaf<String>,
    pub(crate) precompressed: List,
}
