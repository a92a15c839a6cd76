//! The paths that the gateway answers itself, at a site that says so.

use crate::model::Site;

/// What the gateway answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/health`: the process runs.
    Health,
    /// `/metrics`: its counters.
    Metrics,
    /// `/ready`: whether a node is in rotation, and which.
    Ready,
}

impl Site {
    /// The endpoint that this request is for, if the site has endpoints. Asked before any route.
    #[must_use]
    pub fn endpoint(&self, method: &str, target: &[u8]) -> Option<Endpoint> {
        self.endpoints.as_ref()?;
        Endpoint::of(method, target)
    }
}

impl Endpoint {
    /// The endpoint with exactly this raw path, for GET and HEAD.
    fn of(method: &str, target: &[u8]) -> Option<Self> {
        let path = target
            .split(|&byte| byte == b'?')
            .next()
            .unwrap_or_default();
        match (method, path) {
            ("GET" | "HEAD", b"/health") => Some(Endpoint::Health),
            ("GET" | "HEAD", b"/metrics") => Some(Endpoint::Metrics),
            ("GET" | "HEAD", b"/ready") => Some(Endpoint::Ready),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_raw_path_exactly_and_only_to_read() {
        assert_eq!(Endpoint::of("GET", b"/ready"), Some(Endpoint::Ready));
        assert_eq!(Endpoint::of("HEAD", b"/health?x"), Some(Endpoint::Health));
        for (method, target) in [
            ("POST", &b"/ready"[..]),
            ("GET", b"/ready/"),
            ("GET", b"//ready"),
            ("GET", b"/Ready"),
            ("GET", b"/%72eady"),
            ("get", b"/ready"),
        ] {
            assert_eq!(Endpoint::of(method, target), None, "{method}");
        }
    }
}
