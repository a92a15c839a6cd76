//! What the adapter hands over of a request.

use std::time::SystemTime;

use gateway_config::model::Pattern;
use http::{HeaderMap, Method};

/// What a client asks of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// Path and query, still escaped, in origin form.
    pub target: &'a [u8],
    /// How many segments the path begins with that are the route's and not the directory's; see
    /// [`prefix_of`](Self::prefix_of).
    pub prefix: usize,
    /// The fields of the request.
    pub fields: &'a HeaderMap,
    /// When.
    pub now: SystemTime,
}

impl Asked<'_> {
    /// The segments of a path that are a route's own. A prefix stands for its directory; any
    /// other pattern shows the files where their whole path says they are.
    #[must_use]
    pub fn prefix_of(pattern: &Pattern) -> usize {
        match pattern {
            Pattern::Prefix(prefix) => {
                let whole = prefix.strip_suffix('/').unwrap_or(prefix);
                whole.matches('/').count()
            }
            Pattern::Exact(_) | Pattern::Glob(_) | Pattern::Regex(_) | Pattern::Template(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prefix_is_a_routes_own() {
        let prefix = |path: &str| Asked::prefix_of(&Pattern::Prefix(path.into()));
        assert_eq!([prefix("/"), prefix("/s"), prefix("/s/t/")], [0, 1, 2]);
        assert_eq!([prefix("/s//t"), prefix("/s//")], [3, 2]);
        assert_eq!(Asked::prefix_of(&Pattern::Exact("/favicon.ico".into())), 0);
    }
}
